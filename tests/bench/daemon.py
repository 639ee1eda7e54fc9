#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""daemon: what a daemon costs and survives, over minutes.

    daemon.py busy [MINUTES]    CPU time of its processes and of its BPF programs, memory, bytes written
    daemon.py soak [MINUTES]    slopes of memory and of descriptors under bursts of execs
    daemon.py kills [TIMES [SEED]]
                                SIGKILL of all of it at random moments, every eighth time on a full disk, and files
                                cut at random bytes: each window that was written is there, query works
    daemon.py sums [MINUTES]    time by command: what the store's levels have beside `--wall` of the same minutes

Figures are CPU time, never wall time. Needs root.
"""
import collections
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from store_reader import Segment  # noqa: E402
BPFFLAME = Path(os.environ.get("BPFFLAME", ROOT / "build" / "bpfflame"))
TICK = os.sysconf("SC_CLK_TCK")
STORM = """
import os, subprocess, sys, time
burst, pause, n = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
os.nice(int(sys.argv[4]))
while True:
    end = time.monotonic() + burst
    while time.monotonic() < end:
        begin = time.monotonic()
        for _ in range(n):
            subprocess.run(["/bin/true"])
        time.sleep(max(0, 1 - (time.monotonic() - begin)))
    time.sleep(pause)
"""
LIBRARIES = """
import ctypes, os, shutil, sys, time, zlib
from pathlib import Path
folder, n = Path(sys.argv[1]), 0
source = next(line.split()[-1] for line in open("/proc/self/maps") if "/libz.so" in line)
os.nice(19)
while True:
    n += 1
    copy = folder / f"lib{n}.so"
    shutil.copy(source, copy)
    if not os.fork():
        sum_of, data, end = ctypes.CDLL(str(copy)).crc32, bytes(1 << 20), time.process_time() + 0.05
        while time.process_time() < end:
            sum_of(0, data, len(data))
        os._exit(0)
    os.wait()
    copy.unlink()
    time.sleep(1)
"""
SWITCHES = """
import os, sys, time
a, b, c, d = *os.pipe(), *os.pipe()
turns = int(sys.argv[1]) // 2 // 100
if os.fork():
    next = time.monotonic()
    while True:
        for _ in range(turns):
            os.write(b, b"x"); os.read(c, 1)
        next += 0.01
        time.sleep(max(0, next - time.monotonic()))
else:
    while True:
        os.read(a, 1); os.write(d, b"x")
"""


def tree(pid):
    """A process and all below it: pid → name."""
    parents, names = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
            parents[int(path.parent.name)] = int(rest.split()[1])
            names[int(path.parent.name)] = name
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return {one: names[one] for one in found if one in names}


def cpu_seconds(pids):
    """Of processes, and of those that they have waited for."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15]))
    return total / TICK


def cpu_by_name(pids):
    """The same for each kind of process; that of namers counts for the recorder."""
    total = {}
    for pid, name in pids.items():
        if name != "bpfflame-names":
            total[name] = total.get(name, 0) + cpu_seconds([pid])
    return total


def program_costs(recorder):
    """name → (seconds, runs) of the BPF programs."""
    return {program["name"]: (program.get("run_time_ns", 0) / 1e9, program.get("run_cnt", 0))
            for program in bench.held_programs(recorder)}


