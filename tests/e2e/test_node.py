# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of node's programs without any flag: held against what V8 itself says of them."""
import collections
import contextlib
import json
import os
import re
import subprocess

import pytest

from harness import ROOT, Folded, record

WORKLOADS = ROOT / "tests" / "workload" / "node"
# Others are named in the environment: NODES=PATH:PATH….
NODES = ["/usr/bin/node", *filter(None, os.environ.get("NODES", "").split(":"))]
KNOWN = ["10.2", "11.3", "12.4", "13.6", "14.1", "14.6"]  # of V8: node 18, 20, 22 and 24
FREQUENCY = 499
LEAVES = {"burn": "--oncpu", "nap": "--offcpu", "sleep": "--offcpu"}
MARK = re.compile(r"_\[[0ij]\]$")
LINE = re.compile(r" \(([^():]*)(?::(\d+))?\)$")
# Those of V8 itself that call functions; optimized code has some of them in itself.
FIRST = "exports.byApply"
NAMELESS = {"": "(anonymous)", "eval": "(anonymous)"}
BUILT_IN = {"sort", "map", "replace", "[Symbol.replace]", "parse", "apply", "next", "wait", "call", "emit"}


def v8_version(node):
    version = subprocess.check_output([node, "-p", "process.versions.v8"], text=True)
    return ".".join(version.split(".")[:2])


@pytest.fixture(autouse=True)
def known(request):
    node = request.node.callspec.params.get("node", NODES[0]) if hasattr(request.node, "callspec") else NODES[0]
    version = v8_version(node)
    if version not in KNOWN:
        pytest.skip(f"V8 {version} is not among the known versions: {', '.join(KNOWN)}")


