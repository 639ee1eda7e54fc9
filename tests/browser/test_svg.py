# SPDX-License-Identifier: GPL-2.0-or-later
"""The pictures in a real browser: build/sample_svg writes them, headless Chromium opens them by
file://, and the tests do what a person would do. Needs Debian's chromium, chromium-driver and
python3-selenium.
"""
import colorsys
import os
import pathlib
import re
import shutil
import struct
import subprocess
import zlib

import pytest

from browser import By, FLAGS, Keys, Page, ROOT, contrast

SAMPLE = ROOT / "build" / "sample_svg"
MARGIN = 10
# The script's frames: a rect's node, and its name from the data beside it.
NAMES = """
    const lines = document.querySelector("#frames").textContent.split("\\n").map(
        (line) => line.slice(line.indexOf(" ") + 1));
    const nodes = document.querySelector("#nodes").textContent.split("\\n");
    const nameOf = (rect) => lines[Number(nodes[rect.dataset.n].split(" ")[1])];
    const rects = Array.from(document.querySelectorAll(".row rect"));
"""


class Picture(Page):
    """An open picture."""

    def frames(self):
        """{name: (x, width)} of the frames that have a rect."""
        return {name: (x, width) for name, x, width in self.js(NAMES + """
            return rects.map((rect) => [nameOf(rect), Number(rect.getAttribute("x")),
                Number(rect.getAttribute("width"))])""")}

    def frame(self, name):
        rect = self.js(NAMES + "return rects.find((rect) => nameOf(rect) === arguments[0])", name)
        assert rect is not None, name
        return rect

    def hover(self, name):
        self.hover_over(self.frame(name))

    def click(self, name):
        self.click_on(self.frame(name))

    def tooltip(self, name):
        self.hover(name)
        return self.frame(name).get_attribute("textContent")

    def search(self, what):
        """Waits for all of the text: a slow machine searches for its beginning, too."""
        self.press_find()
        self.press(what)
        self.wait(lambda: self.js("return new URLSearchParams(location.hash.slice(1)).get('search')") == what)

    def hits(self):
        return set(self.js(NAMES + "return rects.filter((r) => r.matches('.hit')).map(nameOf)"))

    def overlaps(self):
        """Texts and buttons of header and footer that overlap, or are outside the window."""
        return self.js("""
            const shown = Array.from(document.querySelectorAll(
                "#header text, #header .button, #header input, #footer text, #footer .legend rect"),
                (element) => [element, element.getBoundingClientRect()]).filter(
                ([element, box]) => box.width > 0 && box.height > 0 &&
                    !(element.localName === "text" && element.closest(".button")));
            const bad = [];
            shown.forEach(([one, a], i) => {
                if (a.left < 0 || a.right > innerWidth)
                    bad.push([one.textContent, "out"]);
                for (const [other, b] of shown.slice(i + 1))
                    if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom &&
                        b.top + 2 < a.bottom)
                        bad.push([one.textContent, other.textContent]);
            });
            return bad""")


def write(path, kind, *options):
    with open(path, "wb") as file:
        subprocess.run([SAMPLE, kind, *options], stdout=file, check=True,
                       env={**os.environ, "TZ": "UTC"})
    return path


@pytest.fixture
def show(browser, tmp_path):
    pages = []

    def make(kind, *options, **how):
        page = Picture(browser, write(tmp_path / f"{kind}.svg", kind, *options), **how)
        pages.append(page)
        return page

    yield make
    for page in pages:
        assert page.errors() == []


KINDS = ["oncpu", "offcpu", "wall", "hostile", "deep", "random", "large", "empty", "languages",
         "long", "compare"]


@pytest.mark.parametrize("kind", KINDS)
def test_well_formed(kind, tmp_path):
    if not shutil.which("xmllint"):
        pytest.skip("xmllint is not installed (Debian: libxml2-utils)")
    path = write(tmp_path / "a.svg", kind)
    subprocess.run(["xmllint", "--noout", "--nonet", "--huge", path], check=True)