def pss(pid):
    """Without the pages of files, among which BPF maps are."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return sum(int(kilobytes) * 1024 for kilobytes in re.findall(r"^Pss_(?:Anon|Shmem):\s*(\d+)", text, re.M))
    return 0


def descriptors(pids):
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += len(os.listdir(f"/proc/{pid}/fd"))
    return total


def map_bytes(pid):
    """Memory of the BPF maps that a process holds, each once."""
    maps = {}
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            fields = dict(re.findall(r"^(map_id|memlock):\s*(\d+)", path.read_text(), re.M))
            if "map_id" in fields:
                maps[fields["map_id"]] = int(fields["memlock"])
    return sum(maps.values())


def recorder_of(pids):
    return next(pid for pid, name in pids.items() if name.startswith("bpfflame-recor"))


@contextlib.contextmanager
def daemon(store, *options):
    """One that runs."""
    process = subprocess.Popen([BPFFLAME, "daemon", "--config", "/dev/null", "--store", store, *options],
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        said = process.stderr.readline()
        if "recording into" not in said:
            raise RuntimeError(said + process.stderr.read())
        yield process
    finally:
        process.terminate()
        begin = time.monotonic()
        rest = process.communicate(timeout=60)[1]
        print(f"ended within {time.monotonic() - begin:.1f} s, exit status {process.returncode}")
        if rest:
            print(rest, end="")


@contextlib.contextmanager
def python(source, *arguments):
    with bench.background(sys.executable, "-c", source, *map(str, arguments)):
        yield


def slope(points):
    """Per hour, of (seconds, value)."""
    return 3600 * statistics.linear_regression([x for x, _ in points], [y for _, y in points]).slope


def cpu_goes_and_comes():
    """Not the only one, nor one that can't."""
    switch = Path("/sys/devices/system/cpu/cpu1/online")
    if switch.exists():
        switch.write_text("0")
        time.sleep(0.5)
        switch.write_text("1")


