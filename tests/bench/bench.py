#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bench: measures the figures that bpfflame promises, with its peers in the same run.

Tools take turns, so that changes of the machine affect all of them; each figure is a median with
its range. Needs root.
"""
import argparse
import contextlib
import ctypes
import functools
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ci
import gate
import peers
from figures import Figures

BUSY_JAVASCRIPT = """
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
function sorted() { return Array.from({length: 5000}, Math.random).sort((a, b) => a - b); }
for (;;) { fibonacci(22); sorted(); JSON.parse(JSON.stringify(sorted())); }
"""


def lost(summary):
    """Samples and events. A file or a waker that could not be read costs only names."""
    return sum(n for kind, n in summary["losses"].items()
               if kind not in ("unreadable_files", "unknown_wakers"))


# --- the machine ----------------------------------------------------------------------------

# The loads in the background end with us, also under `timeout`.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


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
    """Code from a JIT, a compiler that runs repeatedly, a compressor."""
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
    """Run counts and times of all BPF programs, kept while this is open."""
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


def held_programs(pid):
    """What bpftool says of the BPF programs that one process holds."""
    held = set()
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            held.update(int(line.split()[1]) for line in path.read_text().splitlines()
                        if line.startswith("prog_id:"))
    text = subprocess.run(["bpftool", "-j", "prog", "show"], stdout=subprocess.PIPE,
                          check=True).stdout
    return [program for program in json.loads(text or "[]") if program["id"] in held]


def programs(pid, name=None):
    """id → (run time ns, run count) of the BPF programs that one process holds, or one of
    several."""
    return {program["id"]: (program.get("run_time_ns", 0), program.get("run_cnt", 0))
            for program in held_programs(pid) if name in (None, program.get("name"))}


def wait_until_attached(tool, pid):
    """Waits until its programs are loaded, and a second more; perf has none."""
    end = time.monotonic() + 20
    while not isinstance(tool, peers.Perf) and not programs(pid):
        if time.monotonic() > end:
            raise RuntimeError(f"{tool.name} attached nothing")
        time.sleep(0.05)
    time.sleep(1)


@contextlib.contextmanager
def recording(tool, scratch):
    """The tool records in the background until the block ends; then its output can be read."""
    command = list(map(str, tool.record(scratch, 300)[0]))
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env=peers.ENVIRONMENT)
    try:
        wait_until_attached(tool, process.pid)
        yield process
        if process.poll() is not None:
            raise RuntimeError(f"{tool.name} ended early: status {process.returncode}")
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.result = process.communicate(timeout=60)[0]
    finally:
        process.kill()
        process.communicate()


def switches():
    """Context switches of the whole machine since boot."""
    for line in Path("/proc/stat").read_text().splitlines():
        if line.startswith("ctxt "):
            return int(line.split()[1])
    raise RuntimeError("/proc/stat has no ctxt")


def programs_cost(holder, seconds):
    """Costs of the programs of process @holder: for each one, ns and runs per switch."""
    before, switches_before = programs(holder), switches()
    time.sleep(seconds)
    after, switched = programs(holder), switches() - switches_before
    return [tuple((now - then) / switched for now, then in zip(after[key], before[key]))
            for key in after if key in before]


# --- benches --------------------------------------------------------------------------------


SCHED_PIPE = ["taskset", "-c", "0", "perf", "bench", "sched", "pipe"]


def off_cpu_tools(empty, scratch, *more):
    """bpfflame with its lower bound, and the others."""
    plain, wakers = peers.bpfflame_hooks(scratch)
    stored = [f"+{hook}" for hook in plain]
    tools = [peers.Empty(empty, hooks) for hooks in (plain, stored, wakers) if hooks]
    tools += [peers.Bpfflame(("--offcpu",), "bpfflame"),
              peers.Bpfflame(("--offcpu", "--wakers"), "bpfflame --wakers"), *more]
    return tools + peers.offcpu()


def bench_switch(options, scratch):
    """cost of a context switch, from BPF statistics"""
    workloads = {"ping-pong": [peers.WORKLOADS / "pingpong", 600, 20, 0]}
    if not peers.missing("perf"):
        workloads["sched pipe"] = [*SCHED_PIPE, "-l", 1 << 30]
    empty = peers.build("empty", scratch, "-lbpf")
    tools = [tool for tool in off_cpu_tools(empty, scratch) if not isinstance(tool, peers.Perf)]
    seconds = 1 if options.quick else 3
    for name, command in workloads.items():
        figures = Figures(f"Cost of a switch, {name} on one CPU, whole machine recorded: ns of all "
                          "programs together, from BPF statistics",
                          {"runs": 2, "gross": 0, "net of empty": 0, "lost": 0},
                          {("bpfflame", "net of empty"): 350,
                           ("bpfflame --wakers", "net of empty"): 600, ("bpfflame", "lost"): 0})
        with bpf_statistics(), background(*command):
            time.sleep(0.2)
            for _ in range(options.repeats):
                measure_switches(figures, tools, scratch, seconds)
        figures.show()


def measure_switches(figures, tools, scratch, seconds):
    """One turn of each. The last lower bound is the cost of running an empty program."""
    a_run = 0
    for tool in tools:
        with recording(tool, scratch) as process:
            cost = programs_cost(process.pid, seconds)
        gross, runs = sum(ns for ns, _ in cost), sum(runs for _, runs in cost)
        if isinstance(tool, peers.Empty) and not tool.looks_up:
            a_run = gross / runs
        figures.add(tool.name, runs=runs, gross=gross, **{"net of empty": gross - a_run * runs})
        if isinstance(tool, peers.Bpfflame):
            figures.add(tool.name, lost=lost(json.loads(process.result)))


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
                # Six of the frames are libc's, main()'s, the workload's own and the leaf.
                measure_unwind(figures, scratch, seconds, frames)
    figures.show()


def sample_cost(scratch, seconds, *arguments):
    """ns that the sampling program takes, and bpfflame's folded output."""
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
    """how much recording off-CPU time slows down the densest switches"""
    seconds = 0.5 if options.quick else 1
    loads = throughputs(seconds)
    figures = Figures("Throughput lost under off-CPU recording of the whole machine: percent of "
                      "what there was just before and just after", {name: 1 for name in loads},
                      {("bpfflame", "sched pipe"): 6, ("bpfflame", "ping-pong"): 10})
    rates = Figures("Nobody records: operations/s", {name: 0 for name in loads})
    empty = peers.build("empty", scratch, "-lbpf")
    wall = peers.Bpfflame(("--wall",), "bpfflame --wall")
    tools = [None, *off_cpu_tools(empty, scratch, wall)]
    before = {name: load() for name, load in loads.items()}
    for _ in range(1 if options.quick else max(9, options.repeats)):
        for tool in tools:
            with contextlib.nullcontext() if tool is None else recording(tool, scratch):
                under = {name: load() for name, load in loads.items()}
            after = {name: load() for name, load in loads.items()}
            figures.add(tool.name if tool else "nobody: noise", **{
                name: 100 * (1 - 2 * under[name] / (before[name] + after[name])) for name in loads})
            rates.add("nobody", **after)
            before = after
    rates.show()
    figures.show()


