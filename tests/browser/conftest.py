# SPDX-License-Identifier: GPL-2.0-or-later
import pytest


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    from browser import start

    driver = start(tmp_path_factory.mktemp("chromium"))
    yield driver
    driver.quit()
