# SPDX-License-Identifier: GPL-2.0-or-later
"""
The pictures in a real browser: build/sample_svg writes them, headless Chromium opens them by
file://, and the tests do what a person would do. Needs Debian's chromium, chromium-driver and
python3-selenium.
"""
import colorsys
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

selenium = pytest.importorskip("selenium", reason="python3-selenium is not installed")
from selenium import webdriver  # noqa: E402
from selenium.webdriver import ActionChains  # noqa: E402
from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
SAMPLE = ROOT / "build" / "sample_svg"
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
    --disable-background-networking --disable-component-update --disable-sync
    --force-color-profile=srgb --hide-scrollbars""".split()
MARGIN = 10

for program in "chromium", "chromedriver":
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed (Debian: chromium, chromium-driver)",
                    allow_module_level=True)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = Options()
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    yield driver
    driver.quit()


class Page:
    """A picture that is open."""

    def __init__(self, browser, path, width=1200, height=800):
        self.browser = browser
        self.resize(width, height)
        browser.get_log("browser")
        browser.get(path.as_uri())

    def resize(self, width, height=800):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        if self.browser.current_url.startswith("file:"):
            self.wait(lambda: self.js("return innerWidth") == width)
            self.js("return new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def wait(self, condition, seconds=10):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "nothing happened"
            time.sleep(0.02)

    def frames(self):
        """{tooltip's name: (x, width)} of the frames that have a rect."""
        return {title.rsplit(" (", 1)[0]: (x, width) for title, x, width in self.js("""
            return Array.from(document.querySelectorAll(".row rect"), (rect) => [
                rect.textContent, Number(rect.getAttribute("x")),
                Number(rect.getAttribute("width"))])""")}

    def frame(self, name):
        rect = self.js("""
            return Array.from(document.querySelectorAll(".row rect")).find(
                (rect) => rect.textContent.startsWith(arguments[0] + " ("))""", name)
        assert rect is not None, name
        return rect

    def hover(self, name):
        ActionChains(self.browser).move_to_element(self.frame(name)).perform()

    def click(self, name):
        ActionChains(self.browser).move_to_element(self.frame(name)).click().perform()

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def press_find(self):
        ActionChains(self.browser).key_down(Keys.CONTROL).send_keys("f").key_up(
            Keys.CONTROL).perform()

    def text(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector).text

    def is_shown(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector).is_displayed()

    def search(self, what):
        self.press_find()
        self.press(what)
        self.wait(lambda: self.text("#matched") != "")

    def hits(self):
        return {rect.get_attribute("textContent").rsplit(" (", 1)[0]
                for rect in self.browser.find_elements(By.CSS_SELECTOR, ".row rect.hit")}

    def errors(self):
        return [entry for entry in self.browser.get_log("browser")
                if entry["level"] in ("SEVERE", "WARNING")]


@pytest.fixture
def show(browser, tmp_path):
    pages = []

    def make(kind, *arguments, width=1200, height=800):
        path = tmp_path / f"{kind}.svg"
        with open(path, "wb") as file:
            subprocess.run([SAMPLE, kind, *map(str, arguments)], stdout=file, check=True,
                           env={**os.environ, "TZ": "UTC"})
        page = Page(browser, path, width, height)
        pages.append(page)
        return page

    yield make
    for page in pages:
        assert page.errors() == []


@pytest.mark.parametrize("kind", ["oncpu", "offcpu", "wall", "hostile", "deep", "random", "large",
                                  "empty"])
def test_well_formed(kind, tmp_path):
    if not shutil.which("xmllint"):
        pytest.skip("xmllint is not installed (Debian: libxml2-utils)")
    path = tmp_path / "a.svg"
    with open(path, "wb") as file:
        subprocess.run([SAMPLE, kind], stdout=file, check=True)
    subprocess.run(["xmllint", "--noout", "--nonet", "--huge", path], check=True)


def test_same_bytes_every_time():
    first, second = (subprocess.run([SAMPLE, "random"], stdout=subprocess.PIPE, check=True).stdout
                     for _ in range(2))
    assert first == second


def test_readable_without_script(show):
    page = show("oncpu")
    source = pathlib.Path(page.browser.current_url.removeprefix("file://")).read_text()
    before = source[:source.index("<script>")]
    assert "<title>_start (3,980 samples, 57.61%)</title>" in before
    assert ">_PyEval_EvalFrameDefault</text>" in before
    assert ">entry_SYSC" in before and "\u2026</text>" in before


def test_needs_no_network(show):
    page = show("oncpu")
    assert page.js("return performance.getEntriesByType('resource').length") == 0


def test_header(show):
    page = show("oncpu")
    assert page.browser.title == "On-CPU Flame Graph"
    assert page.text(".title") == "On-CPU Flame Graph"
    assert page.text(".subtitle").endswith("bpfflame -a -d 30 -F 499")
    facts = "build-7 · Linux 6.12.9 · 2026-11-21 13:05:01 +0000 · 30.0 s · 499 Hz · 6,908 samples"
    assert facts in page.text(".facts")


def test_hover_tells_figures(show):
    page = show("oncpu")
    page.hover("parse_json")
    assert page.text(".details") == "parse_json \u2014 2,862 samples, 41.43% of all"
    page.hover("tcp_sendmsg")
    assert page.text(".details") == "tcp_sendmsg [kernel] \u2014 488 samples, 7.06% of all"


def test_hover_tells_time_offcpu(show):
    page = show("offcpu")
    page.hover("[disk]")
    assert page.text(".details") == "[disk] \u2014 2.14 s, 12.35% of all"


def test_wall_tells_running_waiting_and_wakers_apart(show):
    page = show("wall", height=900)
    assert page.browser.title == "Wall-Clock Flame Graph"
    assert page.text(".facts").endswith("28.9 s of threads, 12.3 s of it on-CPU")
    page.hover("[idle]")
    assert page.text(".details") == "[idle] \u2014 7.60 s, 26.34% of all"
    page.hover("PQsendQuery")
    assert page.text(".details").startswith("PQsendQuery [waker] \u2014 4.60 s")
    page.hover("unix_stream_sendmsg")
    assert page.text(".details").startswith("unix_stream_sendmsg [waker, kernel] \u2014")
    page.hover("copy_page")
    assert page.text(".details").startswith("copy_page [kernel] \u2014 1.25 s")

    def hue(name):
        """Of the frame's fill, in degrees."""
        fill = page.js("return getComputedStyle(arguments[0]).fill", page.frame(name))
        return 360 * colorsys.rgb_to_hls(*(int(part) / 255 for part in
                                           re.findall(r"\d+", fill)[:3]))[0]

    # Warm: running. Blue to violet: waiting. Aqua: who woke them. Before and after drawing anew.
    for step in ("before", "after"):
        for name in ("heap_getnext", "ExecutorRun", "copy_page", "[on-cpu]"):
            assert hue(name) < 60, (step, name)
        for name in ("pg_pread", "futex_wait", "read"):
            assert 190 < hue(name) < 250, (step, name)
        for name in ("PQsendQuery", "bio_endio", "futex_wake", "[interrupt]"):
            assert 165 < hue(name) < 195, (step, name)
        page.resize(1000, 900)
        page.resize(1200, 900)


def test_legend_gives_way_to_the_details(show):
    page = show("wall", height=900)
    assert page.is_shown(".legend")
    assert page.text(".legend").split("\n") == ["waiting", "in the kernel", "running",
                                                "in the kernel", "inlined", "waker", "its kernel"]
    page.resize(800)
    assert not page.is_shown(".legend")
    page.hover("heap_getnext")
    assert page.text(".details") == "heap_getnext \u2014 5.20 s, 18.02% of all"


def test_zoom_and_reset(show):
    page = show("oncpu")
    before = page.frames()
    assert not page.is_shown("#reset")
    page.click("parse_json")
    zoomed = page.frames()
    full = 1200 - 2 * MARGIN - 1
    for name in "parse_json", "scan_once", "main", "python3", "all":
        assert zoomed[name] == (0, pytest.approx(full, abs=0.1)), name
    assert "tcp_sendmsg" not in zoomed
    part = 1420 / 2862
    assert zoomed["py_scanstring"][1] == pytest.approx(part * (full + 1) - 1, abs=0.1)
    page.hover("py_scanstring")
    assert "20.56% of all, 49.62% of parse_json" in page.text(".details")

    page.browser.find_element(By.ID, "reset").click()
    assert page.frames() == before
    assert not page.is_shown("#reset")


def test_zoom_to_the_root_resets(show):
    page = show("oncpu")
    before = page.frames()
    page.click("scan_once")
    page.click("all")
    assert page.frames() == before


def test_search(show):
    page = show("oncpu")
    page.search("^tcp_send|binarysort")
    assert page.hits() == {"tcp_sendmsg", "tcp_sendmsg_locked", "binarysort"}
    # 488 of tcp_sendmsg, which is above tcp_sendmsg_locked, and 540 of binarysort.
    assert page.text("#matched") == "matched 14.88%"
    page.click("python3")
    assert page.text("#matched") == "matched 14.88% of all, 13.57% here"
    page.press(Keys.ESCAPE)
    assert page.hits() == set()
    assert page.text("#matched") == ""
    page.press(Keys.ESCAPE)
    assert page.frames()["node"][1] < 1000


@pytest.mark.parametrize("how", ["Ctrl-F", "F3", "button"])
def test_search_opens(show, how):
    page = show("oncpu")
    if how == "Ctrl-F":
        page.press_find()
    elif how == "F3":
        page.press(Keys.F3)
    else:
        page.browser.find_element(By.ID, "search").click()
    assert page.js("return document.activeElement.localName") == "input"
    page.press("gc_collect")
    page.wait(lambda: page.hits() == {"gc_collect_main"})


def test_search_of_text_that_is_no_pattern(show):
    page = show("oncpu")
    page.search("Start(int")
    assert page.hits() == {"node::Start(int, char**)"}


def test_search_minds_capitals_only_if_given(show):
    page = show("oncpu")
    page.search("pydict")
    assert page.hits() == {"PyDict_SetItem"}
    page.press(Keys.ESCAPE)
    page.search("Pydict")
    assert page.hits() == set()
    assert page.text("#matched") == "matched 0.00%"


def test_keyboard(show):
    page = show("oncpu")
    page.js("document.querySelector('.row rect').focus()")
    assert page.text(".details").startswith("all \u2014 6,908 samples")
    page.press(Keys.ARROW_UP)
    assert page.text(".details").startswith("python3 \u2014")
    page.press(Keys.ARROW_LEFT)
    assert page.text(".details").startswith("node \u2014")
    page.press(Keys.ENTER)
    assert page.frames()["node"][1] > 1000
    page.press(Keys.ARROW_DOWN)
    assert page.text(".details").startswith("all \u2014")


@pytest.mark.parametrize("width", [400, 800, 1600])
def test_fits_the_window(show, width):
    page = show("oncpu")
    page.click("node")
    page.resize(width)
    page.wait(lambda: page.frames()["node"][1] == pytest.approx(width - 2 * MARGIN - 1, abs=0.1))
    assert page.js("return document.documentElement.scrollWidth") <= width
    assert page.js("""
        return Array.from(document.querySelectorAll("text")).filter((text) => {
            const box = text.getBoundingClientRect();
            return box.width && (box.left < 0 || box.right > innerWidth);
        }).map((text) => text.textContent)""") == []


def test_labels_stay_in_their_frames(show):
    page = show("random", width=1000)
    assert page.js("""
        const bad = [];
        for (const row of document.querySelectorAll(".row")) {
            const boxes = Array.from(row.querySelectorAll("rect"), (r) => r.getBoundingClientRect());
            for (const label of row.querySelectorAll("text")) {
                const own = label.getBoundingClientRect();
                if (!boxes.some((box) => box.left <= own.left && own.right <= box.right + 1))
                    bad.push(label.textContent);
            }
        }
        return bad""") == []


def test_hostile_names_do_nothing(show):
    page = show("hostile")
    assert page.js("return typeof window.hacked") == "undefined"
    assert page.js("return document.querySelectorAll('script, img').length") == 1
    for name in ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</title></svg>",
                 "f(int) (3 samples, 1.00%)"):
        page.hover(name)
        assert page.text(".details").startswith(name)
        page.click(name)
        page.press(Keys.ESCAPE)
    page.search("<script>")
    assert page.hits() == {"<script>alert(1)</script>", "]]><script>window.hacked=1</script>"}
    assert page.js("return document.querySelectorAll('script, img').length") == 1


