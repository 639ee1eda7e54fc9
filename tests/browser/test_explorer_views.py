# SPDX-License-Identifier: GPL-2.0-or-later
"""The explorer's other views of the same stacks: from the leaves, with recursion and modules
collapsed, with the table beside the graph, magnified; files dropped on it, source lines.
"""
import json
import subprocess

import pytest

pytest.importorskip("browser")
from browser import ActionChains  # noqa: E402
from explorer_page import (BPFFLAME, Explorer, make_stacks, plain, plain_merged, show, show_stacks)  # noqa: E402,F401


def test_from_the_leaves(show_stacks):
    """Every stack is there, reversed, and merged again."""
    stacks = make_stacks(200)
    page = show_stacks(stacks)
    page.button("#direction button", "Bottom-up").click()
    page.calm()
    wanted = plain_merged([(names[::-1], weight) for names, weight in stacks])
    assert {path: total for path, (total, _) in page.paths().items()} == {
        path: total for path, (total, _) in wanted.items()}
    assert page.state() == {"r": "up"}
    widest = max((total, path) for path, (total, _) in wanted.items() if path and ";" not in path)[1]
    page.click(widest)
    assert page.state()["z"].startswith("b")
    again = show_stacks(stacks, link=page.js("return location.hash"))
    assert again.text("#path li:last-child") == widest
    again.press("r")
    assert again.state() == {} and again.paths() == {
        path: [total, own] for path, (total, own) in plain_merged(stacks).items()}


def joined(stacks, key):
    """Merges neighbours with the same key into one frame of that name."""
    made = []
    for names, weight in stacks:
        kept = []
        for i, name in enumerate(names):
            own = key(name) if i else plain(name)
            if not kept or i == 1 or kept[-1] != own:
                kept.append(own)
        made.append((tuple(kept), weight))
    return plain_merged(made)


def test_recursion_is_one_frame(show_stacks):
    stacks = make_stacks(200) + [(("web-10/11", "f1", "f1", "f1", "g", "f1", "f1"), 50)]
    page = show_stacks(stacks)
    page.press("g")
    assert page.paths() == {path: list(weights) for path, weights in joined(stacks, plain).items()}
    assert page.shown() == sum(weight for _, weight in stacks)
    page.press("g")
    assert page.state() == {}


MODULES = [(("sh-1/1", "main", "[libz.so.1+0x10]", "[libz.so.1+0x20]", "read_[k]", "vfs_read_[k]"), 5),
           (("sh-1/1", "main", "[libz.so.1+0x30]", "[libc.so.6+0x40]"), 3),
           (("sh-1/1", "main", "[libz.so.1+0x30]"), 2), (("sh-1/1", "main", "write_[k]"), 1)]


def test_modules_are_one_frame(show_stacks):
    page = show_stacks(MODULES)
    page.button("#options button", "By module").click()
    page.calm()

    def module(name):
        return "[kernel]" if name.endswith("_[k]") else name[1:name.index("+")] if "+" in name else plain(name)
    assert page.paths() == {path: list(weights) for path, weights in joined(MODULES, module).items()}
    page.search("libz")
    assert "90.91%" in page.text("#matched")


def test_a_row_of_the_table_lights_its_boxes(show_stacks):
    page = show_stacks(make_stacks(200))
    page.press("t")
    assert page.is_shown("#table") and page.is_shown("#canvas")
    name = page.rows()[0][-1]
    x, y = page.point(name)
    before = page.color(x, y)
    page.hover_over(page.browser.find_elements("css selector", ".line .name")[0])
    page.settle()
    lit = page.js("return explorer.page.graph.lit.reduce((n, one) => n + one, 0)")
    assert lit == 1 and page.color(x, y) == (232, 121, 249) != before
    page.click_on(page.browser.find_elements("css selector", ".line .name")[0])
    page.hover_over(page.one("#title"))
    page.settle()
    assert page.color(x, y) == (232, 121, 249)
    assert page.button("#actions button", "Sandwich")
    page.press("t")
    assert not page.is_shown("#table") and page.color(*page.point(name)) != (232, 121, 249)
    page.resize(700, 800)
    page.press("t")
    assert not page.is_shown("#table")


WHEEL = """
    const {canvas} = explorer.page.graph, box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new WheelEvent("wheel", Object.assign({bubbles: true, cancelable: true,
        clientX: box.left + arguments[0], clientY: box.top + 50}, arguments[1])));"""


def window_of(page):
    return page.js("const p = explorer.page.graph.panes[0]; return [p.from, p.to, p.tree.width[0]]")


