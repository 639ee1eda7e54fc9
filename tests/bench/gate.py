# SPDX-License-Identifier: GPL-2.0-or-later
"""gate: shows the gate of `bpfflame diff` planted regressions in a program of 50 functions, and
identical code. All comparisons use the same recordings."""
import concurrent.futures
import os
import random
import subprocess
import sys
import time

import peers

FUNCTIONS = {"work_00": 30, "work_01": 10, "work_09": 2}  # share in percent
PERCENTS = 10, 20, 50
TARGETS = {10: 60, 20: 95, 50: 100}  # percent of the repetitions that must be caught
RUNS = 1, 3, 5, 10
COMPARISONS = 100
MOST_ALARMS = 1
FREQUENCY = 199
FAIL_OVER = 5  # a share grows by less than its function: 10 % of a third is 7 % more of the whole


def record(path, cpu, seconds, frequency, slower):
    """One run of the workload, alone on its CPU."""
    environment = {**os.environ, "FIFTY_SLOWER": slower}
    command = [peers.BPFFLAME, "-q", "-F", frequency, "-o", path, "--", "taskset", "-c", cpu,
               peers.ROOT / "build" / "workload" / "fifty", seconds]
    result = subprocess.run(list(map(str, command)), env=environment, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, timeout=seconds * 2 + 60,
                            check=False)
    if result.returncode not in (0, 4):
        sys.exit(f"bench: {result.stderr}")


def record_all(wanted, seconds, frequency):
    """@wanted: (path, what is slower). One run per CPU at a time; variants take turns."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    lanes = [wanted[i::len(cpus)] for i in range(len(cpus))]

    def run(cpu, lane):
        for path, slower in lane:
            record(path, cpu, seconds, frequency, slower)

    with concurrent.futures.ThreadPoolExecutor(len(cpus)) as pool:
        list(pool.map(run, cpus, lanes))


def offenders(base, new, fail_over=FAIL_OVER):
    """The functions that the gate names."""
    command = [peers.BPFFLAME, "diff", *base, "--", *new, "--fail-over", fail_over, "--json", "-q"]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600,
                            check=False)
    if result.returncode not in (0, 3):
        sys.exit(f"bench: {result.stderr}")
    names = set()
    for line in result.stderr.splitlines():
        names.add(line.split("grew too much: ")[1].split(":")[0].split(" in ")[0])
    if bool(names) != (result.returncode == 3):
        sys.exit(f"bench: exit {result.returncode}, but: {result.stderr}")
    return names


def window(paths, start, n):
    """@n of @paths from @start on, starting over at the end."""
    return [paths[(start + i) % len(paths)] for i in range(n)]


def say(text):
    print(text, flush=True)


def verdict(reached):
    return "reached" if reached else "MISSED"


def show_catches(same, slow, repetitions):
    """How many of the planted regressions are found, by the number of runs of each side."""
    for (function, percent), paths in slow.items():
        for n in (n for n in RUNS if n <= repetitions):
            caught = blamed = 0
            for i in range(repetitions):
                names = offenders(window(same, i, n), window(paths, i, n))
                caught += function in names
                blamed += bool(names - {function})
            line = (f"  {function} ({FUNCTIONS[function]} %) {percent} % slower, {n} against {n}: "
                    f"caught {caught} of {repetitions}, others blamed {blamed}")
            if function == "work_00":
                target = TARGETS[percent]
                line += f"; target {target} %: {verdict(caught * 100 >= target * repetitions)}"
            say(line)


def show_alarms(same):
    """How often the gate finds a difference between two halves of recordings of identical code."""
    chance = random.Random(1)
    for n in (n for n in RUNS if 2 * n <= len(same)):
        for limit in (FAIL_OVER, 10):
            alarms, named = 0, set()
            for _ in range(COMPARISONS):
                drawn = chance.sample(same, 2 * n)
                names = offenders(drawn[:n], drawn[n:], limit)
                alarms += bool(names)
                named |= names
            say(f"  identical code, {n} against {n}, limit {limit} %: {alarms} false alarms of "
                f"{COMPARISONS}; target {MOST_ALARMS}: {verdict(alarms <= MOST_ALARMS)} "
                f"{' '.join(sorted(named))}")


def bench_gate(options, scratch):
    """planted regressions, and false alarms: --seconds, --repetitions, --functions"""
    seconds = options.seconds or (2 if options.quick else 30)
    repetitions = options.repetitions or (3 if options.quick else 20)
    frequency = options.frequency or FREQUENCY
    functions = (options.functions or "work_00").split(",")
    folder = scratch / "gate"
    folder.mkdir()
    same = [folder / f"same-{i}.pb.gz" for i in range(2 * repetitions)]
    slow = {(function, percent): [folder / f"{function}-{percent}-{i}.pb.gz"
                                  for i in range(repetitions)]
            for function in functions for percent in PERCENTS}
    wanted = [(path, "") for path in same]
    wanted += [(path, f"{function}:{percent}") for (function, percent), paths in slow.items()
               for path in paths]
    random.Random(2).shuffle(wanted)
    say(f"\nThe gate: {len(wanted)} recordings of {seconds} s at {frequency} Hz, about "
        f"{len(wanted) * (seconds + 1) / 2 / 60:.0f} minutes")
    started = time.monotonic()
    record_all(wanted, seconds, frequency)
    say(f"  recorded in {time.monotonic() - started:.0f} s")
    show_catches(same[:repetitions], slow, repetitions)
    show_alarms(same)
