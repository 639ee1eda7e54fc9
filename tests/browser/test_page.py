# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of the daemon: its numbers are those of `query` over the same store."""
import re
import shlex
import time

import pytest

pytest.importorskip("browser")
from browser import ActionChains, Keys  # noqa: E402
from daemon_page import HOURS, DaemonPage, Listening, at, moment, served, shares_of  # noqa: E402, F401
from test_axe import violations  # noqa: E402

HOUR = 3600000
TOKEN = "a-token-of-some-length"


@pytest.fixture
def show(browser, served):  # noqa: F811
    pages = []

    def make(link="", **options):
        pages.append(DaemonPage(browser, served.daemon, link, **options))
        return pages[-1]

    yield make
    assert [entry for page in pages[-1:] for entry in page.errors()] == []


def hour_of(served, hours=2):  # noqa: F811
    """The link to an hour before the gap, and the hour."""
    begin = (served.end - hours * 3600) * 1000
    return f"#from={at(begin)}&to={at(begin + HOUR)}", [begin, begin + HOUR]


WHATS = {"running": lambda row: row["running_seconds"],
         "waiting": lambda row: row["waiting_seconds"] - row["idle_seconds"]}


@pytest.mark.parametrize("what, by", [("running", "comm"), ("waiting", "unit"), ("running", "cgroup"), ("waiting", "cause")])
def test_shares(show, served, what, by):  # noqa: F811
    """Each button stacks the time line by another group."""
    link, span = hour_of(served)
    page = show(link)
    page.click(f"[data-set='by={by}']")
    page.click(f"[data-set='what={what}']")
    rows = served.rows("--series", "--by", by, "--from", at(span[0]), "--to", at(span[1]), "--state", what)
    expected = shares_of(rows, WHATS[what])
    page.wait(lambda: page.shares().keys() == expected.keys())
    assert page.shares() == pytest.approx(expected, abs=0.06)
    drawn = page.js("return Array.from(document.querySelectorAll('#chart .group'), (path) => path.dataset.group)")
    assert set(drawn) == set(expected)


def test_steps_at_the_ends(show, served):  # noqa: F811
    """The store begins and ends within a column: what is there counts whole."""
    page = show()
    page.click("[data-length='all']")
    span = page.view()
    rows = served.rows("--series", "--from", at(span[0]), "--to", at(span[1]), "--state", "running")
    expected = page.js("return pageText.secondsOf(arguments[0])", sum(row["running_seconds"] for row in rows))
    page.wait(lambda: page.js("return document.getElementById('groups-total').textContent") == expected)


def test_first_view(show, served):  # noqa: F811
    """Without a link: the last hour, with absolute times in the link; the gap in it is hatched."""
    page = show()
    begin, end = page.view()
    assert end - begin == HOUR and 0 <= end / 1000 - served.end < 7200
    assert len(page.browser.find_elements("css selector", "#chart .gap")) >= 1
    reason = next(row["gap"] for row in served.rows("--list") if "gap" in row)
    assert page.js("return document.querySelector('#chart .gap-mark title').textContent").startswith(reason)
    page.click("[data-length='all']")
    assert page.view()[1] - page.view()[0] > 25 * HOUR
    pressed = "return document.querySelector(\"[data-length='all']\").getAttribute('aria-pressed')"
    assert page.js(pressed) == "true"
    assert show("#from=2020-01-01T00:00:00Z&to=2020-02-01T00:00:00Z").js(pressed) == "false"  # long, and elsewhere
    page = show()
    page.click("[data-length='all']")
    page.press("+")
    assert page.view()[1] - page.view()[0] == pytest.approx(13 * HOUR, abs=HOUR)
    page.drag(0.2, 0.25, "#whole")
    assert page.view()[1] - page.view()[0] == pytest.approx(26 * HOUR * 0.05, rel=0.05)


def test_marks(show, served):  # noqa: F811
    """Losses and changes of the rate, as `query --marks` has it."""
    begin = (served.end - 1800 - HOURS * 3600 + 17 * 3600) * 1000
    page = show(f"#from={at(begin)}&to={at(begin + 4 * HOUR)}")
    step = page.js("return pageChart.series.step / 1000")
    span = page.js("return [pageChart.series.begin, pageChart.series.begin + pageChart.series.n * pageChart.series.step]")
    rows = [row for row in served.rows("--series", "--marks", "--step", f"{step}s", "--from", at(span[0]), "--to", at(span[1]))
            if "group" not in row]
    titles = page.js("return ['rate', 'loss'].map((kind) => Array.from(document.querySelectorAll('.' + kind + '-mark title'), "
                     "(title) => title.textContent))")
    times = [page.js("return arguments[0].map((start) => pageText.timeOf(Date.parse(start)))", [row["start"] for row in rows[i:] if key in row])
             for key, i in (("hertz", 1), ("lost", 0))]
    rates = [f"from here on {row['hertz']:g} Hz" + (": " + row["saving"] if "saving" in row else "") for row in rows[1:] if "hertz" in row]
    assert len(rates) == 3 and titles[0] == [f"{text}, {time_}" for text, time_ in zip(rates, times[0])]
    assert len(times[1]) >= 1 and titles[1] == [f"12 samples lost, {time_}" for time_ in times[1]]
    assert page.text("#marks") == f"{12 * len(times[1])} samples lost \u00b7 the rate changed 2 times"
    assert page.js("return Array.from(document.querySelectorAll('.rate-text'), (text) => text.textContent)") == ["9.5 Hz", "19 Hz"]


