# SPDX-License-Identifier: GPL-2.0-or-later
"""Go programs without symbols and DWARF: tests/workload/go, which prints its own stacks."""
import functools
import glob
import json
import os
import re
import shutil
import subprocess

import pytest

from harness import ROOT, Folded, record

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64",
                                reason="frame sizes of Go are read on x86-64 only")

SOURCE = ROOT / "tests" / "workload" / "go"
# The first functions of the scheduler's and of threads' stacks: Go's own tracebacks end there.
ENTRIES = {"runtime.goexit", "runtime.mcall", "runtime.morestack", "runtime.mstart",
           "runtime.rt0_go", "runtime.clone", "_rt0_amd64_linux", "_start"}
BUILDS = {
    "symbols": [],
    "stripped": ["-ldflags=-s -w"],
    "pie": ["-ldflags=-s -w", "-buildmode=pie"],
    "external": ["-ldflags=-s -w -linkmode=external", "-buildmode=pie"],
}
STRIPPED = ["stripped", "pie", "external", "bare"]


def go_command():
    found = sorted(glob.glob("/usr/lib/go-*/bin/go"), key=lambda path: [
        int(number) for number in re.findall(r"\d+", path)])
    path = shutil.which("go") or (found[-1] if found else None)
    assert path, "go is missing: run tools/check, which installs it"
    return path


def leave_sections_out(path):
    """Removes section headers as sstrip does."""
    image = bytearray(path.read_bytes())
    image[0x28:0x30] = bytes(8)  # e_shoff
    image[0x3a:0x40] = bytes(6)  # e_shentsize, e_shnum, e_shstrndx
    bare = path.with_name("bare")
    bare.write_bytes(image)
    bare.chmod(0o755)


@pytest.fixture(scope="module")
def programs(module_path):
    """{how it was built: program}."""
    cache = ROOT / "build" / "go-cache"
    cache.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "GOCACHE": str(cache), "GOTOOLCHAIN": "local", "GOPROXY": "off",
                   "GOFLAGS": "", "CGO_ENABLED": "0"}
    for name, options in BUILDS.items():
        if name == "external":
            environment["CGO_ENABLED"] = "1"
        subprocess.run([go_command(), "build", *options, "-o", module_path / name, "."],
                       cwd=SOURCE, env=environment, check=True)
    leave_sections_out(module_path / "stripped")
    return {name: module_path / name for name in [*BUILDS, "bare"]}


def truths_of(result):
    return [json.loads(line) for line in result.stdout.splitlines()[:-1]]


def split(frame):
    """The function and line of a frame."""
    match = re.fullmatch(r"(.*?)(?: \(([^()]*:\d+)\))?(_\[[a-z]\])?", frame)
    return match[1], match[2]


def begins_as(frames, truth):
    """Whether @frames, without the command, begin with those that the program printed, of which the
    last may be at any line."""
    found = [split(frame) for frame in frames[1:len(truth) + 1]]
    return (len(found) == len(truth) and found[:-1] == [tuple(frame) for frame in truth[:-1]]
            and found[-1][0] == truth[-1][0])


def share(folded, matches, among=lambda frames: True):
    of = folded.total(among)
    assert of > 0
    return folded.total(lambda frames: among(frames) and matches(frames)) / of


def has(frames, function):
    return any(split(frame)[0] == function for frame in frames)


def user_frames(frames):
    return [frame for frame in frames[1:] if not frame.endswith("_[k]")]


# --- on-CPU ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded(programs, tmp_path_factory):
    """Records a build in a mode, once: (result, folded stacks)."""

    @functools.cache
    def record_once(build, mode):
        path = tmp_path_factory.mktemp("go") / "x.folded"
        result = record("-F", 999, "--lines", "-o", path, "--", programs[build], mode, 2.5)
        return result, Folded(path)

    return record_once


on_each_build = pytest.mark.parametrize("build", ["symbols", *STRIPPED])


@on_each_build
@pytest.mark.parametrize("mode", ["calls", "hash"])
def test_whole_stacks(recorded, build, mode):
    """Callers, their order and lines equal those that the program prints."""
    result, folded = recorded(build, mode)
    truths = truths_of(result)
    assert len(truths) == 2
    leaf = truths[0][-1][0]
    right = share(folded, lambda frames: any(begins_as(frames, truth) for truth in truths),
                  among=lambda frames: has(frames, leaf))
    assert right >= 0.995, right
    assert folded.total(lambda frames: has(frames, leaf)) >= 0.9 * folded.total()
    assert result.summary["complete_stacks_percent"] >= 99.5, result
    assert {split(frames[1])[0] for frames, _ in folded.stacks if len(frames) > 1
            and frames[1] != "[truncated]" and not frames[1].endswith("_[k]")} <= ENTRIES
    # Both goroutines run, one at a time.
    for truth in truths:
        assert share(folded, lambda frames, truth=truth: begins_as(frames, truth)) >= 0.2