def soak(minutes):
    """Bursts of 20 s of 100 execs a second, each minute; each second a library that was not there before; each minute
    a CPU goes off and on."""
    seen = []
    with tempfile.TemporaryDirectory() as scratch, daemon(Path(scratch) / "store") as process, \
            python(STORM, 20, 40, 100, 19), python(LIBRARIES, scratch):
        begin = time.monotonic()
        while time.monotonic() - begin < 60 * minutes:
            time.sleep(60 - (time.monotonic() - begin) % 60)
            cpu_goes_and_comes()
            pids = tree(process.pid)
            lasting = {pid: name for pid, name in pids.items() if name != "bpfflame-names"}
            seen.append((time.monotonic() - begin, sum(map(pss, lasting)) / 1e6, descriptors(lasting),
                         map_bytes(recorder_of(pids)) / 1e6, cpu_seconds(pids)))
            print(*(f"{value:.2f}" for value in seen[-1]), {name: round(pss(pid) / 1e6, 1)
                                                             for pid, name in pids.items()}, flush=True)
    rest = seen[len(seen) // 4:]
    for number, what in (1, "PSS, MB an hour"), (2, "descriptors an hour"), (3, "BPF maps, MB an hour"):
        print(f"{what}: {slope([(point[0], point[number]) for point in rest]):.2f}; "
              f"last {rest[-1][number]:.1f}, most {max(point[number] for point in seen):.1f}")
    used = (rest[-1][4] - rest[0][4]) / (rest[-1][0] - rest[0][0])
    print(f"CPU of its processes: {100 * used:.2f} % of one")


@contextlib.contextmanager
def busy_load(scratch):
    """≥ 200 processes, ≥ 20 000 switches a second, 60 new processes a second, a compiler, a JIT."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(bench.busy_machine(scratch))
        for _ in range(140):
            stack.enter_context(bench.background("sleep", "1000000"))
        stack.enter_context(python(SWITCHES, 20000))
        stack.enter_context(python(STORM, 1, 0, 60, 0))
        yield


def busy(minutes, *options):
    with tempfile.TemporaryDirectory() as scratch, busy_load(scratch), bench.bpf_statistics(), \
            daemon(Path(scratch) / "store", *options) as process:
        time.sleep(90)
        recorder = recorder_of(tree(process.pid))
        points, kinds, costs = [], [], []
        for _ in range(2):
            pids = tree(process.pid)
            written = sum(int(re.search(r"^write_bytes: (\d+)", Path(f"/proc/{pid}/io").read_text(), re.M)[1])
                          for pid, name in pids.items() if name == "bpfflame-write")
            points.append({"at": time.monotonic(), "cpu": cpu_seconds(pids), "switches": bench.switches(),
                           # Iterators run as the recorder: their time is its own.
                           "bpf": sum(seconds for name, (seconds, _) in program_costs(recorder).items()
                                      if not name.startswith("on_each_task")),
                           "written": written, "forks": forks(),
                           "bytes": sum(path.stat().st_size for path in (Path(scratch) / "store").glob("*.bfs"))})
            kinds.append(cpu_by_name(pids))
            costs.append(program_costs(recorder))
            if len(points) == 1:
                time.sleep(60 * minutes)
        seconds = points[1].pop("at") - points[0].pop("at")
        rates = {name: (points[1][name] - points[0][name]) / seconds for name in points[1]}
        pids = tree(process.pid)
        for name, used in kinds[1].items():
            print(f"{name:20} {100 * (used - kinds[0].get(name, 0)) / seconds:8.3f} %")
        for name, (used, runs) in costs[1].items():
            used, runs = used - costs[0].get(name, (0, 0))[0], runs - costs[0].get(name, (0, 0))[1]
            if runs:
                print(f"{name:20} {100 * used / seconds:8.3f} %  {runs / seconds:9.1f} runs/s  {1e9 * used / runs:8.0f} ns")
        print(json.dumps({"switches_per_second": round(rates["switches"]), "forks_per_second": round(rates["forks"]),
                          "processes_percent": round(100 * rates["cpu"], 2),
                          "bpf_percent": round(100 * rates["bpf"], 2),
                          "bytes_per_hour": round(3600 * rates["bytes"]),
                          "written_per_hour": round(3600 * rates["written"]),
                          "pss": round(sum(map(pss, pids)) / 1e6, 1),
                          "maps": round(map_bytes(recorder) / 1e6, 1)}))


class Killed:
    """A daemon whose windows are counted by what it says to its service manager, up to a SIGKILL of all of it."""

    def __init__(self, store):
        self.store = store
        self.began, self.is_writing = time.time_ns(), False
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = f"\0bpfflame-bench-{os.getpid()}-{self.began}"
        self.socket.bind(name)
        self.socket.settimeout(30)
        self.process = subprocess.Popen([BPFFLAME, "daemon", "--config", "/dev/null", "--store", store, "--window", "500ms"],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env=dict(os.environ, NOTIFY_SOCKET="@" + name[1:]))

    def written(self, seconds):
        """Windows that it says are written in @seconds, which begin with its first one."""
        end = None if not self.is_writing else time.monotonic() + seconds
        patience, n = time.monotonic() + 60, 0
        while time.monotonic() < (end or patience):
            self.socket.settimeout(max(0.001, (end or patience) - time.monotonic()))
            with contextlib.suppress(TimeoutError):
                if self.socket.recv(4096).startswith(b"WATCHDOG=1"):
                    self.is_writing, n, end = True, n + 1, end or time.monotonic() + seconds
        if not self.is_writing:
            raise RuntimeError("no window was written in a minute")
        return n

    def kill(self):
        for pid in tree(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.socket.close()

    def found(self):
        """How many of its windows are there."""
        return sum(fields[0] >= self.began - 10 ** 9 for path in self.store.glob("500ms-*")
                    for fields, _ in Segment(path).windows())


def query(store):
    return subprocess.run([BPFFLAME, "query", "--store", store, "--from", "-1d", "--idle", "-o", "-"],
                          capture_output=True, check=False)


def damaged_query(store, chance, scratch):
    """Of a copy of the store of which a file is cut, or a byte changed, at a random place."""
    copy = scratch / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(store, copy)
    path = chance.choice(sorted(path for path in copy.glob("*.bfs") if path.stat().st_size))
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data))
    if chance.random() < 0.5:
        del data[at:]
    else:
        data[at] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    return query(copy)


def fill(disk):
    with contextlib.suppress(OSError), (disk / "filled").open("ab") as stream:
        while True:
            stream.write(bytes(4096))
            stream.flush()


def kills(times, seed=1):
    """How often windows were missing, or a query failed."""
    chance, result = random.Random(int(seed)), {"kills": 0, "full": 0, "windows": 0, "missing": 0, "removed": 0, "failed": 0, "damaged failed": 0}
    with tempfile.TemporaryDirectory() as name, python(STORM, 1, 0, 20, 10):
        scratch = Path(name)
        disk = scratch / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], check=True)
        try:
            for number in range(int(times)):
                is_full = number % 8 == 7
                store = (disk if is_full else scratch) / "store"
                (disk / "filled").unlink(missing_ok=True)
                one = Killed(store)
                n = one.written(chance.random() * 0.7)
                if is_full:
                    fill(disk)
                    n += one.written(chance.random() * 2)
                one.kill()
                result["kills"] += 1
                result["full"] += is_full
                result["windows"] += n
                missing = max(0, n - one.found())
                # On a full disk older ones go, so that the latest ones can be written.
                result["removed" if is_full and one.found() else "missing"] += missing
                result["failed"] += query(store).returncode != 0
                result["damaged failed"] += damaged_query(store, chance, scratch).returncode not in (0, 1)
                print(json.dumps(result), flush=True)
        finally:
            subprocess.run(["umount", disk], check=True)


def times_of(store, level, begin, end):
    """Microseconds by command, of the level's windows that begin in a range of ns; and those, with their lengths."""
    times, spans = collections.Counter(), {}
    for path in store.glob(f"{level}-*.bfs"):
        segment = Segment(path)
        for fields, rows in segment.windows():
            if begin <= fields[0] < end:
                spans[fields[0]] = fields[1]
                for process, *_, time_us in rows:
                    times[segment.strings[segment.processes[process][2]]] += time_us
    return times, spans


def next_minute(store):
    """When the window is over that is written next and in which a minute ends, s since 1970."""
    while True:
        ends = [fields[0] + fields[1] for path in store.glob("10s-*.bfs") for fields, _ in Segment(path).windows()]
        if ends and (max(ends) // 10 ** 9 + 10) % 60 < 10:
            return max(ends) / 1e9 + 10
        time.sleep(1)


def sums(minutes):
    with tempfile.TemporaryDirectory() as scratch, busy_load(scratch):
        scratch = Path(scratch)
        with daemon(scratch / "store"):
            time.sleep(15)
            time.sleep(max(0, next_minute(scratch / "store") - 0.3 - time.time()))
            recorded = subprocess.run([BPFFLAME, "-a", "--wall", "--idle", "--json", "-d", str(60 * minutes),
                                       "-o", scratch / "wall.folded"], stdout=subprocess.PIPE, check=True)
            time.sleep(75)
        summary = json.loads(recorded.stdout)
        begin, seconds = summary["start_unix_seconds"], summary["duration_seconds"]
        beside = collections.Counter()
        for line in (scratch / "wall.folded").read_text().splitlines():
            if not line.startswith("#"):
                beside[line.partition(";")[0]] += int(line.rpartition(" ")[2])
        begin, end = (begin - 1) * 1e9, (begin + seconds - 1) * 1e9
        finest, spans = times_of(scratch / "store", "10s", begin, end)
        print(f"recorded {seconds:.1f} s; {len(spans)} windows of 10 s")
        for level in "1m", "series":
            coarse, spans = times_of(scratch / "store", level, begin, end)
            fine, _ = times_of(scratch / "store", "10s", min(spans), max(spans) + spans[max(spans)])
            print(f"{level}: {len(spans)} windows;", {name: (fine[name], coarse[name]) for name in fine | coarse
                                                      if fine[name] != coarse[name]} or "equal")
        for name, ours in sorted(beside.items(), key=lambda item: -item[1]):
            if ours > 1e6 and not name.startswith("bpfflame"):
                print(f"{name:20} {ours / 1e6:12.3f} {finest[name] / 1e6:12.3f} {100 * (finest[name] / ours - 1):8.3f} %")


def forks():
    return int(re.search(r"^processes (\d+)", Path("/proc/stat").read_text(), re.M)[1])


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["help"]
    commands = {"busy": busy, "soak": soak, "kills": kills, "sums": sums}
    if what not in commands:
        sys.exit(__doc__)
    commands[what](float(rest[0]) if rest else 10, *rest[1:])
