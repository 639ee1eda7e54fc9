# SPDX-License-Identifier: GPL-2.0-or-later
"""Wall recordings that keep every period: a thread's time on the CPU, blocked and waiting for a CPU
adds up to its elapsed time. The truth comes from the threads' own clocks and the scheduler's
books."""
import contextlib
import ctypes
import os
import re
import subprocess
import sys
import time

import pytest

from harness import (REASONS, WORKLOADS, CpuTruth, Folded, assert_no_loss, off_cpu, on_cpu,
                     reason_of, record, run, stolen_seconds, wait_for_names, waiting_for_a_cpu,
                     workload)

EXACT = ["--wall", "--threads", "--offcpu-period", "0"]
WAIT_THREADS = ["sleeper", "holder", "waiter", "blocked", "alternate", "writer", "hog-0", "hog-1"]


class Recorded:
    """A recording of a workload from its first instruction to its end."""

    def __init__(self, folder, *command):
        before = stolen_seconds()
        self.result = record(*EXACT, "-o", folder / "x.folded", "--", *command)
        self.stolen = stolen_seconds() - before
        self.truth = self.result.truth
        self.folded = Folded(folder / "x.folded")
        self.times = self.folded.by_thread()

    def named(self, name):
        """(truth, times) of the threads with that name."""
        return [(thread, self.times[thread["tid"]]) for thread in self.truth["threads"]
                if thread["name"] == name]


# --- 100 threads that switch as often as the CPUs can -----------------------------------------


@pytest.fixture(scope="module")
def crowd(module_path):
    return Recorded(module_path, WORKLOADS / "crowd", 3, 100)


def test_crowd_loses_nothing(crowd):
    assert_no_loss(crowd.result.summary)
    assert crowd.truth["switches_per_thread_second"] > 200
    assert len(crowd.truth["threads"]) == 100


@pytest.mark.parametrize("kind", ["futex", "pipe", "timer"])
def test_crowd(crowd, kind):
    threads = crowd.named(kind)
    assert len(threads) >= 10
    for truth, times in threads:
        least, most = truth["elapsed_ns"] / 1e9, truth["most_ns"] / 1e9
        assert 0.995 * least <= on_cpu(times) + off_cpu(times) <= 1.005 * most, (truth, times)
        assert on_cpu(times) == pytest.approx(truth["cpu_ns"] / 1e9,
                                              abs=0.005 * least + crowd.stolen), (truth, times)
        delay, late = truth["run_delay_ns"] / 1e9, most - least
        assert 0.98 * delay - 0.001 <= waiting_for_a_cpu(times), (truth, times)
        late += crowd.stolen
        assert waiting_for_a_cpu(times) <= 1.02 * delay + 0.001 + late, (truth, times)


def test_crowd_waits_for_its_partners(crowd):
    for kind, reason in (("futex", "[futex]"), ("pipe", "[pipe]"), ("timer", "[timer]")):
        for truth, times in crowd.named(kind):
            blocked = off_cpu(times) - waiting_for_a_cpu(times)
            # Before and after they play, all of them wait on a semaphore.
            assert times[reason] + times["[futex]"] >= 0.98 * blocked, (truth, times)


# --- threads and processes that live for milliseconds ------------------------------------------


@pytest.fixture(scope="module")
def churn(module_path):
    return Recorded(module_path, WORKLOADS / "churn", 4)


def test_churn_loses_nothing(churn):
    assert_no_loss(churn.result.summary)
    assert len(churn.truth["threads"]) > 500


def after_the_end(truth, times):
    """How long a thread waited for a CPU after its own last reading."""
    if truth["name"] != "thread":
        return 0
    return max(waiting_for_a_cpu(times) - truth["run_delay_ns"] / 1e9, 0)