def throughputs(seconds):
    """Name → a function that runs it for about this long and returns operations per second. On one
    CPU, because the scheduler's choice between one and two would change everything by a factor of
    eight."""
    loads = {}
    if not peers.missing("perf"):
        loads["sched pipe"] = functools.partial(sched_pipe, int(sched_pipe(20000) * seconds))
    loads["ping-pong"] = functools.partial(round_trips, seconds)
    return loads


def sched_pipe(loops):
    output = subprocess.run([*SCHED_PIPE, "-l", str(loops)], stdout=subprocess.PIPE, check=True,
                            text=True).stdout
    return float(re.search(r"([0-9.]+) ops/sec", output)[1])


def round_trips(seconds):
    """Round trips on one CPU, below 20 user frames."""
    output = subprocess.run([peers.WORKLOADS / "pingpong", str(seconds), "20", "0"],
                            stdout=subprocess.PIPE, check=True).stdout
    return json.loads(output)["round_trips_per_second"]


def bench_interval(options, scratch):
    """how often the printed interval holds the truth"""
    n = 10 if options.quick else 200
    print(f"\nThe 95 % interval of off-CPU time, {n} recordings each, 100 threads that switch as "
          "often as they can: for 0.4 s; in storms of 0.2 s, beside long sleepers")
    for name, seconds, burst, period in (("period chosen", 0.4, 0, ()),
                                         ("period of 50 ms", 0.4, 0, ("--offcpu-period", "50ms")),
                                         ("storms, period chosen", 1.6, 0.2, ())):
        crowd = peers.WORKLOADS / "crowd", seconds, 100, burst
        print_interval([short_recording(scratch, period, crowd) for _ in range(n)], name)


