# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTML explorer in a real browser: build/sample_html writes pages of profiles made by hand,
build/bpfflame those of random stacks, whose sums are also computed here naively.
"""
import collections
import json
import random
import re
import subprocess

import pytest

pytest.importorskip("browser")
from browser import ROOT, ActionChains, Keys, Page, contrast  # noqa: E402
from explorer_page import (BPFFLAME, SAMPLE, Explorer, make_stacks, merged, percent,  # noqa: E402,F401
                           plain, plain_merged, show, show_stacks, total_of)


# The file.

@pytest.mark.parametrize("kind", ["oncpu", "wall", "hostile", "deep", "empty", "compare"])
def test_no_network_and_no_complaints(show, kind):
    page = show(kind)
    assert page.js("return performance.getEntriesByType('resource').length") == 0
    assert page.js("return document.compatMode") == "CSS1Compat"
    page.press("3", "2", "1", "i", "w", "f", "m", Keys.ESCAPE)


def test_same_bytes_every_time():
    first, second = (subprocess.run([SAMPLE, "random"], stdout=subprocess.PIPE, check=True).stdout
                     for _ in range(2))
    assert first == second


def test_policy_keeps_everything_out(show):
    page = show("oncpu")
    refused = page.js("""
        return fetch("data:text/plain,x").then(() => "fetched", () => "refused")""")
    assert refused == "refused"
    page.browser.get_log("browser")


def test_heading(show):
    page = show("oncpu")
    assert page.browser.title == "On-CPU Flame Graph"
    assert page.text("#title") == "On-CPU Flame Graph"
    facts = "build-7 · Linux 6.12.9 · 2026-11-21 13:05:01 +0000 · 30.0 s · 499 Hz · 6,908 samples"
    assert page.text("#facts") == facts
    assert page.text("#legend").split("\n") == ["user", "kernel", "inlined", "JIT", "command"]


def test_tree_is_that_of_the_stacks(show_stacks):
    stacks = make_stacks()
    assert show_stacks(stacks).paths() == plain_merged(stacks)


# The graph.

def test_hover(show):
    page = show("oncpu")
    page.hover("parse_json")
    assert page.text("#details") == "parse_json \u2014 2,862 samples, 41.43% of all"
    tip = page.text("#tooltip").split("\n")
    assert tip[0] == "parse_json"
    assert "Total 2,862 samples 41.43% of all" in tip
    assert "75.73% of its caller" in tip
    assert "Self 0 samples 0.00% of all" in tip
    page.hover("tcp_sendmsg")
    assert "[kernel] · kernel" in page.text("#tooltip")
    page.js("document.querySelector('#title').scrollIntoView()")
    ActionChains(page.browser).move_to_element(page.one("#title")).perform()
    page.settle()
    assert not page.is_shown("#tooltip")


def test_zoom_back_and_history(show):
    page = show("oncpu")
    before = page.place("node")
    page.click("parse_json")
    x, _, width = page.place("parse_json")
    assert (x, width) == (10, 1180)
    assert page.place("main")[2] == 1180 and page.place("tcp_sendmsg")[2] <= 0
    assert page.text("#path").split("\n")[-1] == "parse_json"
    page.hover("py_scanstring")
    assert "20.56% of all, 49.62% of parse_json" in page.text("#details")
    page.click("scan_once")
    page.browser.back()
    page.calm()
    assert page.place("_match_number")[2] < 500 and page.text("#path").endswith("parse_json")
    page.browser.forward()
    page.calm()
    assert page.text("#path").endswith("scan_once")
    page.press(Keys.BACKSPACE)
    assert page.text("#path").endswith("parse_json")
    page.press(Keys.ESCAPE)
    assert page.place("node") == before
    assert page.state() == {}


def test_double_click_goes_back(show):
    page = show("oncpu")
    page.click("parse_json")
    page.click("scan_once")
    page.pointer("_match_number", lambda p: p.click(), lambda p: p.click())
    page.calm()
    assert page.text("#path").endswith("parse_json")
    page.pointer("scan_once", lambda p: p.click(), lambda p: p.click())
    page.calm()
    assert page.state() == {}


def test_click_on_an_ancestor_zooms_out(show):
    page = show("oncpu")
    page.click("scan_once")
    page.click("python3")
    assert page.text("#path") == "all\npython3"
    page.button("#path button", "all").click()
    page.calm()
    assert page.state() == {}


def test_pixels(show):
    page = show("oncpu")
    fills = page.js("""
        const {header, frames} = explorer.page.profile;
        return Object.fromEntries(frames.name.map((name, f) =>
            [name, header.fills[frames.fill[f]]]))""")
    for name in ("parse_json", "node", "tcp_sendmsg", "insertdict", "*render server.js:12"):
        x, y, width = page.place(name)
        assert "#%02x%02x%02x" % page.color(x + width - 3, y + 3) == fills[name], name
    assert page.color(30, 175) == (255, 255, 255)
    page.search("^parse_json$")
    x, y, width = page.place("parse_json")
    assert page.color(x + width - 3, y + 3) == (0xe8, 0x79, 0xf9)
    x, y, width = page.place("main")
    assert page.color(x + width - 3, y + 3) != tuple(
        int(fills["main"][i:i + 2], 16) for i in (1, 3, 5))


def test_icicle_and_order(show_stacks):
    stacks = make_stacks()
    page = show_stacks(stacks)
    ys = [page.place(name)[1] for name in ("all", "db-20/20", "f0")]
    assert ys == sorted(ys, reverse=True)
    page.press("i")
    ys = [page.place(name)[1] for name in ("all", "db-20/20", "f0")]
    assert ys == sorted(ys)
    children = """
        const {tree, profile} = explorer.page;
        const list = [];
        for (let p = 0; p < tree.n; p++)
            list.push(flame.children(tree, p).map((c) => [data.nameOf(profile, tree.frame[c]),
                tree.width[c]]));
        return list"""
    for siblings in page.js(children):
        assert [name for name, _ in siblings] == sorted(name for name, _ in siblings)
    page.press("w")
    for siblings in page.js(children):
        assert [w for _, w in siblings] == sorted((w for _, w in siblings), reverse=True)
    assert page.paths() == plain_merged(stacks)
    assert page.state() == {"o": "icicle", "s": "weight"}


def test_keyboard(show):
    page = show("oncpu")
    page.js("explorer.page.graph.canvas.focus()")
    page.press(Keys.ARROW_UP)
    assert page.text("#details").startswith("all \u2014 6,908 samples")
    page.press(Keys.ARROW_UP)
    assert page.text("#details").startswith("python3 \u2014")
    assert page.js("return document.querySelector('#live').textContent").startswith("python3")
    page.press(Keys.ARROW_LEFT)
    assert page.text("#details").startswith("node \u2014")
    page.press(Keys.ENTER)
    assert page.place("node")[2] == 1180
    page.press(Keys.ARROW_UP, Keys.ARROW_UP)
    assert page.text("#details").startswith("v8::internal::Execution::Call")
    page.press("0")
    assert page.state() == {}
    page.press("?")
    assert page.is_shown("#help") and "Sandwich of the frame" in page.text("#keys")
    page.press(Keys.ESCAPE)
    assert not page.is_shown("#help")


def test_deep_stacks_scroll(show):
    page = show("deep", height=500)
    scroll = "return explorer.page.graph.scroll.scrollTop"
    assert page.js(scroll) > 1500
    page.js("explorer.page.graph.scroll.scrollTop = 0")
    page.settle()
    page.hover("recurse_126")
    assert page.text("#details").startswith("recurse_126")
    top = page.js(scroll)
    page.click("recurse_124")
    assert page.js(scroll) == top
    page.resize(1000, 700)
    page.settle()
    assert page.place("recurse_124")[2] == 980


def test_roots_stay_in_sight_until_a_reader_leaves_them(show):
    page = show("deep", height=500)
    for height in 900, 450, 700:
        page.resize(1200, height)
        page.settle()
        assert height - 80 < page.place("all")[1] < height - 40, height
    page.js("explorer.page.graph.scroll.scrollTop = 300")
    page.settle()
    before = page.place("recurse_100")[1]
    page.resize(1200, 760)
    page.settle()
    assert page.place("recurse_100")[1] - before == 60


# Search.

def test_search_totals(show_stacks):
    stacks = make_stacks()
    page = show_stacks(stacks)
    whole = sum(weight for _, weight in stacks)
    for pattern in ("f1", "^f1$", "sys0|slow", "f[2-5]", "nothing"):
        page.press(Keys.ESCAPE)
        page.search(pattern)
        found = total_of(stacks, lambda n: re.search(pattern, n))
        names = {plain(n) for names, _ in stacks for n in names if re.search(pattern, plain(n))}
        text = f"matched {percent(found, whole)} of all, in {len(names)} function"
        assert page.text("#shown").startswith(text), pattern
        page.press(Keys.ESCAPE)
    page.search("^f1$")
    page.press(Keys.ESCAPE)
    assert page.state() == {} and page.text("#shown") == ""
    page.press("/", "f3")
    page.js("document.activeElement.blur()")
    page.calm()
    page.click("db-20/20")
    inside = [s for s in stacks if s[0][0] == "db-20/20"]
    here = total_of(inside, lambda n: "f3" in n)
    assert f"{percent(here, sum(w for _, w in inside))} here" in page.text("#shown")


def test_search_respects_case_on_request(show):
    page = show("oncpu")
    page.search("pydict")
    assert page.text("#matched") == "9.12%"
    page.one("#case").click()
    page.calm()
    assert page.text("#matched") == "0.00%" and page.state() == {"q": "pydict", "c": "1"}
    page.one("#case").click()
    assert page.state() == {"q": "pydict"}


def test_search_of_text_that_is_no_pattern(show):
    page = show("oncpu")
    page.search("Start(int")
    assert page.text("#matched") == "24.29%"


def test_next_match(show):
    page = show("oncpu")
    page.search("^(insertdict|gc_collect_main|py_scanstring)$")
    page.press(Keys.ENTER)
    assert page.text("#details").startswith("py_scanstring")
    page.js("document.activeElement.blur()")
    page.press("n")
    assert page.text("#details").startswith("insertdict")
    assert page.text("#matched").startswith("2/3")
    page.press("n", "n")
    assert page.text("#details").startswith("py_scanstring")
    page.press("N")
    assert page.text("#details").startswith("gc_collect_main")


def test_next_match_is_seen_however_narrow(show_stacks):
    stacks = [(("app", "main", f"g{i}"), 1000) for i in range(1200)] + [
        (("app", "main", "g700", "needle"), 1)]
    page = show_stacks(stacks)
    page.search("needle")
    page.press(Keys.ENTER)
    assert page.text("#details").startswith("needle")
    assert page.place("needle")[2] >= 1
    assert page.state()["z"]


# The sandwich.

def sandwich(stacks, name):
    """(callers, callees): paths from the function outwards, from its outermost frame in each
    stack."""
    callers, callees = [], []
    for names, weight in stacks:
        names = [plain(n) for n in names]
        if name in names:
            at = names.index(name)
            callers.append((tuple(reversed(names[:at])), weight))
            callees.append((tuple(names[at + 1:]), weight))
    return merged(callers), merged(callees)


@pytest.mark.parametrize("name", ["f0", "f5", "slow", "sys1_0"])
def test_sandwich(show_stacks, name):
    stacks = make_stacks()
    page = show_stacks(stacks)
    page.press("3")
    page.one("#table-filter input").send_keys(f"^{name}$")
    page.wait(lambda: len(page.rows()) == 1)
    page.one(".line").click()
    page.calm()
    callers, callees = sandwich(stacks, name)
    totals = lambda tree: {path: total for path, (total, _) in tree.items()}  # noqa: E731
    assert totals(page.paths(0)) == totals(callers)
    assert page.paths(1) == callees
    root = page.place(name, 0)
    assert root == page.place(name, 1)
    row = page.js("return explorer.page.graph.rowHeight")
    for pane, tree, towards in (0, callers, -1), (1, callees, 1):
        heaviest = max((total, path) for path, (total, _) in tree.items() if path.count(";") == 0)[1]
        if heaviest:
            assert page.place(heaviest, pane)[1] == root[1] + towards * row
    page.js("history.back()")
    page.calm()
    assert page.state() == {"v": "table", "n": f"^{name}$"}


def test_sandwich_of_the_selected_frame(show):
    page = show("oncpu")
    page.click("list_sort_impl")
    page.press("s")
    assert page.state()["v"] == "sandwich"
    assert page.place("list_sort_impl", 0)[2] == 1180
    assert page.place("_PyEval_EvalFrameDefault", 0)[1] < page.place("list_sort_impl", 0)[1]
    assert page.place("binarysort", 1)[1] > page.place("list_sort_impl", 0)[1]
    assert page.text("#details").startswith("list_sort_impl \u2014 540 samples, 7.82% of all")
    page.hover("main", 0)
    assert "of its callee" in page.text("#tooltip") and "Self" not in page.text("#tooltip")
    page.hover("binarysort", 1)
    assert page.text("#details").startswith("binarysort [inlined] \u2014 540 samples, 7.82% of all")
    page.click("main", 0)
    assert page.text("#path").split("\n")[-1] == "main"
    link = page.browser.current_url
    page.js("location.reload()")
    page.calm()
    assert page.browser.current_url == link and page.text("#path").split("\n")[-1] == "main"


def test_sandwich_without_a_choice(show):
    page = show("wall", height=900)
    page.button("#views button", "Sandwich").click()
    page.calm()
    assert page.place("heap_getnext", 0)[2] == 1180
    page.press("1")
    page.click("pg_pread")
    page.press("2")
    assert page.place("pg_pread", 0)[2] == 1180 and page.place("[disk]", 1)


# The table.

def functions(stacks):
    """{name: (self, total)}"""
    table = collections.defaultdict(lambda: [0, 0])
    for names, weight in stacks:
        names = [plain(n) for n in names]
        table[names[-1]][0] += weight
        for name in set(names):
            table[name][1] += weight
    return {name: tuple(values) for name, values in table.items()}


def test_table(show_stacks):
    stacks = make_stacks()
    page = show_stacks(stacks)
    page.press("3")
    expected = functions(stacks)
    assert page.total("self") == {name: own for name, (own, _) in expected.items()}
    assert page.total() == {name: total for name, (_, total) in expected.items()}
    whole = sum(weight for _, weight in stacks)
    names = lambda: [row[-1] for row in page.rows()]  # noqa: E731

    assert [expected[n][0] for n in names()] == sorted(
        (own for own, _ in expected.values()), reverse=True)[:len(names())]
    own, total = expected[names()[0]]
    assert page.rows()[0][0] == f"{own:,} samples{percent(own, whole)}"
    assert page.rows()[0][1] == f"{total:,} samples{percent(total, whole)}"
    page.button(".head button", "Total").click()
    page.calm()
    assert [expected[n][1] for n in names()] == sorted(
        (total for _, total in expected.values()), reverse=True)[:len(names())]
    page.button(".head button", "Function").click()
    page.calm()
    assert names() == sorted(expected)[:len(names())]
    page.one("#table-filter input").send_keys("sys")
    page.wait(lambda: page.text("#table-filter span") == "4")
    assert set(names()) == {n for n in expected if "sys" in n}


def test_table_keyboard(show):
    page = show("oncpu")
    page.press("3")
    page.js("document.querySelector('.rows').focus()")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert page.text(".line.active .name") == "Builtins_StringAdd"
    page.press(Keys.ENTER)
    assert page.state()["v"] == "sandwich" and page.place("Builtins_StringAdd")[2] == 1180


def test_table_of_many_functions_has_few_elements(show_stacks):
    page = show_stacks([(("app", f"function_{i}"), i + 1) for i in range(50000)])
    page.press("3")
    assert page.rows()[0][-1] == "function_49999"
    for top in (700_000, 1_299_000, 3000):
        page.js("document.querySelector('.rows').scrollTop = arguments[0]", top)
        page.settle()
        page.settle()
        first = 49999 - top // 26
        assert any(row[-1] == f"function_{first}" or row[-1] == "app" for row in page.rows()), top
        assert page.js("return document.querySelectorAll('.line').length") < 60


# Filters.

def test_filters(show_stacks):
    stacks = make_stacks()
    page = show_stacks(stacks)
    page.press("f")

    def expect(keep):
        kept = [(names, weight) for names, weight in stacks if keep(names)]
        assert page.paths() == plain_merged(kept)

    process = lambda names: re.sub(r"/\d+$", "", names[0])  # noqa: E731
    is_kernel = lambda names: names[-1].endswith("_[k]")  # noqa: E731
    box = lambda facet, text: next(  # noqa: E731
        g for g in page.browser.find_elements("css selector", f"[data-facet={facet}] .group")
        if g.find_element("css selector", ".text").text == text)

    weights = collections.Counter()
    for names, weight in stacks:
        weights[names[0]] += weight
    whole = sum(weights.values())
    for thread, weight in weights.items():
        share = box("thread", thread).find_element("css selector", ".share").text
        assert share == percent(weight, whole)

    box("process", "db-20").find_element("css selector", "input").click()
    page.calm()
    expect(lambda names: process(names) != "db-20")
    box("thread", "web-10/12").find_element("css selector", "input").click()
    page.calm()
    expect(lambda names: names[0] == "web-10/11")
    assert page.chips() == ["Process: not db-20", "Thread: not web-10/12"]
    assert page.text("#shown") == percent(weights["web-10/11"], whole) + " of the recording"
    page.one(".chip").click()
    page.calm()
    expect(lambda names: names[0] != "web-10/12")
    page.one(".chip").click()
    page.calm()
    assert page.state() == {} and page.chips() == []

    page.js("arguments[0].click()",
            box("module", "[kernel]").find_element("css selector", ".only"))
    page.calm()
    expect(is_kernel)
    page.button("[data-facet=module] .pick button", "Invert").click()
    page.calm()
    expect(lambda names: not is_kernel(names))
    page.browser.back()
    page.calm()
    expect(is_kernel)


def test_filters_of_reasons_and_states(show):
    page = show("wall", height=900)
    assert [b.text for b in page.browser.find_elements("css selector", "#states button")] == [
        "running", "runnable", "waiting", "idle"]
    page.button("#states button", "idle").click()
    page.calm()
    whole = page.shown()
    page.button("#states button", "waiting").click()
    page.button("#states button", "runnable").click()
    page.calm()
    running = page.shown()
    assert running == pytest.approx(12.3e9)
    page.button("#states button", "waiting").click()
    page.button("#states button", "running").click()
    page.calm()
    waiting = page.shown()
    page.button("#states button", "runnable").click()
    page.button("#states button", "waiting").click()
    page.calm()
    assert page.shown() + running + waiting == pytest.approx(whole)
    page.press("u")
    page.js("location.hash = ''")
    page.calm()
    page.press("f")
    group = next(g for g in page.browser.find_elements("css selector", "[data-facet=reason] .group")
                 if "[disk]" in g.text)
    page.js("arguments[0].click()", group.find_element("css selector", ".only"))
    page.calm()
    assert page.shown() == 3100e6
    assert page.chips() == ["Reason: [disk]"]


def test_kernel_and_inlined_off(show_stacks):
    stacks = make_stacks()
    page = show_stacks(stacks)

    def without(*suffixes):
        return plain_merged([(tuple(n for n in names if not n.endswith(suffixes)), weight)
                             for names, weight in stacks])

    page.press("k")
    assert page.paths() == without("_[k]")
    page.press("l")
    assert page.paths() == without("_[k]", "_[i]")
    page.press("k")
    assert page.paths() == without("_[i]")
    page.press("l")
    assert page.paths() == plain_merged(stacks) and page.state() == {}


def heaviest_path(stacks, depth):
    tree = merged([(names, weight) for names, weight in stacks])
    paths = [(total, path) for path, (total, _) in tree.items() if path.count(";") == depth - 1]
    return tuple(max(paths)[1].split(";"))


def focus_path(page, path):
    """Moves the keyboard focus to a frame, along its path from the root."""
    assert page.js("""
        const {tree, profile, graph} = explorer.page;
        let at = 0;
        for (const name of arguments[0])
            at = flame.children(tree, at).find((i) => data.nameOf(profile, tree.frame[i]) === name);
        if (at === undefined)
            return false;
        explorer.page.focus({pane: graph.panes[0], node: at});
        return true""", [plain(n) for n in path])


def test_hide_focus_and_take_out(show_stacks):
    stacks = make_stacks()
    page = show_stacks(stacks)
    path = heaviest_path(stacks, 3)

    focus_path(page, path)
    page.press("h")
    left = [s for s in stacks if s[0][:3] != path]
    assert page.paths() == plain_merged(left)
    assert page.chips() == [f"Without {path[-1]}"]
    page.press("u")
    assert page.paths() == plain_merged(stacks)

    focus_path(page, path)
    page.press("o")
    inside = [s for s in stacks if s[0][:3] == path]
    assert page.paths() == plain_merged(inside)
    page.press("u")

    focus_path(page, path)
    page.press("d")
    taken = [(tuple(n for n in names if n != path[-1]), weight) for names, weight in stacks]
    assert page.paths() == plain_merged(taken)

    # The hidden frame is merged from paths with and without the removed functions.
    second = heaviest_path(taken, 3)
    focus_path(page, second)
    page.press("h")
    rest = [s for s in taken if s[0][:3] != second]
    assert page.paths() == plain_merged(rest)
    assert page.chips() == [f"Taken out: {path[-1]}", f"Without {second[-1]}"]

    # The link says so, too.
    page.js("location.reload()")
    page.calm()
    assert page.paths() == plain_merged(rest)

    # Without the first step, the second still hides the same stacks.
    page.one(".chip").click()
    page.calm()
    kept = [s for s in stacks if tuple(n for n in s[0] if n != path[-1])[:3] != second]
    assert page.paths() == plain_merged(kept)
    page.browser.back()
    page.calm()
    assert page.paths() == plain_merged(rest)


def test_menu(show):
    page = show("oncpu")
    page.menu("scan_once", "Hide")
    assert page.chips() == ["Without scan_once"]
    assert page.total().get("scan_once") is None and page.total()["parse_json"] if \
        "parse_json" in page.total() else True
    page.menu("node", "Focus")
    assert page.chips() == ["Without scan_once", "Only node"]
    assert page.shown() == 1678
    for _ in range(2):
        page.one(".chip").click()
        page.calm()
    assert page.shown() == 6908


def test_zoom_stays_when_filters_change(show):
    page = show("oncpu")
    page.click("tcp_sendmsg")
    page.press("w")
    assert page.text("#path").endswith("tcp_sendmsg")
    page.press("k")
    assert page.text("#path").endswith("writev")


def test_filters_that_leave_nothing(show):
    page = show("oncpu")
    page.press("f")
    page.button("[data-facet=command] .pick button", "None").click()
    page.calm()
    assert page.text("#message") == "The filters leave nothing."
    page.one(".chip").click()
    page.calm()
    assert not page.is_shown("#message") and page.place("node")


# Links, copies, downloads.

def test_link_restores_everything(show, browser):
    page = show("oncpu")
    page.press("w", "i")
    page.click("python3")
    page.search("dict")
    page.js("document.activeElement.blur()")
    page.press("k")
    page.js("document.querySelector('#canvas').focus()")
    state, path = page.state(), page.text("#path")
    again = show("oncpu", link="#" + browser.current_url.split("#")[1])
    assert again.state() == state
    assert again.text("#path") == path
    assert again.text("#matched") == "9.12%"
    assert again.one("#query").get_attribute("value") == "dict"
    assert again.one("#kernel").get_attribute("aria-pressed") == "false"


@pytest.mark.parametrize("link", ["#z=99.zzz", "#x=h_k_3.aa_~d_q~o~~_", "#only-command=%ff", "#v=no",
                                  "#f=zzz&v=sandwich", "#t=nothing&v=table", "#q=(((&c=1", "#%%%"])
def test_meaningless_links_do_no_harm(show, link):
    page = show("oncpu", link=link)
    assert page.js("return explorer.page.tree.n") > 0


def test_copy(show):
    page = show("oncpu")
    page.js("""
        window.copied = [];
        const keep = (text) => { window.copied.push(text); return Promise.resolve(); };
        if (navigator.clipboard)
            navigator.clipboard.writeText = keep;
        else
            document.execCommand = () => keep(document.activeElement.value) && true;""")
    page.click("insertdict")
    page.press("c", "C", "y")
    name, stack, link = page.js("return window.copied")
    assert name == "insertdict"
    assert stack == ("python3;_start;__libc_start_main;main;Py_RunMain;_PyEval_EvalFrameDefault;"
                     "parse_json;scan_once;PyDict_SetItem;insertdict_[i]")
    assert link == page.browser.current_url


def test_download_is_what_is_shown(show_stacks):
    stacks = make_stacks()
    page = show_stacks(stacks)
    folded = """
        const pieces = [];
        exporter.writeFolded(explorer.page.profile, explorer.page.tree, (t) => pieces.push(t));
        return pieces.join("")"""
    expected = {";".join(names): weight for names, weight in stacks}
    read = lambda: {line.rpartition(" ")[0]: int(line.rpartition(" ")[2])  # noqa: E731
                    for line in page.js(folded).splitlines()}
    assert read() == expected
    page.press("k")
    assert not any("_[k]" in stack for stack in read())
    assert sum(read().values()) == sum(expected.values())
    page.one("#download").click()


# Comparisons.

def test_comparison(show):
    page = show("compare")
    page.hover("parse")
    tip = page.text("#tooltip").split("\n")
    assert tip[0] == "parse"
    assert "Total 27.97% \u2192 39.26% +11.29 pp (\u00d71.40)" in tip
    assert "Self 4.42% \u2192 10.33% +5.92 pp (\u00d72.34)" in tip
    assert "1,900 samples \u2192 2,660 samples" in tip
    page.hover("decode_utf8")
    assert "within noise" in page.text("#tooltip")
    page.hover("old_cache")
    assert "\u221215.31 pp, gone" in page.text("#tooltip")
    page.hover("arena_cache")
    assert "+11.07 pp, new" in page.text("#tooltip")

    def hue(name):
        x, y, width = page.place(name)
        red, green, blue = page.color(x + width - 4, y + 4)
        return "grey" if max(red, green, blue) - min(red, green, blue) < 16 else \
            "red" if red > blue else "blue"

    assert [hue(n) for n in ("parse", "render", "decode_utf8", "main", "arena_cache")] == [
        "red", "blue", "grey", "grey", "red"]


def test_comparison_widths(show):
    page = show("compare")
    both = {name: page.place(name)[2] for name in ("old_cache", "arena_cache", "parse")}
    page.button("#sides button", "New").click()
    page.calm()
    assert page.place("old_cache")[2] == 0
    assert page.place("parse")[2] == pytest.approx(1180 * 0.3926, abs=0.1)
    page.button("#sides button", "Base").click()
    page.calm()
    assert page.place("arena_cache")[2] == 0
    assert page.place("parse")[2] == pytest.approx(1180 * 0.2797, abs=0.1)
    page.press("b")
    assert {name: page.place(name)[2] for name in both} == both


def test_comparison_table(show):
    page = show("compare")
    page.press("3")
    rows = page.rows()
    assert rows[0] == ["11.78%", "0.00%", "\u221211.78 pp", "11.78%", "0.00%", "\u221211.78 pp",
                       "hash_lookup"]
    changes = [float(row[2].replace("\u2212", "-").split()[0]) for row in rows
               if row[2] != "\u2013"]
    grey = page.js("""
        return Array.from(document.querySelectorAll(".line")).sort((a, b) => a.index - b.index)
            .map((line) => line.children[2].firstChild.className === "none")""")
    assert grey == sorted(grey), "what is significant comes first"
    significant = [abs(c) for c, g in zip(changes, grey) if not g]
    assert significant == sorted(significant, reverse=True)
    swatches = page.js("""
        return Array.from(document.querySelectorAll(".swatch"), (s) => s.style.background)""")
    assert "" not in swatches and len(set(swatches)) > 3
    page.button(".head button", "Total: base").click()
    page.calm()
    assert page.rows()[0][3] == "100.00%"


def comparison_cases():
    """The cases that tests/unit/test_compare.c reads, too; pairs are [new, base] here."""
    for line in (ROOT / "tests" / "compare_cases.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            scale, kind, *numbers, expected = line.split()
            confidence, compared, *pairs = map(float, numbers)
            totals, variances, runs, weights, own = ([new, base] for base, new
                                                     in zip(pairs[::2], pairs[1::2]))
            header = {"normalized": scale == "shares", "isCount": kind == "samples",
                      "confidence": confidence, "compared": compared, "totals": totals,
                      "variances": variances, "runs": runs}
            yield header, weights, weights if kind == "samples" else own, expected


def test_comparison_agrees_with_the_program(show):
    """The page's test finds the same significant changes as compare/compare.c."""
    cases = list(comparison_cases())
    kinds = show("compare").js("""
        return arguments[0].map(([header, weights, variances]) =>
            compare.change(header, weights, variances, null).kind)""", cases)
    assert len(kinds) > 30 and kinds == [expected for *_, expected in cases]


