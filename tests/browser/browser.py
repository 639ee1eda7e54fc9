# SPDX-License-Identifier: GPL-2.0-or-later
"""A real browser for tests: headless Chromium, driven by selenium, opens pictures by file:// and
does what a person would do. Needs Debian's chromium, chromium-driver and python3-selenium; tests
that import this are skipped without them.
"""
import pathlib
import shutil
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
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
    --disable-background-networking --disable-component-update --disable-sync
    --force-color-profile=srgb --hide-scrollbars""".split()

for program in "chromium", "chromedriver":
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed (Debian: chromium, chromium-driver)",
                    allow_module_level=True)


def start(folder):
    """A browser that keeps its files in folder; the caller calls quit()."""
    options = Options()
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={folder}")
    return webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)


class Page:
    """A file that is open in a browser."""

    def __init__(self, browser, path, width=1200, height=800, dark=False, mobile=False, link=""):
        self.browser = browser
        self.mobile = mobile
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": mobile})
        browser.get("about:blank")
        self.resize(width, height)
        browser.get_log("browser")
        browser.get(path.as_uri() + link)

    def resize(self, width, height=800):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": self.mobile})
        if self.browser.current_url.startswith("file:"):
            self.wait(lambda: self.js("return innerWidth") == width)
            self.settle()

    def settle(self):
        """Waits until the result of an action is drawn."""
        self.js("return new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def wait(self, condition, seconds=10):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "nothing happened"
            time.sleep(0.02)

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def hover_over(self, element):
        ActionChains(self.browser).move_to_element(element).perform()

    def click_on(self, element):
        ActionChains(self.browser).move_to_element(element).click().perform()

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def press_find(self):
        ActionChains(self.browser).key_down(Keys.CONTROL).send_keys("f").key_up(
            Keys.CONTROL).perform()

    def text(self, selector):
        return self.one(selector).text

    def is_shown(self, selector):
        return self.one(selector).is_displayed()

    def style(self, element, name):
        return self.js("return getComputedStyle(arguments[0])[arguments[1]]", element, name)

    def screenshot(self, path):
        self.browser.save_screenshot(str(path))

    def errors(self):
        return [entry for entry in self.browser.get_log("browser")
                if entry["level"] in ("SEVERE", "WARNING")]


def luminance(color):
    """Relative luminance of `rgb(…)` or `#rrggbb`, https://www.w3.org/TR/WCAG21/"""
    if color.startswith("#"):
        parts = [int(color[i:i + 2], 16) for i in (1, 3, 5)]
    else:
        parts = [float(part) for part in color[color.index("(") + 1:-1].split(",")[:3]]
    linear = [p / 255 / 12.92 if p <= 0.03928 * 255 else ((p / 255 + 0.055) / 1.055) ** 2.4
              for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
