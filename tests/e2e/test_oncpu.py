# SPDX-License-Identifier: GPL-2.0-or-later
"""On-CPU recordings against programs whose CPU time is known."""
import fcntl
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness import (BPFFLAME, STORM, WORKLOADS, CpuTruth, Folded, assert_no_loss, assert_only, assert_well_formed,
                     busy_seconds, record, run, stolen_seconds, wait_for_threads, wait_until, workload)

FREQUENCY = 499


@pytest.fixture(scope="module")
def burned(module_path):
    """Ten seconds of burn: its result, folded stacks, and CPU seconds in the window."""
    with workload("burn", 30) as process:
        wait_for_threads(process.pid, 5)
        with CpuTruth(process.pid) as truth:
            result = record("-p", process.pid, "-F", FREQUENCY, "-d", 10,
                            "-o", module_path / "x.folded", "-o", module_path / "x.svg")
    return result, Folded(module_path / "x.folded"), truth.process_cpu(result.window())


@pytest.mark.parametrize("function, percent", [("burn_60", 60), ("burn_30", 30), ("burn_10", 10)])
def test_shares(burned, function, percent):
    _, folded, _ = burned
    # Some 4,990 samples at moments drawn by lot: four standard deviations.
    assert 100 * folded.with_frame(function) / folded.total() == pytest.approx(percent, abs=2.8)


def test_number_of_samples(burned):
    _, folded, cpu_seconds = burned
    assert folded.total() == pytest.approx(FREQUENCY * cpu_seconds, rel=0.02)


def test_window_is_as_long_as_asked(burned):
    assert burned[0].summary["duration_seconds"] == pytest.approx(10, rel=0.01)


def test_summary_agrees_with_file(burned):
    result, folded, _ = burned
    assert result.summary["samples"] == folded.total()
    assert_no_loss(result.summary)


def test_stacks_reach_the_thread(burned):
    _, folded, _ = burned
    through = folded.total(lambda frames: "burn_thread" in frames)
    assert through >= 0.97 * folded.total()
    assert folded.roots() == {"burn"}


def test_files(burned, module_path):
    assert_well_formed(module_path / "x.svg")
    assert_only(module_path, ["x.folded", "x.svg"])


