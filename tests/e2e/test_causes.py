# SPDX-License-Identifier: GPL-2.0-or-later
"""Why threads wait: each thread of tests/workload/causes.c waits in one way and hardly ever runs.
Its main thread prints which way, and what this kernel lacks."""
import json
import subprocess

import pytest

from harness import (WAITING_FOR_A_CPU, Folded, assert_no_loss, reason_of, record,
                     wait_for_names, workload)

NAMES = ["futex", "futex-pi", "futex-vector", "semaphore",
         "epoll", "poll", "select", "uring", "aio", "eventfd", "inotify",
         "nanosleep", "clock", "timerfd",
         "pipe-read", "pipe-write", "fifo", "terminal", "message",
         "recv-local", "recv-datagram", "recv-stream", "send-stream", "accept", "connect",
         "connect-local",
         "disk-sync", "disk-direct", "disk-cache", "fault-file", "fault-late",
         "lock-rwsem", "lock-mutex", "lock-file",
         "sigwait", "pause", "sigsuspend", "signalfd", "vfork", "waitpid", "stopped", "traced"]

# These wait for work, and no others do. The main thread sleeps for a minute.
IDLE = {"epoll", "poll", "select", "uring", "eventfd", "inotify", "terminal", "accept", "sigwait",
        "pause", "signalfd", "causes"}


class Caused:
    """One recording: the expected reason of each thread, and the recorded one."""

    def __init__(self, result, folded, truth):
        self.result, self.folded = result, folded
        self.elapsed = result.summary["duration_seconds"]
        self.threads = {thread["name"]: thread for thread in truth["threads"]}
        self.threads["causes"] = {"reason": "[timer]", "pid": truth["pid"], "tid": truth["pid"]}
        self.missing = {item["name"]: item["what"] for item in truth["missing"]}
        self.times = folded.by_thread()

    def thread(self, name):
        if name in self.missing:
            pytest.skip(f"there is no {self.missing[name]} here")
        return self.threads[name]

    def blocked(self, name):
        """Seconds by reason."""
        times = self.times[self.thread(name)["tid"]]
        return {reason: seconds for reason, seconds in times.items()
                if reason not in WAITING_FOR_A_CPU}

    def idle(self, name):
        """Seconds below [idle]."""
        root = f"{name}-{self.thread(name)['pid']}/{self.thread(name)['tid']}"
        return self.folded.total(lambda frames: frames[:2] == ["[idle]", root]) / 1e6


@pytest.fixture(scope="module")
def caused(module_path, tmp_path_factory):
    with workload("causes", tmp_path_factory.mktemp("disk"), 60) as process:
        truth = json.loads(process.stdout.readline())
        pids = sorted({thread["pid"] for thread in truth["threads"]} | {truth["pid"]})
        result = record("--offcpu", "--offcpu-period", "0", "--threads", "--fold-idle",
                        "-p", ",".join(map(str, pids)), "-d", 5, "-o", module_path / "x.folded")
    return Caused(result, Folded(module_path / "x.folded"), truth)


def test_all_are_looked_at(caused):
    assert {*caused.threads, *caused.missing} == {*NAMES, "causes"}
    assert_no_loss(caused.result.summary)


@pytest.mark.parametrize("name", [*NAMES, "causes"])
def test_cause(caused, name):
    blocked = caused.blocked(name)
    total = sum(blocked.values())
    assert total > 0.02 * caused.elapsed, blocked
    assert blocked.get(caused.thread(name)["reason"], 0) >= 0.95 * total, blocked


@pytest.mark.parametrize("name", [*NAMES, "causes"])
def test_idle(caused, name):
    total = sum(caused.blocked(name).values())
    if name in IDLE:
        assert caused.idle(name) >= 0.95 * total
    else:
        assert caused.idle(name) <= 0.05 * total


def test_threads_of_the_kernel_wait_for_work(tmp_path):
    """Kernel threads sleep while they wait for work, and that is idle; not any other reason."""
    record("--offcpu", "--offcpu-period", "0", "--fold-idle", "-a", "-d", 2,
           "-o", tmp_path / "x.folded")
    asleep = [(frames, value) for frames, value in Folded(tmp_path / "x.folded").stacks
              if "kthread_[k]" in frames and reason_of(frames) == "[sleep]"]
    idle = sum(value for frames, value in asleep if frames[0] == "[idle]")
    assert idle > 0.95 * sum(value for _, value in asleep) > 0


def test_known_when_they_waited_before(tmp_path):
    """If a wait lasts from start to end, the kernel shows a different stack."""
    with workload("wait", tmp_path, 30) as process:
        tids = wait_for_names(process.pid, ["blocked", "waiter"])
        result = record("--offcpu", "--threads", "-p", process.pid, "-d", 1,
                        "-o", tmp_path / "x.folded")
    times = Folded(tmp_path / "x.folded").by_thread()[tids["blocked"]]
    assert times["[pipe]"] == pytest.approx(result.summary["duration_seconds"], rel=0.01)


POLLS = """
import ctypes, os
libc, ear = ctypes.CDLL(None), os.pipe()[0]
time = (ctypes.c_long * 2)
polled = (ctypes.c_int * 2)(ear, 1)
print(flush=True)
while True: {}
"""


@pytest.mark.parametrize("seconds, is_idle", [("0.005", False), ("0.7", True)])
def test_sleeps_are_as_long_as_they_are(seconds, is_idle, tmp_path):
    """However rarely one of them is kept."""
    process = subprocess.Popen(["/usr/bin/python3", "-c", f"import time\nwhile True: time.sleep({seconds})"])
    try:
        record("--offcpu", "--offcpu-period", "1s", "--fold-idle", "-p", process.pid, "-d", 9, "-o", tmp_path / "x.folded")
    finally:
        process.kill()
        process.wait()
    asleep = [(frames, value) for frames, value in Folded(tmp_path / "x.folded").stacks if reason_of(frames) == "[timer]"]
    idle = sum(value for frames, value in asleep if frames[0] == "[idle]")
    # One that the recording's end cuts off looks short, and may stand for 1 s.
    assert idle > 0.5 * sum(value for _, value in asleep) if is_idle else asleep and not idle, asleep


@pytest.mark.parametrize("call, reason", [
    ("libc.select(0, None, None, None, time(0, 5000))", "[timer]"),
    ("libc.pselect(0, None, None, None, time(0, 5000000), None)", "[timer]"),
    ("libc.poll(None, 0, 5)", "[timer]"),
    ("libc.ppoll(None, 0, time(0, 5000000), None)", "[timer]"),
    ("libc.select(ear + 1, (ctypes.c_ulong * 16)(1 << ear), None, None, time(0, 5000))", "[poll]"),
    ("libc.poll(polled, 1, 5)", "[poll]")])
def test_polls_of_no_file_are_sleeps(call, reason, tmp_path):
    """Short ones delay the program; what polls a file waits for work."""
    process = subprocess.Popen(["/usr/bin/python3", "-c", POLLS.format(call)], stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        record("--offcpu", "--fold-idle", "-p", process.pid, "-d", 1, "-o", tmp_path / "x.folded")
    finally:
        process.kill()
        process.communicate()
    waits = [(frames, value) for frames, value in Folded(tmp_path / "x.folded").stacks
             if reason_of(frames) not in WAITING_FOR_A_CPU]
    assert waits
    assert {reason_of(frames) for frames, _ in waits if reason_of(frames) in ("[timer]", "[poll]")} == {reason}
    assert all((frames[0] == "[idle]") == (reason == "[poll]") for frames, _ in waits
               if reason_of(frames) == reason)