def test_comparison_of_runs_judges_as_its_tables(browser, tmp_path):
    """Functions that occur in one place each, steady or noisy, hot or cold."""
    source, shares = random.Random(3), {f"f{i:02}": 3000 / (i + 1) ** 1.5 for i in range(30)}
    for i in range(8):
        lines = []
        for k, (name, share) in enumerate(shares.items()):
            mean = share * source.gauss(1, (k % 3) * 0.1) * (3 if k % 2 and i >= 4 else 1)
            lines.append(f"app;main;{name} {max(0, round(source.gauss(mean, mean ** 0.5)))}\n")
        (tmp_path / f"{i}.folded").write_text("".join(lines))
    for options in ([], ["--absolute"], ["--fail-over", "5"]):
        runs = [f"{i}.folded" for i in range(8)]
        command = [BPFFLAME, "diff", *runs[:4], "--", *runs[4:], *options, "-o", "x.html", "--json"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        table = {row["name"]: [row["self"]["change"], row["total"]["change"]]
                 for row in json.loads(done.stdout)["functions"]}
        page = Explorer(browser, tmp_path / "x.html")
        shown = page.js("""
            const {profile, tree} = explorer.page, figure = new figures.Figures(profile), all = {};
            for (let i = 0; i < tree.n; i++)
                if (tree.frame[i] >= 0)
                    all[profile.frames.name[tree.frame[i]]] = ["self", "total"].map((what) =>
                        figure.change(tree, i, what).kind);
            return all""")
        assert {name: shown[name] for name in table} == table, options
        assert page.errors() == []
        kinds = [kind for kind, _ in table.values()]
        assert 2 <= kinds.count("grew") <= 28, kinds


# Looks.

def test_wall_distinguishes_its_parts(show):
    page = show("wall", height=960)
    page.hover("copy_page")
    tip = page.text("#tooltip")
    assert "Running 1.25 s 100.00% of it" in tip and "kernel" in tip
    page.hover("PQsendQuery")
    assert "waker" in page.text("#tooltip")

    def color(name):
        x, y, width = page.place(name)
        return page.color(x + width - 3, y + 3)

    red, green, blue = color("heap_getnext")
    assert red > blue
    red, green, blue = color("folio_wait_bit")
    assert blue > red
    red, green, blue = color("bio_endio")
    assert min(green, blue) > red


def test_elided_frames_are_seen(show):
    page = show("large", "max_frames=3000")
    assert "narrow frames" in page.text("#facts")
    assert "elided" in page.text("#legend")
    page.js("""
        const {tree, graph, focus} = explorer.page;
        let widest = -1;
        for (let i = 0; i < tree.n; i++)
            if (tree.frame[i] === flame.ELIDED && (widest < 0 || tree.width[i] > tree.width[widest]))
                widest = i;
        focus({pane: graph.panes[0], node: widest})""")
    assert page.text("#details").startswith("[elided] \u2014")
    page.press(Keys.ENTER)
    page.hover("[elided]")
    assert re.search(r"[\d,]+ frames? too narrow to be kept", page.text("#tooltip"))


def test_dark(show):
    page = show("oncpu", dark=True)
    assert page.js("return document.documentElement.dataset.theme") == "dark"
    assert page.color(30, 175) == (0x15, 0x17, 0x1c)
    for selector in ("#title", "#facts", "#legend", "#views button", "#filters"):
        element = page.one(selector)
        assert contrast(page.style(element, "color"), "#1a1d23") > 4.5, selector
    page.press("m")
    assert page.color(30, 175) == (255, 255, 255)
    for selector in ("#title", "#facts", "#legend", "#views button", "#filters"):
        assert contrast(page.style(page.one(selector), "color"), "#f7f8fa") > 4.5, selector
    assert page.state() == {}


@pytest.mark.parametrize("kind", ["oncpu", "wall", "compare"])
def test_phone(show, kind):
    page = show(kind, width=360, height=740, mobile=True)
    heights = set()
    for keys in ("", "3", "2", "1"):
        page.press(*keys)
        assert page.js("return document.documentElement.scrollWidth") <= 360
        assert page.js("return document.body.scrollHeight") <= 740
        outside = page.js("""
            return Array.from(document.querySelectorAll(
                "#bar *, #main > *, #status, #search, .head, .line")).filter((e) => {
                const box = e.getBoundingClientRect();
                return box.width && (box.left < -1 || box.right > 361);
            }).map((e) => e.id || e.className)""")
        assert outside == []
        heights.add(page.js("return document.querySelector('#main').getBoundingClientRect().top"))
    page.press("f")
    assert page.is_shown("#side")
    page.press("f")
    page.click("main")
    heights.add(page.js("return document.querySelector('#main').getBoundingClientRect().top"))
    assert len(heights) == 1, "the layout jumps"
    assert page.is_shown("#actions button")


def test_layout_does_not_jump(show):
    page = show("oncpu")
    boxes = set()
    box = lambda: boxes.add(tuple(page.js("""
        const box = document.querySelector("#scroll").getBoundingClientRect();
        return [box.top, box.bottom, box.width]""")))  # noqa: E731
    box()
    page.hover("main")
    box()
    page.click("parse_json")
    box()
    page.search("dict")
    box()
    page.js("document.activeElement.blur()")
    page.press("h")
    box()
    assert len(boxes) == 1


def test_hostile_names_do_nothing(show):
    page = show("hostile")
    assert page.js("return typeof window.hacked") == "undefined"
    elements = page.js("return document.querySelectorAll('*').length")
    names = page.js("return explorer.page.profile.frames.name")
    assert "<script>alert(1)</script>" in names and "new line tab return" in names
    assert not any(ord(c) < 32 or c in "\u202e\u2028" for name in names for c in name)
    for name in ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</title></svg>",
                 "right-to-left \ufffd evil", "a;b;c"):
        page.hover(name)
        assert page.text("#details").startswith(name)
        assert page.text("#tooltip").startswith(name)
        page.click(name)
        page.menu(name, "Hide")
        assert page.chips() == [f"Without {name}"]
        page.press("u", "0")
    page.search("<script>")
    page.js("document.activeElement.blur()")
    page.press("3", "f")
    assert page.js("return document.querySelectorAll('img, iframe').length") == 0
    assert page.js("return document.querySelectorAll('script').length") == 3
    assert page.js("return typeof window.hacked") == "undefined"
    assert elements < 400


