# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/json.md lists the keys of --json, with their types."""
import pathlib
import re

import pytest

from harness import WORKLOADS, record

DOCUMENT = pathlib.Path(__file__).parents[2] / "docs" / "json.md"
TYPES = {"string": str, "number": (int, float), "array": list, "object": dict}


def documented():
    """{key: (type, what it is, where it is)}"""
    rows = [[cell.strip() for cell in line.split("|")[1:5]] for line in DOCUMENT.read_text().splitlines()
            if line.startswith("| `")]
    return {key.strip("`"): (TYPES[kind], what, where) for key, kind, what, where in rows}


@pytest.mark.parametrize("options, words", [
    ([], ["--oncpu"]), (["--offcpu"], ["--offcpu"]), (["--wall"], ["--wall"]),
    (["-e", "page-faults"], ["--oncpu", "-e"]), (["--every", "0.5"], ["--oncpu", "--every"])])
def test_keys(tmp_path, options, words):
    rows, words = documented(), [*words, "-- COMMAND"]
    summary = record(*options, "--out-dir", tmp_path, "--", WORKLOADS / "burn", "1").summary
    assert set(summary) <= set(rows)
    for key, value in summary.items():
        kind, what, _ = rows[key]
        assert isinstance(value, kind) and not isinstance(value, bool), key
        names = re.findall(r"`(\w+)`", what)
        members = value if isinstance(value, dict) else value[0] if isinstance(value, list) and value else {}
        if names and isinstance(members, dict):
            assert set(members) <= set(names) | ({"function", "module", "command", "count", "nanoseconds", "percent",
                                                  "reason"} if key == "waits" else set()), key
    for key, (_, _, where) in rows.items():
        if not where:
            assert key in summary, key
        elif where.startswith("not "):
            assert (key in summary) == ("--every" not in words), key
        elif key != "over_budget_user":
            assert (key in summary) == any(word in words for word in re.findall(r"`([^`]+)`", where)), key