def short_recording(scratch, options, crowd):
    command = [peers.BPFFLAME, "--offcpu", *options, "--json", "-o", scratch / "x.folded", "--",
               *crowd]
    output = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True).stdout
    truth, summary = map(json.loads, output.splitlines()[-2:])
    threads = sum(thread["off_cpu_ns"] for thread in truth["threads"])
    return {**summary["offcpu"], "true_seconds": (threads + truth["main_off_cpu_ns"]) / 1e9}


def print_interval(recordings, name):
    errors = [offcpu["seconds"] - offcpu["measured_seconds"] for offcpu in recordings]
    held = sum(abs(error) <= offcpu["interval95_seconds"]
               for error, offcpu in zip(errors, recordings))
    measured = sum(offcpu["measured_seconds"] for offcpu in recordings)
    farthest = max(abs(offcpu["measured_seconds"] / offcpu["true_seconds"] - 1)
                   for offcpu in recordings)
    spread = statistics.pstdev(1.96 * error / offcpu["interval95_seconds"]
                               for error, offcpu in zip(errors, recordings))
    widest = max(offcpu["interval95_seconds"] / offcpu["seconds"] for offcpu in recordings)
    kept = sum(offcpu["events_kept"] for offcpu in recordings)
    seen = sum(offcpu["events_seen"] for offcpu in recordings)
    print(f"{name}: the truth lies in {held} of {len(recordings)} intervals; bias "
          f"{100 * sum(errors) / measured:+.3f} %, spread {spread:.2f} of what is said, widest "
          f"interval {100 * widest:.2f} %; kept {100 * kept / seen:.2f} % of the periods; what was "
          f"measured is within {100 * farthest:.2f} % of what the threads say")
    target = int(0.94 * len(recordings))
    print(f"target {name}, intervals that hold: at least {target}: "
          f"{'reached' if held >= target else 'MISSED'} ({held})")
    print(f"target {name}, widest interval: at most 5 %: "
          f"{'reached' if widest <= 0.05 else 'MISSED'} ({100 * widest:.2f} %)", flush=True)


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
    """bpfflame's CPU time, memory and time to write, on a busy machine"""
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
    """time to build the unwind tables of large and of common files"""
    user = peers.ROOT / "user"
    program = peers.build("tables", scratch, "-D_GNU_SOURCE", f"-I{peers.ROOT}", f"-I{user}",
                          *user.glob("unwind/*.c"), *user.glob("base/*.c"), "-lz", "-lzstd",
                          "-llzma")
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