@pytest.mark.parametrize("kind", KINDS)
def test_rsvg_reads_it(kind, tmp_path):
    """A viewer without scripts: renders the full size and reports nothing."""
    if not shutil.which("rsvg-convert"):
        pytest.skip("rsvg-convert is not installed (Debian: librsvg2-bin)")
    path = write(tmp_path / "a.svg", kind)
    done = subprocess.run(["rsvg-convert", "--unlimited", path], capture_output=True, check=True)
    size = re.search(r' width="(\d+)" height="(\d+)"', path.read_text())
    # A PNG's header: width and height, big-endian, from byte 16 on.
    assert [int.from_bytes(done.stdout[at:at + 4], "big") for at in (16, 20)] == [
        int(size[1]), int(size[2])]
    assert done.stderr == b""


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


def test_hover_shows_figures(show):
    page = show("oncpu")
    page.hover("parse_json")
    assert page.text(".details") == "parse_json \u2014 2,862 samples, 41.43% of all"
    page.hover("tcp_sendmsg")
    assert page.text(".details") == "tcp_sendmsg [kernel] \u2014 488 samples, 7.06% of all"


def test_hover_shows_time_offcpu(show):
    page = show("offcpu")
    page.hover("[disk]")
    assert page.text(".details") == "[disk] \u2014 2.14 s, 12.35% of all"


def test_wall_distinguishes_running_waiting_and_wakers(show):
    page = show("wall", height=900)
    assert page.browser.title == "Wall-Clock Flame Graph"
    assert page.text(".facts").endswith("28.9 s of threads · 12.3 s of it on-CPU")
    page.hover("[idle]")
    assert page.text(".details") == "[idle] \u2014 7.60 s, 26.34% of all"
    page.hover("PQsendQuery")
    assert page.text(".details").startswith("PQsendQuery [waker] \u2014 4.60 s")
    page.hover("unix_stream_sendmsg")
    assert page.text(".details").startswith("unix_stream_sendmsg [waker, kernel] \u2014")
    page.hover("copy_page")
    assert page.text(".details").startswith("copy_page [kernel] \u2014 1.25 s")

    def hue(name):
        """The hue of the frame's fill, in degrees."""
        fill = page.js("return getComputedStyle(arguments[0]).fill", page.frame(name))
        return 360 * colorsys.rgb_to_hls(*(int(part) / 255 for part in
                                           re.findall(r"\d+", fill)[:3]))[0]

    # Warm: running. Blue to violet: waiting. Aqua: wakers. Before and after redrawing.
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
    assert page.text(".legend").split("\n") == ["waiting", "in the kernel", "command", "on-CPU",
                                                "waits for a CPU", "why it waits", "running", "inlined",
                                                "waker", "its kernel"]
    page.resize(800)
    assert page.is_shown(".legend")
    page.hover("heap_getnext")
    assert not page.is_shown(".legend")
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

    page.one("#reset").click()
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
    # 488 of tcp_sendmsg, which calls tcp_sendmsg_locked, and 540 of binarysort.
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
        page.one("#search").click()
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
    page.js("arguments[0].focus()", page.frame("all"))
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


def test_roots_stay_in_sight_until_a_reader_leaves_them(show):
    page = show("deep", height=500)
    bottom = "return document.querySelector('.row rect').getBoundingClientRect().bottom - innerHeight"
    for height in 900, 400, 700:
        page.resize(1200, height)
        page.settle()
        assert -60 < page.js(bottom) < 0, height
    page.js("scrollTo(0, 700)")
    page.settle()
    page.resize(1200, 600)
    page.settle()
    assert page.js("return scrollY") == 700


def colors_in(png):
    """The number of bytes that differ, in the pixels and in differences between them."""
    data, at, pixels = png.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        pixels += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    return len(set(zlib.decompress(pixels)))


def test_tall_picture_as_a_file(tmp_path):
    """Without scripts, the picture fills the first screen: it is not blank."""
    picture = write(tmp_path / "deep.svg", "deep")
    subprocess.run(["chromium", *FLAGS, f"--user-data-dir={tmp_path}/chromium", "--window-size=600,500",
                    f"--screenshot={tmp_path}/deep.png", picture.as_uri()],
                   check=True, stderr=subprocess.DEVNULL, timeout=60)
    assert colors_in(tmp_path / "deep.png") > 10


