# SPDX-License-Identifier: GPL-2.0-or-later
"""Off-CPU time by sampling: the kept periods represent all of them, with exact totals, at any
switch rate and with any number of threads."""
import contextlib
import math
import statistics
from pathlib import Path

import pytest

from harness import (WORKLOADS, Folded, assert_no_loss, off_cpu, record, wait_until,
                     waiting_for_a_cpu, workload)

# --- the period that bpfflame chooses ----------------------------------------------------------


class Sampled:
    def __init__(self, folder):
        self.result = record("--offcpu", "--threads", "-o", folder / "x.folded",
                             "--", WORKLOADS / "crowd", 5, 100)
        self.offcpu = self.result.summary["offcpu"]
        self.folded = Folded(folder / "x.folded")
        self.times = self.folded.by_thread()
        self.threads = self.result.truth["threads"]


@pytest.fixture(scope="module")
def sampled(module_path):
    return Sampled(module_path)


def test_few_periods_are_kept(sampled):
    """Half a million switches a second: most periods are left out, and nothing is lost."""
    assert_no_loss(sampled.result.summary)
    assert sampled.offcpu["period_chosen"]
    assert sampled.offcpu["period_us"] > 0
    assert 0 < sampled.offcpu["events_kept"] < 0.2 * sampled.offcpu["events_seen"]
    switches = sum(thread["switches"] for thread in sampled.threads)
    assert sampled.offcpu["events_seen"] >= 0.99 * switches


def test_ends_of_processes_are_sampled_too(tmp_path):
    """What threads wait for after their exit: one stack a second of it, and not one for each process."""
    command = "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done"
    offcpu = record("--offcpu", "--offcpu-period", "1s", "-o", tmp_path / "x.folded", "--", "sh", "-c", command).summary["offcpu"]
    assert offcpu["events_seen"] >= 300
    assert offcpu["events_kept"] <= 20


def test_total(sampled):
    truth = sum(thread["off_cpu_ns"] for thread in sampled.threads) / 1e9
    recorded = sum(off_cpu(sampled.times[thread["tid"]]) for thread in sampled.threads)
    assert recorded == pytest.approx(truth, rel=0.01)


def test_waiting_for_a_cpu(sampled):
    """Half of all time. The bound is four standard deviations of that many draws, plus 2 %, because
    recording a period may make the thread wait once more, unseen."""
    truth = sum(thread["run_delay_ns"] for thread in sampled.threads) / 1e9
    recorded = sum(waiting_for_a_cpu(sampled.times[thread["tid"]]) for thread in sampled.threads)
    spread = math.sqrt(sampled.offcpu["period_us"] / 1e6 * sampled.offcpu["seconds"] / 4)
    assert recorded == pytest.approx(truth, abs=4 * spread + 0.02 * truth)


def test_each_thread(sampled):
    """A thread's total is off by at most two periods."""
    slack = 2 * sampled.offcpu["period_us"] / 1e6
    for thread in sampled.threads:
        assert off_cpu(sampled.times[thread["tid"]]) == pytest.approx(
            thread["off_cpu_ns"] / 1e9, rel=0.005, abs=slack), thread


def test_summary_reconciles(sampled):
    """The estimate is what the file holds; the measured time is the truth."""
    offcpu = sampled.offcpu
    assert sampled.folded.total() / 1e6 == pytest.approx(offcpu["seconds"], rel=0.001)
    truth = sum(thread["off_cpu_ns"] for thread in sampled.threads)
    truth += sampled.result.truth["main_off_cpu_ns"]
    assert offcpu["measured_seconds"] == pytest.approx(truth / 1e9, rel=0.005)
    assert 0 < offcpu["interval95_seconds"] < 0.01 * offcpu["seconds"]


# --- a period that the user chooses --------------------------------------------------------------