def test_wheel_and_strip(show_stacks):
    page = show_stacks(make_stacks(400))
    width = page.js("return explorer.page.graph.width")
    page.js(WHEEL, width / 4, {"ctrlKey": True, "deltaY": -400})
    page.settle()
    start, end, whole = window_of(page)
    assert end - start == pytest.approx(whole / 1.0025 ** 400, rel=1e-6)
    # The frame below the pointer stays there.
    assert start + (end - start) / 4 == pytest.approx(whole / 4, rel=1e-6)
    assert page.state() == {}
    page.js(WHEEL, width / 4, {"shiftKey": True, "deltaY": width / 2})
    page.settle()
    assert window_of(page)[0] == pytest.approx(start + (end - start) / 2, rel=1e-6)
    strip = page.one("#map")
    ActionChains(page.browser).move_to_element_with_offset(strip, int(width / 2) - 20, 0).click().perform()
    page.settle()
    assert window_of(page)[1] == pytest.approx(whole)
    # Clicks still zoom, and Escape shows everything.
    page.press("0")
    assert window_of(page)[:2] == [0, whole]
    page.press("+")
    assert window_of(page)[1] - window_of(page)[0] == pytest.approx(whole / 1.5)
    page.browser.execute_script("explorer.page.back()")
    page.calm()
    assert window_of(page)[:2] == [0, whole]
    # Dragging moves the view, and is not a click.
    page.press("+")
    x, y = page.point("all")
    chain = ActionChains(page.browser)
    pointer = chain.w3c_actions.pointer_action
    pointer.move_to_location(x, y)
    pointer.pointer_down()
    pointer.move_to_location(x - 100, y)
    pointer.pointer_up()
    before = window_of(page)
    chain.perform()
    page.settle()
    assert window_of(page)[0] > before[0] and page.state() == {}


def test_strip_of_a_deep_graph(show):
    page = show("deep", height=500)
    assert page.is_shown("#map")
    top = page.js("return explorer.page.graph.scroll.scrollTop")
    strip = page.one("#map")
    ActionChains(page.browser).move_to_element_with_offset(strip, 0, -15).click().perform()
    page.settle()
    assert page.js("return explorer.page.graph.scroll.scrollTop") < top / 4


DROP = """
    const list = new DataTransfer();
    list.items.add(new File([arguments[1]], arguments[0]));
    window.dispatchEvent(new DragEvent("drop", {bubbles: true, cancelable: true, dataTransfer: list}));"""


def drop(page, name, text):
    page.js(DROP, name, text)
    page.wait(lambda: not page.js("return explorer.isBusy()"))
    page.js("return new Promise(done => setTimeout(done, 150))")
    page.calm()


def test_dropped_stacks(show_stacks):
    page = show_stacks([(("sh-1/1", "main", "f"), 9)])
    drop(page, "b.folded", "# a comment\nweb;main;<b>bold</b>;read_[k];[futex] 1500\nweb;main;[libz.so+0x1];[runqueue] 500\n")
    assert page.text("#title") == "b.folded" and page.shown() == 2e6
    assert page.paths()["web;main;<b>bold</b>;read;[futex]"] == [1500e3, 1500e3]
    assert page.js("return document.querySelectorAll('#title b, #table b b').length") == 0
    page.press("3")
    assert page.rows()[0][-1] == "<b>bold</b>"
    drop(page, "c.txt", "nothing that is known")
    assert "c.txt" in page.text("#toast") and page.text("#title") == "b.folded"


def test_dropped_page(show_stacks, tmp_path):
    page = show_stacks([(("sh-1/1", "main", "f"), 9)])
    (tmp_path / "other.folded").write_text("db;query 40\ndb;log 2\n")
    subprocess.run([BPFFLAME, "render", "other.folded", "-o", "other.html", "--title", "the other"], cwd=tmp_path, check=True)
    drop(page, "other.html", (tmp_path / "other.html").read_text())
    assert page.text("#title") == "the other" and page.shown() == 42


def test_lines_of_a_function(show_stacks):
    page = show_stacks([(("a-1/1", "main (a.c:3)", "spin (b.c:12)"), 6), (("a-1/1", "main (a.c:3)", "spin (b.c:14)"), 3),
                        (("a-1/1", "main (a.c:4)",), 1)])
    page.press("2")
    assert page.text("#source h2") == "spin" and "b.c" in page.text("#source p")
    assert page.text("#source").split()[-4:] == ["12", "60.00%", "14", "30.00%"]
    drop(page, "b.c", "".join(f"line {i} <i>\n" for i in range(1, 30)))
    lines = page.js("return [...document.querySelectorAll('.source-line')].map(l => l.textContent)")
    assert lines[0].startswith("9") and "1260.00%line 12 <i>" in lines and "13line 13 <i>" in lines
    page.press("1")
    assert not page.is_shown("#source")


def test_what_is_waited_in(browser, tmp_path):
    """As in the summary: the last named function of the program's own code."""
    (tmp_path / "a.folded").write_text(
        "db;_start;main;flush;[db+0x10];fdatasync;sync_[k];[disk] 500\ndb;_start;main;flush;lock;__lll_lock;[futex] 200\n"
        "db;_start;main;serve;poll;do_poll_[k];[poll] 100\n[idle];db;_start;main;pool;[futex] 900\n")
    subprocess.run([BPFFLAME, "render", "--fold-idle", "a.folded", "-o", "a.html"], cwd=tmp_path, check=True)
    page = Explorer(browser, tmp_path / "a.html")
    page.press("3")
    rows = [(row[-1], row[0].split()[0]) for row in page.rows()[:3]]
    report = json.loads(subprocess.run([BPFFLAME, "report", "--json", "--by", "waits", "a.folded"], cwd=tmp_path,
                                       check=True, capture_output=True).stdout)
    assert [name for name, _ in rows] == ["flush", "lock", "serve"]
    assert [row["name"] for row in report["waits"] if row["name"] != "pool"] == ["flush", "lock", "serve"]
    assert page.errors() == []