def test_narrow_picture_as_a_file(tmp_path):
    """The roots are as far up as the legend is high: the picture ends where the window does."""
    ends = []
    for width in (900, 360):
        picture = write(tmp_path / "deep.svg", "deep")
        page = subprocess.run(["chromium", *FLAGS, f"--user-data-dir={tmp_path}/chromium", "--dump-dom",
                               f"--window-size={width},500", picture.as_uri()],
                              stdout=subprocess.PIPE, text=True, check=True, stderr=subprocess.DEVNULL, timeout=60)
        svg = re.search("<svg [^>]*>", page.stdout)[0]
        ends.append(int(re.search(' height="([0-9]+)"', svg)[1]) +
                    float(re.search(r"translateY\((-?[0-9.]+)px", svg)[1]))
    assert ends[0] == ends[1]


def test_inverted(show):
    page = show("oncpu", "inverted")
    rows = page.js("""
        return Array.from(document.querySelectorAll(".row"),
            (row) => row.getBoundingClientRect().top)""")
    assert rows == sorted(rows)
    assert page.js("return scrollY") == 0


def test_narrow_frames(show):
    """20 000 stacks have hundreds of elements, and frames without one can still be pointed at."""
    page = show("large", height=900)
    loaded = page.js("return performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert loaded < 8000  # about 450 ms on an idle machine
    assert page.js("return document.querySelectorAll('*').length") < 6000
    page.js("""
        const path = Array.from(document.querySelectorAll(".row"), (row) => row.querySelector(
            "path:not(.x0)")).filter((path) => path).pop();
        const box = path.getBoundingClientRect();
        const piece = /M([\\d.]+) 0H([\\d.]+)/.exec(path.getAttribute("d"));
        const place = {clientX: (Number(piece[1]) + Number(piece[2])) / 2 + 10,
            clientY: box.top + box.height / 2, bubbles: true};
        for (const type of ["mousemove", "click"])
            path.dispatchEvent(new MouseEvent(type, place))""")
    assert " of all, 100.00% of module::" in page.text(".details")
    assert page.is_shown("#reset")


# Links


def address(page):
    return page.browser.current_url.partition("#")[2]


def reopen(page):
    """Loads the picture at the same address again."""
    path, _, link = page.browser.current_url.partition("#")
    page.browser.get("about:blank")
    page.browser.get(path + "#" + link)


def test_link_holds_zoom_search_and_case(show):
    page = show("oncpu")
    assert address(page) == ""
    page.click("python3")
    page.search("PYDICT|gc_")
    page.one("#case").click()
    before = page.frames(), page.hits(), page.text("#matched")
    assert page.hits() == {"gc_collect_main"}
    link = address(page)
    assert "zoom=1." in link and "search=PYDICT" in link and "case=1" in link
    reopen(page)
    assert (page.frames(), page.hits(), page.text("#matched")) == before
    assert page.one("#case").get_attribute("aria-pressed") == "true"
    page.press(Keys.ESCAPE)
    assert page.hits() == set()
    page.press(Keys.ESCAPE)
    assert "zoom" not in address(page) and "search" not in address(page)


@pytest.mark.parametrize("kind", ["oncpu", "compare"])
@pytest.mark.parametrize("width", ["odd", "toString", "base"])
def test_link_that_fits_nothing_shows_all(show, kind, width):
    page = show(kind, link=f"#zoom=3.nothing&search=&width={width}&case=&%zz=%")
    root, *rest = page.frames().values()
    assert root == (0, 1179) and len(rest) > 10
    assert not page.is_shown("#reset")


def test_link_of_hostile_search(show):
    page = show("hostile", link="#search=%3Cscript%3Ealert&zoom=%22%3E%3Cimg")
    assert page.hits() == {"<script>alert(1)</script>"}
    assert page.js("return document.querySelectorAll('script, img').length") == 1


def test_back_and_forward(show):
    page = show("oncpu")
    states = [page.frames()]
    for name in "python3", "parse_json", "py_scanstring":
        page.click(name)
        states.append(page.frames())
    for frames in states[-2::-1]:
        page.browser.back()
        page.wait(lambda: page.frames() == frames)
    for frames in states[1:]:
        page.browser.forward()
        page.wait(lambda: page.frames() == frames)


# Search and keys


def test_case_toggle(show):
    page = show("oncpu")
    page.search("pydict")
    assert page.hits() == {"PyDict_SetItem"}
    assert page.one("#case").get_attribute("aria-pressed") == "false"
    page.one("#case").click()
    assert page.hits() == set()
    assert page.one("#case").get_attribute("aria-pressed") == "true"
    page.one("#case").click()
    assert page.hits() == {"PyDict_SetItem"}


def test_search_is_closed_by_its_button(show):
    page = show("oncpu")
    page.one("#search").click()
    page.press("gc_collect")
    page.wait(lambda: page.hits() == {"gc_collect_main"})
    page.one("#close").click()
    assert page.hits() == set()
    assert not page.is_shown("#close") and page.is_shown("#search")


def test_slash_opens_search(show):
    page = show("oncpu")
    page.press("/")
    assert page.js("return document.activeElement.localName") == "input"
    page.press("a/b")
    assert page.js("return document.activeElement.value") == "a/b"


def test_everything_is_reached_by_keys(show):
    page = show("oncpu")
    page.press(Keys.TAB)
    assert page.text(".details").startswith("all \u2014")
    page.press(Keys.ARROW_UP, Keys.ENTER)
    assert page.frames()["python3"][1] > 1000
    # The zoomed frame keeps the focus.
    page.press(Keys.ARROW_UP)
    assert page.text(".details").startswith("_start \u2014")
    focused = page.js("return document.activeElement")
    assert focused.get_attribute("role") == "button"
    assert focused.get_attribute("aria-label").startswith("_start, 3,980 samples, 57.61%")
    assert page.js("return getComputedStyle(document.activeElement).strokeWidth") == "2.4px"
    page.press(Keys.HOME)
    assert page.frames()["python3"][1] < 1000
    assert page.text(".details").startswith("all \u2014")
    page.press(Keys.TAB)
    assert page.js("return document.activeElement.id") == "search"
    page.press(Keys.ENTER)
    assert page.js("return document.activeElement.localName") == "input"


def test_text_for_assistive_technology(show):
    page = show("oncpu")
    svg = page.one("svg")
    assert svg.get_attribute("aria-label") == "On-CPU Flame Graph"
    assert page.one(".details").get_attribute("role") == "status"
    for button in page.js("return Array.from(document.querySelectorAll('.button'))"):
        assert button.get_attribute("role") == "button" and button.get_attribute("aria-label")


# Light, dark, and on a phone


@pytest.mark.parametrize("options", [[], ["background=yellow"], ["background=blue"],
                                     ["background=green"], ["background=grey"],
                                     ["background=#204060"], ["background=#c0ffee"]])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", ["wall", "compare"])
def test_contrast(show, kind, dark, options):
    page = show(kind, *options, height=900, dark=dark)
    page.click("worker" if kind == "wall" else "serve")
    papers = [page.style(page.one(f"#{part} .paper"), "fill") for part in ("header", "footer")]
    if not options:
        assert (contrast(papers[0], "#ffffff") > 10) == dark
    button = page.style(page.one(".button rect"), "fill")
    for selector, grounds in [(".title", papers), (".subtitle", papers), (".facts", papers),
                              (".legend text", papers), (".details text", papers),
                              (".button text", [button])]:
        for ground in grounds:
            assert contrast(page.style(page.one(selector), "fill"), ground) >= 4.5, selector
    labels = page.js("""
        return Array.from(document.querySelectorAll(".labels text"), (label) => {
            const left = Number(label.getAttribute("x"));
            const rect = Array.from(label.closest(".row").querySelectorAll("rect")).find((r) =>
                Math.abs(Number(r.getAttribute("x")) + 4 - left) < 0.1);
            return [label.textContent, getComputedStyle(label).fill, getComputedStyle(rect).fill];
        })""")
    assert page.js("return document.querySelector('rect.up')") is not None
    for text, ink, fill in labels:
        if not fill.startswith("url"):
            assert contrast(ink, fill) >= 4.5, text


@pytest.mark.parametrize("dark", [False, True])
def test_contrast_while_searching(show, dark):
    page = show("wall", height=900, dark=dark)
    page.search("heap|futex")
    paper = page.style(page.one("#header .paper"), "fill")

    def over(fill, opacity):
        """The color of fill over the background."""
        parts = [[float(n) for n in re.findall(r"[\d.]+", color)[:3]] for color in (fill, paper)]
        mixed = [a * opacity + b * (1 - opacity) for a, b in zip(*parts)]
        return f"rgb({', '.join(map(str, mixed))})"

    for rect in page.js("return Array.from(document.querySelectorAll('.row rect'))")[::3]:
        label = page.js("""
            const left = Number(arguments[0].getAttribute("x")) + 4;
            return Array.from(arguments[0].closest(".row").querySelectorAll(".labels text")).find(
                (text) => Math.abs(Number(text.getAttribute("x")) - left) < 0.1)""", rect)
        if label:
            fill = over(page.style(rect, "fill"), float(page.style(rect, "fillOpacity")))
            assert contrast(page.style(label, "fill"), fill) >= 4.5, label.text


@pytest.mark.parametrize("width", [360, 500, 700, 1200])
@pytest.mark.parametrize("kind", ["oncpu", "wall", "compare", "languages", "deep", "empty"])
def test_nothing_overlaps(show, kind, width):
    page = show(kind, "colors=language", width=width, height=640)
    assert page.overlaps() == []
    if kind == "empty":
        return
    page.js("scrollTo(0, 1e6)")
    page.click_on(page.js("return document.querySelectorAll('.row rect')[2]"))
    assert page.overlaps() == []
    page.search("a")
    page.hover_over(page.js("return document.querySelector('.row rect')"))
    assert page.overlaps() == []
    assert page.is_shown(".details text")
    assert page.js("return document.documentElement.scrollWidth") <= width


def test_phone(show):
    page = show("oncpu", width=360, height=640, mobile=True)
    assert page.js("return innerWidth") == 360
    box = page.js("const b = arguments[0].getBoundingClientRect(); return [b.x + 20, b.y + 8]",
                  page.frame("python3"))
    for kind, points in ("touchStart", [{"x": box[0], "y": box[1]}]), ("touchEnd", []):
        page.browser.execute_cdp_cmd("Input.dispatchTouchEvent",
                                     {"type": kind, "touchPoints": points})
    page.wait(lambda: page.is_shown("#reset"))
    assert page.frames()["python3"][1] > 300
    assert page.text(".details").split("\n") == ["python3", "3,980 samples, 57.61% of all, 100.00% of"
                                                 " python3"]


# Elided frames


def test_elided_frames_are_reported(show):
    page = show("large", "max_frames=300", height=900)
    assert page.js("return document.querySelector('#nodes').textContent.split('\\n').length") <= 300
    facts = re.search(r"· ([\d,]+) narrow frames elided", page.js(
        "return document.querySelector('.facts title').textContent"))
    assert int(facts[1].replace(",", "")) > 100000
    seen = page.js(NAMES + """
        const rect = rects.filter((r) => r.matches(".x0")).sort(
            (a, b) => b.getAttribute("width") - a.getAttribute("width"))[0];
        rect.dispatchEvent(new MouseEvent("mousemove", {bubbles: true}));
        return [document.querySelector(".details").textContent, rect.textContent,
            getComputedStyle(rect).fill]""")
    assert re.fullmatch(r"\[elided\] \u2014 [\d,]+ frames, [\d,]+ samples, [\d.]+% of all", seen[0])
    assert re.fullmatch(r"\[elided\] \([\d,]+ frames, [\d,]+ samples, [\d.]+%\)", seen[1])
    assert seen[2].startswith("url(")
    page.search("elided")
    assert page.hits() == set()
    assert page.text("#matched") == "matched 0.00%"


# Words: the script's and the static picture's are the same.


@pytest.mark.parametrize("kind, options", [
    ("oncpu", []), ("offcpu", []), ("wall", []), ("compare", []), ("compare", ["absolute"]),
    ("large", ["max_frames=200"]), ("long", []),
    ("oncpu", ["factor=0.25", "count_name=cache misses", "total=10000"]),
    ("offcpu", ["factor=0.5", "cut_left"])])
def test_tooltips_agree(show, kind, options):
    page = show(kind, *options, height=900)
    source = pathlib.Path(page.browser.current_url.removeprefix("file://")).read_text()
    static = page.js("""
        const old = new DOMParser().parseFromString(arguments[0], "image/svg+xml");
        return Array.from(old.querySelectorAll(".row rect title"), (title) => title.textContent)""",
        source)
    now = page.js("""
        return Array.from(document.querySelectorAll(".row rect"), (rect) => {
            rect.dispatchEvent(new MouseEvent("mousemove", {bubbles: true}));
            return rect.textContent;
        })""")
    assert now == static


# What changed


def test_comparison(show):
    page = show("compare")
    assert page.browser.title == "Differential Flame Graph"
    assert "base 6,793 samples \u00b7 new 6,775 samples \u00b7 shares compared" in page.text(".facts")
    page.hover("parse")
    assert page.text(".details").split("\n") == [
        "parse \u2014 total 27.97% \u2192 39.26% (+11.29 points, +40.4%), 1,900 samples \u2192"
        " 2,660 samples",
        "self 4.42% \u2192 10.33% (+5.92 points, +134.0%), 300 samples \u2192 700 samples"]
    assert "total 4.42% \u2192 10.33%" not in page.tooltip("parse")
    assert "; self 4.42% \u2192 10.33%" in page.tooltip("parse")
    assert "(+11.07 points, new)" in page.tooltip("arena_cache")
    assert "(\u221215.31 points, \u2212100.0%, gone)" in page.tooltip("old_cache")
    assert page.tooltip("decode_utf8").endswith(", within noise), 600 samples \u2192 610 samples; self"
                                                " all of it)")
    assert "self none" in page.tooltip("main")
    tones = {name: page.frame(name).get_attribute("class").strip() for name in (
        "parse", "append", "arena_cache", "old_cache", "decode_utf8", "main")}
    assert tones == {"parse": "t3", "append": "t6", "arena_cache": "t7", "old_cache": "t8",
                     "decode_utf8": "t0", "main": "t0"}
    assert page.text(".legend").split("\n") == ["less", "gone", "more", "new", "noise", "self"]
    # Labels say by how much; what shrank has lines, which greyscale keeps.
    labels = page.js("return Array.from(document.querySelectorAll('.labels text'), (text) => text.textContent)")
    assert {"\u25b2 parse +40.4 %", "\u25bc escape_html \u221232.6 %", "\u2212 old_cache", "serve"} <= set(labels)
    fills = {name: page.style(page.frame(name), "fill") for name in ("parse", "escape_html", "old_cache", "main")}
    assert [fills[name].startswith("url(") for name in fills] == [False, True, True, False]
    # Its own weight, drawn after its children, grew: a stripe at the right.
    stripes = page.js("""
        return Array.from(arguments[0].parentNode.querySelectorAll(".stripe.s3"),
            (path) => path.getAttribute("d"))""", page.frame("parse"))
    assert len(stripes) == 1 and stripes[0].count("M") == 1
    left, right = map(float, re.match(r"M([\d.]+) \d+H([\d.]+)", stripes[0]).groups())
    x, width = page.frames()["parse"]
    assert right == pytest.approx(x + width, abs=0.02)
    assert right - left == pytest.approx(1180 * (700 / 6775 + 300 / 6793) / 2, abs=0.05)


def test_comparison_negated(show):
    page = show("compare")

    def hue(name):
        fill = page.style(page.frame(name), "fill")
        # Of what is hatched, the ground.
        if fill.startswith("url("):
            fill = page.style(page.one(re.search(r"#\w+", fill)[0] + " rect"), "fill")
        parts = re.findall(r"\d+", fill)[:3]
        return 360 * colorsys.rgb_to_hls(*(int(part) / 255 for part in parts))[0]

    assert hue("parse") < 20 and 200 < hue("append") < 230
    page = show("compare", "negate")
    assert hue("append") < 20 and 200 < hue("parse") < 230


def test_widths_of_either_side(show):
    page = show("compare")
    both = page.frames()
    page.one("#side").click()
    new = page.frames()
    assert "old_cache" not in new and "arena_cache" in new
    assert new["parse"][1] == pytest.approx(1180 * 2660 / 6775 - 1, abs=0.05)
    assert "width=new" in address(page)
    page.one("#side").click()
    base = page.frames()
    assert "old_cache" in base and "arena_cache" not in base
    assert base["parse"][1] == pytest.approx(1180 * 1900 / 6793 - 1, abs=0.05)
    reopen(page)
    assert page.frames() == base
    assert page.text("#side text") == "Width: base"
    page.one("#side").click()
    assert page.frames() == both
    page.click("evict")
    page.one("#side").click()  # none here: shows the parent
    assert page.frames()["serve"] == (0, 1179)
    assert page.frames()["parse"][1] > 100


def test_search_in_a_comparison(show):
    page = show("compare")
    page.search("cache")
    assert page.text("#matched") == "matched 15.31% \u2192 11.07%"


# Options


def test_legend_of_languages(show):
    page = show("languages", "colors=language")
    assert page.text(".legend").split("\n") == ["C", "C++", "Rust", "Go", "Java", "JavaScript",
                                                "Python", "Perl", "kernel", "command"]
    page = show("languages", "colors=java")
    assert page.text(".legend").split("\n") == ["Java", "its library", "C++", "other", "kernel", "command"]
    page = show("languages", "colors=module")
    # perl has the colour of libstdc++.
    assert page.text(".legend").split("\n") == [
        "server", "app", "proxy", "libjvm.so", "node", "libpython3.11.so.1.0", "libc.so.6", "libstdc++.so.6",
        "kernel", "command"]


def test_notes(show):
    page = show("oncpu", "notes=Before <the> fix & after lunch")
    assert page.text(".details") == "Before <the> fix & after lunch"
    page.hover("python3")
    assert page.text(".details").startswith("python3")
    page.hover_over(page.one(".facts"))
    assert page.text(".details") == "Before <the> fix & after lunch"


@pytest.mark.parametrize("kind", ["oncpu", "wall", "compare"])
def test_notes_and_legend_on_a_phone(show, kind):
    page = show(kind, "notes=A note that is longer than a phone is wide, so that its end is left out.",
                width=360, height=640)
    assert page.text(".details").startswith("A note") and page.is_shown(".legend")
    assert page.overlaps() == []
    page.js("arguments[0].dispatchEvent(new MouseEvent('mousemove', {bubbles: true}))",
            page.js("return document.querySelectorAll('.row rect')[1]"))
    assert not page.is_shown(".legend")
    assert page.overlaps() == []


def test_no_script(show):
    page = show("oncpu", "no_script", "notes=read me")
    assert page.js("return document.querySelectorAll('script, metadata').length") == 0
    assert page.text(".details") == "read me"
    assert page.js("return document.querySelectorAll('.row rect title').length") > 30


def test_name_type_and_counts(show):
    page = show("oncpu", "name_type=Function:", "count_name=events", "factor=1000")
    page.hover("parse_json")
    assert page.text(".details") == "Function: parse_json \u2014 2,862,000 events, 41.43% of all"


def test_total_leaves_room(show):
    page = show("oncpu", "total=13816")
    frames = page.frames()
    assert frames["all"][1] == pytest.approx(1179, abs=0.1)
    assert sum(frames[name][1] + 1 for name in ("python3", "node", "cc1")) < 600
    page.hover("parse_json")
    assert page.text(".details") == "parse_json \u2014 2,862 samples, 20.72% of all"


def test_sizes_and_fonts(show):
    page = show("oncpu", "frame_height=26", "font_size=15", "font_type=DejaVu Sans")
    label = page.one(".labels text")
    assert page.style(label, "fontSize") == "15px"
    assert "DejaVu Sans" in page.style(label, "fontFamily")
    tops = page.js("""
        return Array.from(document.querySelectorAll(".row"), (r) => r.getBoundingClientRect().top)""")
    assert tops[0] - tops[1] == 26


def test_labels_lose_their_beginning(show):
    page = show("oncpu", "cut_left")
    labels = page.js("""
        return Array.from(document.querySelectorAll(".labels text"), (text) => text.textContent)""")
    assert any(label.startswith("\u2026") for label in labels)
    assert not any(label.endswith("\u2026") for label in labels)


def test_search_color(show):
    page = show("oncpu", "search_color=#003300")
    page.search("parse_json")
    assert page.style(page.frame("parse_json"), "fill") == "rgb(0, 51, 0)"
    label = page.js("return document.querySelector('.labels .hit')")
    assert page.style(label, "fill") == "rgb(255, 255, 255)"


def test_two_pictures_in_one_page(show, browser, tmp_path):
    """Inline in HTML, each keeps its own state."""
    page = show("oncpu")
    path = tmp_path / "both.html"
    path.write_text("<!DOCTYPE html><meta charset=utf-8><title>t</title>" + "".join(
        write(tmp_path / f"{kind}.svg", kind).read_text().partition("?>")[2]
        for kind in ("oncpu", "offcpu")))
    browser.get(path.as_uri())
    counts = page.js("""
        return Array.from(document.querySelectorAll("svg"), (svg) =>
            svg.querySelectorAll(".row rect[data-n]").length)""")
    assert len(counts) == 2 and min(counts) > 20


def test_empty(show):
    page = show("empty")
    assert "Nothing was recorded." in page.text(".empty")
    page.press_find()
    page.press("x", Keys.ENTER, Keys.ESCAPE, Keys.ESCAPE)