@on_each_build
def test_inlined(recorded, build):
    """The functions inlined into the loop, each with the line of its call."""
    _, folded = recorded(build, "calls")
    text = (SOURCE / "main.go").read_text().splitlines()
    called = next(i for i, line in enumerate(text, 1) if "x = twice(x)" in line)
    twice = next(i for i, line in enumerate(text, 1) if line.startswith("func twice"))
    in_mixed = share(folded, lambda frames: [split(frame) for frame in user_frames(frames)[-3:-1]]
                     == [("main.(*adder[...]).add", f"main.go:{called}"),
                         ("main.twice", f"main.go:{twice}")],
                     among=lambda frames: has(frames, "main.mixed"))
    assert in_mixed >= 0.99
    # Of the loop's few instructions, which ones samples see depends on the CPU.
    assert share(folded, lambda frames: has(frames, "main.mixed")) >= 0.05
    inlined = {frame for frames, _ in folded.stacks for frame in frames
               if split(frame)[0] in ("main.mixed", "main.twice")}
    assert all(frame.endswith("_[i]") for frame in inlined), inlined


@on_each_build
def test_assembly(recorded, build):
    """Assembly without frame pointers has its callers."""
    _, folded = recorded(build, "hash")

    def is_in_block(frames):
        users = user_frames(frames)
        return bool(users) and re.fullmatch(r"crypto/.*sha256\.block.*", split(users[-1])[0])

    assert share(folded, is_in_block) >= 0.8
    assert share(folded, lambda frames: has(frames, "crypto/sha256.Sum256"), is_in_block) >= 0.995


# --- names ----------------------------------------------------------------------------------


def without_types(name):
    """Formats a name as Go's tracebacks do; `.abi0` comes from the linker."""
    name = name.removesuffix(".abi0")
    opened, closed = name.find("["), name.rfind("]")
    return f"{name[:opened]}[...]{name[closed + 1:]}" if 0 <= opened < closed else name


# How Go's code calls C's, which a program has that was linked with it; Go's table does not name that.
CALLS_C = re.compile(r"runtime\.(rt0_go|asmcgocall\w*|callCgo\w+)")


def without_c(users):
    """Leaves out the C code that a Go function calls."""
    return users[:next((i + 1 for i, frame in enumerate(users) if CALLS_C.fullmatch(frame)), None)]


@pytest.mark.parametrize("build", STRIPPED)
def test_names_of_the_twin(programs, build, tmp_path):
    """Frames of Go's code have the same names as the symbols of the unstripped program."""
    symbols = subprocess.run(["nm", programs["symbols"]], check=True, capture_output=True,
                             text=True).stdout.splitlines()
    known = {without_types(line.split(None, 2)[2]) for line in symbols if line[17:18] in "tT"}
    result = record("-F", 999, "--no-inline", "-o", tmp_path / "x.folded", "--", programs[build],
                    "calls", 1)
    named = total = others = 0
    for frames, value in Folded(tmp_path / "x.folded").stacks:
        users = [frame for frame in user_frames(frames) if not re.match(
            r"\[truncated\]|__vdso_|\[vdso\+", frame)]
        if known.isdisjoint(users):  # the dynamic loader's, before the program starts
            others += len(users) * value
            continue
        users = without_c(users)
        total += len(users) * value
        named += sum(frame in known for frame in users) * value
    assert named >= 0.999 * total > 0, result
    assert others <= 0.02 * total, result
    assert result.summary["unnamed_frames_percent"] <= 1


# --- off-CPU --------------------------------------------------------------------------------


@pytest.mark.parametrize("build", ["stripped", "bare"])
def test_waiting(programs, build, tmp_path):
    """A goroutine that sleeps hands its thread to the scheduler, whose stack begins at mcall."""
    result = record("--offcpu", "-o", tmp_path / "x.folded", "--", programs[build], "nap", 2)
    folded = Folded(tmp_path / "x.folded")
    assert result.summary["complete_stacks_percent"] >= 99.5, result
    roots = {user_frames(frames)[0] for frames, _ in folded.stacks if user_frames(frames)}
    assert roots - {"[truncated]"} <= ENTRIES | {"[idle]"}, roots
    assert folded.total(lambda frames: has(frames, "runtime.mcall")) >= 1e6
    # No stack continues into the stack of the goroutine that gave up the thread.
    assert folded.total(lambda frames: has(frames, "runtime.mcall") and has(frames, "main.nap")) == 0


@pytest.mark.parametrize("build", ["stripped", "bare"])
def test_system_call(programs, build, tmp_path):
    """A goroutine that waits in a system call has its callers."""
    result = record("--offcpu", "--lines", "-o", tmp_path / "x.folded", "--", "sh", "-c",
                    f"sleep 2 | {programs[build]} read 9")
    folded = Folded(tmp_path / "x.folded")
    truths = truths_of(result)
    waited = folded.total(lambda frames: frames[-1] == "[pipe]" and any(
        begins_as(frames, truth) for truth in truths))
    assert waited / 1e6 == pytest.approx(2 * 2, abs=0.4)
    assert folded.total(lambda frames: has(frames, "os.(*File).Read") and "[truncated]" in frames) == 0
