# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of processes with several runtimes: Python and the languages that it has loaded, which call
each other. Held against what these say of themselves."""
import contextlib
import ctypes
import json
import os
import platform
import signal
import subprocess
import sys

import pytest

import interpreters
from harness import ROOT, Folded, record

TRUTH = ROOT / "tests" / "workload" / "mixed_truth.py"
PYTHON = "/usr/bin/python3"
LIBRARIES = ["libperl.so.5.36", "libruby-3.1.so.3.1", "libluajit-5.1.so.2"]
# l Perl, r Ruby, j LuaJIT, y Python at the end
PATHS = ["l", "ly", "r", "ry", "j", "jy", "ll", "lrj", "rly", "jl", "lrjlrjy"]
LEAVES = {"burn": ["--oncpu", "-F", 499], "nap": ["--offcpu"]}


def missing():
    if platform.machine() != "x86_64" or sys.version_info < (3, 11):
        return "Python 3.11 or newer, on x86-64"
    for name in LIBRARIES:
        try:
            ctypes.CDLL(name)
        except OSError:
            return name
    return None


pytestmark = pytest.mark.skipif(missing() is not None, reason=f"needs {missing()}")


@contextlib.contextmanager
def started(leaf):
    """The process, and what its children say: {pid: [name, …]}"""
    process = subprocess.Popen([PYTHON, TRUTH, leaf, *PATHS], stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        said = [json.loads(process.stdout.readline()) for _ in PATHS]
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
