# SPDX-License-Identifier: GPL-2.0-or-later
"""
Pictures and the explorer on paper, in forced colours, as an image of another page, on a phone, and magnified: one
heading, nothing cut, the roots in sight.
"""
import base64
import re
import subprocess

import pytest

from browser import ROOT, Page

KINDS = ["wall", "compare", "deep"]
A4 = {"landscape": True, "paperWidth": 8.27, "paperHeight": 11.69, "printBackground": False}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    for ending in "svg", "html":
        for kind in KINDS:
            with open(folder / f"{kind}.{ending}", "wb") as file:
                subprocess.run([ROOT / "build" / f"sample_{ending}", kind], stdout=file, check=True)
    return folder


@pytest.fixture
def media(browser):
    """Emulates what a reader's device has; all of it ends with the test."""
    def emulate(media="", scripts=True, **features):
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()]})
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})

    yield emulate
    emulate()


def open_page(browser, path, width=1200, height=800):
    page = Page(browser, path, width, height)
    if path.suffix == ".html":
        page.wait(lambda: page.js("return !document.querySelector('#page') || explorer.timings.painted > 0"), 30)
    page.settle()
    return page


def pages_of(browser):
    pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", A4)["data"])
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_is_one_sheet(browser, made, media, kind, scripts):
    media(scripts=scripts)
    browser.get("about:blank")
    browser.get((made / f"{kind}.svg").as_uri())
    assert pages_of(browser) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_explorers_graph_is_one_sheet(browser, made, kind):
    open_page(browser, made / f"{kind}.html")
    assert pages_of(browser) == 1


@pytest.mark.parametrize("ending", ["svg", "html"])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_cut_on_paper(browser, made, media, kind, ending):
    """Laid out as for A4 landscape: 277 × 190 mm inside its margins."""
    page = open_page(browser, made / f"{kind}.{ending}")
    before = page.js("return document.documentElement.outerHTML.length")
    page.js("window.dispatchEvent(new Event('beforeprint'))")
    media("print")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": 1047, "height": 718, "deviceScaleFactor": 1, "mobile": False})
    page.settle()
    right, bottom, seen = page.js("""
        const boxes = Array.from(document.querySelectorAll("#canvas, #legend, #title, #rows, #header text, #footer .legend"))
            .map((element) => element.getBoundingClientRect()).filter((box) => box.width);
        const buttons = Array.from(document.querySelectorAll("button, .button, input"));
        return [Math.max(...boxes.map((box) => box.right)), Math.max(...boxes.map((box) => box.bottom)),
            buttons.filter((button) => button.getBoundingClientRect().width &&
                !button.closest("#trail")).map((button) => button.outerHTML)]""")
    assert 300 < right <= 1048
    assert 100 < bottom <= 719
    assert seen == []
    if ending == "html":
        # The canvas has all rows.
        rows, height, ratio = page.js("""
            const {graph} = explorer.page;
            return [graph.panes[0].tree.maxDepth + 1, graph.canvas.height, graph.ratio]""")
        assert height / ratio == pytest.approx(rows * 18 + 6, abs=2)
    media()
    page.resize(1200, 800)
    page.js("window.dispatchEvent(new Event('afterprint'))")
    page.settle()
    # It works as before.
    assert page.js("return document.documentElement.outerHTML.length") == pytest.approx(before, rel=0.02)
    assert page.errors() == []


def test_on_paper_the_explorer_is_light(browser, made, media):
    page = open_page(browser, made / "wall.html")
    page.press("m")
    assert page.js("return document.documentElement.dataset.theme") == "dark"
    page.js("window.dispatchEvent(new Event('beforeprint'))")
    assert page.js("return document.documentElement.dataset.theme") == "light"
    page.js("window.dispatchEvent(new Event('afterprint'))")
    assert page.js("return document.documentElement.dataset.theme") == "dark"


