# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a folder of sets in a real browser: build/sample_sets makes it from a list made
here."""
import datetime
import json
import os
import pathlib
import subprocess

import pytest

pytest.importorskip("browser")
from browser import ROOT, ActionChains, Page, contrast  # noqa: E402

SAMPLE = pathlib.Path(os.environ.get("SAMPLE_SETS", ROOT / "build" / "sample_sets"))
START = 1795266301.25
HOSTILE = """</script><img src=x onerror="document.title='got'"><!-- & 'x' \u202e"""


def made(i, mode="oncpu", event="cycles", every=60.0, at=START, **facts):
    start = at + i * every
    stamp = datetime.datetime.fromtimestamp(start, datetime.timezone.utc)
    name = f"{stamp:%Y%m%dT%H%M%SZ}-{mode}"
    unit = "samples" if mode == "oncpu" else "microseconds"
    entry = {
        "bpfflame": "0.1.0", "set": name, "mode": mode, "event": event, "frequency_hz": 99,
        "start_unix_seconds": start, "duration_seconds": every, "windows": 1,
        "samples": 1000 + i, "unit": unit, "total": 1000 + i, "complete_percent": 99.5,
        "loss_percent": 0, "losses": {},
        "functions": [{"name": f"function_{i % 7}", "module": "lib.so", "self": 500 + i // 2},
                      {"name": "other_[k]", "module": "[kernel]", "self": 100}],
        "commands": [{"name": "postgres", "total": 600 + i}, {"name": "redis <b>", "total": 250}],
        "files": [{"name": name + ".svg", "bytes": 200000},
                  {"name": name + ".folded", "bytes": 50000}],
        "host": "build-7", "kernel": "6.12.9", "command_line": "bpfflame -a --every 60"}
    entry.update(facts)
    return entry


@pytest.fixture
def show(browser, tmp_path):
    """A page of these sets; fails at the end if the browser logged anything."""
    pages = []

    def opened(entries, **options):
        (tmp_path / "index.jsonl").write_text("".join(json.dumps(e) + "\n" for e in entries))
        text = subprocess.run([SAMPLE, tmp_path], stdout=subprocess.PIPE, check=True).stdout
        (tmp_path / "index.html").write_bytes(text)
        pages.append(Page(browser, tmp_path / "index.html", **options))
        pages[-1].settle()
        return pages[-1]

    yield opened
    for page in pages[-1:]:
        assert page.js("return performance.getEntriesByType('resource').length") == 0
        assert page.errors() == []


def rows(page):
    return page.js("return [...document.querySelectorAll('#rows tr')].map(row => "
                   "[...row.cells].map(cell => cell.innerText))")


def check_boxes(page):
    return page.js("return [...document.querySelectorAll('#rows input')]")


def chart(page, series=0):
    return page.js(f"return document.querySelectorAll('.chart')[{series}]")


def click_at(page, target, fraction, until=None):
    """Clicks at a fraction of an element's width, or drags from there to another."""
    width = page.js("return arguments[0].clientWidth", target)
    place = int(width * (fraction - 0.5))
    actions = ActionChains(page.browser).move_to_element_with_offset(target, place, 10)
    if until is None:
        actions.click()
    else:
        actions.click_and_hold().move_by_offset(int(width * (until - fraction) / 2), 0)
        actions.move_by_offset(int(width * (until - fraction) / 2), 0).release()
    actions.perform()
    page.settle()


def test_no_sets(show):
    page = show([])
    assert page.is_shown("#none") and not page.is_shown("#list")
    assert page.text("#facts") == "0 recordings"


def test_table(show):
    page = show([made(i) for i in range(5)])
    assert page.text("#facts") == ("build-7 \u00b7 5 recordings \u00b7 1.25 MB \u00b7 "
                                   "2026-11-21 13:05:01 \u2013 2026-11-21 13:10:01 UTC")
    got = rows(page)
    assert [row[1] for row in got] == [f"2026-11-21 13:0{9 - i}:01" for i in range(5)]
    assert got[0][2:6] == ["60 s", "1,004", "99.5 %", "none"]
    assert got[0][6].split() == ["postgres", "60", "%", "\u00b7", "redis", "<b>", "25", "%",
                                 "50.0", "%", "function_4", "lib.so", "10.0", "%", "other_[k]",
                                 "[kernel]"]
    links = page.js("return [...document.querySelectorAll('#rows tr:first-child a')].map(a => "
                    "[a.textContent, a.getAttribute('href')])")
    assert links == [["svg", "20261121T130901Z-oncpu.svg"],
                     ["folded", "20261121T130901Z-oncpu.folded"]]
    # Each bar has both commands and the rest.
    assert len(page.js("return [...document.querySelectorAll('.chart .bar')]")) == 5 * 3


