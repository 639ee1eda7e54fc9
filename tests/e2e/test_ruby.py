# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of Ruby programs: held against what the interpreter itself says of its threads."""
import contextlib
import json
import os
import re
import subprocess

import pytest

import interpreters
from harness import ROOT, Folded, record

TRUTH = ROOT / "tests" / "workload" / "ruby_truth.rb"
RUBIES = interpreters.named("/usr/bin/ruby", "RUBIES")
KNOWN = ["2.7", "3.1", "3.3"]
LEAVES = {"burn": ["--oncpu", "-F", 499], "turns": ["--offcpu"]}
# Whose methods they are; blocks and files are called as in backtraces.
CLASSES = {
    "Object": ["burn", "loop_of_burn", "nap", "wait", "look", "lock", "leaf", "deep", "künstlich"],
    "Shape": ["area", "method_missing"], "Shape.": ["made"], "Shape::Inner": ["find"],
    "Mixed": ["mixed"], "Array": ["each", "sort"], "Enumerable": ["sort_by"],
    "String": ["gsub"], "Kernel": ["sleep", "eval", "loop"], "IO.": ["select"],
    "Thread::Mutex": ["synchronize"], "Hash": ["[]"], "Proc": ["call"],
}
OWNERS = {method: owner if owner.endswith(".") else owner + "#"
          for owner, methods in CLASSES.items() for method in methods}
ENUMERATOR = ["Enumerator#each", "Enumerator::Generator#each"]


def version_of(ruby):
    return subprocess.check_output([ruby, "-e", "print RUBY_VERSION[/^\\d+\\.\\d+/]"], text=True)


@pytest.fixture(autouse=True)
def known(ruby):
    interpreters.skip_unless_known("Ruby", version_of(ruby), KNOWN)


@contextlib.contextmanager
def started(ruby, *arguments):
    """The process, and what it says of its threads: {tid: [(label, file, line), …]}"""
    process = subprocess.Popen([ruby, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        yield process, {int(tid): stack for tid, stack in json.loads(process.stdout.readline()).items()}
    finally:
        process.kill()
        process.communicate()


def full_names(stack):
    """Labels as bpfflame writes them."""
    names = [OWNERS.get(label, "Object#" if label.startswith("by_") else "") + label
             for label, _, _ in stack]
    for i, (label, file, _) in enumerate(stack):
        if file == "made up":  # text that is evaluated has its method's label, but is none
            names[i] = label
    if len(stack) > 2 and [label for label, _, _ in stack[:2]] == ["each", "each"]:
        names[:2] = ENUMERATOR
    return names


# Frames that come and go below leaf().
BELOW = {"Object#burn": {"Object#loop_of_burn"}, "Object#nap": {"Kernel#sleep"},
         "Object#look": {"IO.select"},
         "Object#lock": {"Thread::Mutex#synchronize", "block in lock", "Kernel#sleep"}}


def is_truth(frames, truth):
    """Whether they are the same, up to the leaf."""
    at = max(i for i, name in enumerate(truth) if name == "Object#leaf") + 2
    below = BELOW.get(truth[at - 1])
    return list(frames[:at]) == truth[:at] and below is not None and set(frames[at:]) <= below


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("ruby", RUBIES)
def test_whole_stacks_are_those_of_the_interpreter(ruby, leaf, tmp_path):
    out = tmp_path / "x.folded"
    with started(ruby, TRUTH, leaf) as (process, truth):
        result = record("-p", process.pid, *LEAVES[leaf], "-d", 1, "--threads", "-o", out)
    seen = interpreters.assert_right(Folded(out), {tid: full_names(stack) for tid, stack in truth.items()},
                                     is_truth)
    interpreters.assert_all_named(result)
    # All threads are there.
    if leaf != "burn":
        assert seen == set(truth)


@pytest.mark.parametrize("ruby", RUBIES)
def test_lines_and_native_frames(ruby, tmp_path):
    out = tmp_path / "x.folded"
    with started(ruby, TRUTH, "wait") as (process, truth):
        record("-p", process.pid, "--offcpu", "-d", 0.5, "--threads", "--lines", "-o", out)
    stacks = {int(frames[0].rpartition("/")[2]): frames for frames, _ in Folded(out).stacks}
    for tid, stack in truth.items():
        # Functions in C have no lines; Ruby gives them those of their callers.
        wanted = [(name, f" ({os.path.basename(file or '')}:{line})")
                  for name, (_, file, line) in zip(full_names(stack), stack)]
        found = interpreters.functions(stacks[tid])
        assert len(found) == len(wanted), (found, wanted)
        for frame, (name, place) in zip(found, wanted):
            is_c = name.partition("#")[0] in ("Array", "Enumerable", "String", "Hash", "Kernel",
                                              "Enumerator", "Enumerator::Generator")
            assert frame == name + (" (<internal:C>)" if is_c else place)
    # What C calls comes after C, not all of Ruby's before or after all of C's.
    for frames in stacks.values():
        text = ";".join(frames)
        if "Object#by_comparison" in text:
            assert re.search(r"by_comparison[^;]*_\[0\];Array#sort[^;]*_\[0\];.*qsort_r.*;"
                             r"block in by_comparison[^;]*_\[0\];Object#leaf", text), text
            break
    else:
        pytest.fail("no thread sorts")


@pytest.mark.parametrize("ruby", RUBIES)
def test_three_equal_burners_have_their_shares(ruby, tmp_path):
    out = tmp_path / "x.folded"
    result = record("-F", 1999, "-o", out, "--", ruby, ROOT / "tests/workload/ruby_burn.rb", "three", 1.5)
    folded = Folded(out)
    used = result.truth
    spun = folded.total(lambda frames: "Object#spin_[0]" in frames)
    assert spun > 0
    for name, seconds in used.items():
        having = folded.total(lambda frames: f"Object#{name}_[0]" in frames)
        assert having / spun == pytest.approx(seconds / sum(used.values()), abs=0.03), used


@pytest.mark.parametrize("ruby", RUBIES)
def test_methods_at_the_same_addresses_are_told_apart(ruby, tmp_path):
    out = tmp_path / "x.folded"
    result = record("-F", 499, "-o", out, "--", ruby, ROOT / "tests/workload/ruby_burn.rb", "reuse", 2)
    interpreters.assert_reused_addresses_have_their_own_names(Folded(out), result)


@pytest.mark.parametrize("ruby", RUBIES)
def test_threads_that_are_kept_for_the_next_one(ruby, tmp_path):
    """They have an execution context without a stack, and stacks of C alone, which are whole."""
    script = 'puts "{}"; $stdout.flush; loop { Thread.new { sleep 0.05 }.join; sleep 0.2 }'
    with started(ruby, "-e", script) as (process, _):
        result = record("-p", process.pid, "--offcpu", "-d", 1, "--threads", "-o", tmp_path / "x.folded")
    kept = sum(value for frames, value in Folded(tmp_path / "x.folded").stacks
               if not frames[0].endswith(f"/{process.pid}") and frames[-1] == "[futex]"
               and not interpreters.functions(frames))
    # Ruby 3.3 keeps none.
    assert kept > 0.3e6 or version_of(ruby) == "3.3"
    assert result.summary["complete_stacks_percent"] >= 99, result
