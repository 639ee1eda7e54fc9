# SPDX-License-Identifier: GPL-2.0-or-later
"""Unusual memory: files overwritten during the recording, libraries that are loaded and unloaded,
thousands of mappings, files that claim to be large.
"""
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from harness import WORKLOADS, Folded, assert_no_loss, record, workload

PROGRAM = """
#include <time.h>
static volatile unsigned long sink;
PADDING
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9; }
__attribute__((noinline)) void NAME_leaf(void) { for (int i = 0; i < 100000; i++) sink += i; }
__attribute__((noinline)) void NAME_middle(void) { NAME_leaf(); sink++; }
int main(void) { double end = now() + 0.7; while (now() < end) NAME_middle(); return 0; }
"""
PADDING = "int padding(int i) { return i * 3 + (int)sink; } int more(int i) { return padding(i) / 7; }"

LIBRARY = """
static volatile unsigned long sink;
__attribute__((noinline)) void NAME_leaf(void) { for (int i = 0; i < 100000; i++) sink += i; }
__attribute__((visibility("default"))) void work(void) { NAME_leaf(); sink++; }
"""


def compile_c(source, output, *flags):
    subprocess.run(["gcc", "-O2", "-x", "c", "-", "-o", output, *flags], input=source, text=True,
                   check=True)


def test_a_file_that_is_written_over_is_another_program(tmp_path):
    """`cp v2 app` keeps the inode: v1 must not name or unwind code of v2."""
    for name, padding in ("first", ""), ("second", PADDING):
        compile_c(PROGRAM.replace("NAME", name).replace("PADDING", padding), tmp_path / name)
    script = ("cp first app; ./app; cp second app; ./app")
    result = record("-F", "499", "-o", "out.folded", "--", "sh", "-c", script, cwd=tmp_path)
    folded = Folded(tmp_path / "out.folded")
    stacks = [(frames, value) for frames, value in folded.stacks if frames[0] == "app"]
    second = sum(value for frames, value in stacks if "second_middle" in frames)
    first = sum(value for frames, value in stacks if "first_middle" in frames)
    nameless = sum(value for frames, value in stacks
                   if any(frame.startswith("[app+") for frame in frames))
    # Nothing is left to read the first one's names from.
    assert first == 0, stacks
    assert second > 20 and nameless > 20, stacks
    assert second + nameless > 0.95 * sum(value for _, value in stacks), stacks
    assert not any("first_leaf" in frames or ("second_leaf" in frames) != ("second_middle" in frames)
                   for frames, value in stacks if any("_leaf" in frame for frame in frames)), stacks
    assert result.summary["losses"]["unreadable_files"] == 1, result.summary["losses"]


def test_thousands_of_mappings_are_unwound(tmp_path):
    """5 000 executable mappings with libc above all of them: no snapshot for every sample, no stack
    cut off."""
    with workload("mappings", "many", 5000, 20) as process:
        time.sleep(0.5)
        result = record("-p", process.pid, "-F", "499", "-d", "2", "-o", "out.folded",
                        cwd=tmp_path)
    summary = result.summary
    assert summary["samples"] > 100
    assert summary["complete_stacks_percent"] > 99.5, summary
    assert summary["unwinding"]["snapshots"] < 20, summary["unwinding"]
    assert Folded(tmp_path / "out.folded").with_frame("burn_compare") > summary["samples"] / 2
    assert_no_loss(summary)


def test_sparse_files_take_no_more_than_their_share(tmp_path):
    """Files of 1 TiB, mapped whole: tables for them are refused, with a message; others are
    unwound."""
    with workload("mappings", "sparse", 40, 20, cwd=tmp_path) as process:
        time.sleep(0.5)
        result = record("-p", process.pid, "-F", "499", "-d", "1.5", "-o", "out.folded",
                        cwd=tmp_path)
    assert result.summary["complete_stacks_percent"] > 99.5, result.summary
    assert result.summary["losses"]["unwind_room"] >= 40, result.summary["losses"]


@pytest.mark.parametrize("milliseconds", [1500, 100])
def test_libraries_at_one_address_keep_their_names(tmp_path, milliseconds):
    """Two libraries take turns at the same addresses; their caller is a third file."""
    for name in "one", "two":
        compile_c(LIBRARY.replace("NAME", name), tmp_path / f"lib{name}.so", "-shared", "-fPIC")
    with workload("mappings", "libraries", milliseconds, 30, "./libone.so", "./libtwo.so",
                  cwd=tmp_path) as process:
        time.sleep(0.3)
        result = record("-p", process.pid, "-F", "499", "-d", "6", "-o", "out.folded",
                        cwd=tmp_path)
    folded = Folded(tmp_path / "out.folded")
    right = wrong = 0
    for frames, value in folded.stacks:
        callers = {"run_first", "run_second"} & set(frames)
        leaves = {"one_leaf", "two_leaf"} & set(frames)
        if callers and leaves:
            is_right = (callers, leaves) in (({"run_first"}, {"one_leaf"}),
                                             ({"run_second"}, {"two_leaf"}))
            right, wrong = right + value * is_right, wrong + value * (not is_right)
    assert right > 0.9 * folded.total(), folded.stacks
    # The first change comes before we know of it.
    assert wrong < 0.03 * right, (right, wrong)
    assert result.summary["complete_stacks_percent"] > 98


MALLORY, ALICE = 12345, 12346


@pytest.mark.parametrize("kind", ["shared", "forked"])
def test_mappings_times_processes_are_their_users(tmp_path, kind):
    """65 000 mappings in each of 400 processes, which share them or each have their own."""
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        folder.chmod(0o755)
        library, honest = folder / "small.so", shutil.copy(WORKLOADS / "burn", folder / "honest")
        compile_c(LIBRARY.replace("NAME", "small"), library, "-shared", "-fPIC")
        words = [shutil.copy(WORKLOADS / "clones", folder), kind, "65000", "400", library, "30"]
        hostile = subprocess.Popen(["setpriv", f"--reuid={MALLORY}", "--clear-groups", *words],
                                   stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            assert hostile.stdout.readline() == "ready\n"
            with workload("honest", command=["setpriv", f"--reuid={ALICE}", "--clear-groups", honest, "30"]):
                summary = record("-a", "-d", 6, "-F", 199, "-o", tmp_path / "x.folded").summary
        finally:
            os.killpg(hostile.pid, 9)
            hostile.communicate()
    assert summary["peak_memory_bytes"] < 150e6, summary
    assert summary["losses"]["over_budget"] > 0, summary["losses"]
    assert summary["over_budget_user"] == MALLORY, summary
    mine = Folded(tmp_path / "x.folded").of_root("honest")
    whole = sum(value for _, value in mine)
    assert whole > 100
    good = sum(value for frames, value in mine if "[truncated]" not in frames and
               any(frame.startswith("burn_") for frame in frames))
    assert good >= 0.99 * whole, mine
