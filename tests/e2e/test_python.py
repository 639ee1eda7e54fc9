# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of CPython programs: held against what the interpreter itself says of its threads."""
import collections
import contextlib
import json
import os
import re
import subprocess
import sys

import pytest

from harness import ROOT, Folded, record

WORKLOADS = ROOT / "tests" / "workload"
# Others are named in the environment, or were unpacked by tests/tools/runtimes.
UNPACKED = sorted((ROOT / "build" / "runtimes").glob("*/usr/bin/python3.[0-9]*"))
PYTHONS = ["/usr/bin/python3", *filter(None, os.environ.get("PYTHONS", "").split(":")),
           *(str(path) for path in UNPACKED)]
FREQUENCY = 499
LEAVES = {"burn": ["--oncpu"], "pack": ["--oncpu"], "nap": ["--offcpu"], "sleep": ["--offcpu"]}


def command_of(python, *arguments):
    """How to run it: those of another distribution below a root folder of their own."""
    path = str(python)
    root = path[:path.index("/usr/bin/")] if path in map(str, UNPACKED) else ""
    script, *rest = arguments
    if not root:
        return [path, str(script), *map(str, rest)]
    place = f"/tmp/{os.path.basename(script)}"
    with open(root + place, "wb") as copy, open(script, "rb") as source:
        copy.write(source.read())
    return ["chroot", root, path[len(root):], place, *map(str, rest)]


@contextlib.contextmanager
def started(python, *arguments):
    """The process, and the line that it has printed."""
    process = subprocess.Popen(command_of(python, *arguments), stdout=subprocess.PIPE, text=True)
    try:
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def python_frames(frames):
    return [frame[:-len("_[0]")] for frame in frames if frame.endswith("_[0]")]


def by_tid(folded):
    """{tid: {Python frames, root first: value}}"""
    found = collections.defaultdict(collections.Counter)
    for frames, value in folded.stacks:
        if "/" in frames[0]:
            found[int(frames[0].rpartition("/")[2])][tuple(python_frames(frames))] += value
    return found


def is_truth(frames, truth, leaf):
    """Whether they are the same, the leaf in @leaf or a step off: a call that has just been, or is
    just not, noted."""
    return list(frames) == truth or (list(frames) == truth[:-1] and truth[-1].endswith(leaf))


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("python", PYTHONS)
def test_whole_stacks_are_those_of_the_interpreter(python, leaf, tmp_path):
    out = tmp_path / "x.folded"
    with started(python, WORKLOADS / "python_truth.py", leaf) as (process, line):
        truth = {int(tid): [name for name, _, _ in stack]
                 for tid, stack in json.loads(line)["threads"].items()}
        result = record("-p", process.pid, *LEAVES[leaf], "-d", 3, "-F", FREQUENCY, "--threads",
                        "-o", out)
    found = by_tid(Folded(out))
    right = wrong = 0
    others = collections.Counter()
    for tid, stack in truth.items():
        for frames, value in found[tid].items():
            if is_truth(frames, stack, "." + leaf):
                right += value
            else:
                wrong += value
                others[(frames, tuple(stack))] += value
    assert right > 0
    assert right >= 0.99 * (right + wrong), (right, wrong, others.most_common(3))
    assert result.summary["runtimes"]["stacks"] > 0
    assert result.summary["losses"]["nameless_code"] == 0
    # All threads are there: those that only sleep are seen by the iterator.
    if leaf != "burn":
        assert all(found[tid] for tid in truth), set(truth) - set(found)


@pytest.mark.parametrize("python", PYTHONS)
def test_lines_are_those_of_the_source(python, tmp_path):
    out = tmp_path / "x.folded"
    with started(python, WORKLOADS / "python_truth.py", "nap") as (process, line):
        truth = {int(tid): [f"{name} ({os.path.basename(file)}:{number})"
                            for name, file, number in stack]
                 for tid, stack in json.loads(line)["threads"].items()}
        record("-p", process.pid, "--offcpu", "-d", 2, "--threads", "--lines", "-o", out)
    found = by_tid(Folded(out))
    right = wrong = 0
    others = collections.Counter()
    for tid, stack in truth.items():
        for frames, value in found[tid].items():
            if list(frames) == stack:
                right += value
            else:
                wrong += value
                others[(frames[-3:], tuple(stack[-3:]))] += value
    assert right > 0
    assert right >= 0.99 * (right + wrong), (right, wrong, others.most_common(3))
