# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTML explorer as tests see it: a page that finds its frames through its own tree; and the
same sums computed naively from stacks.
"""
import collections
import os
import pathlib
import random
import re
import subprocess

import pytest

from browser import ROOT, ActionChains, Keys, Page

SAMPLE = pathlib.Path(os.environ.get("SAMPLE_HTML", ROOT / "build" / "sample_html"))
BPFFLAME = pathlib.Path(os.environ.get("BPFFLAME", ROOT / "build" / "bpfflame"))


class Explorer(Page):
    """The page. Its frames are on a canvas, so it asks its own tree where they are."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.calm()

    def errors(self):
        # A warning that reading pixels in tests causes.
        return [entry for entry in super().errors() if "willReadFrequently" not in entry["message"]]

    def calm(self):
        """Waits until nothing moves any more: what a key began may move only after the next frame."""
        self.settle()
        self.wait(lambda: self.js(
            "return typeof explorer === 'object' && !explorer.isBusy() && "
            "!explorer.page.graph.moving && explorer.timings.painted > 0"), 30)
        self.settle()

    def place(self, name, pane=0):
        """The visible part of the widest frame with this name: [x, y, width] in the window."""
        return self.js("""
            const {graph, profile} = explorer.page, pane = graph.panes[arguments[1]];
            const {tree} = pane;
            let best = -1;
            for (let i = 0; i < tree.n; i++)
                if (data.nameOf(profile, tree.frame[i]) === arguments[0] &&
                    (best < 0 || tree.width[i] > tree.width[best]))
                    best = i;
            if (best < 0)
                return null;
            const box = graph.boxOf(pane, best), canvas = graph.canvas.getBoundingClientRect();
            const left = Math.max(box.left, 0);
            const right = Math.min(box.left + box.width, graph.width);
            return [canvas.left + left, canvas.top + box.top, right - left]""", name, pane)

    def point(self, name, pane=0):
        place = self.place(name, pane)
        assert place, name
        x, y, width = place
        assert width > 0, name
        return round(x + width / 2), round(y + 8)

    def pointer(self, name, *steps, pane=0):
        chain = ActionChains(self.browser)
        x, y = self.point(name, pane)
        pointer = chain.w3c_actions.pointer_action
        pointer.move_to_location(x, y)
        for step in steps:
            step(pointer)
        chain.perform()
        self.settle()

    def hover(self, name, pane=0):
        self.pointer(name, pane=pane)

    def click(self, name, pane=0):
        self.pointer(name, lambda p: p.click(), pane=pane)
        self.calm()

    def menu(self, name, item):
        self.pointer(name, lambda p: p.context_click())
        self.button("#menu button", item).click()
        self.calm()

    def button(self, selector, text):
        found = [b for b in self.browser.find_elements("css selector", selector)
                 if b.is_displayed() and b.text.split("\n")[0] == text]
        assert found, (selector, text)
        return found[0]

    def press(self, *keys):
        super().press(*keys)
        self.calm()

    def search(self, text):
        self.press("/")
        self.press(text)
        self.wait(lambda: self.state().get("q") == text)
        self.calm()

    def state(self):
        return {k: v for k, v in self.js("return explorer.page.state").items() if v}

    def total(self, what="total"):
        """{name: weight} of the displayed tree; nested frames of one name count once."""
        return dict(self.js("""
            const {list, self, total} = explorer.functions(), {frames} = explorer.page.profile;
            const columns = arguments[0] === "self" ? self : total;
            const {sides} = explorer.page.profile.header;
            return list.map((f) => [frames.name[f],
                columns[0][f] + (sides === 2 ? columns[1][f] : 0)])""", what))

    def paths(self, pane=0):
        """{path: [total, self]} of a pane's tree; paths begin below its root."""
        rows = self.js("""
            const {tree} = explorer.page.graph.panes[arguments[0]], {profile} = explorer.page;
            const path = [], rows = [];
            for (let i = 0; i < tree.n; i++) {
                path.length = tree.depth[i];
                path.push(data.nameOf(profile, tree.frame[i]));
                rows.push([path.slice(1).join(";"), tree.sides[0].total[i],
                    tree.sides[0].self[i]]);
            }
            return rows""", pane)
        return {path: [total, own] for path, total, own in rows}

    def shown(self):
        """The weight of the root."""
        return self.js("return explorer.page.tree.width[0]")

    def chips(self):
        return [chip.text for chip in self.browser.find_elements("css selector", ".chip")]

    def color(self, x, y):
        """Of the canvas at a point in the window."""
        return tuple(self.js("""
            const {canvas, ratio, context} = explorer.page.graph;
            const box = canvas.getBoundingClientRect();
            return Array.from(context.getImageData(Math.round((arguments[0] - box.left) * ratio),
                Math.round((arguments[1] - box.top) * ratio), 1, 1).data.slice(0, 3))""", x, y))

    def rows(self):
        """The table's visible cells."""
        return self.js("""
            return Array.from(document.querySelectorAll(".line"))
                .sort((a, b) => a.index - b.index)
                .map((line) => Array.from(line.children, (cell) =>
                    cell.className === "name" ? cell.title : cell.innerText.trim()))""")


