# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of LuaJIT's programs: held against what the machine itself says of its functions."""
import contextlib
import json
import os
import re
import signal
import subprocess

import pytest

import interpreters
from harness import ROOT, Folded, record

TRUTH = ROOT / "tests" / "workload" / "luajit_truth.lua"
LUAJITS = interpreters.named("/usr/bin/luajit", "LUAJITS")
KNOWN = ["2.1.0-beta3"]
LEAVES = {"burn": ["--oncpu", "-F", 499], "mix": ["--oncpu", "-F", 499], "nap": ["--offcpu"]}


@pytest.fixture(autouse=True)
def known(request):
    luajit = request.node.callspec.params["luajit"] if hasattr(request.node, "callspec") else LUAJITS[0]
    version = subprocess.check_output([luajit, "-v"], text=True)
    interpreters.skip_unless_known("LuaJIT", version.split()[1], KNOWN)


@contextlib.contextmanager
def started(luajit, *arguments):
    """The process, and what it says of its children: {pid: [[function, line], …]}"""
    process = subprocess.Popen([luajit, *arguments], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        n = int(process.stdout.readline())
        said = [json.loads(process.stdout.readline()) for _ in range(n)]
        yield process, {child["pid"]: child["stack"] for child in said}
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def names_of(truth):
    return {pid: [name for name, _ in stack] for pid, stack in truth.items()}


def is_right(frames, names):
    """Whether they are the same, up to what the last function calls."""
    return list(frames[:len(names)]) == names and len(frames) <= len(names) + 1


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("luajit", LUAJITS)
def test_whole_stacks_are_those_of_the_machine(luajit, leaf, tmp_path):
    out = tmp_path / "x.folded"
    with started(luajit, "-joff", TRUTH, leaf) as (process, truth):
        result = record("-p", process.pid, *LEAVES[leaf], "-d", 2, "--threads", "-o", out)
    seen = interpreters.assert_right(Folded(out), names_of(truth), is_right)
    interpreters.assert_all_named(result)
    assert leaf != "nap" or seen == set(truth)