def test_losses_and_joined_windows(show):
    page = show([made(0), made(1, losses={"map_full": 1234, "records": 2}, loss_percent=1.5,
                              windows=3), made(2)])
    got = rows(page)
    assert got[1][5] == "1.5 %: 1,234 map full, 2 records"
    assert "3 windows" in got[1][1]
    assert len(page.js("return [...document.querySelectorAll('.chart path.lost')]")) == 1
    assert "1 with losses" in page.text(".series-facts")


def test_series_are_apart(show):
    page = show([made(i) for i in range(4)] + [made(i, "offcpu", "hook") for i in range(2, 6)] +
                [made(i, event="page-faults", unit="events", total=10 ** 9 + i) for i in range(3)])
    heads = page.js("return [...document.querySelectorAll('.series-name')].map(b => b.innerText)")
    assert heads == ["Off-CPU \u00b7 hook", "On-CPU \u00b7 cycles", "On-CPU \u00b7 page-faults"]
    assert len(rows(page)) == 4 and page.text("#total-head") == "Total time"
    assert rows(page)[0][3] == "1.01 ms"
    page.click_on(page.js("return document.querySelectorAll('.series-name')[2]"))
    assert len(rows(page)) == 3 and page.text("#total-head") == "Events"
    assert rows(page)[0][3] == "1,000,000,002"


def test_names_are_text(show):
    name = "20261121T130501Z-" + "a b#?%&'\"<"
    page = show([made(0, event=HOSTILE, host=HOSTILE, command_line=HOSTILE, losses={HOSTILE: 3},
                      functions=[{"name": HOSTILE, "module": HOSTILE, "self": 1}],
                      files=[{"name": name + ".svg", "bytes": 1},
                             {"name": name + ".folded", "bytes": 1}]), made(1, event=HOSTILE)])
    assert page.browser.title.endswith("bpfflame snapshots")
    assert page.js("return document.querySelectorAll('img').length") == 0
    assert "</script>" in rows(page)[1][6]
    href = page.js("return document.querySelectorAll('#rows a')[2].href")
    assert href.endswith("/20261121T130501Z-a%20b%23%3F%25%26'%22%3C.svg")
    for box in check_boxes(page):
        page.click_on(box)
    command = page.text("#command")
    assert "'20261121T130501Z-a b#?%&'\\''\"<.folded'" in command


def test_comparing_two(show):
    page = show([made(i) for i in range(5)])
    assert not page.is_shown("#compare")
    page.click_on(check_boxes(page)[0])
    assert page.is_shown("#compare") and not page.is_shown("#command")
    page.click_on(check_boxes(page)[3])
    assert page.text("#command") == ("bpfflame diff 20261121T130601Z-oncpu.folded "
                                     "20261121T130901Z-oncpu.folded -o diff.svg")
    assert len(page.js("return [...document.querySelectorAll('.chart .picked')]")) == 2
    # A third choice replaces the first.
    page.js("arguments[0].click()", check_boxes(page)[4])
    assert page.text("#command").startswith("bpfflame diff 20261121T130501Z-oncpu.folded "
                                            "20261121T130601Z")
    page.click_on(page.one("#unpick"))
    assert not page.is_shown("#compare")


def test_what_can_not_be_read_back(show):
    page = show([made(i, files=[{"name": f"20261121T13050{i}Z-oncpu.svg", "bytes": 9}])
                 for i in range(2)])
    for box in check_boxes(page):
        page.js("arguments[0].click()", box)
    assert not page.is_shown("#command") and "folded" in page.text("#compare-text")


def test_time_line_finds_and_narrows(show):
    page = show([made(i) for i in range(600)])
    assert len(rows(page)) == 200 and page.text("#more-button") == "Show 200 more of 400"
    click_at(page, chart(page), 0.05)
    found = page.js("return document.querySelector('tr.found').cells[1].innerText")
    assert found.startswith("2026-11-21 13:")
    assert len(rows(page)) == 600 and not page.is_shown("#more-button")
    page.js("scrollTo(0, 0)")
    click_at(page, chart(page), 0.25, until=0.5)
    assert page.is_shown("#range") and 140 <= len(rows(page)) <= 160
    page.click_on(page.one("#range-clear"))
    assert not page.is_shown("#range") and len(rows(page)) == 600


