# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon while a CPU goes off and on, which others would miss: runs alone."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness import workload
from test_daemon import NO_BUDGET, Daemon, folded_of, moment

CPU = Path("/sys/devices/system/cpu/cpu1/online")


@pytest.mark.skipif(not os.access(CPU, os.W_OK), reason="needs a CPU 1 that can go off")
def test_a_cpu_goes_off_and_on(tmp_path):
    """No window is lost, and little time of a thread; it records on the CPU that is back."""
    with workload("burn", 300, 1) as process, Daemon(tmp_path, "--window", "500ms", *NO_BUDGET) as daemon:
        daemon.windows(2)
        try:
            CPU.write_text("0")
            daemon.windows(3)
        finally:
            CPU.write_text("1")
        daemon.windows(2)
        there = subprocess.Popen([sys.executable, "-c", "while True: sum(range(30000))"],
                                 preexec_fn=lambda: os.sched_setaffinity(0, {1}))
        try:
            daemon.windows(8)
        finally:
            there.kill()
            there.wait()
        daemon.stop()
        listed = daemon.list()
        assert not [line["gap"] for line in listed if "gap" in line]
        threads = len(os.listdir(f"/proc/{process.pid}/task"))
        covered = sum(moment(line["end"]) - moment(line["begin"]) for line in listed if line.get("level") == "500ms")
        assert folded_of(daemon.store, "-p", process.pid).total() / 1e6 == pytest.approx(threads * covered, rel=0.04)
        assert any(len(frames) > 4 for frames, _ in folded_of(daemon.store, "-p", there.pid, "--state", "running").stacks)
