# SPDX-License-Identifier: GPL-2.0-or-later
"""User stacks of programs that are linked with musl, whose code has neither call frame information
nor frame pointers: tests/workload/nofp_musl.c."""
import os
import shutil

import pytest

from harness import WORKLOADS, Folded, assert_no_loss, record
from test_unwind import user_frames

pytestmark = [
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="code is read on x86-64 only"),
    pytest.mark.skipif(not shutil.which("musl-gcc"), reason="no musl-gcc: apt install musl-tools"),
]

PROGRAMS = ["nofp_musl.static", "nofp_musl.stripped", "nofp_musl.dynamic"]
ON_CPU = {
    "musl-sort": ["work", "sort", "compare"],
    "musl-print": ["work", "print"],
    "musl-copy": ["work", "copy"],
    "musl-signal": ["work", "interrupt", "handle"],
    "musl-main": ["main", "sort", "compare"],
}
OFF_CPU = {
    "musl-sleep": ["work", "nap"],
    "musl-poll": ["work", "wait_for_nothing"],
    "musl-lock": ["work", "take_turns"],
    "musl-main": ["main", "nap"],
}
# Threads start in musl's assembly, programs in its start file.
ROOTS = {"nofp_musl.static": {"_start", "__clone"}}


def is_in_order(names, frames):
    rest = iter(frames)
    return all(name in rest for name in names)


def share(stacks, matches):
    return sum(value for frames, value in stacks if matches(frames)) / sum(
        value for _, value in stacks)


@pytest.fixture(scope="module", params=PROGRAMS)
def recorded(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("musl")
    result = record("-F", "499", "--wall", "-o", folder / "wall.folded", "--",
                    WORKLOADS / request.param, "3")
    assert_no_loss(result.summary)
    return request.param, result.summary, Folded(folder / "wall.folded")


def test_complete(recorded):
    _, summary, folded = recorded
    assert summary["complete_stacks_percent"] >= 99, summary
    for thread in {*ON_CPU, *OFF_CPU}:
        cut = share(folded.of_root(thread), lambda frames: "[truncated]" in frames)
        assert cut <= 0.05, (thread, cut)


def test_chains(recorded):
    """Each thread's functions, from its entry on, with musl's own names where it has symbols."""
    program, _, folded = recorded
    if program == "nofp_musl.stripped":
        assert folded.total(lambda frames: "main" in frames) == 0
        return
    for chains, is_on_cpu in ((ON_CPU, True), (OFF_CPU, False)):
        for thread, names in chains.items():
            stacks = [stack for stack in folded.of_root(thread)
                      if (stack[0][-1] == "[on-cpu]") == is_on_cpu and
                      "[truncated]" not in stack[0] and is_in_order(names[1:2], stack[0])]
            assert stacks, thread
            assert share(stacks, lambda frames: is_in_order(names[:2], frames)) == 1, thread
            assert share(stacks, lambda frames: is_in_order(names, frames)) > 0.5, thread
            assert {user_frames(frames)[0] for frames, _ in stacks} <= ROOTS.get(
                program, {user_frames(stacks[0][0])[0]}), thread