@pytest.fixture
def show(browser, tmp_path):
    pages = []

    def make(kind, *options, width=1200, height=800, **more):
        path = tmp_path / f"{kind}.html"
        if not path.exists():
            with open(path, "wb") as file:
                subprocess.run([SAMPLE, kind, *options], stdout=file, check=True,
                               env={**os.environ, "TZ": "UTC"})
        pages.append(Explorer(browser, path, width, height, **more))
        return pages[-1]

    yield make
    for page in pages[-1:]:
        assert page.errors() == []


def make_stacks(n=400, seed=7):
    """Random stacks with recursion, kernel and inlined frames: [(names), weight]."""
    source, stacks = random.Random(seed), collections.Counter()
    names = [f"f{i}" for i in range(14)]
    for _ in range(n):
        stack = [source.choice(["web-10/11", "web-10/12", "db-20/20"])]
        for _ in range(source.randrange(1, 9)):
            stack.append(source.choice(names[:3 + len(stack)]))
        if source.random() < 0.4:
            stack.append("slow_[i]")
        for i in range(source.randrange(0, 3) if source.random() < 0.5 else 0):
            stack.append(f"sys{i}_{source.randrange(2)}_[k]")
        stacks[tuple(stack)] += source.randrange(1, 30)
    return list(stacks.items())


@pytest.fixture
def show_stacks(browser, tmp_path):
    pages = []

    def make(stacks, base=None, **more):
        for name, list_ in ("a", stacks), ("b", base):
            (tmp_path / f"{name}.folded").write_text(
                "".join(f"{';'.join(names)} {weight}\n" for names, weight in list_ or []))
        path = tmp_path / "a.html"
        command = ["diff", "b.folded", "a.folded"] if base else [
            "render", "--threads", "a.folded"]
        subprocess.run([BPFFLAME, *command, "-o", path], cwd=tmp_path, check=True)
        pages.append(Explorer(browser, path, **more))
        return pages[-1]

    yield make
    for page in pages:
        assert page.errors() == []


def plain(name):
    return re.sub(r"_\[[kij]\]$", "", name)


def total_of(stacks, matches):
    return sum(weight for names, weight in stacks if any(matches(plain(n)) for n in names))


def percent(part, whole):
    return f"{100 * part / whole:.2f}%"


def merged(stacks):
    """{path: [total, self]} of a plain tree."""
    tree = collections.defaultdict(lambda: [0, 0])
    for names, weight in stacks:
        for i in range(len(names) + 1):
            tree[";".join(names[:i])][0] += weight
        tree[";".join(names)][1] += weight
    return dict(tree)


def plain_merged(stacks):
    return merged([(tuple(plain(n) for n in names), weight) for names, weight in stacks])
