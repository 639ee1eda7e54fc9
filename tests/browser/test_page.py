# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of the daemon: its numbers are those of `query` over the same store."""
import pytest

pytest.importorskip("browser")
from browser import Keys  # noqa: E402
from daemon_page import DaemonPage, Listening, at, served, shares_of  # noqa: E402, F401
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


def test_first_view(show, served):  # noqa: F811
    """Without a link: the last hour, with absolute times in the link; the gap in it is hatched."""
    page = show()
    begin, end = page.view()
    assert end - begin == HOUR and abs(end / 1000 - served.end) < 900
    assert len(page.browser.find_elements("css selector", "#chart .gap")) >= 1
    reason = next(row["gap"] for row in served.rows("--list") if "gap" in row)
    assert page.js("return document.querySelector('#chart .gap-mark title').textContent").startswith(reason)
    page.click("[data-length='all']")
    assert page.view()[1] - page.view()[0] > 25 * HOUR
    page.press("+")
    assert page.view()[1] - page.view()[0] == pytest.approx(13 * HOUR, abs=HOUR)
    page.drag(0.2, 0.25, "#whole")
    assert page.view()[1] - page.view()[0] == pytest.approx(26 * HOUR * 0.05, rel=0.05)


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


def test_token(browser, tmp_path):
    """The page comes without the token and holds nothing; it asks for the token, and keeps it out of the address."""
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o600)
    with Listening(tmp_path, "--token-file", path) as daemon:
        daemon.windows(2)
        assert daemon.ask("/")[0] == 200 and daemon.ask("/api/list")[0] == 401
        assert daemon.ask("/", Host="evil.example")[0] == 403
        browser.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
        page = DaemonPage.__new__(DaemonPage)
        page.mobile, page.browser, page.url = False, browser, f"http://localhost:{daemon.port}/"
        browser.get(page.url)
        page.wait(lambda: page.is_shown("#token-dialog"))
        page.press(TOKEN, Keys.ENTER)
        page.wait(lambda: "from" in page.state)
        page.calm()
        assert not page.is_shown("#token-dialog") and page.shares()
        browser.execute_script("sessionStorage.clear()")
        browser.get("about:blank")
        browser.get(page.url + "#token=" + TOKEN)
        page.wait(lambda: "from" in page.state)
        assert "token" not in browser.current_url
        browser.get("about:blank")
        browser.get_log("browser")
        daemon.stop()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1400])
def test_axe(show, served, dark, width):  # noqa: F811
    """No view breaks a rule of axe-core, or is wider than its window."""
    page = show(hour_of(served)[0], width=width, dark=dark)
    page.press("n")
    page.calm()
    for key in "1", "?":
        page.press(key)
        page.calm()
        assert violations(page) == [], key
        assert page.js("return document.documentElement.scrollWidth") == width
