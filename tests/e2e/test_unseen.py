# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples are held against the scheduler's books: nobody hides without a word."""
import shutil
import time

import pytest

from harness import WORKLOADS, record, workload


@pytest.mark.parametrize("whole_machine", [True, False], ids=["all", "pid"])
def test_who_sleeps_at_each_tick_is_named(tmp_path, whole_machine):
    # Whatever it is called.
    program = tmp_path / "e) (v"
    shutil.copy(WORKLOADS / "evader", program)
    with workload("evader", command=[program, "12", "99"]) as process:
        time.sleep(1)
        target = ["-a"] if whole_machine else ["-p", process.pid]
        summary = record(*target, "-F", 99, "-d", 8, "-o", tmp_path / "x.folded").summary
    (found,) = [each for each in summary["unseen"] if each["pid"] == process.pid]
    assert found["command"] == "e) (v"
    assert found["expected"] == pytest.approx(99 * found["cpu_seconds"], rel=0.01)
    assert found["samples"] < 0.8 * found["expected"]
    assert 5 < found["cpu_seconds"] < 8.1


PYTHON = "import time\nend = time.time() + 30\nwhile time.time() < end: sum(range(1000))"


def test_others_are_not(tmp_path):
    """Those that sleep, wait, are forked, and compute."""
    with workload("burn", 8), workload("pingpong"), workload("python3", command=["python3", "-c", PYTHON]), \
            workload("sh", command=["sh", "-c", "while :; do sleep 0.01; /bin/true; done"]):
        summary = record("-a", "-F", 199, "-d", 5, "-o", tmp_path / "x.folded").summary
    assert summary["samples"] > 500
    assert summary["unseen"] == []


def test_it_is_only_judged_where_all_samples_are_here(tmp_path):
    with workload("burn", 8) as process:
        for options in (["-C", "0"], ["--comm", "burn"], ["-t", process.pid], ["--wall", "-a"], ["-e", "page-faults", "-a"]):
            summary = record(*options, "-d", 0.5, "-o", tmp_path / "x.folded").summary
            assert summary["unseen"] == []
