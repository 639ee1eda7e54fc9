# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples are compared with the scheduler's books: no process hides unnoticed."""
import math
import os
import shutil
import time

import pytest

from harness import WORKLOADS, Folded, record, workload


def ticks_of(pid):
    """CPU time in ticks."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.parametrize("whole_machine", [True, False], ids=["all", "pid"])
def test_processes_that_sleep_at_each_tick_are_sampled(tmp_path, whole_machine):
    """Ticks are drawn by lot: one that learns from gaps when the next comes has learnt nothing."""
    # Under any name.
    program = tmp_path / "e) (v"
    shutil.copy(WORKLOADS / "evader", program)
    with workload("evader", command=[program, "12", "99"]) as process:
        time.sleep(1)
        before = ticks_of(process.pid)
        target = ["-a"] if whole_machine else ["-p", process.pid]
        summary = record(*target, "-F", 99, "-d", 8, "-o", tmp_path / "x.folded").summary
        ran = 99 * (ticks_of(process.pid) - before) / os.sysconf("SC_CLK_TCK")
    seen = Folded(tmp_path / "x.folded").total(lambda frames: frames[0] == "e) (v")
    assert ran > 100
    assert seen > ran - 10 - 4 * math.sqrt(ran)
    assert summary["unseen"] == []


PYTHON = "import time\nend = time.time() + 30\nwhile time.time() < end: sum(range(1000))"


def test_others_are_not(tmp_path):
    """Processes that sleep, wait, are forked, and compute."""
    with workload("burn", 8), workload("pingpong"), workload("python3", command=["/usr/bin/python3", "-c", PYTHON]), \
            workload("sh", command=["sh", "-c", "while :; do sleep 0.01; /bin/true; done"]):
        summary = record("-a", "-F", 199, "-d", 5, "-o", tmp_path / "x.folded").summary
    assert summary["samples"] > 500
    # A hypervisor that takes a fifth of the time is also reported; it never takes half.
    assert [each for each in summary["unseen"] if each["samples"] < 0.5 * each["expected"]] == []


def test_it_is_only_judged_where_all_samples_are_here(tmp_path):
    with workload("burn", 8) as process:
        for options in (["-C", "0"], ["--comm", "burn"], ["-t", process.pid], ["--wall", "-a"], ["-e", "page-faults", "-a"]):
            summary = record(*options, "-d", 0.5, "-o", tmp_path / "x.folded").summary
            assert summary["unseen"] == []
