# SPDX-License-Identifier: GPL-2.0-or-later
"""Consecutive windows: no gap, no overlap, on every hook; for each thread, a window holds exactly
its share of the time. And the recorder's memory does not grow."""
import collections
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from harness import (WORKLOADS, Folded, Running, off_cpu, on_cpu, run, wait_for_names,
                     wait_for_threads, workload)

HOOKS = ["sched_exit_tp", "fentry:finish_task_switch", "kprobe:finish_task_switch", "sched_switch"]
WAIT_THREADS = ["sleeper", "holder", "waiter", "blocked", "alternate", "writer", "hog-0", "hog-1"]


class Windows:
    """The results of a recording with --every: the index, and each window's stacks."""

    def __init__(self, folder):
        self.index = [json.loads(line) for line in
                      (Path(folder) / "index.jsonl").read_text().splitlines()]
        self.index = [entry for entry in self.index if "set" in entry]
        self.folded = [Folded(Path(folder) / entry["files"][0]["name"]) for entry in self.index]

    def totals(self):
        return [folded.total() for folded in self.folded]

    def by_thread(self):
        """For each window: its length in seconds, {tid: {reason: seconds}}."""
        return [(entry["duration_seconds"], folded.by_thread())
                for entry, folded in zip(self.index, self.folded)]

    def n(self):
        """However many of them were joined on a busy machine."""
        return sum(entry["windows"] for entry in self.index)

    def seconds(self):
        return sum(entry["duration_seconds"] for entry in self.index)

    def assert_tiled(self, every):
        """No gap, no overlap; all but the last and joined ones are as long as requested."""
        for before, after in zip(self.index, self.index[1:]):
            assert after["start_unix_seconds"] == pytest.approx(
                before["start_unix_seconds"] + before["duration_seconds"], abs=2e-6)
            assert before["duration_seconds"] == pytest.approx(every * before["windows"],
                                                               abs=1e-6)
        assert self.index[-1]["duration_seconds"] <= every * self.index[-1]["windows"] + 1e-6

    def assert_no_loss(self, *but):
        for entry in self.index:
            losses = {kind: n for kind, n in entry["losses"].items()
                      if kind not in ("unreadable_files", "unknown_wakers", *but)}
            assert not any(losses.values()), losses


def arguments(folder, every, *more):
    return [*more, "--every", every, "--out-dir", folder, "-f", "folded"]


def record_windows(folder, every, *more):
    result = run("-v", *arguments(folder, every, *more))
    assert result.returncode == 0, result
    windows = Windows(folder)
    windows.assert_tiled(every)
    return result, windows


def has_hook(hook, folder):
    return run("--offcpu", "--offcpu-hook", hook, "-a", "-d", "100ms", "-o",
               folder / "hook.folded").returncode == 0


@pytest.fixture(scope="module", params=HOOKS)
def hook(request, module_path):
    if not has_hook(request.param, module_path):
        pytest.skip(f"this kernel does not let us have {request.param}")
    return request.param


@contextlib.contextmanager
def busy_cpus():
    """Keeps every CPU busy, so that each is sampled at each tick."""
    with contextlib.ExitStack() as stack:
        for cpu in sorted(os.sched_getaffinity(0)):
            stack.enter_context(workload("burn", 60,
                                         command=["taskset", "-c", cpu, WORKLOADS / "burn"]))
        yield


# --- samples -----------------------------------------------------------------------------------


def test_no_sample_is_lost_or_in_two(tmp_path):
    """The windows together hold exactly what the BPF programs counted, and what another bpfflame,
    with a single window, sees in the same time."""
    with busy_cpus():
        other = Running("--json", "-a", "-F", 499, "-d", 6.3, "-o", tmp_path / "one.folded")
        result, windows = record_windows(tmp_path / "sets", 1, "-a", "-F", 499, "-d", 6.3)
        other = other.wait()
    assert windows.n() == 7
    windows.assert_no_loss()
    assert windows.seconds() == pytest.approx(6.3, abs=1e-5)
    counted = int(re.search(r"^programs counted (\d+) samples", result.stderr, re.M)[1])
    assert sum(windows.totals()) == counted
    assert [entry["samples"] for entry in windows.index] == windows.totals()
    one = Folded(tmp_path / "one.folded").total()
    assert counted == pytest.approx(one, rel=0.001, abs=10)
    # Each has its share: 499 of each CPU in a window of a second, and fewer in the last one.
    for entry in windows.index:
        expected = 499 * os.cpu_count() * entry["duration_seconds"]
        assert entry["samples"] == pytest.approx(expected, rel=0.05, abs=20)