def bench_pictures(options, scratch):
    """folded lines to pictures: 10 k, 100 k and 1 M distinct stacks, sorted and shuffled"""
    made = peers.build("made_folded", scratch)
    tools = peers.renderers(scratch)
    limits = {10_000: 0.08, 100_000: 0.45, 1_000_000: 5}  # s
    for stacks, seconds in limits.items():
        for order in "sorted", "shuffled":
            if options.quick and (stacks > 100_000 or order == "shuffled"):
                continue
            path = scratch / "made.folded"
            with open(path, "wb") as file:
                subprocess.run([made, str(stacks), order], stdout=file, check=True)
            bytes_read = path.stat().st_size
            figures = Figures(f"Folded to SVG, {stacks:,} stacks, {order}, {bytes_read / 1e6:.0f} MB",
                              {"wall s": 3, "CPU s": 3, "peak RSS MB": 0, "SVG MB": 2})
            figures.targets["bpfflame", "wall s"] = seconds
            figures.targets["bpfflame", "SVG MB"] = 3
            for turn in range(options.repeats):
                for name, command in tools.items():
                    # 1 M takes minutes and gigabytes, so once is enough.
                    if name == "flamegraph.pl" and (turn or order == "shuffled"):
                        continue
                    usage = peers.run(options.measure, [command(path)], scratch, limit=600)
                    figures.add(name, **{"wall s": usage.wall, "CPU s": usage.cpu,
                                         "peak RSS MB": usage.peak_rss / (1 << 20),
                                         "SVG MB": (scratch / f"{name}.svg").stat().st_size / 1e6})
            figures.show()
            bench_conversions(options, scratch, path, stacks, order)
            path.unlink()


def bench_conversions(options, scratch, path, stacks, order):
    """Conversions to the other formats, once per size."""
    if order != "sorted":
        return
    figures = Figures(f"Folded to other formats, {stacks:,} stacks",
                      {"wall s": 3, "peak RSS MB": 0, "MB": 1})
    for _ in range(min(options.repeats, 3)):
        for ending in "html", "folded", "pb.gz":
            target = scratch / f"converted.{ending}"
            usage = peers.run(options.measure,
                              [[peers.BPFFLAME, "render", path, "-o", target]], scratch, limit=600)
            figures.add(ending, **{"wall s": usage.wall, "peak RSS MB": usage.peak_rss / (1 << 20),
                                   "MB": target.stat().st_size / 1e6})
            target.unlink()
    if stacks == 100_000:
        figures.targets["html", "MB"] = 8
    figures.show()


BENCHES = {"switch": bench_switch, "unwind": bench_unwind, "throughput": bench_throughput,
           "interval": bench_interval, "start": bench_start, "busy": bench_busy,
           "tables": bench_tables, "pictures": bench_pictures,
           "build": ci.bench_build, "windows": ci.bench_windows, "gate": gate.bench_gate}


def parse():
    names = "".join(f"\n  {name:<12}{bench.__doc__}" for name, bench in BENCHES.items())
    parser = argparse.ArgumentParser(description=__doc__, epilog="benches:" + names,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", nargs="*", help="which ones (all)")
    parser.add_argument("--quick", action="store_true", help="short windows, one turn each")
    parser.add_argument("--repeats", type=int, help="turns (5)")
    parser.add_argument("--seconds", type=int, help="gate: of each recording (30)")
    parser.add_argument("--frequency", type=int, help="gate: samples a second (199)")
    parser.add_argument("--repetitions", type=int, help="gate: recordings of each kind (20)")
    parser.add_argument("--functions", help="gate: slowed down: work_00,work_01,work_09 (the first)")
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
    # The recorded program runs as root, even under sudo, because the scratch files are root's.
    for name in ("SUDO_UID", "SUDO_GID", "SUDO_USER"):
        os.environ.pop(name, None)
    print(f"{platform.release()} {platform.machine()}, {os.cpu_count()} CPUs; medians of "
          f"{options.repeats} with ranges")
    with tempfile.TemporaryDirectory(prefix="bpfflame-bench-") as folder:
        scratch = Path(folder)
        options.measure = peers.build("measure", scratch)
        for name in options.bench or BENCHES:
            BENCHES[name](options, scratch)


if __name__ == "__main__":
    main()
