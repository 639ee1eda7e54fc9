# SPDX-License-Identifier: GPL-2.0-or-later
"""Where scripts and style sheets are forbidden, as in mail, artifact viewers and CI servers:
pictures keep their colours, and the explorer shows a picture and tables instead of dead buttons.
"""
import functools
import http.server
import subprocess
import threading

import pytest

pytest.importorskip("browser")
from browser import ROOT  # noqa: E402

POLICIES = {"nothing": "default-src 'none'", "styles": "default-src 'none'; style-src 'unsafe-inline'",
            "sandbox": "sandbox; default-src 'none'"}


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder: /POLICY/FILE has that content security policy."""

    def translate_path(self, path):
        return super().translate_path("/" + path.rpartition("/")[2])

    def end_headers(self):
        self.send_header("Content-Security-Policy", POLICIES[self.path.split("/")[1]])
        super().end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    for ending in "svg", "html":
        for kind in "oncpu", "wall", "compare":
            with open(folder / f"{kind}.{ending}", "wb") as file:
                subprocess.run([ROOT / "build" / f"sample_{ending}", kind], stdout=file, check=True)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder)) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


FILLS = "return Array.from(document.querySelectorAll(arguments[0]), (e) => getComputedStyle(e).fill)"
BLACK = "rgb(0, 0, 0)"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ["oncpu", "wall", "compare"])
def test_pictures_keep_their_colours(browser, server, kind, policy):
    browser.get(f"{server}/{policy}/{kind}.svg")
    fills = browser.execute_script(FILLS, ".row rect, .row path, #footer rect, .sheet, .paper")
    assert len(fills) > 20
    assert BLACK not in fills
    assert len(set(fills)) > 4
    assert browser.execute_script("return document.querySelectorAll('.row rect title').length") > 10
    # A sign repeats what colours show.
    labels = browser.execute_script("return Array.from(document.querySelectorAll('.labels text'), (t) => t.textContent)")
    signs = {label[0] for label in labels} & set("\u25b2\u25bc+\u2212")
    assert bool(signs) == (kind == "compare"), labels


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ["oncpu", "wall", "compare"])
def test_the_explorer_is_a_picture(browser, server, kind, policy):
    browser.get(f"{server}/{policy}/{kind}.html")
    assert browser.execute_script("return document.querySelector('#page').getBoundingClientRect().height") == 0
    shown = browser.find_element("id", "static")
    assert shown.is_displayed() and "Scripts are off" in shown.text
    assert browser.execute_script("return document.querySelectorAll('button').length") > 0
    assert not any(button.is_displayed() for button in browser.find_elements("tag name", "button"))
    fills = browser.execute_script(FILLS, "#static .row rect")
    assert len(fills) > 10 and BLACK not in fills
    assert ("What ran longest" in shown.text) == (kind != "compare")
    assert ("What waited longest" in shown.text) == (kind == "wall")
    # All of it can be scrolled to.
    height = browser.execute_script("return document.querySelector('#static').getBoundingClientRect().bottom")
    assert browser.execute_script("return document.documentElement.scrollHeight") >= height - 20


def test_with_scripts_nothing_of_it_is_left(browser, tmp_path):
    path = tmp_path / "x.html"
    path.write_bytes(subprocess.run([ROOT / "build" / "sample_html", "wall"], stdout=subprocess.PIPE, check=True).stdout)
    browser.get(path.as_uri())
    assert browser.execute_script("return document.querySelector('#static')") is None
    assert not browser.execute_script("return document.querySelector('#page').hidden")