def test_long_names(show):
    page = show("long")
    longest = page.js("return explorer.page.profile.frames.name.find((n) => n.length > 9000)")
    page.hover(longest)
    assert page.js("return document.querySelector('#tooltip').offsetHeight") < 300
    page.click(longest)
    assert page.js("return document.documentElement.scrollWidth") <= 1200
    assert len(page.browser.current_url) < 400


def test_empty(show):
    page = show("empty")
    assert page.text("#message") == "Nothing was recorded."
    page.press("/", "x", Keys.ENTER, Keys.ESCAPE, Keys.ESCAPE, "2", "3", "1", "k", "f")


def test_damaged_file(browser, tmp_path):
    text = subprocess.run([SAMPLE, "oncpu"], stdout=subprocess.PIPE, check=True).stdout.decode()
    at = text.index('id="data">') + 200
    path = tmp_path / "damaged.html"
    path.write_text(text[:at] + "AAAA" + text[at + 4:])
    page = Page(browser, path)
    page.wait(lambda: page.text("#message").startswith("This file is damaged"))
    browser.get_log("browser")


def test_accessible_names(show):
    page = show("wall")
    nameless = page.js("""
        return Array.from(document.querySelectorAll("button, input, canvas")).filter((e) =>
            !e.innerText && !e.hasAttribute("aria-hidden") && !e.getAttribute("aria-label") && !(e.labels && e.labels.length) &&
            e.offsetWidth).map((e) => e.outerHTML)""")
    assert nameless == []
    assert page.js("return document.querySelector('#canvas').getAttribute('role')") == "application"
    assert page.js("return document.querySelectorAll('[id]').length") == page.js(
        "return new Set(Array.from(document.querySelectorAll('[id]'), (e) => e.id)).size")


