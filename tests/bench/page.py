#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""page: measures the speed of the HTML explorer in a real browser, on a file of 100 000 stacks.

    page.py [FILE.html]

Without FILE, uses tests/bench/made_folded.c and build/bpfflame to make one. Prints the file's size,
the time from navigation to the first complete paint, frame times (between the browser's frames, and
of drawing alone) while zooming, searching, scrolling and resizing, and the time to derive a tree.
Needs Debian's chromium, chromium-driver and python3-selenium.
"""
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "browser"))
from browser import Page, start  # noqa: E402

STACKS = 100_000
LOADS = 5

# Watches the browser's frames until stop() returns the gaps between them and the times of drawing.
WATCH = """
    const gaps = [], {graph} = explorer.page, first = graph.drawTimes.length;
    let last = performance.now(), running = true;
    (function frame() {
        const now = performance.now();
        gaps.push(now - last);
        last = now;
        if (running)
            requestAnimationFrame(frame);
    })();
    window.stopWatching = () => {
        running = false;
        return [gaps.slice(1), graph.drawTimes.slice(first)];
    };"""

# Zooms into the widest frame of each level, one after another, and back.
ZOOM = """
    const done = arguments[arguments.length - 1], {graph, tree, zoom, set} = explorer.page;
    const path = [];
    for (let i = 0; i >= 0 && path.length < 16; i = flame.neighbour(tree, 0, i, "child"))
        path.push(i);
    const steps = path.filter((i, k) => k % 3 === 2).concat(0);
    (function next() {
        if (graph.moving)
            setTimeout(next, 10);
        else if (steps.length)
            zoom({pane: graph.panes[0], node: steps.shift()}), setTimeout(next, 10);
        else
            done();
    })();"""

SEARCH = """
    const done = arguments[arguments.length - 1], texts = arguments[0].slice();
    (function next() {
        if (!texts.length)
            return done();
        explorer.page.set({q: texts.shift()}, true);
        requestAnimationFrame(() => setTimeout(next, 30));
    })();"""

SCROLL = """
    const done = arguments[arguments.length - 1], {scroll} = explorer.page.graph;
    let n = 30;
    (function next() {
        if (!n--)
            return done();
        scroll.scrollTop += n > 15 ? -40 : 40;
        requestAnimationFrame(next);
    })();"""

DERIVE = """
    const {profile} = explorer.page, timed = [];
    for (const state of arguments[0]) {
        const change = links.changeOf(profile, state, explorer.facets), began = performance.now();
        model.derive(profile, change);
        timed.push(performance.now() - began);
    }
    return timed"""


def make_page(folder):
    folded, page, made = folder / "a.folded", folder / "a.html", folder / "made_folded"
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-o", made,
                    ROOT / "tests" / "bench" / "made_folded.c"], check=True)
    with open(folded, "wb") as out:
        subprocess.run([made, str(STACKS)], stdout=out, check=True)
    subprocess.run([ROOT / "build" / "bpfflame", "render", "-q", folded, "-o", page], check=True)
    print(f"folded: {folded.stat().st_size / 1e6:.0f} MB, {STACKS} stacks")
    return page


def in_words(values):
    return f"median {statistics.median(values):6.1f}   max {max(values):6.1f}   n {len(values)}"


def ready(page):
    page.wait(lambda: page.js("return typeof explorer === 'object' && !explorer.isBusy() && "
                              "explorer.timings.painted > 0"), 60)


def watch(page, title, work):
    page.js(WATCH)
    work()
    gaps, draws = page.js("return window.stopWatching()")
    print(f"{title:10} frames  {in_words(gaps)}")
    if draws:
        print(f"{'':10} drawing {in_words(draws)}")


def measure(driver, path):
    driver.set_script_timeout(120)
    painted = []
    for _ in range(LOADS):
        page = Page(driver, path, 1400, 900)
        ready(page)
        painted.append(page.js("return explorer.timings.firstPaint"))
    nodes = page.js("return explorer.page.profile.base.n")
    print(f"page: {path.stat().st_size / 1e6:.2f} MB, {nodes} nodes; milliseconds:")
    print(f"first paint        {in_words(painted)}")
    time.sleep(1)
    watch(page, "zoom", lambda: driver.execute_async_script(ZOOM))
    watch(page, "search", lambda: driver.execute_async_script(
        SEARCH, ["p", "pa", "par", "parse", "parse|scan", "Buffer$", ""]))
    watch(page, "scroll", lambda: driver.execute_async_script(SCROLL))
    watch(page, "resize", lambda: [page.resize(width, 900) for width in range(1100, 1400, 60)])
    states = {"kernel off": {"k": "off"}, "by weight": {"s": "weight"},
              "both": {"k": "off", "s": "weight"}}
    page.js("return explorer.facets().length")
    for _ in range(2):
        times = page.js(DERIVE, list(states.values()))
    print("derive    ", "   ".join(f"{name} {t:.0f}" for name, t in zip(states, times)))
    page.js("explorer.page.set({v: 'table'})")
    ready(page)
    print(f"table      {page.js('return explorer.timings.update'):.0f}")
    page.js("explorer.page.set({v: 'sandwich'})")
    ready(page)
    print(f"sandwich   {page.js('return explorer.timings.update'):.0f}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        path = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else make_page(folder)
        driver = start(folder / "chromium")
        try:
            measure(driver, path)
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
