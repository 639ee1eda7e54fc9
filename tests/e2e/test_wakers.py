# SPDX-License-Identifier: GPL-2.0-or-later
"""Who woke whom, and the reasons of their waits: threads that each wait in one function and are
woken from one other; and waits for work, collected under one frame."""
import re

import pytest

from harness import (SEPARATOR, CpuTruth, Folded, assert_no_loss, reason_of, record,
                     stolen_seconds, wait_for_names, waiting_for_a_cpu, wakers_of, workload)

# Who waits, where, for what; who wakes it, and where.
PAIRS = [
    ("lock-waiter", "want_lock", "[futex]", "holder", "release_lock"),
    ("reader", "drain_pipe", "[pipe]", "feeder", "feed_pipe"),
    ("poller", "await_bell", "[poll]", "ringer", "ring_bell"),
    ("receiver", "receive", "[network]", "sender", "send_message"),
    ("sig-waiter", "await_signal", "[signal]", "signaler", "send_signal"),
    ("last", "await_middle", "[futex]", "middle", "wake_last"),
    ("middle", "await_source", "[futex]", "source", "wake_middle"),
]
SLEEPERS = ["napper", "source", "feeder"]
THREADS = sorted({name for pair in PAIRS for name in (pair[0], pair[3])} | {"parent", "napper"})
INTERRUPT = "[interrupt]"
EXACT = ["--offcpu", "--offcpu-period", "0"]


class Woken:
    """A recording of the threads that wake each other."""

    def __init__(self, folder, *options, threads=True, seconds=3):
        with workload("wakers", 60) as process:
            self.pid = process.pid
            self.tids = wait_for_names(process.pid, THREADS)
            before = stolen_seconds()
            with CpuTruth(process.pid) as self.truth:
                self.result = record(*EXACT, *options, *(["--threads"] if threads else []),
                                     "-p", process.pid, "-d", seconds, "-o", folder / "x.folded")
        self.stolen = stolen_seconds() - before
        self.folded = Folded(folder / "x.folded")
        self.elapsed = self.result.summary["duration_seconds"]

    def of(self, name):
        """A thread's stacks, with --threads or without."""
        roots = {name, f"{name}-{self.pid}/{self.tids[name]}"}
        return [(frames, value) for frames, value in self.folded.stacks
                if frames[frames[0] == "[idle]"] in roots]

    def waits(self, name, function, reason):
        stacks = [(frames, value) for frames, value in self.of(name)
                  if function in frames and reason_of(frames) == reason]
        total = sum(value for _, value in stacks)
        assert total / 1e6 > 0.4 * self.elapsed, (name, self.of(name))
        return stacks, total


@pytest.fixture(scope="module")
def woken(module_path):
    return Woken(module_path, "--wakers", "--waker-depth", 3)


def share(stacks, total, matches):
    return sum(value for frames, value in stacks if matches(wakers_of(frames))) / total


@pytest.mark.parametrize("name, function, reason, waker, waking", PAIRS)
def test_waker(woken, name, function, reason, waker, waking):
    """Who woke it, and in which function: the leaf is next to the separator; the name is last,
    after libc's two frames that begin a thread."""
    stacks, total = woken.waits(name, function, reason)
    known = share(stacks, total, lambda wakers: wakers and waking in wakers[0]
                  and wakers[0][-1] == f"{waker}-{woken.tids[waker]}")
    assert known > 0.97, stacks
    for frames, _ in stacks:
        for first in wakers_of(frames)[:1]:
            if waking in first:
                assert first[0].endswith("_[k]") and first[-4].endswith("_thread"), frames


@pytest.mark.parametrize("name", SLEEPERS)
def test_woken_by_a_timer(woken, name):
    """Shows the interrupt's own frames, not those of the thread that it interrupted."""
    stacks, total = woken.waits(name, "take_nap", "[timer]")
    known = share(stacks, total, lambda wakers: wakers and wakers[0][-1] == INTERRUPT)
    assert known > 0.95, stacks
    for frames, _ in stacks:
        for waker in wakers_of(frames):
            if waker[-1] == INTERRUPT:
                assert all(frame.endswith(("_[k]", "_[i]")) for frame in waker[:-1]), frames


def test_woken_by_a_process_that_ends(woken):
    """By then the process has left its memory: its exit is seen from the kernel's side."""
    stacks, total = woken.waits("parent", "await_child", "[child]")
    known = share(stacks, total, lambda wakers: wakers
                  and re.fullmatch(r"leaver(-[0-9]+)?", wakers[0][-1])
                  and any("exit" in frame for frame in wakers[0]))
    assert known > 0.95, stacks