def test_chosen_period(tmp_path):
    summary = record("--offcpu", "--offcpu-period", "20ms", "-o", tmp_path / "x.folded",
                     "--", WORKLOADS / "wakers", 1).summary
    assert summary["offcpu"]["period_us"] == 20000
    assert not summary["offcpu"]["period_chosen"]
    assert summary["offcpu"]["events_kept"] < summary["offcpu"]["events_seen"]


def test_every_period(tmp_path):
    offcpu = record("--offcpu", "--offcpu-period", "0", "-o", tmp_path / "x.folded",
                    "--", WORKLOADS / "wakers", 1).summary["offcpu"]
    assert offcpu["period_us"] == 0
    assert offcpu["events_kept"] == offcpu["events_seen"]
    assert offcpu["interval95_seconds"] == 0
    assert offcpu["seconds"] == pytest.approx(offcpu["measured_seconds"], rel=1e-5)


# --- the interval --------------------------------------------------------------------------------


def test_interval(tmp_path):
    """Of 40 short recordings, 38 intervals should hold the truth; fewer than 32 happen once in 8
    000 times. The errors have the printed spread and no bias."""
    held, errors, of_truth = 0, [], []
    for _ in range(40):
        result = record("--offcpu", "--offcpu-period", "50ms", "-o", tmp_path / "x.folded",
                        "--", WORKLOADS / "crowd", 0.3, 100)
        offcpu, truth = result.summary["offcpu"], result.truth
        threads = sum(thread["off_cpu_ns"] for thread in truth["threads"])
        of_truth.append(offcpu["measured_seconds"] * 1e9 / (threads + truth["main_off_cpu_ns"]))
        error = offcpu["seconds"] - offcpu["measured_seconds"]
        held += abs(error) <= offcpu["interval95_seconds"]
        errors.append(error / (offcpu["interval95_seconds"] / 1.96))
    print(f"{held} of {len(errors)} intervals hold the truth; their errors: mean "
          f"{statistics.mean(errors):.2f}, spread {statistics.pstdev(errors):.2f}")
    assert statistics.mean(of_truth) == pytest.approx(1, abs=0.005), of_truth
    assert held >= 32, errors
    # Four standard deviations each, for normal errors.
    assert abs(statistics.mean(errors)) < 4 / math.sqrt(len(errors)), errors
    assert 0.5 < statistics.pstdev(errors) < 1.5, errors


# --- very many threads -------------------------------------------------------------------------

PID_MAX = Path("/proc/sys/kernel/pid_max")


@contextlib.contextmanager
def room_for_threads(n):
    """Raises the machine's limits on threads for the time of a test."""
    if int(Path("/proc/sys/kernel/threads-max").read_text()) < n * 1.2:
        pytest.skip(f"kernel.threads-max does not allow {n} threads")
    if int(Path("/proc/meminfo").read_text().split()[1]) < n * 60:
        pytest.skip(f"{n} threads need 60 kB each")
    before = PID_MAX.read_text()
    if int(before) < n * 1.2:
        PID_MAX.write_text(str(2 * n))
    try:
        yield
    finally:
        PID_MAX.write_text(before)


def test_100000_threads(tmp_path):
    """None is lost, and the memory that it took is printed."""
    n = 100000
    with room_for_threads(n), workload("threads", 60, n) as process:
        wait_until(lambda: process.poll() is not None or
                   thread_count(process.pid) > n, timeout=60)
        if process.poll() is not None:
            pytest.skip(f"could not start {n} threads here")
        result = record("--offcpu", "-p", process.pid, "-d", 2, "-o", tmp_path / "x.folded")
    folded, summary = Folded(tmp_path / "x.folded"), result.summary
    assert_no_loss(summary)
    expected = (n + 1) * summary["duration_seconds"]
    assert folded.total() / 1e6 == pytest.approx(expected, rel=0.01)
    assert summary["threads"] >= n
    assert 0 < summary["kernel_memory_bytes"] < 256 << 20


def thread_count(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("Threads:"):
                return int(line.split()[1])
    return 0
