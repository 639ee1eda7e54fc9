# SPDX-License-Identifier: GPL-2.0-or-later
"""Other kernels, each in a virtual machine that records in every mode once (guest.sh). Emulation is
slow and shares this machine's CPUs with the tests, so results only need to be within a few percent
of the truth; the end-to-end tests check accuracy on real hardware."""
import collections
import json
import re
import subprocess

import pytest

from harness import (ROOT, Folded, assert_no_loss, off_cpu, on_cpu, reason_of, waiting_for_a_cpu,
                     wakers_of)

RUN_VM = ROOT / "tools" / "run-vm"
WORKLOADS = ROOT / "build" / "vm" / "workload"

# The hook that each should choose. Debian's finish_task_switch() is finish_task_switch.isra.0,
# which kprobes find and fentry does not; sched_exit_tp came with 6.16.
KPROBE, SWITCH, EXIT = "kprobe:finish_task_switch", "sched_switch", "sched_exit_tp"
HOOKS = {"6.1": [KPROBE, SWITCH], "6.12": [KPROBE, SWITCH], "7": [EXIT, KPROBE, SWITCH]}
HERE = [(kernel, hook) for kernel, hooks in HOOKS.items() for hook in hooks]
OLD = "5.10"

# The functions in which the threads of tests/workload/wait.c block; built without frame pointers.
BLOCKS_IN = {"sleeper": "sleeper_thread", "blocked": "blocked_thread",
             "alternate": "alternate_thread", "hog-0": "hog_thread", "hog-1": "hog_thread"}
# Who waits, where; who wakes it, and where, in tests/workload/wakers.c.
WAKERS = [("lock-waiter", "want_lock", "holder", "release_lock"),
          ("reader", "drain_pipe", "feeder", "feed_pipe"),
          ("last", "await_middle", "middle", "wake_last"),
          ("napper", "take_nap", "[interrupt]", None)]

PLUMBING = re.compile(r"(bpf_(?!lsm_|map_|lru_)|__bpf_(?!map_)|schedule(_timeout.*|_hrtimeout.*|_idle)?_\[k\]$|__schedule"
                      r"|preempt_schedule|__?traceiter|trace_|__traceiter|perf_trace|finish_task"
                      r"|ftrace|arch_ftrace|kprobe_(?!optimizer)|aggr_|optimized_callback|opt_pre_handler"
                      r"|exc_int3|asm_exc_int3|__switch_to|context_switch|stack_trace_|rethook)")


