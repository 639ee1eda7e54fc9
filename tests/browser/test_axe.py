# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks all pages, in each of their views, against the rules of axe-core
(https://github.com/dequelabs/axe-core)."""
import json
import pathlib
import subprocess

import pytest

pytest.importorskip("browser")
from browser import ROOT, Page  # noqa: E402
from explorer_page import BPFFLAME, Explorer, make_stacks  # noqa: E402
from test_index import SAMPLE as SAMPLE_SETS, made  # noqa: E402

AXE = ROOT / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"


def violations(page):
    if not AXE.exists():
        pytest.fail("axe-core is not there; run tools/check, which installs it")
    page.js(AXE.read_text())
    found = page.browser.execute_async_script("""
        const done = arguments[arguments.length - 1];
        axe.run(document, {resultTypes: ["violations"]}).then((result) => done(result.violations.map((rule) =>
            [rule.id, rule.help, rule.nodes.slice(0, 3).map((node) => node.html.slice(0, 160))])),
            (error) => done([["error", String(error), []]]));""")
    return found


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", ["oncpu", "wall", "compare"])
def test_explorer(browser, tmp_path, kind, dark):
    path = tmp_path / "x.html"
    path.write_bytes(subprocess.run([ROOT / "build" / "sample_html", kind], check=True, capture_output=True).stdout)
    page = Explorer(browser, path, dark=dark)
    assert violations(page) == []
    for keys in "2", "3", "1t", "f", "?":
        page.press(*keys)
        assert violations(page) == [], keys


@pytest.mark.parametrize("kind", ["oncpu", "offcpu", "compare"])
def test_picture(browser, tmp_path, kind):
    """Inside a page, as in a report."""
    svg = subprocess.run([ROOT / "build" / "sample_svg", kind], check=True, capture_output=True, text=True).stdout
    svg = svg[svg.index("<svg"):]
    path = pathlib.Path(tmp_path / "x.html")
    path.write_text(f"<!DOCTYPE html><html lang=en><title>x</title><main><h1>Report</h1>{svg}</main></html>")
    assert violations(Page(browser, path)) == []


@pytest.mark.parametrize("dark", [False, True])
def test_index(browser, tmp_path, dark):
    entries = [made(i) for i in range(5)] + [made(i, "offcpu", "hook") for i in range(3)]
    (tmp_path / "index.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    path = tmp_path / "index.html"
    path.write_bytes(subprocess.run([SAMPLE_SETS, tmp_path], check=True, capture_output=True).stdout)
    assert violations(Page(browser, path, dark=dark)) == []


def test_without_scripts(browser, tmp_path):
    (tmp_path / "a.folded").write_text("".join(f"{';'.join(names)} {n}\n" for names, n in make_stacks(50)))
    subprocess.run([BPFFLAME, "render", "a.folded", "-o", "a.html"], cwd=tmp_path, check=True)
    text = (tmp_path / "a.html").read_text()
    # The static part without scripts.
    path = tmp_path / "still.html"
    path.write_text(text.replace("<script>", "<script type='text/plain'>"))
    assert violations(Page(browser, path)) == []
