#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bench: the figures bpfflame promises, with its peers in the same run.

Tools take turns, so that a machine that changes its mind changes it for all; each figure is a
median with its range. Needs root.
"""
import argparse
import contextlib
import ctypes
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import peers

BUSY_JAVASCRIPT = """
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
function sorted() { return Array.from({length: 5000}, Math.random).sort((a, b) => a - b); }
for (;;) { fibonacci(22); sorted(); JSON.parse(JSON.stringify(sorted())); }
"""


# --- figures --------------------------------------------------------------------------------


class Figures:
    """Values by tool and column, printed as medians with ranges."""

    def __init__(self, title, columns, targets=None):
        self.title, self.columns = title, columns
        self.targets = targets or {}  # of bpfflame: column → most that it may be
        self.values = {}

    def add(self, tool, **values):
        for column, value in values.items():
            self.values.setdefault(tool, {}).setdefault(column, []).append(value)

    def _cell(self, tool, column):
        values = self.values[tool].get(column)
        if not values:
            return "-"
        digits = self.columns[column]
        low, high = min(values), max(values)
        return f"{statistics.median(values):.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"

    def show(self):
        print(f"\n{self.title}")
        width = max(len(tool) for tool in self.values) + 2
        cells = {column: [self._cell(tool, column) for tool in self.values]
                 for column in self.columns}
        widths = {column: max(len(column), *map(len, cells[column])) + 2 for column in cells}
        print(" " * width + "".join(f"{column:>{widths[column]}}" for column in cells))
        for i, tool in enumerate(self.values):
            row = "".join(f"{cells[column][i]:>{widths[column]}}" for column in cells)
            print(f"{tool:<{width}}{row}")
        for (tool, column), most in self.targets.items():
            values = self.values.get(tool, {}).get(column)
            if values:
                median = statistics.median(values)
                verdict = "met" if median <= most else "MISSED"
                print(f"target {tool}, {column}: at most {most}: {verdict} ({median:.4g})")
        sys.stdout.flush()


def lost(summary):
    """Samples and events. A file that could not be read costs names only."""
    return sum(n for kind, n in summary["losses"].items() if kind != "unreadable_files")


# --- the machine ----------------------------------------------------------------------------


@contextlib.contextmanager
def background(*command):
    """A process group in the background, stopped at the end."""
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def busy_machine(scratch):
    """A runtime with just-in-time code, a compiler over and over, a compressor."""
    source = peers.ROOT / "tests" / "workload" / "wait.c"
    compiling = f"while :; do cc -D_GNU_SOURCE -O2 -g -c {source} -o {scratch}/wait.o; done"
    compressing = "while :; do gzip -c /proc/self/exe; head -c 3000000 /dev/urandom | gzip; done"
    with contextlib.ExitStack() as stack:
        if not peers.missing("node"):
            stack.enter_context(background("node", "-e", BUSY_JAVASCRIPT))
        stack.enter_context(background("sh", "-c", compiling))
        stack.enter_context(background("sh", "-c", compressing))
        time.sleep(1)
        yield


@contextlib.contextmanager
def bpf_statistics():
    """Run counts and times of all BPF programs, kept for as long as this is open."""
    numbers = {"x86_64": 321, "aarch64": 280}
    libc = ctypes.CDLL(None, use_errno=True)
    enable_stats, attribute = 32, (ctypes.c_uint32 * 32)()
    fd = libc.syscall(numbers[platform.machine()], enable_stats, attribute,
                      ctypes.sizeof(attribute))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "BPF_ENABLE_STATS")
    try:
        yield
    finally:
        os.close(fd)


def programs(pid, name=None):
    """id → (run time ns, run count) of the BPF programs that a process holds, or of one of them."""
    held = set()
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            held.update(int(line.split()[1]) for line in path.read_text().splitlines()
                        if line.startswith("prog_id:"))
    text = subprocess.run(["bpftool", "-j", "prog", "show"], stdout=subprocess.PIPE,
                          check=True).stdout
    return {program["id"]: (program.get("run_time_ns", 0), program.get("run_cnt", 0))
            for program in json.loads(text or "[]")
            if program["id"] in held and name in (None, program.get("name"))}


def wait_until_attached(tool, pid):
    """Until its programs are loaded, and a second more; perf has none."""
    end = time.monotonic() + 20
    while not isinstance(tool, peers.Perf) and not programs(pid):
        if time.monotonic() > end:
            raise RuntimeError(f"{tool.name} attached nothing")
        time.sleep(0.05)
    time.sleep(1)


def switches(pid):
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        for line in Path(f"/proc/{pid}/task/{tid}/status").read_text().splitlines():
            if "ctxt_switches" in line:
                total += int(line.split()[1])
    return total


def programs_cost(holder, players, seconds):
    """What the programs of process @holder cost while @players ping-pong: for each program, ns and
    runs a switch."""
    before, switches_before = programs(holder), switches(players)
    time.sleep(seconds)
    after, switched = programs(holder), switches(players) - switches_before
    return [tuple((now - then) / switched for now, then in zip(after[key], before[key]))
            for key in after if key in before]


# --- benches --------------------------------------------------------------------------------


def empty_cost(empty, pid, seconds):
    """What statistics show for programs that do nothing, in ns a run: mean over the hooks."""
    with subprocess.Popen([empty], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        if holder.stdout.readline() != b"ready\n":
            raise RuntimeError("no empty program could be attached")
        cost = programs_cost(holder.pid, pid, seconds)
    return statistics.mean(run_time / runs for run_time, runs in cost if runs)


def bench_switch(options, scratch):
    """cost of a context switch, from BPF statistics"""
    figures = Figures("Cost of a switch, same-CPU futex ping-pong, every block shorter than "
                      "100 us: ns, from BPF statistics",
                      {"runs": 2, "gross": 0, "net of empty": 0, "lost": 0},
                      {("bpfflame -m 100us", "net of empty"): 350,
                       ("bpfflame -m 100us", "lost"): 0})
    seconds = 1 if options.quick else 3
    tools = [tool for tool in peers.offcpu() if not isinstance(tool, peers.Perf)]
    empty = peers.build("empty", scratch, "-lbpf")
    with bpf_statistics():
        for _ in range(options.repeats):
            for tool in tools:
                measure_switch(figures, tool, scratch, seconds, empty)
    figures.show()


def measure_switch(figures, tool, scratch, seconds, empty_program):
    with background(peers.WORKLOADS / "pingpong", 600, 5, 0) as players:
        time.sleep(0.2)
        empty = empty_cost(empty_program, players.pid, seconds / 3)
        command = list(map(str, tool.record(scratch, seconds + 3)[0]))
        recording = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        wait_until_attached(tool, recording.pid)
        cost = programs_cost(recording.pid, players.pid, seconds)
        output = recording.communicate()[0]
    if recording.returncode:
        raise RuntimeError(f"{tool.name}: status {recording.returncode}")
    gross, runs = sum(ns for ns, _ in cost), sum(runs for _, runs in cost)
    figures.add("empty program", runs=1, gross=empty)
    figures.add(tool.name, runs=runs, gross=gross, **{"net of empty": gross - empty * runs})
    if isinstance(tool, peers.Bpfflame):
        figures.add(tool.name, lost=lost(json.loads(output)))


def bench_unwind(options, scratch):
    """cost of a user stack in the sampling program, from BPF statistics"""
    figures = Figures("A sample's user stack, code without frame pointers, all of one CPU's samples: "
                      "ns, from BPF statistics; what a sample costs less what it costs without user "
                      "stacks",
                      {"frames": 1, "sample": 0, "user stack": 0, "a frame": 0},
                      {("bpfflame, 31 frames", "user stack"): 5000,
                       ("bpfflame, 31 frames", "a frame"): 160})
    seconds = 2 if options.quick else 4
    with bpf_statistics():
        for _ in range(options.repeats):
            for frames in (16, 31, 110):
                # Six are libc's, main()'s, the workload's own and the leaf.
                measure_unwind(figures, scratch, seconds, frames)
    figures.show()


def sample_cost(scratch, seconds, *arguments):
    """ns of the sampling program, and bpfflame's folded output."""
    folded = scratch / "unwind.folded"
    recording = subprocess.Popen([peers.BPFFLAME, "-a", "-C", "0", "-F", "4999", "-q", *arguments,
                                  "-d", str(seconds + 2), "-o", folded])
    wait_until_attached(peers.Bpfflame(), recording.pid)
    before = programs(recording.pid, "on_sample")
    time.sleep(seconds)
    after = programs(recording.pid, "on_sample")
    if recording.wait():
        raise RuntimeError("bpfflame failed")
    (time_before, runs_before), (time_after, runs_after) = *before.values(), *after.values()
    return (time_after - time_before) / (runs_after - runs_before), folded.read_text()


