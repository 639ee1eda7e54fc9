#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""daemon_page: measures the page of `bpfflame daemon --listen` in a real browser, on a store of 30 days.

    daemon_page.py [STORE]

Without STORE, build/sample_store makes one with 3000 distinct stacks a minute, 2 % new an hour; that takes some minutes.
STORE stays as it is: the daemon writes beside links to its files. Each figure is a median with its range, from the
input to the frame that shows the answer, in ms. Needs root, Debian's chromium, chromium-driver and python3-selenium.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "browser"), str(ROOT / "tests" / "e2e")]
from browser import start  # noqa: E402
from daemon_page import at, DaemonPage, Listening, SAMPLE  # noqa: E402

DAYS, ROWS, STACKS, DRAWN = 30, 1020, 3900, 6
HOUR = 3600000
TURNS = 5

# When each part was waiting for its answer, and when it was drawn.
WATCH = """
    window.busy = [];
    new MutationObserver((changes) => changes.forEach(({target, oldValue}) => {
        const value = target.getAttribute("aria-busy"), entry = [target.id, value, performance.now()];
        if (value !== oldValue)
            busy.push(entry);
        requestAnimationFrame(() => setTimeout(() => { entry[2] = performance.now(); }));
    })).observe(document, {subtree: true, attributes: true, attributeFilter: ["aria-busy"], attributeOldValue: true});
    window.inputs = [];
    for (const kind of ["pointerup", "keydown", "click"])
        addEventListener(kind, () => inputs.push(performance.now()), true);"""


def make_store(folder):
    end = int(time.time()) // 60 * 60
    subprocess.run([SAMPLE, folder, str(end), str(DAYS * 86400), str(ROWS), str(STACKS), str(DRAWN)], check=True,
                   stdout=subprocess.DEVNULL)


def last_of(store):
    """When the store ends, ms."""
    text = subprocess.run([ROOT / "build" / "bpfflame", "query", "--store", store, "--list", "--json"], check=True,
                          capture_output=True, text=True).stdout
    ends = [row["end"] for row in map(json.loads, text.splitlines()) if row.get("level") == "10s"]
    return int(time.mktime(time.strptime(max(ends)[:19] + "UTC", "%Y-%m-%dT%H:%M:%S%Z")) - time.timezone) * 1000


class Bench:
    def __init__(self, driver, daemon, end):
        self.driver, self.daemon, self.end = driver, daemon, end
        self.figures = {}

    def note(self, title, value):
        self.figures.setdefault(title, []).append(value)

    def open(self, begin, end, more=""):
        return DaemonPage(self.driver, self.daemon, f"#from={at(begin)}&to={at(end)}{more}")

    def since_input(self, page, part):
        """From the last pointer or key to when a part was drawn."""
        page.calm()
        return page.js("return busy.filter(([id, value]) => id === arguments[0] && value === 'false').pop()[2] - inputs.pop()",
                       part)

    def note_transfer(self, page, title):
        self.note(title + ": kilobytes", page.js(
            "return performance.getEntries().reduce((sum, {transferSize}) => sum + (transferSize || 0), 0)") / 1000)

    def first_view(self):
        page = self.open(self.end - 2 * HOUR, self.end - HOUR)
        drawn = page.js("return Object.fromEntries(busy.filter(([, value]) => value === 'false').map(([id, , t]) => [id, t]))")
        self.note("first view: time line", drawn["time"])
        self.note("first view: with flame graph", drawn["graph"])
        self.note_transfer(page, "first view")

    def ranges(self):
        page = self.open(self.end - 5 * HOUR, self.end - HOUR)
        page.drag(0.25, 0.5)
        self.note("brush of 1 h -> flame graph", self.since_input(page, "graph"))
        page.press("d")
        self.note("the same time yesterday -> comparison", self.since_input(page, "graph"))
        self.note_transfer(page, "view, brush, comparison")
        page.press("3")
        self.note("what got worse in 1 h", self.since_input(page, "worse-found"))

    def function(self):
        page = self.open(self.end - 2 * HOUR, self.end - HOUR)
        page.js("busy.length = 0")
        page.explorer("""
            const {page} = explorer, frame = page.profile.frames.name.findIndex((name) => name === "module_25::function_40");
            page.actionsFor({frame, node: -1}).find(({title}) => title === "Over time").run()""")
        page.wait(lambda: page.js("return busy.some(([id, value]) => id === 'over' && value === 'false')"), 20)
        page.settle()
        self.note("a function over all that is kept", page.js(
            "const at = (wanted) => busy.find(([id, value]) => id === 'over' && value === wanted)[2]; "
            "return at('false') - at('true')"))
        self.note_transfer(page, "view, function")

    def whole(self):
        page = self.open(self.end - 2 * HOUR, self.end - HOUR)
        page.click("[data-length='all']")
        self.note("all that is kept: time line", self.since_input(page, "time"))
        page.press("2")
        self.note("all that is kept: heat map", self.since_input(page, "heat"))
        self.note_transfer(page, "all of it, with its flame graph")


def measure(driver, daemon, end):
    bench = Bench(driver, daemon, end)
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    driver.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
    for _ in range(TURNS):
        for part in bench.first_view, bench.ranges, bench.function, bench.whole:
            part()
    for title, values in bench.figures.items():
        print(f"{title:40} median {statistics.median(values):7.0f}   {min(values):6.0f} to {max(values):6.0f}")


def main():
    with tempfile.TemporaryDirectory(dir=pathlib.Path(sys.argv[1]).resolve().parent if len(sys.argv) > 1 else None) as folder:
        folder = pathlib.Path(folder)
        if len(sys.argv) > 1:
            subprocess.run(["cp", "-al", sys.argv[1], folder / "store"], check=True)
        else:
            make_store(folder / "store")
        os.chmod(folder, 0o755)
        end = last_of(folder / "store")
        driver = start(folder / "chromium")
        try:
            with Listening(folder, "--window", "10s") as daemon:
                measure(driver, daemon, end)
                daemon.stop()
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
