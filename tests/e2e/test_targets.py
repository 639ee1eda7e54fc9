# SPDX-License-Identifier: GPL-2.0-or-later
"""Whom to record: commands, children, and filters, which combine with AND."""
import contextlib
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness import (BPFFLAME, WORKLOADS, Folded, Running, assert_no_loss, can_unshare, error_line,
                     off_cpu, on_cpu, record, run, threads_of, wait_for_threads, wait_until,
                     workload)

CPUS = sorted(os.sched_getaffinity(0))
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")


def pinned(cpu, name="burn", seconds=60, threads=1):
    return workload("burn", seconds, threads,
                    command=["taskset", "-c", str(cpu), WORKLOADS / name])


# --- commands -------------------------------------------------------------------------------


def test_command_is_recorded_from_start_to_end(tmp_path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = record("-F", 999, "-o", tmp_path / "x.folded", "--", WORKLOADS / "execs", 1)
    folded = Folded(tmp_path / "x.folded")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = result.summary["cpu_seconds"]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - own
    assert folded.total() == pytest.approx(999 * 2, rel=0.03)
    assert cpu == pytest.approx(2, abs=0.2)
    assert folded.with_frame("burn_before_exec") == pytest.approx(999, rel=0.05)
    assert folded.with_frame("burn_after_exec") == pytest.approx(999, rel=0.05)


def test_first_instructions_are_seen(tmp_path):
    """Programs that only start: their time is spent in the kernel's exec and in the loader."""
    result = record("-F", 20000, "-o", tmp_path / "x.folded", "--",
                    "/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done")
    names = Folded(tmp_path / "x.folded").names()
    assert any("exec" in name and name.endswith("_[k]") for name in names), names
    assert any("ld-linux" in name or name.startswith("_dl_") or name == "_start"
               for name in names), names
    assert result.summary["command"]["exit_status"] == 0


@pytest.mark.parametrize("script, key, value", [("exit 7", "exit_status", 7),
                                                ("kill -9 $$", "signal", 9)])
def test_exit_status_of_command(tmp_path, script, key, value):
    result = record("-o", tmp_path / "x.folded", "--", "/bin/sh", "-c", script)
    assert result.summary["command"][key] == value


def test_command_output_is_its_own(tmp_path):
    result = run("-q", "-o", tmp_path / "x.folded", "--", "/bin/echo", "hello")
    assert result.returncode == 0 and result.stdout == "hello\n", result


def test_command_that_does_not_exist(tmp_path):
    result = run("-o", tmp_path / "x.folded", "--", "no-such-command")
    assert result.returncode == 1, result
    assert "no-such-command" in error_line(result)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("option, followed", [([], True), (["--no-children"], False)])
def test_children_of_command(tmp_path, option, followed):
    record(*option, "-F", 499, "-o", tmp_path / "x.folded", "--",
           "/bin/sh", "-c", f"{WORKLOADS}/execs 1; :")
    folded = Folded(tmp_path / "x.folded")
    before, after = (folded.with_frame(f"burn_{half}_exec") for half in ("before", "after"))
    if not followed:
        assert (before, after) == (0, 0)
        return
    # A hypervisor that takes a tenth of the time takes a tenth of the samples.
    assert before + after == pytest.approx(2 * 499, rel=0.15)
    assert after == pytest.approx(before, rel=0.12)


@pytest.mark.parametrize("option, followed", [([], True), (["--no-children"], False)])
def test_children_of_pid(tmp_path, option, followed):
    """Only those born during the recording."""
    script = f"sleep 1.5; {WORKLOADS}/execs 0.5; :"
    with workload("sh", command=["/bin/sh", "-c", script]) as process:
        record(*option, "-p", process.pid, "-F", 499, "-d", 20, "-o", tmp_path / "x.folded")
    burned = Folded(tmp_path / "x.folded").with_frame("burn_after_exec")
    assert burned == (pytest.approx(499 * 0.5, rel=0.15) if followed else 0)


def test_children_that_are_there_at_the_start(tmp_path):
    """Those born after the programs run, but before their mappings are recorded."""
    script = "while :; do sleep 0.04 & sleep 0.005; done"
    with workload("sh", command=["/bin/sh", "-c", script]) as process:
        for _ in range(15):
            result = record("--offcpu", "--offcpu-period", "0", "-p", process.pid, "-d", 0.1,
                            "-o", tmp_path / "x.folded")
            assert_no_loss(result.summary)
    assert Folded(tmp_path / "x.folded").roots() >= {"sh", "sleep"}


@pytest.mark.parametrize("option, followed", [([], True), (["--no-children"], False)])
@pytest.mark.parametrize("mode, least", [("--oncpu", 1), ("--wall", 0.3e6)])
def test_children_older_than_the_recording(tmp_path, option, followed, mode, least):
    """A server's workers are its grandchildren, and one of them keeps starting others."""
    worker = f"touch {tmp_path}/begun; {WORKLOADS}/burn 60 1 >/dev/null & wait"
    busy = "while :; do sleep 0.02; done"
    with workload("sh", command=["/bin/sh", "-c", f"sh -c '{worker}' & sh -c '{busy}' & wait"],
                  start_new_session=True) as process:
        wait_until((tmp_path / "begun").exists)
        time.sleep(0.2)
        result = record(*option, mode, "-F", 199, "-p", process.pid, "-d", 1,
                        "-o", tmp_path / "x.folded")
        os.killpg(process.pid, signal.SIGKILL)
    folded = Folded(tmp_path / "x.folded")
    assert_no_loss(result.summary)
    if followed:
        assert folded.with_frame("burn_cycle") >= least
        assert mode == "--oncpu" or "sleep" in folded.roots()
    else:
        assert folded.roots() <= {"sh"}


def test_recording_ends_with_its_target(tmp_path):
    started = time.monotonic()
    with workload("burn", 2, 1) as process:
        result = record("-p", process.pid, "-d", 30, "-o", tmp_path / "x.folded")
    assert time.monotonic() - started < 10
    assert result.summary["duration_seconds"] < 5


# --- filters --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def burners(tmp_path_factory):
    """Two processes, each busy on its own CPU; the second also has its own name."""
    other = tmp_path_factory.mktemp("bin") / "other-name"
    other.write_bytes((WORKLOADS / "burn").read_bytes())
    other.chmod(0o755)
    with workload("burn", 120, 2, command=["taskset", "-c", str(CPUS[0]), WORKLOADS / "burn"]) \
            as first, \
         workload("burn", 120, 1, command=["taskset", "-c", str(CPUS[-1]), other]) as second:
        wait_for_threads(first.pid, 3)
        wait_for_threads(second.pid, 2)
        yield first, second


def recorded(path, *options):
    record("-F", 199, "-d", 1.5, "--threads", *options, "-o", path / "x.folded")
    return Folded(path / "x.folded")


def test_tid(burners, tmp_path):
    tid = threads_of(burners[0].pid)[1]
    folded = recorded(tmp_path, "-t", tid)
    assert folded.roots() == {f"burn-{burners[0].pid}/{tid}"}


def test_pid_list(burners, tmp_path):
    folded = recorded(tmp_path, "-p", f"{burners[0].pid},{burners[1].pid}")
    pids = {root.rpartition("-")[2].partition("/")[0] for root in folded.roots()}
    assert pids == {str(process.pid) for process in burners}


@pytest.mark.parametrize("option, kind", [("-p", "process"), ("-t", "thread")])
def test_those_that_have_ended_are_named(burners, tmp_path, option, kind):
    """The others are recorded; it fails where none is left."""
    with subprocess.Popen(["true"]) as process:
        ended = process.pid
    lives = burners[0].pid if option == "-p" else threads_of(burners[0].pid)[1]
    result = record(option, f"{ended},{lives}", "-d", 1, "--threads", "-o", tmp_path / "x.folded")
    assert f"no {kind} {ended}: it has ended" in result.stderr, result
    pids = {root.rpartition("-")[2].partition("/")[0] for root in Folded(tmp_path / "x.folded").roots()}
    assert pids == {str(burners[0].pid)}
    result = run(option, f"{ended},{ended}", "-d", 1, "-o", tmp_path / "y.folded")
    assert result.returncode == 1 and f"no {kind} {ended} " in error_line(result), result


def test_comm(burners, tmp_path):
    folded = recorded(tmp_path, "--comm", "oth*-n?me")
    assert folded.total() > 20
    assert {root.rpartition("-")[0] for root in folded.roots()} == {"other-name"}


@two_cpus
def test_cpu(burners, tmp_path):
    first, second = burners
    folded = recorded(tmp_path, "-a", "-C", CPUS[-1])
    assert folded.total(lambda frames: f"-{second.pid}/" in frames[0]) > 20
    assert folded.total(lambda frames: f"-{first.pid}/" in frames[0]) == 0


@two_cpus
def test_filters_combine_with_and(burners, tmp_path):
    first, second = burners
    assert recorded(tmp_path, "-p", first.pid, "-C", CPUS[-1]).total() == 0
    assert recorded(tmp_path, "-p", first.pid, "--comm", "other*").total() == 0
    assert recorded(tmp_path, "-p", second.pid, "--comm", "other*", "-C", CPUS[-1]).total() > 20


def cgroup_root():
    """A hierarchy where groups can be made: v2, or v1 if the host has nothing else."""
    for path in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if os.path.exists(f"{path}/cgroup.controllers"):
            return Path(path)
    for path in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"):
        if os.path.exists(f"{path}/cgroup.procs"):
            return Path(path)
    return None


@contextlib.contextmanager
def cgroups(root):
    """A new group and one below it; both are removed at the end, with everything that ran in
    them."""
    group = root / f"bpfflame-test-{os.getpid()}"
    child = group / "below"
    child.mkdir(parents=True)
    try:
        yield group, child
    finally:
        for pid in (child / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        wait_until(lambda: not (child / "cgroup.procs").read_text())
        child.rmdir()
        group.rmdir()


@pytest.mark.skipif(not can_unshare(), reason="needs namespaces: unshare --mount fails")
@pytest.mark.parametrize("view", ["a namespace", "a part of the tree"])
def test_cgroup_whose_path_is_not_whole(tmp_path, view):
    """In a container, paths begin at the namespace's root; if only a part of the hierarchy is
    mounted, there."""
    if not (root := cgroup_root()):
        pytest.skip("no cgroup hierarchy")
    kind = "cgroup2" if (root / "cgroup.controllers").exists() else "cgroup -o cpu"
    with cgroups(root) as (group, child), workload("burn", 60, 1) as inside:
        (child / "cgroup.procs").write_text(str(inside.pid))
        mount = f"unshare --cgroup sh -ec 'mount -t {kind} none {tmp_path}" if view == "a namespace" \
            else f"sh -ec 'mount --bind {group} {tmp_path}"
        script = f"echo $$ >{group}/cgroup.procs; exec {mount}; exec \"$0\" \"$@\"'"
        subprocess.run(["unshare", "--mount", "sh", "-ec", f'{script} "$0" "$@"', BPFFLAME, "-q", "-F", "199",
                        "-G", tmp_path / "below", "-d", "1", "-o", tmp_path.with_suffix(".folded")],
                       check=True, timeout=60)
    assert Folded(tmp_path.with_suffix(".folded")).with_frame("burn_cycle") > 0


@pytest.mark.parametrize("kind", ["whatever the host has", "v1"])
def test_cgroup(tmp_path, kind):
    root = cgroup_root() if kind != "v1" else Path("/sys/fs/cgroup/cpu")
    if not root or not (root / "cgroup.procs").exists():
        pytest.skip(f"no cgroup hierarchy: {kind}")
    with cgroups(root) as (group, child), \
            workload("burn", 60, 1) as inside, workload("burn", 60, 1) as outside:
        (child / "cgroup.procs").write_text(str(inside.pid))
        folded = recorded(tmp_path, "-G", group)
        for mode in ("--offcpu", "--oncpu"):
            assert recorded(tmp_path, mode, "-G", group, "-p", outside.pid).total() == 0
    pids = {root.rpartition("-")[2].partition("/")[0] for root in folded.roots()}
    assert pids == {str(inside.pid)}


def open_files(pid):
    return subprocess.run(f"readlink /proc/{pid}/fd/*", shell=True, capture_output=True, text=True,
                          check=False).stdout.split("\n")


def test_a_removed_cgroup_ends_the_recording(tmp_path):
    if not (root := cgroup_root()):
        pytest.skip("no cgroup hierarchy")
    group = root / f"bpfflame-test-{os.getpid()}-removed"
    group.mkdir()
    recording = Running("--json", "-G", group, "-d", 60, "-o", tmp_path / "x.folded")
    try:
        wait_until(lambda: str(group) in open_files(recording.process.pid))
    finally:
        group.rmdir()
    result = recording.wait()
    assert result.returncode == 0 and result.summary["duration_seconds"] < 50, result


HALF_BUSY = """
import time
while True:
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        pass
    time.sleep(0.005)
"""


@pytest.mark.parametrize("mode", ["--offcpu", "--wall", "--offcpu --offcpu-hook sched_switch"])
def test_cgroup_left_and_entered(tmp_path, mode):
    """A thread counts while it is inside, even if it can't be seen when it switches."""
    root = cgroup_root()
    if not root:
        pytest.skip("no cgroup hierarchy")
    half_busy = ["/usr/bin/python3", "-c", HALF_BUSY]
    with cgroups(root) as (group, child), workload("leaves", command=half_busy) as leaves, \
            workload("enters", command=half_busy) as enters:
        (child / "cgroup.procs").write_text(str(leaves.pid))
        running = Running("--json", *mode.split(), "--threads", "-G", group, "-d", 3,
                          "-o", tmp_path / "x.folded")
        time.sleep(2)
        (root / "cgroup.procs").write_text(str(leaves.pid))
        (child / "cgroup.procs").write_text(str(enters.pid))
        moved = time.monotonic()
        result = running.wait()
    start, end = result.window()
    times = Folded(tmp_path / "x.folded").by_thread()
    for process, inside in ((leaves, moved - start), (enters, end - moved)):
        assert inside > 0.3
        recorded = times[process.pid]
        if mode == "--wall":
            assert sum(recorded.values()) == pytest.approx(inside, abs=0.1), recorded
            assert on_cpu(recorded) > 0.01 * inside
        else:
            assert 0.1 * inside < sum(recorded.values()) < inside + 0.1


def throttled_seconds(group):
    """Time throttled according to the cgroup, over all of its CPUs' run queues."""
    stat = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    v2 = stat.get("throttled_usec")
    return int(v2) / 1e6 if v2 else int(stat["throttled_time"]) / 1e9


def limit_cpu(group, share):
    """Sets a quota of CPU time per tenth of a second."""
    if (group / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_quota_us").write_text(str(int(share * 100000)))
    elif (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{int(share * 100000)} 100000")
    else:
        pytest.skip("no CPU quotas here")


@pytest.mark.parametrize("mode", ["--offcpu", "--wall"])
def test_quota(tmp_path, mode):
    """A loop limited to 2 % of a CPU is throttled the rest of the time, and preempted if others
    run."""
    hog = ["taskset", "-c", CPUS[0], "sh", "-c", "while :; do :; done"]
    root = Path("/sys/fs/cgroup/cpu")
    root = root if (root / "cgroup.procs").exists() else cgroup_root()
    with cgroups(root) as (group, child), workload("sh", command=hog) as process:
        limit_cpu(group, 0.02)
        (child / "cgroup.procs").write_text(str(process.pid))
        time.sleep(0.2)
        before, began = throttled_seconds(group), time.monotonic()
        result = record(mode, "--threads", "-p", process.pid, "-d", 3, "-o", tmp_path / "x.folded")
        share = (throttled_seconds(group) - before) / (time.monotonic() - began)
    times = Folded(tmp_path / "x.folded").by_thread()[process.pid]
    assert share > 0.2
    recorded = times["[throttled]"] / result.summary["duration_seconds"]
    assert recorded == pytest.approx(share, abs=0.1)
    assert times["[preempted]"] < 0.2 * off_cpu(times) or share < 0.8


def test_kernel_only_and_user_only(tmp_path):
    with workload("wait", tmp_path, 20) as process:
        wait_for_threads(process.pid, 7)
        record("--offcpu", "-K", "-p", process.pid, "-d", 1, "-o", tmp_path / "k.folded")
        record("--offcpu", "-U", "-p", process.pid, "-d", 1, "-o", tmp_path / "u.folded")
    kernel, user = Folded(tmp_path / "k.folded"), Folded(tmp_path / "u.folded")
    assert all(frame.endswith("_[k]") for frames, _ in kernel.stacks for frame in frames[1:-1])
    assert kernel.total() > 0 and user.total() > 0
    assert not any(frame.endswith("_[k]") for frame in user.names())


def test_own_processes_do_not_disturb(tmp_path):
    """A program that ignores signals and closes everything can be recorded like any other."""
    script = "trap '' INT TERM HUP; exec <&- >&- 2>&-; i=0; while :; do i=$((i+1)); done"
    with workload("sh", command=["/bin/sh", "-c", script]) as process:
        record("-p", process.pid, "-d", 1, "-o", tmp_path / "x.folded")
        subprocess.run(["kill", "-9", str(process.pid)], check=True)
    assert Folded(tmp_path / "x.folded").roots() == {"sh"}
