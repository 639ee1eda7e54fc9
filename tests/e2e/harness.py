# SPDX-License-Identifier: GPL-2.0-or-later
"""harness: runs bpfflame and workloads, reads their output, and provides the truth to compare it
with.

Times are in seconds unless a name says otherwise. Folded values are samples on-CPU and microseconds
off-CPU.
"""
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

# Under sudo, commands would run as its caller, who might not be able to read the tests' files.
for sudo_name in "SUDO_COMMAND", "SUDO_GID", "SUDO_HOME", "SUDO_UID", "SUDO_USER":
    os.environ.pop(sudo_name, None)

ROOT = Path(__file__).resolve().parents[2]
BPFFLAME = Path(os.environ.get("BPFFLAME", ROOT / "build" / "bpfflame"))
WORKLOADS = ROOT / "build" / "workload"
STORM = ROOT / "tests" / "workload" / "storm.sh"

WAITING_FOR_A_CPU = {"[preempted]", "[runqueue]", "[throttled]"}
REASONS = WAITING_FOR_A_CPU | {
    "[sleep]", "[disk]", "[stopped]", "[futex]", "[poll]", "[timer]", "[network]", "[pipe]",
    "[page fault]", "[child]", "[lock]", "[signal]"}


# --- bpfflame -------------------------------------------------------------------------------


class Result:
    """A finished run: exit code, output as text, and the times at which it started and ended."""

    def __init__(self, arguments, returncode, stdout, stderr, started, ended):
        self.arguments = arguments
        self.returncode = returncode
        self.stdout = stdout
        self.stderr = stderr
        self.started = started  # CLOCK_MONOTONIC
        self.ended = ended

    def __repr__(self):
        # A recorded command's own output can be long, and the summary comes after it.
        stdout = self.stdout if len(self.stdout) < 2000 else f"…{self.stdout[-2000:]}"
        return (f"bpfflame {' '.join(map(str, self.arguments))}: exit {self.returncode}\n"
                f"stderr: {self.stderr[:2000]}\nstdout: {stdout}")

    @property
    def summary(self):
        """The last line: a recorded command's own output comes before it."""
        return json.loads(self.stdout.splitlines()[-1])

    @property
    def truth(self):
        """What the recorded workload printed."""
        return json.loads(self.stdout.splitlines()[-2])

    def window(self):
        """The recording's start and end on CLOCK_MONOTONIC."""
        start = self.summary["start_unix_seconds"] - time.time() + time.monotonic()
        return start, start + self.summary["duration_seconds"]


