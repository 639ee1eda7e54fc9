#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""storms: what one hostile user costs a recording of the whole machine, and an honest user beside.

    storms.py [THREADS [MAPPINGS [FILES]]]

One user has THREADS (50 000) threads, MAPPINGS (100 000) mappings and FILES (100 000) small files
at once, execs a program as fast as it can and maps and unmaps code as fast as it can; another one
runs `burn`. Prints, for each mode, how many of the other's stacks are complete and named, the peak
memory, and the CPU time above that of a recording without the storm. Needs root; raises
kernel.pid_max while it runs.
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BPFFLAME = ROOT / "build" / "bpfflame"
WORKLOADS = ROOT / "build" / "workload"
PID_MAX = Path("/proc/sys/kernel/pid_max")
MALLORY, ALICE = "12345", "12346"
SECONDS = 10

LIBRARY = ("__attribute__((noinline)) void work(unsigned long n) "
           "{ for (volatile unsigned long i = 0; i < n; i++); }")


def make_library(path):
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-nostdlib", "-Wl,-z,noseparate-code", "-x", "c", "-",
                    "-o", path], input=LIBRARY, check=True, text=True)
    symbols = subprocess.run(["nm", "-D", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    return next(line.split()[0] for line in symbols.splitlines() if line.endswith(" work"))


@contextlib.contextmanager
def pids(n):
    before = PID_MAX.read_text()
    PID_MAX.write_text(str(max(int(before), n)))
    yield
    PID_MAX.write_text(before)


@contextlib.contextmanager
def user_process(user, command):
    process = subprocess.Popen(["setpriv", f"--reuid={user}", "--clear-groups", *map(str, command)],
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, 9)
        process.communicate()


@contextlib.contextmanager
def storm(folder, threads, mappings, files):
    library, copies = folder / "small.so", folder / "files"
    offset = make_library(library)
    copies.mkdir()
    os.chown(copies, int(MALLORY), int(MALLORY))
    with pids(threads + 20000), user_process(MALLORY, [folder / "storms", 600, threads, mappings, files,
                                                       library, offset, copies]) as process:
        assert process.stdout.readline() == "ready\n"
        yield


def of_honest(path):
    """Samples or time of the honest program, and the part whose stacks are complete and named."""
    whole = good = 0
    for line in path.read_text().splitlines():
        stack, value = line.rsplit(" ", 1)
        frames = stack.split(";")
        if frames[0] == "honest":
            whole += int(value)
            if "[truncated]" not in frames and any(f == "main" or f.startswith("burn_") for f in frames):
                good += int(value)
    return whole, good


def record(folder, mode):
    output = folder / "x.folded"
    with user_process(ALICE, [folder / "honest", SECONDS + 60]):
        result = subprocess.run([BPFFLAME, mode, "-a", "-d", str(SECONDS), "--json", "-o", output],
                                check=True, stdout=subprocess.PIPE, text=True)
    summary = json.loads(result.stdout)
    whole, good = of_honest(output)
    losses = {name: n for name, n in summary["losses"].items() if n}
    print(f"  {mode}: {100 * good / whole:.2f} % complete and named, "
          f"{summary['peak_memory_bytes'] / 1e6:.1f} MB, {summary['cpu_seconds']:.2f} s CPU in "
          f"{summary['duration_seconds']:.2f} s, ready after {summary['startup_seconds']:.2f} s, "
          f"written in {summary['write_seconds']:.2f} s; losses {losses}", flush=True)
    return summary["cpu_seconds"] / SECONDS


def main():
    sizes = [int(word) for word in sys.argv[1:]] + [50000, 100000, 100000][len(sys.argv) - 1:]
    modes = "--oncpu", "--wall"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(WORKLOADS / "burn", folder / "honest")
        shutil.copy(WORKLOADS / "storms", folder)
        print("quiet")
        quiet = [record(folder, mode) for mode in modes]
        with storm(folder, *sizes):
            print(f"storm of {sizes[0]} threads, {sizes[1]} mappings, {sizes[2]} files, and execs")
            loud = [record(folder, mode) for mode in modes]
    for mode, before, after in zip(modes, quiet, loud):
        print(f"{mode}: {100 * (after - before):.1f} % of a CPU more than without")


if __name__ == "__main__":
    main()