def mean_user_frames(folded):
    frames = samples = 0
    for line in folded.splitlines():
        stack, count = line.rsplit(" ", 1)
        names = stack.split(";")
        if names[0].startswith("nofp"):
            frames += int(count) * sum(not name.endswith("_[k]") for name in names[1:])
            samples += int(count)
    return frames / samples


def measure_unwind(figures, scratch, seconds, frames):
    with background("taskset", "-c", "0", peers.WORKLOADS / "nofp", "recursion", "burn", 600,
                    frames - 6):
        time.sleep(0.5)
        without, _ = sample_cost(scratch, seconds, "-K")
        cost, folded = sample_cost(scratch, seconds)
    seen = mean_user_frames(folded)
    figures.add(f"bpfflame, {frames} frames", frames=seen, sample=cost,
                **{"user stack": cost - without, "a frame": (cost - without) / seen})


def bench_throughput(options, scratch):
    """what recording off-CPU time costs the densest switches"""
    figures = Figures("Same-CPU futex ping-pong under off-CPU recording of the whole machine",
                      {"round trips/s": 0, "slowdown": 2, "us per switch": 2})
    seconds = 2 if options.quick else 4
    for _ in range(options.repeats):
        alone = round_trips(seconds)
        figures.add("nobody", **{"round trips/s": alone, "slowdown": 1})
        for tool in peers.offcpu():
            command = tool.record(scratch, seconds + 4)[0]
            recording = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)
            wait_until_attached(tool, recording.pid)
            under = round_trips(seconds)
            recording.wait()
            figures.add(tool.name, **{"round trips/s": under, "slowdown": alone / under,
                                      "us per switch": (1 / under - 1 / alone) / 2 * 1e6})
    figures.show()