IDLE = """[idle];db;loop;poll;[poll] 9000
db;query;lock;[futex] 600
db;query;work;[runqueue] 300
web;serve;read;[network] 100
"""


def test_idle_waits_are_shown_on_demand(browser, tmp_path):
    """The page contains them, but starts without them; a link remembers that they were requested."""
    (tmp_path / "a.folded").write_text(IDLE)
    subprocess.run([BPFFLAME, "render", "--no-idle", "a.folded", "-o", "a.html"], cwd=tmp_path, check=True)
    page = Explorer(browser, tmp_path / "a.html")
    assert page.shown() == 1000e3 and page.chips() == ["State: not idle"]
    assert "9.00 ms of idle waits not shown" in page.text("#facts")
    page.button("#states button", "idle").click()
    page.calm()
    assert page.shown() == 10000e3 and page.chips() == []
    link = page.js("return location.hash")
    assert link
    page.button("#states button", "waiting").click()
    page.calm()
    assert page.shown() == 9300e3
    again = Explorer(browser, tmp_path / "a.html", link=link)
    assert again.shown() == 10000e3
    again.button("#states button", "idle").click()
    again.calm()
    assert again.shown() == 1000e3 and again.js("return location.hash") == ""
    assert again.errors() == []
    # Without scripts there is no button.
    static = re.search(r'<main id="static">.*?</table>', (tmp_path / "a.html").read_text(), re.S)[0]
    assert "query" in static and ">loop<" not in static
