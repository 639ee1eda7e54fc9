# SPDX-License-Identifier: GPL-2.0-or-later
"""Off-CPU recordings: for each thread, the recorded time is elapsed time minus CPU time."""
import json
import os
import subprocess

import pytest

from harness import (BPFFLAME, REASONS, CpuTruth, Folded, assert_no_loss, assert_only,
                     assert_well_formed, can_unshare, record, wait_for_names, wait_for_threads,
                     workload)

THREADS = ["sleeper", "holder", "waiter", "blocked", "alternate", "writer", "hog-0", "hog-1"]


class Waited:
    """One recording of the workload, by thread name."""

    def __init__(self, result, folded, truth, pid, tids):
        self.result, self.folded, self.truth = result, folded, truth
        self.roots = {name: f"{name}-{pid}/{tid}" for name, tid in tids.items()}
        self.tids = tids
        self.elapsed = result.summary["duration_seconds"]

    def recorded(self, name, *leaves):
        """Seconds off the CPU, for these reasons or all."""
        return sum(value for frames, value in self.folded.of_root(self.roots[name])
                   if not leaves or frames[-1] in leaves) / 1e6

    def off_cpu(self, name):
        return self.elapsed - self.truth.cpu(self.result.window(), self.tids[name])


@pytest.fixture(scope="module")
def waited(module_path, tmp_path_factory):
    scratch = tmp_path_factory.mktemp("disk")
    hogs_cpu = max(os.sched_getaffinity(0))
    with workload("wait", scratch, 60, hogs_cpu) as process:
        tids = wait_for_names(process.pid, THREADS)
        with CpuTruth(process.pid) as truth:
            result = record("--offcpu", "--threads", "-p", process.pid, "-d", 10,
                            "-o", module_path / "x.folded", "-o", module_path / "x.svg")
    folded = Folded(module_path / "x.folded")
    return Waited(result, folded, truth, process.pid, tids)


@pytest.mark.parametrize("name", ["wait", *THREADS])
def test_time_off_cpu(waited, name):
    assert waited.recorded(name) == pytest.approx(waited.off_cpu(name), abs=waited.elapsed / 100)


def test_blocked_all_the_way(waited):
    """A thread that never ran during the recording has its time and its stack."""
    stacks = waited.folded.of_root(waited.roots["blocked"])
    assert waited.recorded("blocked", "[pipe]") == pytest.approx(waited.elapsed, rel=0.01)
    frames = max(stacks, key=lambda stack: stack[1])[0]
    assert "blocked_thread" in frames
    assert any("read" in frame and frame.endswith("_[k]") for frame in frames)
    assert frames[-1] == "[pipe]"


@pytest.mark.parametrize("name", ["hog-0", "hog-1"])
def test_waiting_for_a_cpu(waited, name):
    """Two hogs on one CPU: their wait equals the scheduler's run delay."""
    queued = waited.recorded(name, "[preempted]", "[runqueue]")
    delay = waited.truth.run_delay(waited.result.window(), waited.tids[name])
    assert queued == pytest.approx(delay, rel=0.03)
    assert waited.recorded(name, "[preempted]") > 0.9 * queued


def test_woken_then_waiting(waited):
    """Time after the wake-up is separate from time before it, as precisely as sampling allows."""
    for name in ("alternate", "writer"):
        delay = waited.truth.run_delay(waited.result.window(), waited.tids[name])
        queued = waited.recorded(name, "[preempted]", "[runqueue]")
        assert queued == pytest.approx(delay, abs=0.04 * waited.elapsed)


def test_disk(waited):
    assert waited.recorded("writer", "[disk]") > 0


def test_known_sleep(waited):
    """20 ms of sleep, repeatedly."""
    assert waited.recorded("sleeper", "[timer]") > 0.8 * waited.elapsed
    assert any("nanosleep" in frame and frame.endswith("_[k]")
               for frames, _ in waited.folded.of_root(waited.roots["sleeper"]) for frame in frames)