def test_brush(show, served):  # noqa: F811
    """A range becomes a flame graph; its edges can be dragged and moved by keys."""
    page = show(hour_of(served)[0])
    page.drag(0.25, 0.5)
    begin, end = page.span()
    assert end - begin == pytest.approx(HOUR / 4, rel=0.02)
    assert sum(page.graph_seconds()) == pytest.approx(served.seconds((begin, end), "--state", "running"), abs=1e-3)
    box = page.js("const b = document.querySelectorAll('.band.range .edge')[1].getBoundingClientRect(), "
                  "t = document.querySelector('#time').getBoundingClientRect(); "
                  "return (b.left + b.width / 2 - t.left) / t.width")
    page.drag(box, 0.75)
    assert page.span()[0] == begin and page.span()[1] - begin == pytest.approx(HOUR / 2, rel=0.02)
    page.js("document.querySelector('.band.range .edge').focus()")
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.calm()
    assert page.span()[0] == begin + 2 * 30000
    assert sum(page.graph_seconds()) == pytest.approx(served.seconds(page.span(), "--state", "running"), abs=1e-3)


def test_link(show, served):  # noqa: F811
    """A link holds what is seen, the flame graph's view as well; back and forward walk through it."""
    page = show(hour_of(served)[0])
    page.click("[data-set='what=waiting']")
    page.drag(0.1, 0.4)
    page.click("#groups button")
    chosen = page.state["comm"]
    page.explorer("explorer.page.set({v: 'table'})")
    page.wait(lambda: "x" in page.state)
    link, span = page.state, page.span()
    expected = served.seconds(span, "--state", "waiting", "--comm", chosen)
    for _ in range(3):
        page.browser.back()
        page.settle()
    page.calm()
    assert "range" not in page.state and "comm" not in page.state and page.state["what"] == "waiting"
    for _ in range(3):
        page.browser.forward()
        page.settle()
    page.calm()
    assert page.state == link
    again = show(page.browser.current_url[page.browser.current_url.index("#"):])
    assert sum(again.graph_seconds()) == pytest.approx(expected, abs=1e-3)
    assert again.explorer("return explorer.page.state.v") == "table"
    again.click(".chip")
    assert "comm" not in again.state
    assert sum(again.graph_seconds()) == pytest.approx(served.seconds(span, "--state", "waiting"), abs=1e-3)


def test_compare(show, served):  # noqa: F811
    """A second range, or one a day before, is a base that the first is compared with."""
    page = show(hour_of(served)[0])
    page.drag(0.6, 0.9)
    page.drag(0.1, 0.4, shift=True)
    sums = [served.seconds(page.span(key), "--state", "running") for key in ("range", "base")]
    lengths = [(page.span(key)[1] - page.span(key)[0]) / 1000 for key in ("range", "base")]
    expected = [sum_ / length for sum_, length in zip(sums, lengths)]
    assert page.graph_seconds() == pytest.approx(expected, rel=1e-3)
    page.wait(lambda: "beyond chance" in page.text("#change"))
    page.click("#yesterday")
    assert page.span("base") == [moment - 24 * HOUR for moment in page.span()]
    page.click("#base-clear")
    assert "base" not in page.state and not page.is_shown("#base-line")
    page.click("#around")
    assert page.span("base")[1] == page.span()[0]