@pytest.mark.parametrize("kind", ["thread", "fork", "exec"])
def test_short_lives(churn, kind):
    """From birth to end, for each and in total."""
    lives = churn.named(kind)
    assert len(lives) > 40
    for truth, times in lives:
        total = sum(times.values())
        assert total >= truth["least_ns"] / 1e9 * 0.995 - 0.0001, (truth, times)
        total -= after_the_end(truth, times)
        assert total <= truth["most_ns"] / 1e9 * 1.005 + 0.0001, (truth, times)
    total = sum(sum(times.values()) for _, times in lives)
    assert total >= sum(truth["least_ns"] for truth, _ in lives) / 1e9 * 0.998
    total -= sum(after_the_end(truth, times) for truth, times in lives)
    assert total <= sum(truth["most_ns"] for truth, _ in lives) / 1e9 * 1.002


@pytest.mark.parametrize("kind", ["thread", "fork"])
def test_short_lives_on_cpu(churn, kind):
    """Their own readings leave out their ends: tenths of a millisecond."""
    lives = churn.named(kind)
    more = [(on_cpu(times) - truth["cpu_ns"] / 1e9, truth, times) for truth, times in lives]
    assert min(life[0] for life in more) >= -0.0001, min(more)
    assert len([life for life in more if life[0] > 0.003]) < 0.05 * len(more), more


def test_cpu_time_of_all_short_lives(churn):
    """The kernel's account of them, after they ended."""
    recorded = sum(on_cpu(churn.times[truth["tid"]]) for truth in churn.truth["threads"])
    assert recorded == pytest.approx(churn.truth["cpu_total_ns"] / 1e9, rel=0.01)


@pytest.mark.parametrize("kind", ["thread", "fork"])
def test_short_lives_waiting_for_a_cpu(churn, kind):
    """Each may wait once more at its end than it can read; most don't."""
    lives = [(truth["run_delay_ns"] / 1e9, waiting_for_a_cpu(times))
             for truth, times in churn.named(kind)]
    assert sum(recorded for _, recorded in lives) >= 0.98 * sum(delay for delay, _ in lives)
    assert not [life for life in lives if life[1] < 0.98 * life[0] - 0.001]
    later = [life for life in lives if life[1] > 1.02 * life[0] + 0.001]
    assert len(later) < 0.4 * len(lives), later


# --- a slewed clock, against which the scheduler's clock drifts ---------------------------------


class Timex(ctypes.Structure):
    """The used fields of adjtimex(2)'s struct timex."""
    _fields_ = [("modes", ctypes.c_uint), ("before", ctypes.c_long * 10), ("tick", ctypes.c_long),
                ("after", ctypes.c_long * 30)]