def test_the_table_is_printed_as_far_as_it_is_read(browser, made):
    page = open_page(browser, made / "deep.html")
    page.press("3")
    page.wait(lambda: page.js("return document.querySelectorAll('.line').length") > 0)
    assert page.js("return document.querySelectorAll('.line').length") < 100
    page.js("window.dispatchEvent(new Event('beforeprint'))")
    assert page.js("return document.querySelectorAll('.line').length") > 125
    page.js("window.dispatchEvent(new Event('afterprint'))")
    assert page.js("return document.querySelectorAll('.line').length") < 100


def test_forced_colours_show_what_is_chosen(browser, made, media):
    """Which button is on, and what the legend's colours are: backgrounds are the reader's own there."""
    page = open_page(browser, made / "wall.html")
    media(forced_colors="active")
    page.settle()
    fills = page.js("""
        return Array.from(document.querySelectorAll("#legend i"), (e) => getComputedStyle(e).backgroundColor)""")
    assert len(set(fills)) == len(fills) > 8
    on, off = (page.js("return getComputedStyle(document.querySelector(arguments[0])).backgroundColor",
                       f"#views [aria-pressed='{pressed}']") for pressed in ("true", "false"))
    assert on != off
    dots = {pressed: page.js("return getComputedStyle(document.querySelector(arguments[0]), '::before').backgroundColor",
                             f".toggle[aria-pressed='{pressed}']") for pressed in ("true", "false")}
    assert dots["true"] != dots["false"]


@pytest.mark.parametrize("kind", KINDS)
def test_as_an_image_the_roots_are_drawn(browser, made, tmp_path, kind):
    """In an <img>, nothing runs; what it has is drawn, down to the root."""
    path = tmp_path / "page.html"
    data = base64.b64encode((made / f"{kind}.svg").read_bytes()).decode()
    path.write_text(f"<!DOCTYPE html><title>x</title><img src='data:image/svg+xml;base64,{data}'>")
    page = open_page(browser, path)
    height, pixel, corner = page.js("""
        const image = document.querySelector("img"), canvas = document.createElement("canvas");
        return image.decode().then(() => {
            canvas.width = image.naturalWidth;
            canvas.height = image.naturalHeight;
            const context = canvas.getContext("2d");
            context.drawImage(image, 0, 0);
            const at = (x, y) => Array.from(context.getImageData(x, y, 1, 1).data);
            return [canvas.height, at(600, canvas.height - 30 - 8 - 9), at(600, canvas.height - 34)];
        })""")
    assert height > 150
    assert pixel != corner and pixel[3] == 255 and max(pixel[:3]) < 250, (pixel, corner)


@pytest.mark.parametrize("ending", ["svg", "html"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width,height,scale", [(390, 700, 3), (640, 400, 2)])
def test_small_windows(browser, made, kind, ending, width, height, scale):
    """A phone; a window magnified to 200 %. Nothing scrolls sideways, roots and legend are in sight."""
    page = open_page(browser, made / f"{kind}.{ending}", width, height)
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False})
    page.settle()
    assert page.js("return document.documentElement.scrollWidth") <= width
    if ending == "html":
        top, legend = page.js("""
            const {graph} = explorer.page, box = graph.boxOf(graph.panes[0], 0);
            const items = Array.from(document.querySelectorAll("#legend span"), (e) => e.getBoundingClientRect());
            return [graph.canvas.getBoundingClientRect().top + box.top, items.map((e) => [e.left, e.right, e.bottom])]""")
    else:
        top, legend = page.js("""
            const rows = document.querySelectorAll(".row");
            const items = Array.from(document.querySelectorAll(".legend g"), (e) => e.getBoundingClientRect());
            return [rows[0].getBoundingClientRect().top, items.map((e) => [e.left, e.right, e.bottom])]""")
    assert 60 < top < height - 18
    assert len(legend) > 1
    for left, right, bottom in legend:
        assert 0 <= left < right <= width and bottom <= height, legend
