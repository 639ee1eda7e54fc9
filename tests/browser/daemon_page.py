# SPDX-License-Identifier: GPL-2.0-or-later
"""The page that `bpfflame daemon --listen` serves, in a browser, on a store of an invented machine; what it shows is
compared with what `query` says of the same store."""
import datetime
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse

import pytest

from browser import ROOT, ActionChains, Keys, Page

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from harness import run  # noqa: E402
from test_listen import Listening  # noqa: E402

SAMPLE = ROOT / "build" / "sample_store"
HOURS = 26


def at(ms):
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000


class Served:
    """A daemon beside what an invented machine recorded up to @end, seconds since 1970, with a gap before the last
    20 minutes."""

    def __init__(self, daemon, end):
        self.daemon, self.end = daemon, end

    def query(self, *arguments):
        result = run("query", "--store", self.daemon.store, "-q", *arguments)
        assert result.returncode == 0, result
        return result.stdout

    def rows(self, *arguments):
        return [json.loads(line) for line in self.query("--json", *arguments).splitlines()]

    def seconds(self, span, *arguments):
        """What a graph of this range adds up to: all but what waits for work."""
        rows = self.rows("--series", "--step", "10s", "--from", at(span[0]), "--to", at(span[1]), *arguments)
        return sum(row["running_seconds"] + row["waiting_seconds"] - row["idle_seconds"] for row in rows)


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    folder = tmp_path_factory.mktemp("page")
    end = (int(time.time()) - 600) // 60 * 60
    for until, seconds in (end - 1800, HOURS * 3600), (end, 1200):
        subprocess.run([SAMPLE, folder / "store", str(until), str(seconds)], check=True, capture_output=True)
    with Listening(folder, "--window", "10s") as daemon:
        yield Served(daemon, end)
        daemon.stop()


class DaemonPage(Page):
    """The page; @link: what its address ends with."""

    def __init__(self, browser, daemon, link="", width=1400, height=900, waits=True, **options):
        self.url = f"http://localhost:{daemon.port}/"
        super().__init__(browser, self, width, height, link=link, **options)
        if waits:
            self.wait(lambda: "from" in self.state)
            self.calm()

    def as_uri(self):
        return self.url

    def calm(self):
        """Waits until everything is drawn that was asked for."""
        self.settle()
        self.wait(lambda: self.js("return !document.querySelector('[aria-busy=true]')"), 20)
        self.settle()

    @property
    def state(self):
        """What the link says."""
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.browser.current_url).fragment))

    def span(self, key="range"):
        """A range of the link, ms."""
        return [moment(part) for part in self.state[key].split("..")]

    def view(self):
        return [moment(self.state["from"]), moment(self.state["to"])]

    def drag(self, begin, end, selector="#time", shift=False):
        """Draws a range; shares of the width."""
        box = self.js("const b = document.querySelector(arguments[0]).getBoundingClientRect(); "
                      "return [b.left, b.top, b.width, b.height]", selector)
        if shift:
            ActionChains(self.browser).key_down(Keys.SHIFT).perform()
        chain = ActionChains(self.browser)
        pointer, y = chain.w3c_actions.pointer_action, round(box[1] + box[3] / 2)
        pointer.move_to_location(round(box[0] + box[2] * begin), y)
        pointer.pointer_down()
        for part in 0.5, 1:
            pointer.move_to_location(round(box[0] + box[2] * (begin + (end - begin) * part)), y)
        pointer.pointer_up()
        chain.perform()
        if shift:
            ActionChains(self.browser).key_up(Keys.SHIFT).perform()
        self.calm()

    def click(self, selector):
        self.one(selector).click()
        self.calm()

    def explorer(self, script, *arguments):
        """Runs a script in the frame of the flame graph."""
        self.browser.switch_to.frame(self.one("#frames iframe"))
        try:
            self.wait(lambda: self.js("return typeof explorer === 'object' && !explorer.isBusy()"))
            return self.js(script, *arguments)
        finally:
            self.browser.switch_to.default_content()

    def graph_seconds(self):
        """What the flame graph adds up to; of a comparison, its sides, new and base."""
        sides = self.explorer("const {tree, profile} = explorer.page;"
                              "return tree.sides.slice(0, profile.header.sides).map((side) => side.total[0])")
        return [side / 1e9 for side in sides]

    def shares(self):
        """{group: percent} of the table."""
        cells = self.js("return Array.from(document.querySelectorAll('#groups tr'), (row) => "
                        "[row.dataset.group, row.cells[1].innerText])")
        return {group: float(re.match(r"[\d.]+", text).group()) for group, text in cells}


def shares_of(rows, value):
    """{group: percent} of rows of `query --series --json`."""
    sums = {}
    for row in rows:
        sums[row["group"]] = sums.get(row["group"], 0) + value(row)
    total = sum(sums.values())
    return {group: 100 * weight / total for group, weight in sums.items() if weight}
