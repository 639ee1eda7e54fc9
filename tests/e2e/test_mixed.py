# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of processes with several runtimes: Python and the languages that it has loaded, which call
each other, and JavaScript with Lua. Held against what these say of themselves."""
import collections
import contextlib
import ctypes
import itertools
import json
import os
import platform
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import interpreters
from harness import ROOT, Folded, record

TRUTH = ROOT / "tests" / "workload" / "mixed_truth.py"
CLASS = ROOT / "tests" / "workload" / "java" / "Mixed.java"
NODE = ROOT / "tests" / "workload" / "node"
GENERATED = re.compile(r"^(mixed:\d|proceed|again|burn|nap|\(anonymous\))_\[[0ij]\]$")
COMPILED = re.compile(r"^((Mixed|java|mixed)[.:].*)_\[[ij]\]$")
PYTHON = "/usr/bin/python3"
LIBRARIES = {"LIBPERL": ["libperl.so.5.36", "libperl.so.5.40"], "LIBRUBY": ["libruby-3.1.so.3.1", "libruby-3.3.so.3.3"],
             "LIBLUAJIT": ["libluajit-5.1.so.2"],
             "LIBJVM": [f"/usr/lib/jvm/java-{n}-openjdk-amd64/lib/server/libjvm.so" for n in (17, 21, 25)]}
# l Perl, r Ruby, j LuaJIT, v Java, y Python at the end
PATHS = ["l", "ly", "r", "ry", "j", "jy", "ll", "lrj", "rly", "jl", "lrjlrjy"]
GENERATED_PATHS = ["v", "vy", "vj", "jv", "vjvjy", "jvlv"]
BELOW = "StubRoutines", "java.lang.Thread.sleep0"  # frames that some versions have
LEAVES = {"burn": ["--oncpu", "-F", 499], "nap": ["--offcpu"]}


def can_be_loaded(name):
    with contextlib.suppress(OSError):
        return os.path.exists(name) if "/" in name else bool(ctypes.CDLL(name))
    return False


FOUND = {which: next(filter(can_be_loaded, names), "") for which, names in LIBRARIES.items()}


def missing():
    if platform.machine() != "x86_64" or sys.version_info < (3, 11):
        return "Python 3.11 or newer, on x86-64"
    return next((LIBRARIES[which][-1] for which, name in FOUND.items() if not name and which != "LIBJVM"), None)


pytestmark = pytest.mark.skipif(missing() is not None, reason=f"needs {missing()}")


@contextlib.contextmanager
def started(leaf, paths=(), classes=""):
    """The process, and what its children say: {pid: [name, …]}"""
    paths = paths or PATHS
    process = subprocess.Popen([PYTHON, TRUTH, leaf, *paths], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, **FOUND, "CLASSES": str(classes)},
                               start_new_session=True)
    try:
        said = [json.loads(process.stdout.readline()) for _ in paths]
        yield process, {child["pid"]: child["stack"] for child in said}
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("leaf", LEAVES)
def test_whole_stacks_are_those_of_all_languages(leaf, tmp_path):
    out = tmp_path / "x.folded"
    with started(leaf) as (process, truth):
        result = record("-p", process.pid, *LEAVES[leaf], "-d", 2, "--threads", "-o", out)
    seen = interpreters.assert_right(Folded(out), truth, lambda frames, names: list(frames) == names)
    interpreters.assert_all_named(result)
    assert "problem" not in result.summary["runtimes"]
    assert seen == set(truth)


@pytest.mark.skipif(not FOUND["LIBJVM"], reason="needs a Java")
@pytest.mark.parametrize("leaf", LEAVES)
def test_two_that_generate_code(leaf, tmp_path):
    """Java and LuaJIT: code of no file may be either's."""
    out = tmp_path / "x.folded"
    subprocess.run([Path(FOUND["LIBJVM"]).parents[2] / "bin" / "javac", "-d", tmp_path, CLASS], check=True)
    with started(leaf, GENERATED_PATHS, tmp_path) as (process, truth):
        result = record("-p", process.pid, *LEAVES[leaf], "-d", 2, "--threads", "-o", out)
    folded = Folded(out)
    folded.stacks = [([COMPILED.sub(r"\1_[0]", frame) for frame in frames if not frame.startswith(BELOW)], value)
                     for frames, value in folded.stacks]
    seen = interpreters.assert_right(folded, truth, lambda frames, names: list(frames) == names)
    interpreters.assert_all_named(result)
    assert "problem" not in result.summary["runtimes"]
    assert seen == set(truth)


def stack_of(path, leaf):
    """What tests/workload/node/mixed.js is below."""
    steps = {"n": ["again", "(anonymous)", "again", "(anonymous)", "again", "proceed"],
             "j": ["mixed:4", *["mixed:3"] * 3, "proceed"]}
    leaves = {"n": leaf, "j": {"burn": "mixed:5", "nap": "mixed:7"}[leaf]}
    return ["proceed", *itertools.chain.from_iterable(steps[letter] for letter in path[:-1]), leaves[path[-1]]]


@pytest.mark.parametrize("path", ["jn", "jnjnj"])
@pytest.mark.parametrize("leaf", LEAVES)
def test_javascript_and_lua(leaf, path, tmp_path):
    module, out = tmp_path / "lua.node", tmp_path / "x.folded"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", module, NODE / "lua.c", "-l:libluajit-5.1.so.2"], check=True)
    with subprocess.Popen(["/usr/bin/node", NODE / "mixed.js", module, path, leaf], stdout=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == "ready\n"
        result = record("-p", process.pid, *LEAVES[leaf], "-d", 1, "-o", out)
        process.kill()
    found = collections.Counter()
    for frames, value in Folded(out).stacks:
        names = [match[1] for match in map(GENERATED.match, frames) if match]
        if "proceed" in names:
            found[tuple(names[names.index("proceed"):])] += value
    assert found[tuple(stack_of(path, leaf))] >= 0.99 * found.total() > 0, found.most_common(2)
    interpreters.assert_all_named(result)


def test_native_frames_are_between_them(tmp_path):
    out = tmp_path / "x.folded"
    with started("nap") as (process, truth):
        record("-p", process.pid, "--offcpu", "-d", 1, "--threads", "-o", out)
    for frames, _ in Folded(out).stacks:
        text = ";".join(frames)
        assert "Perl_runops_standard" not in text and "_PyEval_EvalFrameDefault" not in text
        if "main::calls_[0]" in frames:
            before = frames[:frames.index("main::calls_[0]")]
            assert before[-1].startswith("Perl_call_") and "ffi_call" in before
    assert truth


def test_runtimes_that_start_after_the_recording(tmp_path):
    script = tmp_path / "late.py"
    script.write_text(f"""if True:
        import os, resource, runpy, signal, sys, time
        resource.setrlimit(resource.RLIMIT_CPU, (2, 9))
        signal.signal(signal.SIGXCPU, lambda *_: os._exit(0))
        while time.process_time() < 0.5: pass
        sys.argv = ["late", "burn", "ly"]
        os.environ.update({FOUND!r})
        os.fork = lambda: 0
        runpy.run_path({str(TRUTH)!r})""")
    out = tmp_path / "x.folded"
    record("--oncpu", "-F", 499, "-o", out, "--", PYTHON, script)
    right = wrong = 0
    for frames, value in Folded(out).stacks:
        found = interpreters.functions(frames)
        if found and found[-1].endswith(".burn"):
            is_right = found[-7:-2] == ["main::calls", *["main::again"] * 4]
            right += value if is_right else 0
            wrong += 0 if is_right else value
    assert right > 100 and wrong <= 0.02 * right, (right, wrong)
