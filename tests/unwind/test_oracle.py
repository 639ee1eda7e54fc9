# SPDX-License-Identifier: GPL-2.0-or-later
"""bpfflame's unwinder compared with elfutils' on stacks of running programs: the short version of
`make oracle`. Needs no root where a program may trace its children."""
import json
import subprocess

import pytest

import oracle
import programs

# Some take a while to start up; their stacks then count just as much.
STACKS = 150
SECONDS = 20

CHOSEN = ["python3", "node", "perl", "cc1", "openssl rsa2048", "openssl ecdsap384", "xz",
          "sqlite3", "git", "bash", "nofp"]
# Stacks in generated code, or that consist of it, have no oracle.
WITHOUT_ORACLE = {"node": 0.8, "nofp": 0.3}


@pytest.mark.parametrize("name", CHOSEN)
def test_same_frames_as_libdwfl(name, tmp_path):
    try:
        counts, differences = oracle.judge(name, tmp_path, STACKS, SECONDS)
    except programs.Missing as missing:
        pytest.skip(str(missing))
    assert counts["stacks"] >= STACKS / 2
    assert counts["no_oracle"] <= WITHOUT_ORACLE.get(name, 0.05) * counts["stacks"]
    assert oracle.percent(counts) >= oracle.ENOUGH, differences


@pytest.mark.parametrize("name", ["bash", "sqlite3"])
def test_every_instruction(name, tmp_path):
    """Prologues, epilogues, linkage tables, by single steps."""
    counts, differences = oracle.judge(name, tmp_path, 1500, SECONDS, steps=100)
    assert counts["distinct"] > 300
    assert oracle.percent(counts) >= oracle.ENOUGH, differences


def test_differences_are_found(tmp_path):
    argv = programs.prepare("bash", tmp_path)
    result = subprocess.run([oracle.ORACLE, "-x", "-n", "50", "-t", "10", "-d", "1", *argv],
                            capture_output=True, text=True)
    assert result.returncode == 1
    assert "different: " in result.stderr or "shorter: " in result.stderr
    assert json.loads(result.stdout)["identical"] <= 5
