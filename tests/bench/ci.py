# SPDX-License-Identifier: GPL-2.0-or-later
"""ci: what recording costs where builds and tests run: during a build, and in windows."""
import json
import os
import shutil
import subprocess
import time

import peers
from figures import Figures

# Compiled repeatedly: this project, some three hundred C files.
SOURCES = ["bpf", "user", "vmlinux", "Makefile"]


def copy_sources(folder):
    folder.mkdir()
    for name in SOURCES:
        source = peers.ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    return folder


def elapsed(command, folder):
    started = time.monotonic()
    done = subprocess.run(list(map(str, command)), cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - started, done.stdout


def build(folder):
    shutil.rmtree(folder / "build", ignore_errors=True)
    return ["make", "-s", f"-j{os.cpu_count()}", "all"]


def recorded(command, scratch, *options):
    return [peers.BPFFLAME, "--json", "-o", scratch / "build.svg", "-o", scratch / "build.pb.gz",
            *options, "--", *command]


def bench_build(options, scratch):
    """how much recording a build from its first instruction to its end costs it"""
    figures = Figures("A build of this project (make, some 300 files of C), alone and recorded: "
                      "seconds; ratios to the build just before; write s: after the build's end",
                      {"build s": 2, "with its files s": 2, "ratio": 4, "ratio with files": 4,
                       "own CPU s": 2, "write s": 2, "samples": 0, "lost": 0},
                      {("bpfflame", "ratio"): 1.01, ("bpfflame --offcpu", "ratio"): 1.01})
    folder = copy_sources(scratch / "project")
    elapsed(build(folder), folder)
    for turn in range(options.repeats * 2):
        for name, more in (("bpfflame", []), ("bpfflame --offcpu", ["--offcpu"])):
            # Alternates the order, so that the second one is not always the same.
            pair = {}
            for side in ("alone", name) if turn % 2 else (name, "alone"):
                command = build(folder)
                if side != "alone":
                    command = recorded(command, scratch, *more)
                pair[side], output = elapsed(command, folder)
                if side == name:
                    summary = json.loads(output.splitlines()[-1])
            inside = pair[name] - summary["write_seconds"]
            figures.add("alone", **{"build s": pair["alone"]})
            figures.add(name, **{"build s": inside, "with its files s": pair[name],
                                 "ratio": inside / pair["alone"],
                                 "ratio with files": pair[name] / pair["alone"],
                                 "own CPU s": summary["cpu_seconds"],
                                 "write s": summary["write_seconds"],
                                 "samples": summary["samples"],
                                 "lost": sum(summary["losses"].values())})
    figures.show()


def folded_total(path):
    with open(path, encoding="utf-8") as lines:
        return sum(int(line.rsplit(" ", 1)[1]) for line in lines)


def bench_windows(options, scratch):
    """60 windows of a second, and one of a minute, over the same time"""
    seconds = 10 if options.quick else 60
    figures = Figures(f"{seconds} windows of 1 s and one of {seconds} s at once, on a machine "
                      "that computes: sums of all folded files",
                      {"sum": 0, "of one window": 5, "counted in BPF": 0, "files": 0,
                       "own CPU s": 2, "peak RSS MB": 1})
    command = "while :; do :; done"
    spinners = [subprocess.Popen(["sh", "-c", command]) for _ in range(os.cpu_count())]
    try:
        for mode in ([], ["--offcpu", "--offcpu-period", "0"]):
            folder = scratch / "windows"
            shutil.rmtree(folder, ignore_errors=True)
            one = subprocess.Popen(list(map(str, [
                peers.BPFFLAME, "-a", "-d", seconds, *mode, "--json", "-o",
                scratch / "one.folded"])), stdout=subprocess.PIPE)
            many = subprocess.Popen(list(map(str, [
                peers.BPFFLAME, "-a", "-d", seconds, *mode, "--json", "--every", 1, "-f", "folded",
                "--out-dir", folder])), stdout=subprocess.PIPE)
            summaries = [json.loads(each.communicate()[0].splitlines()[-1])
                         for each in (one, many)]
            files = sorted(folder.glob("*.folded"))
            whole, parts = folded_total(scratch / "one.folded"), sum(map(folded_total, files))
            for name, total, number, summary in (
                    ("one window", whole, 1, summaries[0]),
                    ("windows", parts, len(files), summaries[1])):
                figures.add(" ".join([name, *mode[:1]]),
                            **{"sum": total, "of one window": total / whole,
                               "counted in BPF": summary["samples"], "files": number,
                               "own CPU s": summary["cpu_seconds"],
                               "peak RSS MB": summary["peak_memory_bytes"] / 1e6})
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
    figures.show()