# --- threads that wait ---------------------------------------------------------------------------


def test_asleep_through_many_windows(tmp_path, hook):
    """Each window has its own length for each thread, within the drift of the clocks."""
    with workload("threads", 60, 20) as process:
        wait_for_threads(process.pid, 21)
        time.sleep(0.2)
        _, windows = record_windows(tmp_path / "sets", 1, "--offcpu", "--threads", "-p",
                                    process.pid, "-d", 3.5, "--offcpu-hook", hook)
    windows.assert_no_loss()
    assert windows.n() == 4
    for length, times in windows.by_thread():
        assert len(times) == 21
        for tid, reasons in times.items():
            assert off_cpu(reasons) == pytest.approx(length, abs=3e-5), tid
    for folded in windows.folded:
        assert folded.with_frame("sleep_long") == pytest.approx(folded.total() * 20 / 21, rel=1e-5)


def assert_elapsed(windows, tids, tolerance=0.001):
    for number, (length, times) in enumerate(windows.by_thread()):
        for tid in tids:
            total = on_cpu(times[tid]) + off_cpu(times[tid])
            assert total == pytest.approx(length, rel=tolerance), (number, tid, times[tid])


def test_elapsed_in_each_window(tmp_path, hook):
    """Threads that block and run, across boundaries or not: each one's on-CPU and off-CPU time is
    the window's length, in every window."""
    with workload("wait", tmp_path, 60, max(os.sched_getaffinity(0))) as process:
        tids = wait_for_names(process.pid, WAIT_THREADS)
        _, windows = record_windows(tmp_path / "sets", 1, "--wall", "--threads", "-p", process.pid,
                                    "-d", 4.4, "--offcpu-period", 0, "--offcpu-hook", hook)
    # A stack at each switch: the very first ones, before tables exist, may be cut off.
    windows.assert_no_loss(*["snapshots"] if hook == "sched_switch" else [])
    assert windows.n() == 5
    assert_elapsed(windows, tids.values())


def test_elapsed_of_the_densest_switches(tmp_path):
    """Two threads that take turns as fast as a CPU can."""
    with workload("pingpong", 60) as process:
        wait_for_threads(process.pid, 3)
        _, windows = record_windows(tmp_path / "sets", 1, "--wall", "--threads", "-p", process.pid,
                                    "-d", 3.2, "--offcpu-period", 0, "--wakers")
        tids = [tid for tid in map(int, os.listdir(f"/proc/{process.pid}/task"))
                if tid != process.pid]
    windows.assert_no_loss()
    assert_elapsed(windows, tids, 0.002)
    # In each window, wakers are known except for waits that its end cut.
    for folded in windows.folded:
        futex = folded.total(lambda frames: "[futex]" in frames and "play" in frames)
        known = folded.total(lambda frames: "[futex]" in frames and "play" in frames
                             and "--" in frames)
        assert known >= 0.98 * futex - 10000


def test_one_in_sampling_periods(tmp_path):
    """With sampling, the windows together equal one window: elapsed less CPU time."""
    with workload("wait", tmp_path, 60, max(os.sched_getaffinity(0))) as process:
        tids = wait_for_names(process.pid, WAIT_THREADS)
        _, windows = record_windows(tmp_path / "sets", 1, "--wall", "--threads", "-p", process.pid,
                                    "-d", 4.4, "--offcpu-period", "2ms")
    together = collections.Counter()
    for _, times in windows.by_thread():
        for tid in tids.values():
            together[tid] += on_cpu(times[tid]) + off_cpu(times[tid])
    for tid in tids.values():
        assert together[tid] == pytest.approx(4.4, abs=0.005)


def test_long_waits_only(tmp_path):
    """-m applies to the whole wait, wherever boundaries cut it."""
    script = "select(undef, undef, undef, 0.35) while 1"
    totals = {}
    with workload("sleeps", command=["/usr/bin/perl", "-e", script]) as process:
        time.sleep(1)
        for least in ("300ms", "700ms"):
            _, windows = record_windows(tmp_path / least, 1, "--offcpu", "-p", process.pid,
                                        "-d", 4.2, "-m", least)
            totals[least] = sum(windows.totals()) / 1e6
    # A wait cut by the start or the end may be too short for -m.
    assert 4.2 - 2 * 0.36 <= totals["300ms"] <= 4.2
    assert totals["700ms"] == 0