def round_trips(seconds):
    output = subprocess.run([peers.WORKLOADS / "pingpong", str(seconds), "5", "0"],
                            stdout=subprocess.PIPE, check=True).stdout
    return json.loads(output)["round_trips_per_second"]


def bench_start(options, scratch):
    """from exec to sampling, with 200 processes"""
    figures = Figures("Ready to sample, whole machine, 200 processes more than usual: ms; the "
                      "shortest recording there is, from outside",
                      {"ready": 0, "shortest run": 0, "without its output": 0},
                      {("bpfflame", "ready"): 100, ("bpfflame --offcpu", "ready"): 100})
    tools = [*peers.oncpu(), peers.Bpfflame(("--offcpu",), "bpfflame --offcpu")]
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(background("sleep", 3600))
        for _ in range(options.repeats * 2):
            for tool in tools:
                usage = peers.run(options.measure, tool.record(scratch, 0.001)[:1], scratch)
                figures.add(tool.name, **{"shortest run": usage.wall * 1000})
                if usage.summary:
                    rest = usage.wall - usage.summary["write_seconds"]
                    figures.add(tool.name, ready=usage.summary["startup_seconds"] * 1000,
                                **{"without its output": rest * 1000})
    figures.show()


def bench_busy(options, scratch):
    """own CPU, memory and time to write, on a busy machine"""
    seconds = 3 if options.quick else 10
    figures = Figures(f"{seconds} s of the whole machine at 99 Hz while node, cc and gzip keep it "
                      "busy (perf: record and script)",
                      {"own CPU s": 3, "peak RSS MB": 1, "write s": 3, "wall - window s": 3,
                       "lost": 0, "unreadable files": 0},
                      {("bpfflame", "own CPU s"): 0.15, ("bpfflame", "peak RSS MB"): 48,
                       ("bpfflame", "write s"): 0.3, ("bpfflame", "lost"): 0})
    tools = [*peers.oncpu(), peers.Bpfflame(("--offcpu",), "bpfflame --offcpu")]
    with busy_machine(scratch):
        for _ in range(options.repeats):
            for tool in tools:
                usage = peers.run(options.measure, tool.record(scratch, seconds), scratch,
                                  seconds + 30)
                if usage.gave_up:
                    print(f"{tool.name} was stopped: not done 30 s after the window", flush=True)
                figures.add(tool.name, **{"own CPU s": usage.cpu,
                                          "peak RSS MB": usage.peak_rss / (1 << 20),
                                          "wall - window s": usage.wall - seconds})
                if usage.summary:
                    figures.add(tool.name, lost=lost(usage.summary),
                                **{"write s": usage.summary["write_seconds"],
                                   "unreadable files":
                                       usage.summary["losses"]["unreadable_files"]})
                elif len(usage.seconds) > 1:
                    figures.add(tool.name, **{"write s": usage.seconds[-1]})
    figures.show()