def fetch(kernel):
    """Brings the kernel here; without a network, tests that need it are skipped."""
    result = subprocess.run([RUN_VM, kernel], capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.skip(f"Linux {kernel}: {result.stderr.splitlines()[-1]}")


def run_in(kernel, *command, files=(), out=None, timeout=900):
    options = [item for file in files for item in ("-f", file)]
    if out:
        options += ["-o", out]
    return subprocess.run([RUN_VM, "-t", str(timeout), *options, kernel, *command],
                          capture_output=True, text=True, check=False)


class Recorded:
    """The files that guest.sh left of one recording."""

    def __init__(self, folder, name):
        self.status = int((folder / f"{name}.status").read_text())
        self.err = (folder / f"{name}.err").read_text()
        assert self.status == 0, self.err
        self.summary = json.loads((folder / f"{name}.json").read_text())
        self.folded = Folded(folder / f"{name}.folded")
        self.elapsed = self.summary["duration_seconds"]


class Waited(Recorded):
    """A recording of the threads that wait, by thread name."""

    def __init__(self, folder, name, truth=None):
        super().__init__(folder, name)
        if truth:
            said = json.loads((folder / f"{truth}.truth").read_text())
            self.truth = {thread["name"]: thread for thread in said["threads"]}
        else:
            lines = (folder / f"{name}.readings").read_text().splitlines()
            readings = [json.loads(line) for line in lines if line.endswith("}")]
            said, self.truth = readings[0], self.truth_of(readings)
        self.roots = {thread: f"{thread}-{said['pid']}/{values['tid']}"
                      for thread, values in self.truth.items()}
        self.roots["wait"] = f"wait-{said['pid']}/{said['pid']}"

    def truth_of(self, readings):
        """What the threads did in the recorded window, between the readings nearest to its ends."""
        begin = self.summary["start_unix_seconds"]
        assert readings[0]["unix"] < begin and begin + self.elapsed < readings[-1]["unix"]

        def at(moment, i, what):
            after = next(n for n, reading in enumerate(readings) if reading["unix"] >= moment)
            (t0, v0), (t1, v1) = ((reading["unix"], reading["threads"][i][what])
                                  for reading in readings[after - 1:after + 1])
            return v0 + (v1 - v0) * (moment - t0) / (t1 - t0)

        return {thread["name"]: {"tid": thread["tid"], **{
            what: at(begin + self.elapsed, i, what) - at(begin, i, what)
            for what in ("cpu_ns", "run_delay_ns")}}
            for i, thread in enumerate(readings[0]["threads"])}

    def share(self, thread, *leaves):
        """The share of the recorded time that was spent off the CPU."""
        return sum(value for frames, value in self.folded.of_root(self.roots[thread])
                   if not leaves or frames[-1] in leaves) / 1e6 / self.elapsed

    def assert_true(self, thread, share):
        true = 1 - self.truth[thread]["cpu_ns"] / 1e9 / self.elapsed
        assert share == pytest.approx(true, abs=0.03), (thread, self.truth[thread])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folder with a kernel's recordings, made at first use."""
    made = {}

    def folder(kernel):
        if kernel not in made:
            fetch(kernel)
            out = tmp_path_factory.mktemp("vm")
            made[kernel] = out, run_in(
                kernel, "sh", "guest.sh", *HOOKS[kernel], out=out,
                files=[ROOT / "tests" / "vm" / "guest.sh",
                       *(WORKLOADS / name for name in ("wait", "burn", "wakers", "probes"))])
        out, result = made[kernel]
        assert result.returncode == 0, result.stderr
        return out

    return folder


@pytest.mark.parametrize("kernel", HOOKS)
def test_chosen_hook(folders, kernel):
    """The best one that exists is chosen by default, and named."""
    assert Recorded(folders(kernel), "wall").summary["hook"] == HOOKS[kernel][0]


@pytest.mark.parametrize("kernel, hook", HERE)
def test_forced_hook(folders, kernel, hook):
    summary = Recorded(folders(kernel), hook).summary
    assert summary["hook"] == hook
    assert_no_loss(summary)


@pytest.mark.parametrize("kernel, hook", HERE)
def test_time_off_cpu(folders, kernel, hook):
    waited = Waited(folders(kernel), hook)
    for thread in waited.truth:
        waited.assert_true(thread, waited.share(thread))
    assert waited.share("blocked", "[pipe]") == pytest.approx(1, abs=0.001)
    assert waited.share("hog-0", "[preempted]", "[runqueue]") > 0.3


def by_user_stack(recording):
    """Seconds by thread, user stack and reason."""
    times = collections.Counter()
    for frames, value in recording.folded.stacks:
        tid = int(frames[0].rpartition("/")[2])
        user = tuple(frame for frame in frames[1:-1] if not frame.endswith("_[k]"))
        times[tid, user, reason_of(frames)] += value / 1e6
    return times


@pytest.mark.parametrize("kernel", HOOKS)
def test_hooks_agree(folders, kernel):
    """All hooks saw the same threads do the same: no thread, reason or stack differs by more than 2
    %. The truth begins only when all have started."""
    recordings = [Waited(folders(kernel), f"together-{hook}", "together")
                  for hook in HOOKS[kernel]]
    assert [recording.summary["hook"] for recording in recordings] == HOOKS[kernel]
    threads = {thread["tid"]: thread for thread in recordings[0].truth.values()}
    elapsed = 4
    for recording in recordings:
        assert_no_loss(recording.summary)
        times = recording.folded.by_thread()
        for tid, truth in threads.items():
            # What happened before all threads had started comes on top.
            before = recording.elapsed - truth["elapsed_ns"] / 1e9
            for mine, true in ((sum(times[tid].values()), truth["off_cpu_ns"] / 1e9),
                               (waiting_for_a_cpu(times[tid]), truth["run_delay_ns"] / 1e9)):
                assert -0.01 * elapsed <= mine - true <= before + 0.01 * elapsed, truth
    stacks = [by_user_stack(recording) for recording in recordings]
    for key in set().union(*stacks):
        if key[0] in threads:
            values = [times[key] for times in stacks]
            assert max(values) - min(values) <= 0.02 * elapsed, (threads[key[0]], key, values)
    totals = [sum(value for (tid, _, _), value in times.items() if tid in threads)
              for times in stacks]
    assert max(totals) <= 1.02 * min(totals)


@pytest.mark.parametrize("kernel", HOOKS)
def test_wall(folders, kernel):
    """Time on and off the CPU adds up to what each thread had."""
    waited = Waited(folders(kernel), "wall")
    assert_no_loss(waited.summary)
    times = waited.folded.by_thread()
    for name, truth in waited.truth.items():
        mine = times[truth["tid"]]
        assert on_cpu(mine) + off_cpu(mine) == pytest.approx(waited.elapsed, rel=0.01), name
        waited.assert_true(name, off_cpu(mine) / waited.elapsed)
    for name, reason in (("sleeper", "[timer]"), ("blocked", "[pipe]"), ("hog-0", "[preempted]")):
        mine = times[waited.truth[name]["tid"]]
        assert mine[reason] > 0.9 * off_cpu(mine), (name, mine)


@pytest.mark.parametrize("kernel", HOOKS)
def test_wakers(folders, kernel):
    recorded = Recorded(folders(kernel), "wakers")
    # Some were already waiting when the recording began.
    del recorded.summary["losses"]["unknown_wakers"]
    assert_no_loss(recorded.summary)
    lines = (folders(kernel) / "wakers.threads").read_text().splitlines()
    tids = dict(line.split() for line in lines)
    for name, function, waker, waking in WAKERS:
        waits = [(wakers_of(frames), value) for frames, value in recorded.folded.stacks
                 if frames[0].endswith(f"/{tids[name]}") and function in frames
                 and reason_of(frames) in ("[futex]", "[pipe]", "[timer]")]
        expected = f"{waker}-{tids[waker]}" if waking else waker
        known = sum(value for wakers, value in waits if wakers and wakers[0][-1] == expected
                    and (not waking or waking in wakers[0]))
        assert known > 0.9 * sum(value for _, value in waits) > 0, (name, waits)


@pytest.mark.parametrize("kernel, hook", HERE)
def test_stacks(folders, kernel, hook):
    """Almost all time is in stacks with the function that blocked, none in stacks without
    frames."""
    waited = Waited(folders(kernel), hook)
    for thread, function in BLOCKS_IN.items():
        stacks = waited.folded.of_root(waited.roots[thread])
        inside = sum(value for frames, value in stacks if function in frames)
        assert inside >= 0.99 * sum(value for _, value in stacks), (thread, stacks)
    assert waited.summary["complete_stacks_percent"] >= 99
    bare = [(frames, value) for frames, value in waited.folded.stacks
            if not any(frame.endswith("_[k]") for frame in frames)]
    assert not bare


@pytest.mark.parametrize("kernel", HOOKS)
def test_no_plumbing(folders, kernel):
    """No frames of ours or of the switch where threads block. Where they run or are preempted,
    those are frames that they ran."""
    for name in ["wall", "wakers", "all", *HOOKS[kernel]]:
        names = {frame for frames, _ in Recorded(folders(kernel), name).folded.stacks
                 if reason_of(frames) not in ("[on-cpu]", "[preempted]") for frame in frames}
        assert not [frame for frame in names
                    if frame.endswith("_[k]") and PLUMBING.match(frame)], name


@pytest.mark.parametrize("kernel", HOOKS)
def test_shares_on_cpu(folders, kernel):
    recorded = Recorded(folders(kernel), "oncpu")
    assert_no_loss(recorded.summary)
    total = recorded.folded.total(lambda frames: "burn_cycle" in frames)
    assert total > 199 * recorded.elapsed  # of two CPUs
    for percent in (60, 30, 10):
        share = recorded.folded.with_frame(f"burn_{percent}") / total
        assert share == pytest.approx(percent / 100, abs=0.06), percent


@pytest.mark.parametrize("kernel", HOOKS)
def test_events(folders, kernel):
    """Counted, not timed, so exact here too. With kprobes, and without a mounted tracefs."""
    folder = folders(kernel)
    assert (folder / "events.status").read_text().strip() == "0", \
        (folder / "events.err").read_text()
    summary = json.loads((folder / "events.json").read_text())
    truth = json.loads((folder / "events.truth").read_text())
    assert_no_loss(summary)
    files = {path.name.split(".", 1)[1].removesuffix(".folded"): Folded(path)
             for path in folder.glob("events.*.folded")}

    def inside(stem, function):
        return files[stem].total(lambda frames: frames[0] == "probes" and function in frames)
    assert inside("page-faults", "touch_many") == truth["pages"]
    assert inside("page-faults", "touch_few") == truth["few"]
    assert inside("sched-sched_process_fork", "fork_often") == truth["forks"]
    assert inside("uprobe-probes-called_often", "main") == \
        truth["calls"] + 2 * truth["twice"] + 1
    assert inside("uretprobe-probes-calls_twice", "main") == truth["twice"]
    assert inside("usdt-probes-watched", "pass_marks") == truth["watched"] == truth["passed"]
    assert inside("kprobe-__x64_sys_write", "write_often") == truth["writes"]
    assert inside("kretprobe-__x64_sys_write", "write_often") == truth["writes"]
    # Not the shell's: busybox has no call frame information.
    stacks = [stack for folded in files.values() for stack in folded.stacks if stack[0][0] == "probes"]
    cut = sum(value for frames, value in stacks if "[truncated]" in frames)
    assert cut <= 0.01 * sum(value for _, value in stacks), stacks
    kinds = {event["kind"] for event in json.loads((folder / "events.list").read_text())["events"]}
    assert kinds >= {"software", "tracepoint", "uprobe", "kprobe", "usdt"}


@pytest.mark.parametrize("kernel", HOOKS)
def test_cpu_goes_and_comes_back(folders, kernel):
    """Threads bound to CPU 1 run for 2 s before it goes offline and each time that it is back."""
    recorded = Recorded(folders(kernel), "hotplug")
    for thread in ("before", "after", "again"):
        samples = recorded.folded.total(lambda frames, name=thread: frames[0] == name)
        assert samples > 0.7 * 99 * 2, thread


def test_too_old():
    """One line that names what is missing and what helps."""
    fetch(OLD)
    result = run_in(OLD, "bpfflame", "--offcpu", "-a", "-d", "1", "-o", "-", timeout=60)
    assert result.returncode == 1, result
    lines = result.stdout.splitlines()
    assert len(lines) == 1, result
    assert "too old" in lines[0] and "5.15" in lines[0], result