@contextlib.contextmanager
def slewed(tick):
    """CLOCK_MONOTONIC advances @tick µs in 10 ms; restored in the end."""
    adjtimex, set_tick = ctypes.CDLL(None, use_errno=True).adjtimex, 0x4000
    usual = Timex()
    adjtimex(ctypes.byref(usual))
    if adjtimex(ctypes.byref(Timex(modes=set_tick, tick=tick))) < 0:
        pytest.skip(f"adjtimex: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        adjtimex(ctypes.byref(Timex(modes=set_tick, tick=usual.tick)))


@pytest.mark.parametrize("tick", [9800, 10200])
def test_short_lives_by_a_slewed_clock(tmp_path, tick):
    """By 2 %, so that after 3 s it is 60 ms off."""
    with slewed(tick):
        churn = Recorded(tmp_path, WORKLOADS / "churn", 3)
    lives = churn.named("thread") + churn.named("fork")
    for truth, times in lives:
        assert sum(times.values()) >= 0.97 * truth["least_ns"] / 1e9 - 0.0005, (truth, times)
        assert on_cpu(times) == pytest.approx(truth["cpu_ns"] / 1e9, abs=0.004), (truth, times)
    delay = sum(truth["run_delay_ns"] for truth, _ in lives) / 1e9
    later = sum(after_the_end(truth, times) for truth, times in lives)
    assert sum(waiting_for_a_cpu(times) for _, times in lives) - later == pytest.approx(
        delay, rel=0.08, abs=0.005)


# --- threads that exist all the time, seen in the middle ------------------------------------------


class Present:
    def __init__(self, folder, scratch):
        with workload("wait", scratch, 60, max(os.sched_getaffinity(0))) as process:
            self.tids = wait_for_names(process.pid, WAIT_THREADS)
            before = stolen_seconds()
            with CpuTruth(process.pid) as self.truth:
                self.result = record(*EXACT, "-p", process.pid, "-d", 5,
                                     "-o", folder / "x.folded")
            self.stolen = stolen_seconds() - before
        self.folded = Folded(folder / "x.folded")
        self.times = self.folded.by_thread()
        self.elapsed = self.result.summary["duration_seconds"]

    def of(self, name):
        return self.times[self.tids[name]]


@pytest.fixture(scope="module")
def running(module_path, tmp_path_factory):
    return Present(module_path, tmp_path_factory.mktemp("disk"))


@pytest.mark.parametrize("name", ["wait", *WAIT_THREADS])
def test_elapsed(running, name):
    times = running.of(name)
    assert on_cpu(times) + off_cpu(times) == pytest.approx(running.elapsed, rel=0.005), times


@pytest.mark.parametrize("name", ["wait", *WAIT_THREADS])
def test_on_cpu(running, name):
    cpu = running.truth.cpu(running.result.window(), running.tids[name])
    assert on_cpu(running.of(name)) == pytest.approx(cpu, abs=0.005 * running.elapsed)


@pytest.mark.parametrize("name", WAIT_THREADS)
def test_run_delay(running, name):
    """A wait enters the books when it ends: the two that the window's ends cut are unknown."""
    delay = running.truth.run_delay(running.result.window(), running.tids[name])
    recorded = waiting_for_a_cpu(running.of(name))
    assert 0.98 * delay - 0.02 <= recorded <= 1.02 * delay + 0.02 + running.stolen


def test_reasons(running):
    for name, reason in (("sleeper", "[timer]"), ("blocked", "[pipe]")):
        times = running.of(name)
        assert times[reason] > 0.99 * (off_cpu(times) - waiting_for_a_cpu(times)), times
    assert running.of("writer")["[disk]"] > 0
    assert running.of("hog-0")["[preempted]"] > 0.98 * off_cpu(running.of("hog-0"))
    assert {reason_of(frames) for frames, _ in running.folded.stacks} <= REASONS | {"[on-cpu]"}


def test_stacks_on_cpu(running):
    """CPU time is in the sampled stacks."""
    for name, function in (("hog-0", "hog_cpu"), ("hog-1", "hog_cpu"), ("alternate", "burn_half")):
        tid = running.tids[name]
        stacks = [(frames, value) for frames, value in running.folded.stacks
                  if frames[0].endswith(f"/{tid}") and frames[-1] == "[on-cpu]"]
        inside = sum(value for frames, value in stacks if function in frames)
        assert inside > 0.95 * sum(value for _, value in stacks), (name, stacks)


def test_running_processes_lose_nothing(running):
    assert_no_loss(running.result.summary)


# --- CPU time ----------------------------------------------------------------------------------


def test_shares_of_cpu_time(tmp_path):
    """The total is exact; functions have the shares of their samples."""
    result = record(*EXACT, "-F", 499, "-o", tmp_path / "x.folded", "--", WORKLOADS / "burn", 3)
    folded = Folded(tmp_path / "x.folded")
    times, truth = folded.by_thread(), result.truth
    for thread in truth["threads"]:
        assert on_cpu(times[thread["tid"]]) == pytest.approx(thread["cpu_ns"] / 1e9, rel=0.005)
    total = folded.total(lambda frames: frames[-1] == "[on-cpu]" and "burn_cycle" in frames)
    assert total / 1e6 == pytest.approx(truth["cpu_seconds"], rel=0.01)
    for percent in (60, 30, 10):
        share = folded.total(lambda frames, name=f"burn_{percent}":
                             frames[-1] == "[on-cpu]" and name in frames) / total
        assert share == pytest.approx(percent / 100, abs=0.04), percent


BURN = """
import os, sys, threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
def call(name):
    with open("/proc/self/comm", "w") as file:
        file.write(name)
"""


def test_cpu_time_before_a_rename(tmp_path):
    """It belongs to the old name."""
    script = BURN + "call('early'); burn(1); call('late'); burn(0.5); call('last'); burn(1)"
    for name, seconds in (("late", 0.5), ("la*", 1.5)):
        record(*EXACT, "--comm", name, "-o", tmp_path / "x.folded", "--", "/usr/bin/python3", "-c", script)
        total = Folded(tmp_path / "x.folded").total(lambda frames: frames[-1] == "[on-cpu]")
        assert total / 1e6 == pytest.approx(seconds, abs=0.05)


def test_pictures_leave_out_who_waits_for_work(tmp_path):
    """For the machine; for a process they show what it waits for. Files have everything."""
    server = subprocess.Popen([sys.executable, "-c", "import select; select.epoll().poll(30)"])
    try:
        time.sleep(0.3)
        record("--offcpu", "-a", "-d", 1, "-o", tmp_path / "a.svg", "-o", tmp_path / "a.folded", "-o", tmp_path / "a.pb.gz")
        record("--offcpu", "-a", "--idle", "-d", 1, "-o", tmp_path / "idle.svg")
        record("--offcpu", "-p", server.pid, "-d", 1, "-o", tmp_path / "p.svg")
    finally:
        server.kill()
        server.wait()
    said = re.compile(r"[\d.]+ m?s of idle waits left out")
    assert said.search((tmp_path / "a.svg").read_text())
    assert not said.search((tmp_path / "idle.svg").read_text())
    # Nothing else is visible there.
    assert not said.search((tmp_path / "p.svg").read_text())
    assert "epoll" in (tmp_path / "p.svg").read_text()
    assert "select_epoll_poll" in (tmp_path / "a.folded").read_text() or "epoll_wait" in (tmp_path / "a.folded").read_text()
    assert run("render", tmp_path / "a.pb.gz", "--no-idle", "-o", tmp_path / "again.svg").returncode == 0
    assert said.search((tmp_path / "again.svg").read_text())


def test_exec_by_another_thread(tmp_path):
    """It takes over the first thread's id; CPU time from before stays with the thread that used
    it."""
    script = BURN + """
def other():
    burn(1)
    os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
threading.Thread(target=other).start()
time.sleep(60)
"""
    second = "import os, time\nwhile time.thread_time() < 2: pass\nprint(time.process_time(), flush=True)\nos._exit(0)"
    result = record(*EXACT, "-F", 499, "-o", tmp_path / "x.folded", "--", sys.executable, "-c", script, second)
    times = Folded(tmp_path / "x.folded").by_thread()
    assert sum(on_cpu(thread) for thread in times.values()) == pytest.approx(result.truth, abs=0.05), times
    assert len([thread for thread in times.values() if on_cpu(thread) > 0.9]) == 2, times
    assert result.summary["command"]["exit_status"] == 0


def test_cpu_time_of_programs_too_short_to_be_sampled(tmp_path):
    """Of 300 processes of 3 ms, three in four have no sample of their own."""
    command = f"for i in $(seq 300); do {WORKLOADS / 'deep'} 4 3; done"
    record("--wall", "-F", 99, "-o", tmp_path / "x.folded", "--", "sh", "-c", command)
    folded = Folded(tmp_path / "x.folded")
    short = [(frames, value) for frames, value in folded.of_root("deep")
             if frames[-1] == "[on-cpu]"]
    total = sum(value for _, value in short)
    assert total / 1e6 > 300 * 0.003
    assert sum(value for frames, value in short
               if set(frames[1:]) <= {"[truncated]", "[on-cpu]"}) < 0.02 * total
    burning = sum(value for frames, value in short if "deep_burn" in frames) / 1e6
    assert burning == pytest.approx(300 * 0.003, rel=0.2)


def test_what_no_sample_caught_is_recorded(tmp_path):
    """The scheduler knows that it ran, and for how long."""
    result = run("--wall", "-F", 1, "-o", tmp_path / "x.folded", "--", "/bin/true")
    assert result.returncode == 0 and "nothing was recorded" not in result.stderr, result
    assert Folded(tmp_path / "x.folded").total() > 0
    assert "nothing was recorded" in run("--wall", "-d", 0.1, "--comm", "nobody", "-o", tmp_path / "x.folded").stderr
