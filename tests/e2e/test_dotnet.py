# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of .NET's programs: held against what the runtime itself says of them."""
import collections
import contextlib
import os
import re
import shutil
import subprocess
import sys

import pytest

import interpreters
from harness import ROOT, Folded, record

WORKLOADS = ROOT / "tests" / "workload" / "dotnet"
TOOL = ROOT / "tests" / "tools" / "dotnet"
RUNTIMES = ROOT / "build" / "dotnet"  # tools/check fetches them
VERSIONS = ["9", "10"]
LEAVES = {"burn": ["--oncpu", "-F", 499], "mix": ["--oncpu", "-F", 499], "nap": ["--offcpu"], "wait": ["--offcpu"]}
THREADS = 22
MARK = "_[j]"
# What the traces of the runtime have for its stubs of calls from and to C, and the start of a thread,
# which they have or not.
STUBS = re.compile(r"^Truth\.Program\.qsort$|\.<\w+>g____PInvoke\||^System\.Threading\.Thread\.StartCallback$")
# Handlers of exceptions are functions of their own, and called by what throws.
HANDLERS = {"Truth.Program.Caught", "Truth.Program.Finally", "Truth.Program.Filtered"}


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """{source: folder} with a folder for each version, and the program in it."""
    if not all((RUNTIMES / version / "fetched").exists() for version in VERSIONS) or not shutil.which("mcs"):
        pytest.fail(f"no .NET: run tests/tools/dotnet fetch {RUNTIMES}, and apt install mono-mcs")
    built = {}
    for source in ("truth", "churn", "shares"):
        built[source] = tmp_path_factory.mktemp(source)
        subprocess.run([sys.executable, TOOL, "build", RUNTIMES, WORKLOADS / f"{source}.cs", built[source]], check=True)
    yield built
    for folder in built.values():
        shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    """No library of languages is needed; what the runtime makes for debuggers goes with the test."""
    monkeypatch.setenv("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def read_truth(line):
    """(tid, methods, root first)"""
    tid, last, *trace = line.strip().split(";")
    names = [re.match(r" *at ([^([]+)[([]", entry)[1] for entry in trace]
    names = names[:1:-1] + [f"Truth.Program.{last}"]
    return int(tid), [name for name in names if not STUBS.search(name)]


@contextlib.contextmanager
def started(program, leaf):
    """The process, and what it says: {tid: stack}"""
    process = subprocess.Popen([program, leaf], stdout=subprocess.PIPE, text=True)
    try:
        yield process, dict(read_truth(process.stdout.readline()) for _ in range(THREADS))
    finally:
        process.kill()
        process.communicate()


def methods(frames):
    return [frame.removesuffix(MARK) for frame in frames if frame.endswith(MARK)]


def is_right(frames, truth):
    """@truth in its order; what is between is the runtime's own. After it is what the last one calls."""
    left = list(truth)
    others = []
    for name in methods(frames):
        if left and name == left[0]:
            left.pop(0)
        elif left:
            others.append(name)
    ours = {name for name in others if not name.startswith(("System.", "IL_STUB_"))}
    return not left and ours <= HANDLERS and frames[1] != "[truncated]"


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("version", VERSIONS)
def test_whole_stacks_are_those_of_the_runtime(version, leaf, programs, tmp_path):
    out = tmp_path / "x.folded"
    with started(programs["truth"] / version / "azmcp", leaf) as (process, truth):
        result = record("-p", process.pid, *LEAVES[leaf], "-d", 2, "--threads", "-o", out)
    right = wrong = 0
    seen, others = set(), collections.Counter()
    for frames, value in Folded(out).stacks:
        tid = int(frames[0].rpartition("/")[2])
        if tid not in truth:
            continue
        seen.add(tid)
        if is_right(frames, truth[tid]):
            right += value
        else:
            wrong += value
            others[tuple(frames), tuple(truth[tid])] += value
    assert right > 0
    assert right >= 0.99 * (right + wrong), (right, wrong, others.most_common(2))
    interpreters.assert_all_named(result)
    assert len(truth) == THREADS
    assert len(seen) == THREADS or "--oncpu" in LEAVES[leaf]


def test_methods_have_their_library_and_all_frames_are_of_somebody(programs, tmp_path):
    out = tmp_path / "x.folded"
    with started(programs["truth"] / "9" / "azmcp", "nap") as (process, _):
        record("-p", process.pid, "--offcpu", "-d", 1, "--lines", "-o", out)
    text = out.read_text()
    assert "Truth.Program.Nap (azmcp.dll)_[j]" in text
    assert "System.Array.Sort (System.Private.CoreLib.dll)_[j]" in text
    assert "made_at_run_time_[j]" in text
    assert "[anon]" not in text and "[System.Private.CoreLib.dll" not in text


@pytest.mark.parametrize("version", VERSIONS)
def test_equal_work_has_equal_shares(version, programs, tmp_path):
    out = tmp_path / "x.folded"
    record("-F", 1999, "-o", out, "--", programs["shares"] / version / "azmcp", 3)
    shares = collections.Counter()
    for frames, value in Folded(out).stacks:
        for name in ("Shares.First", "Shares.Second", "Shares.Third"):
            shares[name] += value if name in methods(frames) else 0
    assert shares.total() > 4000  # by chance, a share is 0.7 points off
    for value in shares.values():
        assert value / shares.total() == pytest.approx(1 / 3, abs=0.02), shares


@pytest.mark.parametrize("version", VERSIONS)
def test_reused_addresses_have_their_own_names(version, programs, tmp_path):
    out = tmp_path / "x.folded"
    result = record("-F", 999, "-o", out, "--", programs["churn"] / version / "azmcp", 3)
    right, wrong = 0, []
    for frames, value in Folded(out).stacks:
        text = ";".join(frames)
        made, burner = re.search(r";made_(\d+)_\[j\]", text), re.search(r";Churn\.burner_(\d)_\[j\]", text)
        if made and burner and int(made[1]) % 4 == int(burner[1]):
            right += value
        elif made and burner:
            wrong.append(text)
    assert not wrong
    assert right > 0 or result.summary["runtimes"]["nameless_code"] > 0


def test_other_versions_show_native_frames_and_the_reason(programs, tmp_path):
    folder = tmp_path / "other"
    shutil.copytree(programs["shares"] / "9", folder)
    library = folder / "libcoreclr.so"
    content = library.read_bytes()
    assert b"@(#)Version 9.0." in content
    library.write_bytes(content.replace(b"@(#)Version 9.0.", b"@(#)Version 8.0."))
    result = record("-F", 499, "-o", tmp_path / "x.folded", "--", folder / "azmcp", 1)
    assert not any(methods(frames) for frames, _ in Folded(tmp_path / "x.folded").stacks)
    assert ".NET 8.0" in result.summary["runtimes"]["problem"]
    assert "this version is not known" in result.summary["runtimes"]["problem"]