def test_known_mutex(waited):
    """Held for 30 ms of every 40: the waiter waits three quarters of the time, less its delay
    before each attempt."""
    stacks = waited.folded.of_root(waited.roots["waiter"])
    futex = sum(value for frames, value in stacks
                if any("futex" in frame for frame in frames) and frames[-1] == "[futex]") / 1e6
    assert 0.4 * waited.elapsed < futex < 0.85 * waited.elapsed


def test_every_stack_ends_in_a_reason(waited):
    assert {frames[-1] for frames, _ in waited.folded.stacks} <= REASONS


def test_files(waited, module_path):
    assert_no_loss(waited.result.summary)
    assert_well_formed(module_path / "x.svg")
    assert_only(module_path, ["x.folded", "x.svg"])


def test_20000_stacks_lose_nothing(tmp_path):
    with workload("stacks", "block", 30, 20000) as process:
        wait_for_threads(process.pid, 3)
        result = record("--offcpu", "--offcpu-period", 0, "--threads", "-p", process.pid, "-d", 5,
                        "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    assert_no_loss(result.summary)
    assert len({tuple(frames[1:]) for frames, _ in folded.stacks}) > 18000
    # The main thread slept from start to end; the rest is at most the time of two threads.
    assert folded.total() / 1e6 <= 3 * result.summary["duration_seconds"] * 1.01


def test_taken_time_is_that_of_the_recording(tmp_path):
    """Stolen time and interrupts are counted from the start of the recording, not from boot."""
    summary = record("--offcpu", "-a", "-d", 1, "-o", tmp_path / "x.folded").summary
    assert summary["offcpu"]["taken_seconds"] <= 1.1 * os.cpu_count()


def test_shortest_block(tmp_path):
    """-m leaves out short waits, and does not shorten long ones."""
    with workload("wait", tmp_path, 20) as process:
        tids = wait_for_names(process.pid, THREADS[:6])
        record("--offcpu", "--threads", "-p", process.pid, "-d", 3, "-m", "15ms", "-M", "28ms",
               "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    sleeper = folded.total(lambda frames: frames[0] == f"sleeper-{process.pid}/{tids['sleeper']}")
    assert sleeper / 1e6 > 2
    # 30 ms, 10 ms and the whole window are outside the range.
    slept = folded.total(lambda frames: frames[0].startswith("blocked-"))
    assert slept == 0


def test_10000_threads(tmp_path):
    with workload("threads", 60) as process:
        wait_for_threads(process.pid, 10001)
        result = record("--offcpu", "-p", process.pid, "-d", 3, "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    elapsed = result.summary["duration_seconds"]
    assert_no_loss(result.summary)
    assert folded.total() / 1e6 == pytest.approx(10001 * elapsed, rel=0.01)
    assert folded.total(lambda frames: "sleeper_thread" in frames or "sleep_long" in frames) \
        > 0.99 * folded.total()


def test_processes_born_and_gone_while_recorded(tmp_path):
    """A child's time counts from its birth to its end."""
    result = record("--offcpu", "-o", tmp_path / "x.folded", "--",
                    "/bin/sh", "-c", "sleep 1; sleep 1")
    folded = Folded(tmp_path / "x.folded")
    assert folded.total(lambda frames: frames[0] == "sleep") / 1e6 == pytest.approx(2, rel=0.03)
    shell = folded.total(lambda frames: frames[0] == "sh") / 1e6
    assert shell == pytest.approx(2, rel=0.05)
    assert_no_loss(result.summary)


@pytest.mark.skipif(not can_unshare(), reason="no mount namespaces here: unshare --mount fails")
def test_kernel_stacks_that_the_kernel_cuts_off(tmp_path):
    """With a low kernel.perf_event_max_stack; this test only checks the message."""
    (tmp_path / "limit").write_text("3\n")
    script = 'mount --bind limit /proc/sys/kernel/perf_event_max_stack && exec "$@"'
    text = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", BPFFLAME, "--json",
                           "--offcpu", "-o", "x.folded", "--", "sleep", "0.3"],
                          cwd=tmp_path, stdout=subprocess.PIPE, check=True).stdout
    summary = json.loads(text)
    assert summary["truncated_percent"]["depth"] > 90
    assert summary["complete_stacks_percent"] < 10