def test_chain(woken):
    """middle woke last; before that, source woke middle, and a timer woke source: all while last
    waited."""
    stacks, total = woken.waits("last", "await_middle", "[futex]")
    names = [f"middle-{woken.tids['middle']}", f"source-{woken.tids['source']}", INTERRUPT]

    def is_chain(wakers):
        return ([waker[-1] for waker in wakers] == names and "wake_last" in wakers[0]
                and "wake_middle" in wakers[1])

    assert share(stacks, total, is_chain) > 0.9, stacks


def test_chain_is_as_long_as_asked_for(woken):
    assert max(frames.count(SEPARATOR) for frames, _ in woken.folded.stacks) == 3


def test_waiting_for_a_cpu_has_no_waker(woken):
    queued = [frames for frames, _ in woken.folded.stacks
              if reason_of(frames) in ("[runqueue]", "[preempted]")]
    assert queued
    assert not [frames for frames in queued if SEPARATOR in frames]


def test_wakers_change_no_time(woken):
    times = woken.folded.by_thread()
    for name in THREADS:
        tid = woken.tids[name]
        cpu = woken.truth.cpu(woken.result.window(), tid)
        assert sum(times[tid].values()) == pytest.approx(woken.elapsed - cpu,
                                                         rel=0.005), (name, times[tid])
        delay = woken.truth.run_delay(woken.result.window(), tid)
        # Waits cut by the window's ends are complete in the scheduler's books, or absent.
        queued = waiting_for_a_cpu(times[tid])
        assert 0.98 * delay - 0.02 <= queued <= 1.02 * delay + 0.02 + woken.stolen, name


def test_wakers_lose_nothing(woken):
    """Except the wakers of threads that were already waiting when the recording began."""
    summary = woken.result.summary
    unknown = summary["losses"].pop("unknown_wakers")
    assert unknown < 0.01 * summary["offcpu"]["events_kept"]
    assert_no_loss(summary)


def test_wakers_by_command(tmp_path):
    """Without --threads only locks identify the thread: it held them. One waker each."""
    woken = Woken(tmp_path, "--wakers", threads=False, seconds=1)
    for name, function, reason, waker, waking in PAIRS:
        stacks, total = woken.waits(name, function, reason)
        expected = f"{waker}-{woken.tids[waker]}" if reason == "[futex]" else waker
        known = share(stacks, total, lambda wakers, expected=expected, waking=waking:
                      len(wakers) == 1 and wakers[0][-1] == expected and waking in wakers[0])
        assert known > 0.95, (name, stacks)


def test_wakers_of_wall_time(tmp_path):
    """CPU time has no waker; waits have theirs."""
    with workload("wakers", 60) as process:
        tids = wait_for_names(process.pid, THREADS)
        record("--wall", "--offcpu-period", "0", "--wakers", "--threads", "-p", process.pid,
               "-d", 1, "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    root = f"reader-{process.pid}/{tids['reader']}"
    woken = folded.total(lambda frames: frames[0] == root and SEPARATOR in frames
                         and frames[-1] == f"feeder-{tids['feeder']}")
    assert woken / 1e6 > 0.9
    assert not folded.total(lambda frames: reason_of(frames) == "[on-cpu]" and SEPARATOR in frames)


# --- waits for work ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folded_idle(module_path):
    return Woken(module_path, "--fold-idle")


def test_idle_is_never_dropped(folded_idle):
    """[idle] and the rest add up to all of the time."""
    assert folded_idle.folded.total(lambda frames: frames[0] == "[idle]") > 0
    times = folded_idle.folded.by_thread()
    for name in THREADS:
        cpu = folded_idle.truth.cpu(folded_idle.result.window(), folded_idle.tids[name])
        recorded = sum(times[folded_idle.tids[name]].values())
        assert recorded == pytest.approx(folded_idle.elapsed - cpu, rel=0.005), name


def test_what_is_idle(folded_idle):
    """An event loop's wait is idle; a mutex's is not, nor is any time of a runnable thread."""
    for frames, _ in folded_idle.of("poller"):
        if reason_of(frames) == "[poll]":
            assert frames[0] == "[idle]", frames
    for frames, _ in folded_idle.of("lock-waiter"):
        if "want_lock" in frames:
            assert frames[0] != "[idle]", frames
    for frames, _ in folded_idle.folded.stacks:
        assert "[idle]" not in frames[1:], frames
        if reason_of(frames) in ("[runqueue]", "[preempted]"):
            assert frames[0] != "[idle]", frames


def test_idle_is_folded_on_demand(woken):
    assert not woken.folded.total(lambda frames: "[idle]" in frames)
