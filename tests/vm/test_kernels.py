# SPDX-License-Identifier: GPL-2.0-or-later
"""Other kernels, each in a virtual machine that records in every way once (guest.sh). Emulation is
slow and shares this machine's CPUs with its tests, so truth is met within a few percent here;
how exact it is on real hardware is for the end-to-end tests to say."""
import json
import re
import subprocess

import pytest

from harness import ROOT, Folded, assert_no_loss

RUN_VM = ROOT / "tools" / "run-vm"
WORKLOADS = ROOT / "build" / "vm" / "workload"

# The hook each is expected to choose. Debian's finish_task_switch() is finish_task_switch.isra.0,
# which kprobes find and fentry does not; sched_exit_tp came with 6.16.
KPROBE, SWITCH, EXIT = "kprobe:finish_task_switch", "sched_switch", "sched_exit_tp"
HOOKS = {"6.1": [KPROBE, SWITCH], "6.12": [KPROBE, SWITCH], "7": [EXIT, KPROBE, SWITCH]}
HERE = [(kernel, hook) for kernel, hooks in HOOKS.items() for hook in hooks]
OLD = "5.10"

# The functions in which the threads of tests/workload/wait.c block; built without frame pointers.
BLOCKS_IN = {"sleeper": "sleeper_thread", "blocked": "blocked_thread",
             "alternate": "alternate_thread", "hog-0": "hog_thread", "hog-1": "hog_thread"}
STEADY = ["wait", "sleeper", "holder", "blocked"]

PLUMBING = re.compile(r"(bpf_(?!lsm_|map_|lru_)|__bpf_(?!map_)|schedule(_timeout.*|_hrtimeout.*|_idle)?_\[k\]$|__schedule"
                      r"|preempt_schedule|__?traceiter|trace_|__traceiter|perf_trace|finish_task"
                      r"|ftrace|arch_ftrace|kprobe_(?!optimizer)|aggr_|optimized_callback|opt_pre_handler"
                      r"|exc_int3|asm_exc_int3|__switch_to|context_switch|stack_trace_|rethook)")


def fetch(kernel):
    """Brings the kernel here; without a network, what needs it is skipped."""
    result = subprocess.run([RUN_VM, kernel], capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.skip(f"Linux {kernel}: {result.stderr.splitlines()[-1]}")


def run_in(kernel, *command, files=(), out=None, timeout=150):
    options = [item for file in files for item in ("-f", file)]
    if out:
        options += ["-o", out]
    return subprocess.run([RUN_VM, "-t", str(timeout), *options, kernel, *command],
                          capture_output=True, text=True, check=False)


class Recorded:
    """What guest.sh left of one recording."""

    def __init__(self, folder, name):
        self.status = int((folder / f"{name}.status").read_text())
        self.err = (folder / f"{name}.err").read_text()
        assert self.status == 0, self.err
        self.summary = json.loads((folder / f"{name}.json").read_text())
        self.folded = Folded(folder / f"{name}.folded")
        self.elapsed = self.summary["duration_seconds"]


class Waited(Recorded):
    """A recording of the threads that wait, by thread name."""

    def __init__(self, folder, name):
        super().__init__(folder, name)
        truth = json.loads((folder / f"{name}.truth").read_text())
        self.truth = {thread["name"]: thread for thread in truth["threads"]}
        self.roots = {thread: f"{thread}-{truth['pid']}/{values['tid']}"
                      for thread, values in self.truth.items()}
        self.roots["wait"] = f"wait-{truth['pid']}/{truth['pid']}"

    def share(self, thread, *leaves):
        """Of the time recorded, the part spent off the CPU."""
        return sum(value for frames, value in self.folded.of_root(self.roots[thread])
                   if not leaves or frames[-1] in leaves) / 1e6 / self.elapsed

    def true_share(self, thread):
        return self.truth[thread]["off_cpu_ns"] / self.truth[thread]["elapsed_ns"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folder with the recordings of a kernel, made at its first use."""
    made = {}

    def folder(kernel):
        if kernel not in made:
            fetch(kernel)
            out = tmp_path_factory.mktemp("vm")
            made[kernel] = out, run_in(
                kernel, "sh", "guest.sh", *HOOKS[kernel], out=out,
                files=[ROOT / "tests" / "vm" / "guest.sh", WORKLOADS / "wait", WORKLOADS / "burn"])
        out, result = made[kernel]
        assert result.returncode == 0, result.stderr
        return out

    return folder


@pytest.mark.parametrize("kernel", HOOKS)
def test_chosen_hook(folders, kernel):
    """The best there is, by itself, and named."""
    assert Recorded(folders(kernel), "auto").summary["hook"] == HOOKS[kernel][0]


@pytest.mark.parametrize("kernel, hook", HERE)
def test_forced_hook(folders, kernel, hook):
    summary = Recorded(folders(kernel), hook).summary
    assert summary["hook"] == hook
    assert_no_loss(summary)


@pytest.mark.parametrize("kernel, hook", HERE)
def test_time_off_cpu(folders, kernel, hook):
    waited = Waited(folders(kernel), hook)
    for thread in waited.truth:
        assert waited.share(thread) == pytest.approx(waited.true_share(thread), abs=0.03), thread
    assert waited.share("blocked", "[sleep]") == pytest.approx(1, abs=0.001)
    assert waited.share("hog-0", "[preempted]", "[runqueue]") > 0.3


@pytest.mark.parametrize("kernel", HOOKS)
def test_hooks_agree(folders, kernel):
    recordings = [Waited(folders(kernel), name) for name in ["auto", *HOOKS[kernel]]]
    for thread in STEADY:
        shares = [recording.share(thread) for recording in recordings]
        assert max(shares) - min(shares) < 0.04, (thread, shares)


@pytest.mark.parametrize("kernel, hook", HERE)
def test_stacks(folders, kernel, hook):
    """Nearly all time is in stacks with the function that blocked, none in stacks without frames."""
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
    for name in ["auto", "all", *HOOKS[kernel]]:
        names = Recorded(folders(kernel), name).folded.names()
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
def test_cpu_goes_and_comes_back(folders, kernel):
    """Threads bound to CPU 1 run for 2 s before it goes and each time that it is back."""
    recorded = Recorded(folders(kernel), "hotplug")
    for thread in ("before", "after", "again"):
        samples = recorded.folded.total(lambda frames, name=thread: frames[0] == name)
        assert samples > 0.7 * 99 * 2, thread


def test_too_old():
    """One line that says what is missing and what helps."""
    fetch(OLD)
    result = run_in(OLD, "bpfflame", "--offcpu", "-a", "-d", "1", "-o", "-", timeout=60)
    assert result.returncode == 1, result
    lines = result.stdout.splitlines()
    assert len(lines) == 1, result
    assert "too old" in lines[0] and "5.15" in lines[0], result
