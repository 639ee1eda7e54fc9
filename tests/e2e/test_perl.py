# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of Perl programs: held against what the interpreter itself says of its functions."""
import contextlib
import json
import os
import re
import signal
import subprocess

import pytest

import interpreters
from harness import ROOT, Folded, record

TRUTH = ROOT / "tests" / "workload" / "perl_truth.pl"
N_KINDS = 15
PERLS = interpreters.named("/usr/bin/perl", "PERLS")
KNOWN = ["5.32", "5.36", "5.40", "5.42"]
LEAVES = {"burn": ["--oncpu", "-F", 499], "nap": ["--offcpu"]}
BLOCKS = ("<sort>", "<regex>")  # part of their functions, for the interpreter


@pytest.fixture(autouse=True)
def known(request):
    perl = request.node.callspec.params["perl"] if hasattr(request.node, "callspec") else PERLS[0]
    version = subprocess.check_output([perl, "-e", "print sprintf '%vd', $^V"], text=True)
    interpreters.skip_unless_known("Perl", version.rpartition(".")[0], KNOWN)


@contextlib.contextmanager
def started(perl, leaf):
    """The process, and what it says of its children: {pid: [(function, line), …]}"""
    process = subprocess.Popen([perl, TRUTH, leaf], stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        said = [json.loads(process.stdout.readline()) for _ in range(N_KINDS)]
        yield process, {child["pid"]: child["stack"] for child in said}
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("perl", PERLS)
def test_whole_stacks_are_those_of_the_interpreter(perl, leaf, tmp_path):
    out = tmp_path / "x.folded"
    with started(perl, leaf) as (process, truth):
        result = record("-p", process.pid, *LEAVES[leaf], "-d", 1, "--threads", "-o", out)
    seen = interpreters.assert_right(
        Folded(out), {pid: [name for name, _ in stack] for pid, stack in truth.items()},
        lambda frames, names: [name for name in frames if name not in BLOCKS] == [*names, f"main::{leaf}"])
    interpreters.assert_all_named(result)
    assert leaf == "burn" or seen == set(truth)


# Frames of C between Perl's, by the kind.
C = r"_\[0\](;(\w+|\[[^;]*\]))+;"
ORDERS = {
    "main::by_sort": f"main::by_sort{C}<sort>_.0.;main::by_code_",
    "main::by_sort_named": f"main::by_sort_named{C}main::compare_",
    "main::by_tie": f"main::by_tie{C}Tied::FETCH_",
    "main::by_overload": f"main::by_overload{C}Added::plus_",
    "main::by_first": f"main::by_first{C}main::__ANON___",
    "main::by_regex": f"main::by_regex{C}<regex>_.0.;main::leaf_",
    "main::by_caught": f"main::by_caught{C}<sort>_.0.;main::caught_",
}


@pytest.mark.parametrize("perl", PERLS)
def test_lines_and_native_frames(perl, tmp_path):
    out = tmp_path / "x.folded"
    with started(perl, "rest") as (process, truth):
        record("-p", process.pid, "--offcpu", "-d", 0.5, "--threads", "--lines", "-o", out)
    stacks = {int(frames[0].rpartition("/")[2]): frames for frames, _ in Folded(out).stacks}
    orders = dict(ORDERS)
    for pid, stack in truth.items():
        found = [frame for frame in interpreters.functions(stacks[pid])
                 if not frame.startswith(BLOCKS)]
        assert len(found) == len(stack) + 1, found
        for frame, (name, line) in list(zip(found, stack))[:-1]:
            assert frame in (f"{name} (perl_truth.pl:{line})", f"{name} ((eval 1):{line})")
        text = ";".join(re.sub(r" \([^;]*?\)(?=_\[0\])| \([^;]*\)(?=;|$)", "", frame) for frame in stacks[pid])
        order = orders.pop(stack[1][0], "")
        assert re.search(order, text), text
        assert "Perl_runops_standard" not in text or "main::by_caught" in text, text
    assert not orders


@pytest.mark.parametrize("perl", PERLS)
def test_reused_addresses_have_their_own_names(perl, tmp_path):
    script = tmp_path / "made.pl"
    script.write_text("""
        for my $k (0 .. 15) { eval "sub burner_$k { my \\$n = 0; \\$n += \\$_ for 1 .. 3000 }" }
        my $end = time + 3;
        for (my $n = 0; time < $end; $n++) {
            my $k = $n % 16;
            eval "sub made_$n { burner_$k(); 1 }";
            main->can("made_$n")->();
            delete $main::{"made_$n"};
        }""")
    result = record("-F", 999, "-o", tmp_path / "x.folded", "--", perl, script)
    folded = Folded(tmp_path / "x.folded")
    interpreters.assert_reused_addresses_have_their_own_names(
        interpreters.without(folded, "main::"), result)


@pytest.mark.parametrize("perl", PERLS)
def test_a_program_that_is_over_has_no_frames(perl, tmp_path):
    """What runs after it does not run in it: as with functions of a program that Perl is part of."""
    script = tmp_path / "over.pl"
    script.write_text("""
        sub spin { my $n = 0; $n += $_ for 1 .. 20000 }
        END { my $end = time + 2; spin() while time < $end }""")
    record("-F", 499, "-o", tmp_path / "x.folded", "--", perl, script)
    stacks = [(frames, value) for frames, value in Folded(tmp_path / "x.folded").stacks if "main::spin_[0]" in frames]
    total = sum(value for _, value in stacks)
    assert total > 100 # of 500 to 1,000, beside other programs
    right = [value for frames, value in stacks if "<over.pl>_[0]" not in frames
             and frames[frames.index("main::spin_[0]") - 1] == "main::END_[0]"]
    assert sum(right) >= 0.99 * total