def test_function_over_time(show, served):  # noqa: F811
    """From a frame of the graph: over all that is kept, the share of each step, and since when."""
    link, span = hour_of(served)
    page = show(link)
    page.drag(0.2, 0.6)
    chosen = page.span()
    page.explorer("""
        const {page} = explorer, frame = page.profile.frames.name.findIndex((name) => name === "module_35::function_40");
        page.actionsFor({frame, node: -1}).find(({title}) => title === "Over time").run()""")
    page.wait(lambda: "over" in page.state)
    page.calm()
    assert page.span() == chosen and page.view()[1] - page.view()[0] > 25 * HOUR
    page.wait(lambda: "most" in page.text("#over-text"))
    words = ["--series", "--step", "30m", "--state", "running", "--from", at(page.view()[0]), "--to", at(page.view()[1])]
    all_ = {row["start"]: row["running_seconds"] for row in served.rows(*words)}
    own = {row["start"]: row["running_seconds"] for row in served.rows(*words, "--function", "^module_35::function_40$")}
    most = max((own.get(start, 0) / all_[start], start) for start in all_)
    text = page.text("#over-text")
    assert float(re.search(r"most ([\d.]+)", text).group(1)) == pytest.approx(100 * most[0], abs=0.06)
    assert page.js("return pageText.timeOf(Date.parse(arguments[0]))", most[1]) in text
    page.click("#over-close")
    assert "over" not in page.state


def test_search(show, served):  # noqa: F811
    """Counts of functions and processes; a click filters."""
    link, span = hour_of(served)
    page = show(link)
    page.press("/", "sample-3|module_3[0-9]::function_40$")
    page.wait(lambda: "q" in page.state)
    page.calm()
    found = served.rows("--search", "sample-3|module_3[0-9]::function_40$", "--state", "running", "--from", at(span[0]),
                        "--to", at(span[1]))[0]
    captions = page.js("return Array.from(document.querySelectorAll('#search-found caption'), (c) => c.innerText)")
    assert captions == [f"{len(found['processes'])} processes", f"{len(found['functions'])} functions"]
    page.one("#search-found .do button").click()
    page.calm()
    assert page.state["pid"] == str(found["processes"][0]["pid"])
    assert sum(page.graph_seconds()) == pytest.approx(found["processes"][0]["total_seconds"], abs=1e-3)


def test_groups_of_the_graph(show, served):  # noqa: F811
    """Stacks begin with what is asked for, in that order."""
    page = show(hour_of(served)[0] + "&group=unit,comm")
    paths = page.explorer("""
        const {tree, profile} = explorer.page, found = [];
        for (let i = 1; i < tree.n; i = tree.end[i])
            found.push([data.nameOf(profile, tree.frame[i]), data.nameOf(profile, tree.frame[i + 1])]);
        return found""")
    assert sorted(paths) == [[f"sample-{i}.service", f"sample-{i}"] for i in range(8)]


def test_got_worse(show, served):  # noqa: F811
    """What grew since the day before, as `query --worse` has it."""
    link, span = hour_of(served, 2)
    page = show(link)
    page.click("[data-set='show=worse']")
    found = served.rows("--worse", "--state", "running", "--from", at(span[0]), "--to", at(span[1]))[0]
    names = page.js("return Array.from(document.querySelectorAll('#worse-found tbody th'), (cell) => cell.title)")
    assert names == [row["name"] for key in ("self", "with_calls") for row in found[key][:50]]
    assert "beyond chance" in page.text("#worse-found .note")


def test_heat_map(show, served):  # noqa: F811
    """A brush over cells takes these rows of each column; the graph adds them up."""
    link, span = hour_of(served)
    page = show(link + "&show=heat")
    rows = served.rows("--series", "--step", "10s", "--from", at(span[0]), "--to", at(span[1]))
    values = page.js("return [pageHeat.map.begin, Array.from(pageHeat.map.values)]")
    assert values[1][round((span[0] - values[0]) / 10000):][:len(rows)] == pytest.approx(
        [row["running_seconds"] for row in rows], abs=1e-6)
    cells = page.js("""const map = pageHeat.map, box = document.querySelector("#heat-canvas").getBoundingClientRect();
        const cell = (box.width - 46) / map.columns;
        return [[1, 6], [3, 20]].map(([column, row]) => [Math.round(box.left + 46 + (column + 0.5) * cell),
            Math.round(box.top + (row + 0.5) * 280 / map.rows)])""")
    chain = ActionChains(page.browser)
    pointer = chain.w3c_actions.pointer_action
    pointer.move_to_location(*cells[0])
    pointer.pointer_down()
    pointer.move_to_location(*cells[1])
    pointer.pointer_up()
    chain.perform()
    page.calm()
    ranges = [[moment(part) for part in text.split("..")] for text in page.state["range"].split(",")]
    assert ranges == [[values[0] + column * 600000 + 60000, values[0] + column * 600000 + 210000] for column in (1, 2, 3)]
    expected = sum(served.seconds(range_, "--state", "running") for range_ in ranges)
    assert sum(page.graph_seconds()) == pytest.approx(expected, abs=1e-3)
    page.drag(0.5, 0.6, "#heat-canvas", shift=True)
    bases = [[moment(part) for part in text.split("..")] for text in page.state["base"].split(",")]
    assert len(bases) > 1 and "3 ranges" in page.text("#range-text") and f"{len(bases)} ranges" in page.text("#base-text")
    rates = [sum(served.seconds(range_, "--state", "running") for range_ in list_) / sum(to - from_ for from_, to in list_) * 1000
             for list_ in (ranges, bases)]
    assert page.graph_seconds() == pytest.approx(rates, rel=1e-3)
    sums = shares_of([row for range_ in ranges for row in served.rows("--series", "--by", "comm", "--step", "10s", "--state", "running",
                                                                      "--from", at(range_[0]), "--to", at(range_[1]))],
                     WHATS["running"])
    assert page.shares() == pytest.approx(sums, abs=0.06)
    page.press("c")
    page.js("document.querySelector('#heat-canvas').focus()")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ENTER)
    page.calm()
    assert page.span() == [values[0] + 610000, values[0] + 620000]


