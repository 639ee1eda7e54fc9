# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of interpreters have in common: which ones there are, their functions in stacks, and
how these are compared with the truth."""
import collections
import os
import re

import pytest

MARK = "_[0]"


def named(path, variable):
    """The distribution's interpreter, and those in the environment: VARIABLE=PATH:PATH…."""
    return [path, *filter(None, os.environ.get(variable, "").split(":"))]


def skip_unless_known(name, version, known):
    """Other versions show native frames."""
    if version not in known:
        pytest.skip(f"{name} {version} is not among the known versions: {', '.join(known)}")


def functions(frames):
    """The interpreted ones of @frames, without their mark."""
    return [frame.removesuffix(MARK) for frame in frames if frame.endswith(MARK)]


def without(folded, prefix):
    """The same, names without @prefix."""
    folded.stacks = [([frame.removeprefix(prefix) for frame in frames], value) for frames, value in folded.stacks]
    return folded


def by_tid(folded):
    """{tid: {functions, root first: value}}"""
    found = collections.defaultdict(collections.Counter)
    for frames, value in folded.stacks:
        if "/" in frames[0]:
            found[int(frames[0].rpartition("/")[2])][tuple(functions(frames))] += value
    return found


def assert_right(folded, truth, is_right):
    """Of the threads of @truth, {tid: stack}, 99 % of the value is in stacks that are right. Returns
    the tids of threads that have stacks."""
    found = by_tid(folded)
    right = wrong = 0
    others = collections.Counter()
    for tid, stack in truth.items():
        for frames, value in found[tid].items():
            if is_right(frames, stack):
                right += value
            else:
                wrong += value
                others[(frames, tuple(stack))] += value
    assert right > 0
    assert right >= 0.99 * (right + wrong), (right, wrong, others.most_common(3))
    return {tid for tid in truth if found[tid]}


def assert_all_named(result):
    runtimes = result.summary["runtimes"]
    assert runtimes["stacks"] > 0
    assert runtimes["nameless_code"] == 0


def assert_reused_addresses_have_their_own_names(folded, result):
    """made_N calls burner_(N % 16), and lives for some milliseconds at most: some are gone before
    they can be read."""
    right = wrong = 0
    for frames, value in folded.stacks:
        text = ";".join(frames)
        made, burner = re.search(r"made_(\d+)_\[0\]", text), re.search(r"burner_(\d+)_\[0\]", text)
        if made and burner:
            is_right = int(made[1]) % 16 == int(burner[1])
            right += value if is_right else 0
            wrong += 0 if is_right else value
    assert wrong == 0
    assert right > 0 or result.summary["runtimes"]["nameless_code"] > 0