# --- ends -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["--oncpu", "--offcpu", "--wall"])
def test_interrupted(tmp_path, mode):
    """Ctrl-C ends the open window, which is written like the others."""
    with workload("wait", tmp_path, 60, max(os.sched_getaffinity(0))) as process:
        wait_for_names(process.pid, WAIT_THREADS)
        running = Running(*arguments(tmp_path / "sets", 1, mode, "--threads", "-p", process.pid))
        time.sleep(3.1)
        running.signal(signal.SIGINT)
        result = running.wait()
    assert result.returncode == 0, result
    windows = Windows(tmp_path / "sets")
    windows.assert_tiled(1)
    assert len(windows.index) >= 2
    assert all(folded.stacks for folded in windows.folded)


def test_a_late_recorder(tmp_path):
    """A recorder that could not run for seconds: windows are joined, and nothing is missing."""
    with workload("threads", 60, 20) as process:
        wait_for_threads(process.pid, 21)
        running = Running(*arguments(tmp_path / "sets", 1, "--wall", "--threads", "-p",
                                     process.pid, "-d", 7.5, "--offcpu-period", 0))
        wait_for_sets(tmp_path / "sets", 1)
        running.signal(signal.SIGSTOP)
        time.sleep(2.6)
        running.signal(signal.SIGCONT)
        result = running.wait()
        tids = [int(tid) for tid in os.listdir(f"/proc/{process.pid}/task")]
    assert result.returncode == 0, result
    windows = Windows(tmp_path / "sets")
    windows.assert_tiled(1)
    assert max(entry["windows"] for entry in windows.index) >= 2
    assert windows.n() == 8
    assert windows.seconds() == pytest.approx(7.5, abs=1e-5)
    assert_elapsed(windows, tids)


def wait_for_sets(folder, n, seconds=20):
    deadline = time.monotonic() + seconds
    while len(list(Path(folder).glob("*.folded"))) < n:
        assert time.monotonic() < deadline, f"no {n} sets"
        time.sleep(0.02)


# --- size -----------------------------------------------------------------------------------------


class Size(threading.Thread):
    """Descriptors and memory of a process, ten times a second."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid = pid
        self.readings = []

    def run(self):
        with contextlib.suppress(OSError, StopIteration):
            while True:
                status = Path(f"/proc/{self.pid}/status").read_text().splitlines()
                resident = next(line for line in status if line.startswith("RssAnon:"))
                self.readings.append((len(os.listdir(f"/proc/{self.pid}/fd")),
                                      int(resident.split()[1]) * 1024))
                time.sleep(0.1)

    def most(self, begin, end):
        part = self.readings[int(begin * len(self.readings)):int(end * len(self.readings))]
        return [max(values) for values in zip(*part)]


def run_new_binaries(folder, stop):
    """Programs that were never seen before, one after another. Returns how many."""
    n = 0
    while not stop.is_set():
        path = folder / f"new-{n}"
        shutil.copy("/bin/true", path)
        subprocess.run([path], check=True)
        path.unlink()
        n += 1
    return n


def test_constant_size(tmp_path):
    """A storm of short-lived processes, each with its own binary: everything about ended ones is
    released."""
    binaries = tmp_path / "binaries"
    binaries.mkdir()
    stop, ran = threading.Event(), []
    storm = threading.Thread(target=lambda: ran.append(run_new_binaries(binaries, stop)))
    storm.start()
    try:
        running = Running(*arguments(tmp_path / "sets", 1, "--wall", "-a", "-F", 499, "-d", 16))
        size = Size(running.process.pid)
        size.start()
        result = running.wait()
    finally:
        stop.set()
        storm.join()
    assert result.returncode == 0, result
    size.join()
    descriptors, memory = size.most(0.4, 0.6)
    descriptors_then, memory_then = size.most(0.75, 0.95)
    assert ran[0] > 500, "too few processes to judge"
    assert descriptors_then < descriptors + 200
    assert descriptors_then < ran[0]
    assert memory_then < memory + (24 << 20)
    Windows(tmp_path / "sets").assert_tiled(1)
