#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""oracle: compares bpfflame's unwinder with elfutils' on stacks of real programs, frame by frame.

usage: tests/unwind/oracle.py [--stacks N] [--steps N] [--seconds S] [PROGRAM…]

Prints a table and every difference; ends with `N passed, N failed, N skipped`. Exits with 1 if a
program with an oracle is below 99.9 %, or all together are. --steps adds N single steps after each
stop. `make oracle` builds and runs this.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import programs

ORACLE = Path(__file__).resolve().parents[2] / "build" / "unwind" / "oracle"
ENOUGH = 99.9
COLUMNS = ["stacks", "identical", "no_oracle", "shorter", "longer", "different", "distinct",
           "with_signal_frame", "deepest"]


def judge(name, folder, stacks, seconds, steps=0, oracle=ORACLE):
    """Runs one program under the oracle: its counts, and its report of differences."""
    argv = programs.prepare(name, folder)
    result = subprocess.run([oracle, "-n", str(stacks), "-t", str(seconds), "-w", str(steps),
                             *argv], capture_output=True, text=True, timeout=seconds + 60)
    if not result.stdout:
        raise RuntimeError(f"{name}: {result.stderr.strip() or f'exit {result.returncode}'}")
    return json.loads(result.stdout), result.stderr


def percent(counts):
    judged = counts["stacks"] - counts["no_oracle"]
    return 100 * counts["identical"] / judged if judged else None


def row(name, counts):
    share = percent(counts)
    return f"{name:20}" + "".join(f"{counts[column]:>18}" for column in COLUMNS) + (
        f"{share:>12.3f}" if share is not None else f"{'-':>12}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stacks", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--oracle", default=ORACLE)
    parser.add_argument("programs", nargs="*", default=list(programs.PROGRAMS))
    options = parser.parse_args()
    total = dict.fromkeys(COLUMNS, 0)
    passed = failed = skipped = 0
    print(f"{'program':20}" + "".join(f"{column:>18}" for column in COLUMNS) + f"{'percent':>12}")
    for name in options.programs:
        with tempfile.TemporaryDirectory() as folder:
            try:
                counts, differences = judge(name, folder, options.stacks, options.seconds,
                                            options.steps, options.oracle)
            except programs.Missing as missing:
                print(f"{name:20}SKIPPED: {missing}")
                skipped += 1
                continue
        print(row(name, counts), flush=True)
        if differences:
            print(differences, file=sys.stderr, flush=True)
        for column in COLUMNS:
            total[column] += counts[column]
        good = percent(counts) is None or percent(counts) >= ENOUGH
        passed += good
        failed += not good
    print(row("all", total))
    failed += (percent(total) or 0) < ENOUGH
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