def bench_tables(options, scratch):
    """building the unwind tables of large and of common files"""
    user = peers.ROOT / "user"
    program = peers.build("tables", scratch, "-D_GNU_SOURCE", f"-I{peers.ROOT}", f"-I{user}",
                          *user.glob("unwind/cfi*.c"), *user.glob("unwind/table*.c"),
                          user / "base/elf_file.c")
    limits = {"libc.so.6": 2, "node": 30, "libLLVM": 50}  # ms
    figures = Figures("Unwind tables, warm, one thread: ms of CPU time, KB of table for each MB "
                      "of code", {"ms": 2, "code MB": 2, "table KB": 0, "KB per MB": 0})
    lines = subprocess.run([program, str(4 * options.repeats), *table_files()], check=True,
                           stdout=subprocess.PIPE).stdout
    for line in lines.splitlines():
        table = json.loads(line)
        name = Path(table["file"]).name
        for ms in table["ms"]:
            figures.add(name, ms=ms)
        figures.add(name, **{"code MB": table["code_mb"], "table KB": table["table_kb"],
                             "KB per MB": table["table_kb"] / table["code_mb"]})
        figures.targets[name, "KB per MB"] = 200
        for start, most in limits.items():
            if name.startswith(start):
                figures.targets[name, "ms"] = most
    figures.show()


def table_files():
    patterns = ("lib/*-linux-gnu/libc.so.6", "lib/*-linux-gnu/ld-linux-*.so.*",
                "lib/*-linux-gnu/libcrypto.so.3", "lib/*-linux-gnu/libstdc++.so.6", "bin/bash",
                "bin/python3", "bin/node", "lib/*-linux-gnu/libLLVM*.so.1")
    found = (sorted(Path("/usr").glob(pattern)) for pattern in patterns)
    return [str(files[0]) for files in found if files]


BENCHES = {"switch": bench_switch, "unwind": bench_unwind, "throughput": bench_throughput, "start": bench_start,
           "busy": bench_busy, "tables": bench_tables}


def parse():
    names = "".join(f"\n  {name:<12}{bench.__doc__}" for name, bench in BENCHES.items())
    parser = argparse.ArgumentParser(description=__doc__, epilog="benches:" + names,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", nargs="*", help="which ones (all)")
    parser.add_argument("--quick", action="store_true", help="short windows, one turn each")
    parser.add_argument("--repeats", type=int, help="turns (5)")
    options = parser.parse_args()
    for name in options.bench:
        if name not in BENCHES:
            parser.error(f"{name}: no such bench; there are {', '.join(BENCHES)}")
    options.repeats = options.repeats or (1 if options.quick else 5)
    return options


def main():
    options = parse()
    if os.geteuid() != 0:
        sys.exit("bench: needs root")
    print(f"{platform.release()} {platform.machine()}, {os.cpu_count()} CPUs; medians of "
          f"{options.repeats} with ranges")
    with tempfile.TemporaryDirectory(prefix="bpfflame-bench-") as folder:
        scratch = Path(folder)
        options.measure = peers.build("measure", scratch)
        for name in options.bench or BENCHES:
            BENCHES[name](options, scratch)


if __name__ == "__main__":
    main()