def test_20000_stacks_lose_nothing(tmp_path):
    with workload("stacks", "burn", 20, 20000) as process:
        wait_for_threads(process.pid, 3)
        result = record("-p", process.pid, "-F", 5000, "-d", 8, "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    paths = {tuple(f for f in frames if f in ("f0", "f1")) for frames, _ in folded.stacks}
    assert_no_loss(result.summary)
    assert folded.total() == result.summary["samples"]
    # The number of distinct stacks that 20 000 random draws give, less draws between two leaves.
    expected = 20000 * (1 - math.exp(-folded.total() / 20000))
    assert len([path for path in paths if len(path) == 15]) > 0.8 * expected


def test_exec_while_recorded(tmp_path):
    """Both halves have names, whatever was mapped where before the exec."""
    with workload("execs", 2) as process:
        record("-p", process.pid, "-F", FREQUENCY, "-d", 40, "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    after = folded.with_frame("burn_after_exec")
    assert after == pytest.approx(FREQUENCY * 2, rel=0.05)
    assert 0 < folded.with_frame("burn_before_exec") <= FREQUENCY * 2 * 1.05
    assert folded.with_frame("burn_before_exec") + after >= 0.95 * folded.total()


def test_short_lived_processes_are_named(tmp_path):
    """Every frame of a process still has a name after the process ends."""
    with workload("storm", 6, command=[STORM]):
        result = record("-a", "-F", 999, "-d", 4, "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    shells = {"sh", "ls", "sort"}
    assert folded.roots() >= shells
    stacks = [(frames, value) for frames, value in folded.stacks if frames[0] in shells]
    total = sum(value for _, value in stacks)
    assert total > 500
    assert sum(value for frames, value in stacks if "[unknown]" in frames) <= 0.001 * total
    assert folded.names() & {"malloc", "free", "fork", "_Fork", "__libc_fork", "execve", "read",
                             "getdents64", "strcoll", "wait3", "__wait3", "__wait4"}
    assert_no_loss(result.summary, whole_machine=True)


CHILDREN = """
import subprocess, time
end = time.monotonic() + 6
while time.monotonic() < end:
    subprocess.run(["/bin/true"])
"""


def test_children_of_one_from_before_are_known(tmp_path):
    """Its first child is heard of before it is; and what runs there, first as Python, is soon another program."""
    with workload("children", command=[sys.executable, "-c", CHILDREN]):
        result = record("-a", "-F", 999, "-d", 3, "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    assert sum(value for frames, value in folded.stacks if frames[0] == "true") > 100
    assert_no_loss(result.summary, whole_machine=True)


def test_whole_machine_leaves_idle_out(tmp_path):
    before = busy_seconds()
    record("-a", "-F", 99, "-d", 2, "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    assert not any("swapper" in root for root in folded.roots())
    assert folded.total() <= 99 * (busy_seconds() - before) * 1.1 + 20


@pytest.mark.parametrize("rate, beats, options", [
    (100, 100, ()), (100, 100, ("--wall",)), (100, 100, ("-e", "cpu-clock")), (89, 55, ()), (89, 34, ())])
def test_program_in_step_with_the_sampler(tmp_path, rate, beats, options):
    """Even if it does the same at the same point of each sampling period, each part gets its
    share; 89 to 55 and to 34 are the golden ratio and its square."""
    before = stolen_seconds()
    result = record("-F", rate, *options, "-o", tmp_path / "x.folded",
                    "--", WORKLOADS / "beat", 6, beats)
    stolen = stolen_seconds() - before
    folded, truth = Folded(tmp_path / "x.folded"), result.truth
    folded.stacks = [stack for stack in folded.stacks
                     if "[on-cpu]" in stack[0] or "--wall" not in options]
    # Ticks come by chance: four standard deviations of a share.
    error = 4 * 0.5 / math.sqrt(result.summary["samples"])
    for function in "beat_first", "beat_second":
        seconds = truth[function + "_ns"] / 1e9
        assert folded.with_frame(function) / folded.total() == \
            pytest.approx(seconds / truth["cpu_seconds"], abs=error)
    if "--wall" not in options:
        # No tick comes in time that a hypervisor takes.
        expected = rate * truth["cpu_seconds"]
        error = 4 * math.sqrt(expected * (1 - truth["cpu_seconds"] / result.summary["duration_seconds"]))
        assert expected - error - rate * stolen <= folded.total() <= expected + error


def test_real_time_threads_on_every_cpu(tmp_path):
    """Ticks are drawn all the same, so that there are as many as asked for; and the summary says what took so long."""
    command = ["chrt", "-f", "50", WORKLOADS / "burn", "35"]
    hogs = [subprocess.Popen(command, stdout=subprocess.DEVNULL)]
    try:
        wait_for_threads(hogs[0].pid, 5)  # before others keep it from starting
        hogs += [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(os.cpu_count())]
        with CpuTruth(hogs[0].pid) as truth:
            result = run("-p", hogs[0].pid, "-F", 199, "-d", 3, "--json", "-o", tmp_path / "x.folded")
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    samples = Folded(tmp_path / "x.folded").total()
    assert samples == pytest.approx(199 * truth.process_cpu(result.window()), rel=0.1)
    assert 0 < result.summary["startup_delay_seconds"] <= result.summary["startup_seconds"]


def is_writing(pid, descriptor):
    return Path(f"/proc/{pid}/syscall").read_text().startswith(f"1 {descriptor:#x} ")


def test_target_that_ends_before_the_recording(tmp_path):
    """It says so. What it says with -v does not fit into the pipe, which keeps it from going on."""
    reader, writer = os.pipe()
    os.write(writer, b"." * fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096))
    with workload("sleep", command=["sleep", 60]) as target:
        recording = subprocess.Popen([BPFFLAME, "-v", "-F", "1", "-p", str(target.pid), "-o", tmp_path / "x.folded"],
                                     stderr=writer)
        os.close(writer)
        wait_until(lambda: is_writing(recording.pid, 2))
        target.kill()
        target.wait()
        with open(reader, "rb") as stream:
            text = stream.read().decode()
    assert recording.wait() == 0
    assert "nothing was recorded: the target had ended before bpfflame was ready\n" in text