def test_tall_picture_keeps_header_and_footer_in_view(show):
    page = show("deep", height=500)
    assert page.js("return scrollY") > 1000
    for position in 0, 700, 5000:
        page.js("scrollTo(0, arguments[0])", position)
        page.js("return new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        top, bottom = page.js("""
            return [document.querySelector("#header").getBoundingClientRect().top,
                    document.querySelector("#footer").getBoundingClientRect().bottom]""")
        assert top == pytest.approx(0, abs=1)
        assert bottom == pytest.approx(500, abs=1)
    page.hover("recurse_3")
    assert page.text(".details").startswith("recurse_3")


def test_inverted(show):
    page = show("oncpu", 1200, "inverted")
    rows = page.js("""
        return Array.from(document.querySelectorAll(".row"),
            (row) => row.getBoundingClientRect().top)""")
    assert rows == sorted(rows)
    assert page.js("return scrollY") == 0


def test_narrow_frames(show):
    """20 000 stacks: hundreds of elements, and what has none can still be pointed at."""
    page = show("large", height=900)
    loaded = page.js("return performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert loaded < 8000  # about 450 ms on an idle machine
    assert page.js("return document.querySelectorAll('*').length") < 6000
    box = page.js("""
        const path = document.querySelectorAll(".row")[20].querySelector("path");
        const box = path.getBoundingClientRect();
        const piece = /M([\\d.]+)/.exec(path.getAttribute("d"));
        return [Number(piece[1]) + 10.05, box.top + box.height / 2]""")
    page.js("""
        const [x, y] = arguments[0];
        const path = document.querySelectorAll(".row")[20].querySelector("path");
        for (const type of ["mousemove", "click"])
            path.dispatchEvent(new MouseEvent(type, {clientX: x, clientY: y, bubbles: true}))""",
            box)
    assert " of all, 100.00% of module::" in page.text(".details")
    assert page.is_shown("#reset")


def test_empty(show):
    page = show("empty")
    assert "Nothing was recorded." in page.text(".empty")
    page.press_find()
    page.press("x", Keys.ENTER, Keys.ESCAPE, Keys.ESCAPE)