class Running:
    """bpfflame in the background."""

    def __init__(self, *arguments, **options):
        self.arguments = arguments
        self.started = time.monotonic()
        self.process = subprocess.Popen([BPFFLAME, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=60):
        try:
            stdout, stderr = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            # Its command may still be alive and hold our pipes open.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.communicate(timeout=2)
            raise AssertionError(f"bpfflame {self.arguments} did not end") from None
        return Result(self.arguments, self.process.returncode, stdout.decode(errors="replace"),
                      stderr.decode(errors="replace"), self.started, time.monotonic())


def run(*arguments, timeout=60, **options):
    return Running(*arguments, **options).wait(timeout)


def record(*arguments, timeout=60, **options):
    """A recording that must succeed and print a summary."""
    result = run("--json", *arguments, timeout=timeout, **options)
    assert result.returncode == 0, result
    return result


def error_line(result):
    """The error of a failed run: exactly one line on stderr, nothing on stdout."""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result
    assert result.stdout == "", result
    return lines[0]


def assert_no_loss(summary, whole_machine=False):
    """No loss of any kind. For a whole machine, other users' files may be unreadable: that costs
    names, not samples."""
    losses = dict(summary["losses"])
    assert losses, "the summary names no kind of loss"
    if whole_machine:
        del losses["unreadable_files"]
    assert not any(losses.values()), losses


def can_unshare():
    """Whether processes can have mount namespaces of their own here: not in a plain chroot."""
    return subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


# --- its output -----------------------------------------------------------------------------

LINE = re.compile(rb"[^;\n]+(;[^;\n]+)* [1-9][0-9]*")


class Folded:
    """A folded file, checked against its grammar: (frames, value) for each line."""

    def __init__(self, source):
        data = source if isinstance(source, bytes) else Path(source).read_bytes()
        assert data == b"" or data.endswith(b"\n"), "last line is not complete"
        lines = data.split(b"\n")[:-1]
        for line in lines:
            assert LINE.fullmatch(line), line
            assert all(byte >= 32 for byte in line), line
        texts = [line.rpartition(b" ")[0] for line in lines]
        assert len(set(texts)) == len(texts), "a stack has two lines"
        assert lines == sorted(lines) or texts == sorted(texts), "not sorted bytewise"
        self.stacks = []
        for line in lines:
            text, _, value = line.decode(errors="surrogateescape").rpartition(" ")
            self.stacks.append((text.split(";"), int(value)))

    def total(self, matches=lambda frames: True):
        return sum(value for frames, value in self.stacks if matches(frames))

    def roots(self):
        return {frames[0] for frames, _ in self.stacks}

    def names(self):
        return {frame for frames, _ in self.stacks for frame in frames}

    def with_frame(self, name):
        """The value of all stacks with this function, inlined or not."""
        wanted = {name, name + "_[i]", name + "_[k]"}
        return self.total(lambda frames: not wanted.isdisjoint(frames))

    def of_root(self, root):
        return [(frames, value) for frames, value in self.stacks if frames[0] == root]

    def by_thread(self):
        """Off-CPU and wall time, with --threads: {tid: {reason: seconds}}."""
        threads = {}
        for frames, value in self.stacks:
            root = frames[frames[0] == "[idle]"]
            times = threads.setdefault(int(root.rpartition("/")[2]), collections.Counter())
            times[reason_of(frames)] += value / 1e6
        return threads


SEPARATOR = "--"


def reason_of(frames):
    """The reason's frame: the leaf, or the frame before a waker."""
    return frames[frames.index(SEPARATOR) - 1 if SEPARATOR in frames else -1]


def wakers_of(frames):
    """Who woke the thread: frames, leaf first and the name last; then who woke that one, and so
    on."""
    wakers = [[]]
    for frame in frames:
        if frame == SEPARATOR:
            wakers.append([])
        else:
            wakers[-1].append(frame)
    return wakers[1:]


def on_cpu(times):
    """CPU time of one thread in a wall recording, from its times by reason."""
    return times["[on-cpu]"]


def off_cpu(times):
    return sum(times.values()) - times["[on-cpu]"]


def waiting_for_a_cpu(times):
    return sum(times[reason] for reason in WAITING_FOR_A_CPU)


def assert_well_formed(svg):
    data = Path(svg).read_bytes()
    data.decode("utf-8")
    if shutil.which("xmllint"):
        subprocess.run(["xmllint", "--nonet", "--noout", svg], check=True)
    else:
        import xml.etree.ElementTree
        xml.etree.ElementTree.fromstring(data)


def assert_only(directory, names):
    """No temporary or unexpected file is left."""
    assert sorted(os.listdir(directory)) == sorted(names)


# --- workloads ------------------------------------------------------------------------------


@contextlib.contextmanager
def workload(name, *arguments, command=None, **options):
    """A workload in the background; stopped at the end if it still runs."""
    command = command or [WORKLOADS / name]
    process = subprocess.Popen([*map(str, command), *map(str, arguments)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **options)
    try:
        wait_until(lambda: command_line_of(process.pid) != command_line_of(os.getpid()))
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.stdout.close()
        process.wait()


def truth_of(process, timeout=60):
    """The output of a workload that ends by itself."""
    stdout, _ = process.communicate(timeout=timeout)
    process.stdout = open(os.devnull)
    return json.loads(stdout)


def command_line_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def comm_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return None


def threads_of(pid):
    return sorted(int(tid) for tid in os.listdir(f"/proc/{pid}/task"))


def wait_until(condition, timeout=10):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def children_of(pid, name):
    """Children of @pid with this name."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children
            if Path(f"/proc/{child}/comm").read_text().strip() == name]


def wait_for_child(pid, name):
    wait_until(lambda: children_of(pid, name))
    return children_of(pid, name)[0]


def busy_seconds():
    """CPU time of the whole machine since boot, without idle time and waits for disks."""
    user, nice, system, _, _, irq, softirq = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def stolen_seconds():
    """CPU time that a hypervisor stole from this machine since boot. A thread waits during it, but
    neither its CPU clock nor the run delay in the scheduler's books shows that."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def wait_for_names(pid, names, seconds=10):
    """Waits until the threads of @pid have started and set their names: {name: tid}."""
    deadline = time.monotonic() + seconds
    while True:
        tids = {comm_of(tid): tid for tid in threads_of(pid)}
        if tids.keys() >= set(names):
            return tids
        assert time.monotonic() < deadline, f"process {pid} has only {sorted(tids)}"
        time.sleep(0.01)


def wait_for_threads(pid, n):
    wait_until(lambda: len(threads_of(pid)) >= n)


class CpuTruth:
    """Keeps reading the CPU time and run-queue delay of every thread of a process, so that both are
    known afterwards for any window, whenever a recording really began and ended."""

    PERIOD = 0.02

    def __init__(self, pid):
        self.pid = pid
        self.readings = []  # (monotonic time, {tid: (cpu ns, delay ns)})
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self):
        self._read()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        with contextlib.suppress(FileNotFoundError):
            self._read()

    def _read(self):
        before = time.monotonic()
        values = {}
        for tid in threads_of(self.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                text = Path(f"/proc/{self.pid}/task/{tid}/schedstat").read_text()
                values[tid] = tuple(map(int, text.split()[:2]))
        self.readings.append(((before + time.monotonic()) / 2, values))

    def _poll(self):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            while not self.stop.wait(self.PERIOD):
                self._read()

    def _at(self, moment, tid, field):
        """Interpolates linearly between the readings around @moment."""
        known = [(when, values[tid][field]) for when, values in self.readings if tid in values]
        assert known, f"thread {tid} was never seen"
        before = [reading for reading in known if reading[0] <= moment]
        after = [reading for reading in known if reading[0] > moment]
        if not before or not after:
            return (after[0] if after else before[-1])[1]
        (t0, v0), (t1, v1) = before[-1], after[0]
        return v0 + (v1 - v0) * (moment - t0) / (t1 - t0)

    def tids(self):
        return sorted({tid for _, values in self.readings for tid in values})

    def cpu(self, window, tid):
        start, end = window
        return (self._at(end, tid, 0) - self._at(start, tid, 0)) / 1e9

    def run_delay(self, window, tid):
        start, end = window
        return (self._at(end, tid, 1) - self._at(start, tid, 1)) / 1e9

    def process_cpu(self, window):
        return sum(self.cpu(window, tid) for tid in self.tids())


# --- the kernel -----------------------------------------------------------------------------


def kernel_objects():
    """Ids of all loaded BPF programs, maps and links."""
    ids = {}
    for kind in ("prog", "map", "link"):
        text = subprocess.run(["bpftool", "-j", kind, "show"], capture_output=True,
                              check=True).stdout
        ids[kind] = {item["id"] for item in json.loads(text or b"[]")}
    return ids


def held_objects():
    """Ids of BPF objects that living processes hold, which are other people's."""
    ids = {"prog": set(), "map": set(), "link": set()}
    for path in Path("/proc").glob("[0-9]*/fdinfo/*"):
        with contextlib.suppress(OSError):
            for line in path.read_text().splitlines():
                kind, _, number = line.partition("_id:\t")
                if kind in ids:
                    ids[kind].add(int(number))
    return ids


def assert_no_leftover(before, timeout=10):
    """Nothing is loaded that was not there before; the kernel frees objects after a grace
    period."""
    end = time.monotonic() + timeout
    while True:
        now = kernel_objects()
        if all(now[kind] <= before[kind] for kind in now):
            return
        held = held_objects()
        left = {kind: now[kind] - before[kind] - held[kind] for kind in now}
        if not any(left.values()):
            return
        assert time.monotonic() < end, f"left in the kernel: {left}"
        time.sleep(0.1)


def interrupt_when_recording(running, number=signal.SIGINT, after=1.0):
    """Sends a signal once the recording has begun; loading the programs takes well under a
    second."""
    time.sleep(after)
    running.signal(number)
    return running.wait()