def test_downloads(show, served, tmp_path):  # noqa: F811
    """Each format, and the command line that gives the same."""
    page = show(hour_of(served)[0] + "&comm=sample-3")
    page.browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.press("s")
    words = shlex.split(page.text("#command"))
    assert words[:2] == ["bpfflame", "query"] and words[-2:] == ["-o", "profile.html"]
    for format_, ending in ("folded", "folded"), ("svg", "svg"), ("pprof", "pb.gz"):
        next(b for b in page.browser.find_elements("css selector", "#formats button") if b.text == format_).click()
        page.wait(lambda: list(tmp_path.glob("*." + ending)), 10)  # noqa: B023
        page.wait(lambda: page.one("#save").get_attribute("aria-busy") == "false")
    expected = served.query(*words[2:-2], "-o", "-")
    assert next(tmp_path.glob("*.folded")).read_text() == expected and expected


@pytest.fixture(scope="module")
def young(tmp_path_factory):
    """A daemon that has just begun, with a token."""
    folder = tmp_path_factory.mktemp("young")
    path = folder / "token"
    path.write_text(TOKEN)
    path.chmod(0o600)
    with Listening(folder, "--token-file", path) as daemon:
        daemon.windows(1)
        yield daemon
        daemon.stop()


def test_token(browser, young):
    """The page comes without the token and holds nothing; it asks for the token, and keeps it out of the address."""
    assert young.ask("/")[0] == 200 and young.ask("/api/list")[0] == 401
    assert young.ask("/", Host="evil.example")[0] == 403
    page = DaemonPage(browser, young, waits=False)
    page.wait(lambda: page.is_shown("#token-dialog"))
    page.press("not-this-token-at-all", Keys.ENTER)
    page.wait(lambda: page.is_shown("#token-dialog"))
    page.press(TOKEN, Keys.ENTER)
    page.wait(lambda: "from" in page.state and page.js("return document.querySelectorAll('#groups tr').length"))
    assert not page.is_shown("#token-dialog")
    browser.execute_script("sessionStorage.clear()")
    again = DaemonPage(browser, young, "#token=" + TOKEN)
    assert "from" in again.state and "token" not in browser.current_url
    page.errors() # those of 401


def test_live(browser, young):
    """The last window follows the recording, until something else is chosen; works with a few windows, too."""
    page = DaemonPage(browser, young, "#token=" + TOKEN)
    # What there is fills the view, in columns of a few windows.
    store = page.js("return [pageStore.from, pageStore.to]")
    assert page.view() == pytest.approx([max(store[0], store[1] - HOUR), store[1]], abs=1500)
    assert page.js("return pageChart.series.step") <= max(1000, (store[1] - store[0]) / 18)
    page.click("#live")
    page.wait(lambda: "range" in page.state)
    first = page.span()
    page.wait(lambda: page.span()[1] > first[1], 30)
    assert page.span()[1] - page.span()[0] == 1000 and page.span()[1] == page.view()[1]
    assert moment(page.state["to"]) / 1000 > time.time() - 20
    page.press("n")
    page.calm()
    assert page.one("#live").get_attribute("aria-pressed") == "false"
    assert page.errors() == []


@pytest.mark.parametrize("dark, width", [(True, 360), (False, 1400)])
def test_axe(show, served, dark, width):  # noqa: F811
    """No view breaks a rule of axe-core, or is wider than its window."""
    page = show(hour_of(served)[0], width=width, dark=dark)
    page.press("n")
    page.calm()
    for key in "1", "2", "3", "s", "/", "?":
        page.js("document.activeElement.blur()")
        page.press(key)
        page.calm()
        assert violations(page) == [], key
        assert page.js("return document.documentElement.scrollWidth") == width