@contextlib.contextmanager
def started(node, *arguments):
    process = subprocess.Popen([node, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def functions(frames):
    """JavaScript's functions, root first, without their marks."""
    return [MARK.sub("", frame) for frame in frames if MARK.search(frame)]


def own(frames, name=str):
    """Those from the program's first function on, without V8's own: below are node's, some of which
    have names that only each function object has."""
    frames = [frame for frame in frames if name(frame) not in BUILT_IN]
    first = [name(frame) for frame in frames].index(FIRST)
    return frames[first:]


def read_truth(process):
    """The functions of scripts of the main thread and of the worker, root first."""
    stacks = [json.loads(process.stdout.readline()) for _ in range(2)]
    return [own([(NAMELESS.get(name, name), file, line) for name, file, line in stack],
                lambda frame: frame[0]) for stack in stacks]


def is_truth(frames, truth):
    """The whole stack, or a step off at its end: a call that has just been, or is just not, made."""
    names = [name for name, _, _ in truth]
    return frames[:len(names)] == names or frames == names[:-1]


def threads_of(folded):
    """{thread: {frames: value}} of those that run functions."""
    found = collections.defaultdict(collections.Counter)
    for frames, value in folded.stacks:
        if FIRST in functions(frames):
            found[frames[0]][tuple(frames)] += value
    return found


def assert_right(threads, truth):
    """The stacks of @threads are @truth."""
    right = wrong = 0
    others = collections.Counter()
    for stacks in threads.values():
        for frames, value in stacks.items():
            if is_truth(own(functions(frames)), truth) and frames[1] != "[truncated]":
                right += value
            else:
                wrong += value
                others[frames] += value
    assert right > 0
    assert right >= 0.99 * (right + wrong), (right, wrong, others.most_common(2))


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("leaf", LEAVES)
def test_threads_have_the_stacks_that_v8_says(node, leaf, tmp_path):
    out = tmp_path / "x.folded"
    with started(node, WORKLOADS / "truth.js", leaf) as process:
        truths = read_truth(process)
        result = record("-p", process.pid, LEAVES[leaf], "-d", 1, "-F", FREQUENCY, "--threads", "-o", out)
    threads = threads_of(Folded(out))
    assert truths[0] == truths[1] and len(truths[0]) == 39
    assert len(threads) == 2
    assert_right(threads, truths[0])
    assert result.summary["runtimes"]["nameless_code"] == 0


@pytest.mark.parametrize("node", NODES)
def test_copies_of_the_interpreter_run_functions(node, tmp_path):
    """As perf(1) wants it: each function has a copy of the interpreter's entry."""
    out = tmp_path / "x.folded"
    with started(node, "--interpreted-frames-native-stack", WORKLOADS / "truth.js", "nap") as process:
        truths = read_truth(process)
        result = record("-p", process.pid, "--offcpu", "-d", 1, "--threads", "-o", out)
    assert_right(threads_of(Folded(out)), truths[0])
    assert result.summary["runtimes"]["nameless_code"] == 0


@pytest.mark.parametrize("node", NODES)
def test_functions_with_thousands_of_variables_have_names(node, tmp_path):
    """As a bundle's own function has, if others refer to them."""
    script, out = tmp_path / "bundle.js", tmp_path / "x.folded"
    variables = "".join(f"let v{i};\n" for i in range(3000))
    script.write_text(variables + "function burn() { eval('v0'); console.log(''); for (;;); }\nburn();\n")
    with started(node, script) as process:
        process.stdout.readline()
        result = record("-p", process.pid, "-d", 1, "-F", FREQUENCY, "-o", out)
    burning = [functions(frames) for frames, _ in Folded(out).stacks if "burn" in functions(frames)]
    assert burning and all(names[names.index("burn") - 1] == "(anonymous)" for names in burning)
    assert result.summary["runtimes"]["nameless_code"] == 0


@pytest.mark.parametrize("node", NODES)
def test_optimized_code_shows_what_is_inlined_at_its_calls(node, tmp_path):
    out = tmp_path / "x.folded"
    with started(node, WORKLOADS / "inlined.js", 20) as process:
        process.stdout.readline()
        record("-p", process.pid, "--offcpu", "-d", 1, "-o", out)
    folded = Folded(out)
    waits = [(frames, value) for frames, value in folded.stacks
             if any(frame.startswith("outer_") for frame in frames)]
    total = sum(value for _, value in waits)
    whole = folded.total(lambda frames: ";outer;middle;inner;" in
                         ";".join(["", *(name for name in functions(frames) if name not in BUILT_IN), ""]))
    inlined = folded.total(lambda frames: {"outer_[j]", "middle_[i]", "inner_[i]"} <= set(frames))
    assert whole >= 0.99 * total > 0, waits[:3]
    assert inlined >= 0.9 * total, waits[:3]


@pytest.mark.parametrize("node", NODES)
def test_equal_work_has_equal_shares(node, tmp_path):
    out = tmp_path / "x.folded"
    record("-F", 1999, "-o", out, "--", node, WORKLOADS / "shares.js", 3)
    shares = collections.Counter()
    for frames, value in Folded(out).stacks:
        names = functions(frames)
        for name in ("first", "second", "third"):
            shares[name] += value if name in names else 0
    assert shares.total() > 4000  # by chance, a share is 0.7 points off
    for name, value in shares.items():
        assert value / shares.total() == pytest.approx(1 / 3, abs=0.02), shares


@pytest.mark.parametrize("node", NODES)
def test_functions_that_the_collector_takes_leave_no_wrong_names(node, tmp_path):
    out = tmp_path / "x.folded"
    result = record("-F", FREQUENCY, "-o", out, "--", node, "--expose-gc", WORKLOADS / "churn.js", 3)
    right, wrong = 0, []
    for frames, value in Folded(out).stacks:
        text = ";".join(frames)
        made, burner = re.search(r"made_(\d+)_\[", text), re.search(r"burner_(\d+)_\[", text)
        if made and burner:
            is_right = int(made[1]) % 16 == int(burner[1])
            right += value if is_right else 0
            wrong += [] if is_right else [text[-300:]]
    assert wrong == []
    assert right > 0 or result.summary["runtimes"]["nameless_code"] > 0


@pytest.mark.parametrize("node", NODES)
def test_names_are_those_of_perf_maps(node, tmp_path):
    """The maps that node writes, if it is asked to, have all functions of the program; node 26's lack some
    of node's own."""
    out = tmp_path / "x.folded"
    with started(node, "--perf-basic-prof", WORKLOADS / "truth.js", "burn") as process:
        read_truth(process)
        record("-p", process.pid, "-d", 1, "-F", FREQUENCY, "-o", out)
        path = f"/proc/{process.pid}/root/tmp/perf-{process.pid}.map"
        with open(path, encoding="utf-8", errors="replace") as lines:
            parts = [line.split(" ", 2) for line in lines]  # the last one may not be whole yet
        os.unlink(path)
    names = {re.sub(r"^[A-Za-z]+:[*~^+']*", "", kind).rpartition(" ")[0] or "(anonymous)"
             for kind in (part[2] for part in parts if len(part) == 3)}
    shown = collections.Counter()
    others = collections.Counter()
    for frames, value in Folded(out).stacks:
        if FIRST not in functions(frames):
            continue
        for name in own(functions([frame for frame in frames if not frame.endswith("_[i]")])):
            shown[name in names] += value
            others[name] += value if name not in names else 0
    assert shown[True] >= 0.99 * shown.total() > 0, others.most_common(9)


@pytest.mark.parametrize("node", NODES)
def test_lines_are_those_of_the_source(node, tmp_path):
    """V8 makes the table of a function's lines when it needs it, as for the truth."""
    out = tmp_path / "x.folded"
    with started(node, WORKLOADS / "truth.js", "sleep") as process:
        truths = read_truth(process)
        record("-p", process.pid, "--offcpu", "-d", 1, "--threads", "--lines", "-o", out)
    # The last one has gone on to the next line.
    wanted = [[(name, line) for name, file, line in truth if file.endswith("truth.js")][:-1]
              for truth in truths]
    lines, others = collections.Counter(), collections.Counter()
    for frames, value in Folded(out).stacks:
        shown = [MARK.sub("", frame) for frame in frames if "truth.js:" in frame and MARK.search(frame)]
        if not shown:
            continue
        shown = own([(LINE.sub("", name), int(LINE.search(name)[2])) for name in shown],
                    lambda frame: frame[0])
        lines[shown[:len(wanted[0])] in wanted] += value
        others[tuple(shown)] += value
    assert lines[True] >= 0.99 * lines.total() > 0, (others, wanted)


def test_programs_that_lie_cost_the_others_nothing(tmp_path):
    program, out = tmp_path / "hostile", tmp_path / "x.folded"
    subprocess.run(["gcc", "-O1", "-rdynamic", "-o", program, WORKLOADS / "hostile_v8.c"], check=True)
    with started(NODES[0], WORKLOADS / "truth.js", "burn") as honest, started(program) as process:
        truths = read_truth(honest)
        assert process.stdout.readline() == "ready\n"
        result = record("-p", f"{honest.pid},{process.pid}", "-d", 1, "-F", FREQUENCY, "--threads", "-o", out)
    folded = Folded(out)
    assert_right(threads_of(folded), truths[0])
    losses = result.summary["losses"]
    assert losses["lost_stacks"] == losses["ring_full"] == 0, losses
    mine = [frames for frames, _ in folded.stacks if frames[0].startswith("hostile")]
    assert any(len(frames) > 100 for frames in mine)
    assert all(frames[1] == "[truncated]" for frames in mine), mine[0][:5]
    assert all(name.startswith("[javascript 0x") for frames in mine for name in functions(frames))


def test_option_that_turns_them_off(tmp_path):
    out = tmp_path / "x.folded"
    with started("node", WORKLOADS / "truth.js", "burn") as process:
        read_truth(process)
        result = record("-p", process.pid, "-d", 1, "-F", FREQUENCY, "--no-runtimes", "-o", out)
    assert not any(functions(frames) for frames, _ in Folded(out).stacks)
    assert result.summary["runtimes"]["stacks"] == 0


def test_versions_that_are_not_known_show_native_frames(tmp_path):
    """A program that says that it is V8 99, and runs for a second."""
    program, out = tmp_path / "program", tmp_path / "x.folded"
    (tmp_path / "program.c").write_text("""
        #include <time.h>
        int major __asm__("_ZN2v88internal7Version6major_E") = 99;
        int minor __asm__("_ZN2v88internal7Version6minor_E") = 1;
        void burn_in_v8(void) { while (clock() < CLOCKS_PER_SEC) ; }
        int main(void) { burn_in_v8(); return 0; }
    """)
    subprocess.run(["gcc", "-rdynamic", "-o", program, tmp_path / "program.c"], check=True)
    result = record("-F", FREQUENCY, "-o", out, "--", program)
    folded = Folded(out)
    inside = folded.total(lambda frames: "burn_in_v8" in frames)
    assert inside >= 0.9 * folded.total(lambda frames: "main" in frames) > 0
    runtimes = result.summary["runtimes"]
    assert runtimes["stacks"] == 0 and runtimes["unknown"] == 1
    assert re.fullmatch(r"V8 99\.1 \(.*/program, process \d+\): this version is not known",
                        runtimes["problem"])