def test_times_without_recordings_are_cut_out(show):
    page = show([made(i) for i in range(5)] +
                [made(i, at=START + 30 * 86400) for i in range(5)])
    assert len(page.js("return [...document.querySelectorAll('.chart .break')]")) == 1
    widths = page.js("return [...document.querySelectorAll('.bar')].map(b => +b.getAttribute('width'))")
    assert min(widths) > 80


def test_ten_thousand_sets_and_more(show):
    page = show([made(i, every=10.0) for i in range(10050)])
    assert page.text("#older").startswith("50 older recordings")
    assert "10,000 recordings" in page.text("#facts")
    assert len(page.js("return [...document.querySelectorAll('.chart .bar:not([class*=command])')]")) < 1200
    assert len(rows(page)) == 200


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width, every", [(1300, 60), (700, 60), (360, 60), (360, 0.3)])
def test_looks(show, dark, width, every):
    long = "std::vector<std::pair<std::basic_string<char>, int>>::_M_realloc_insert()" * 3
    page = show([made(i, every=every, losses={"map_full": 10} if i == 2 else {},
                      functions=[{"name": long, "module": "lib" + "x" * 90 + ".so", "self": 9}])
                 for i in range(4)] +
                [made(i, "wall", every=every) for i in range(3)], width=width, dark=dark)
    assert page.js("return document.documentElement.scrollWidth") <= width
    paper = page.style(page.one("body"), "backgroundColor")
    for selector in "h1", "#facts", ".series-facts", "td.time", ".name", ".module", "a":
        assert contrast(page.style(page.one(selector), "color"), paper) >= 4.5, selector
    for bar in page.js("return [...document.querySelectorAll('.bar')]"):
        panel = page.style(page.one(".series"), "backgroundColor")
        # Shapes need less contrast than text, https://www.w3.org/TR/WCAG21/#non-text-contrast
        assert contrast(page.style(bar, "fill"), panel) >= 3
    page.click_on(page.one("#theme"))
    assert page.style(page.one("body"), "backgroundColor") != paper


def test_print(show):
    page = show([made(i) for i in range(3)], dark=True)
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    page.settle()
    assert page.style(page.one("body"), "backgroundColor") == "rgb(255, 255, 255)"
    assert not page.is_shown("#theme") and not page.is_shown("td.pick")
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_bars_are_stacked_by_command(show):
    page = show([made(i, total=5940) for i in range(3)])
    bars = page.js("""
        return [...document.querySelectorAll(".chart rect")].map(b => [b.getAttribute("class"),
            +b.getAttribute("x"), +b.getAttribute("y"), +b.getAttribute("height")])""")
    columns = {}
    for name, x, y, height in bars:
        columns.setdefault(x, []).append((name, y, height))
    assert len(columns) == 3
    for i, x in enumerate(sorted(columns)):
        whole = sum(height for _, _, height in columns[x])
        parts = {name: height / whole for name, _, height in columns[x]}
        assert parts["bar command-0"] == pytest.approx((600 + i) / 5940, abs=0.01)
        assert parts["bar command-1"] == pytest.approx(250 / 5940, abs=0.01)
        # Stacked.
        ends = sorted((y, y + height) for _, y, height in columns[x])
        assert all(end == pytest.approx(y, abs=0.02) for (_, end), (y, _) in zip(ends, ends[1:]))
    assert [e.text for e in page.browser.find_elements("css selector", ".commands span")] == ["postgres", "redis <b>"]
    # 5940 samples at 99 Hz in a minute.
    assert page.text(".chart text") == "1 CPUs"
    assert "postgres 10 % \u00b7 redis <b> 4 %" in rows(page)[0][6]


def test_times_are_local(show):
    page = show([made(0)])
    page.browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
    try:
        page.browser.refresh()
        page.settle()
        assert page.text("#time-head") == "Time (UTC+05:30)"
        assert rows(page)[0][1] == "2026-11-21 18:35:01"
        assert rows(page)[0][7].startswith("svg")
    finally:
        page.browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})
