# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/run: its totals, and which failures get a second try. Runs it on tests made for that."""
import shutil
import subprocess
import sys

import pytest

from harness import ROOT

# Each test can learn how often it ran.
HEADER = """
import os, pathlib, pytest
def tries(name):
    path = pathlib.Path(__file__).with_name(name)
    path.write_text(path.read_text() + "x" if path.exists() else "x")
    return len(path.read_text())
"""
PASSES = "def test_passes(): pass\n"
FAILS = "def test_fails(): assert False\n"
FAILS_ONCE = "def test_once(): assert tries('once') == 2\n"
FAIL_ONCE = """
@pytest.mark.parametrize("i", range({n}))
def test_once(i): assert tries(f"once-{{i}}") == 2
"""
MOST = 8  # that run again
THREE_SHARE_A_FAULT = """
@pytest.fixture(scope="module")
def recording(): assert tries("recording") == 2
@pytest.mark.parametrize("i", [1, 2, 3])
def test_shares(recording, i): pass
"""
NOT_TWICE = """
def test_not_twice():
    if tries("not twice") == 2: LEAVE
    assert False
"""
SKIPPED = "def test_skipped(): pytest.skip('no reason')\n"
LEAVES = """
@pytest.fixture
def leaves():
    yield
    assert tries('leaves') == 2
"""


def totals(tmp_path, tests):
    """Returns (the last line, the whole output) of a run of these tests as tests/vm."""
    folder = tmp_path / "tests" / "vm"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "run", tmp_path / "tests")
    (folder / "test_made.py").write_text(HEADER + tests)
    result = subprocess.run([tmp_path / "tests" / "run", "vm"], capture_output=True, text=True, timeout=60,
                            env={"PATH": "/usr/bin:/bin", "PYTHON": sys.executable}, check=False)
    last = result.stdout.splitlines()[-1]
    assert result.returncode == (", 0 failed" not in last), result
    return last, result.stdout


@pytest.mark.parametrize("tests, expected", [
    (PASSES + FAILS_ONCE + FAILS + SKIPPED, "2 passed, 1 failed, 1 skipped"),
    (PASSES + FAIL_ONCE.format(n=MOST), f"{MOST + 1} passed, 0 failed, 0 skipped"),
    (PASSES + THREE_SHARE_A_FAULT, "4 passed, 0 failed, 0 skipped"),
    (PASSES + NOT_TWICE.replace("LEAVE", "pytest.skip('now')"), "1 passed, 1 failed, 0 skipped"),
    (PASSES + NOT_TWICE.replace("LEAVE", "pytest.exit('now')"), "1 passed, 1 failed, 0 skipped"),
], ids=["passes", "most", "one cause", "skipped", "interrupted"])
def test_second_try(tmp_path, tests, expected):
    last, output = totals(tmp_path, tests)
    assert last == expected, output
    assert "failed; once more" in output


@pytest.mark.parametrize("tests, expected", [
    (PASSES + FAIL_ONCE.format(n=MOST + 1), f"1 passed, {MOST + 1} failed, 0 skipped"),
    (PASSES + LEAVES + "def test_leaves(leaves): pass\n", "1 passed, 1 failed, 0 skipped"),
    (PASSES + LEAVES + "def test_leaves(leaves): assert False\n", "1 passed, 1 failed, 0 skipped"),
    (PASSES + "def test_ends(): pytest.exit('now')\n", "1 passed, 1 failed, 0 skipped"),
    (PASSES + "def test_dies(): os._exit(0)\n", "0 passed, 1 failed, 0 skipped"),
], ids=["too many", "left over", "failed and left over", "interrupted", "dies"])
def test_no_second_try(tmp_path, tests, expected):
    last, output = totals(tmp_path, tests)
    assert last == expected, output
    assert "once more" not in output
