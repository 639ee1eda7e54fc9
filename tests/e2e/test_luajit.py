# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of LuaJIT's programs: held against what the machine itself says of its functions."""
import contextlib
import json
import os
import re
import signal
import subprocess

import pytest

import interpreters
from harness import ROOT, Folded, record

TRUTH = ROOT / "tests" / "workload" / "luajit_truth.lua"
LUAJITS = interpreters.named("/usr/bin/luajit", "LUAJITS")
KNOWN = ["2.1.0-beta3", "2.1.1737090214", "2.1.1761786044"]
LEAVES = {"burn": ["--oncpu", "-F", 499], "mix": ["--oncpu", "-F", 499], "nap": ["--offcpu"]}


@pytest.fixture(autouse=True)
def known(request):
    luajit = request.node.callspec.params["luajit"] if hasattr(request.node, "callspec") else LUAJITS[0]
    version = subprocess.check_output([luajit, "-v"], text=True)
    interpreters.skip_unless_known("LuaJIT", version.split()[1], KNOWN)


@contextlib.contextmanager
def started(luajit, *arguments):
    """The process, and what it says of its children: {pid: [[function, line], …]}"""
    process = subprocess.Popen([luajit, *arguments], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        n = int(process.stdout.readline())
        said = [json.loads(process.stdout.readline()) for _ in range(n)]
        yield process, {child["pid"]: child["stack"] for child in said}
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def names_of(truth):
    return {pid: [name for name, _ in stack] for pid, stack in truth.items()}


def is_right(frames, names):
    """Whether they are the same, up to what the last function calls."""
    return list(frames[:len(names)]) == names and len(frames) <= len(names) + 1


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("luajit", LUAJITS)
def test_whole_stacks_are_those_of_the_machine(luajit, leaf, tmp_path):
    out = tmp_path / "x.folded"
    with started(luajit, "-joff", TRUTH, leaf) as (process, truth):
        result = record("-p", process.pid, *LEAVES[leaf], "-d", 2, "--threads", "-o", out)
    seen = interpreters.assert_right(Folded(out), names_of(truth), is_right)
    interpreters.assert_all_named(result)
    assert leaf != "nap" or seen == set(truth)


def compiled_too(folded):
    """The same; functions that run in a trace count as any."""
    folded.stacks = [([frame.removesuffix("_[j]") + interpreters.MARK if frame.endswith("_[j]") else frame
                       for frame in frames], value) for frames, value in folded.stacks]
    return folded


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("luajit", LUAJITS)
def test_whole_stacks_with_the_jit(luajit, leaf, tmp_path):
    out = tmp_path / "x.folded"
    with started(luajit, TRUTH, leaf) as (process, truth):
        result = record("-p", process.pid, *LEAVES[leaf], "-d", 2, "--threads", "-o", out)
    assert "_[j]" in out.read_text() or leaf == "nap"
    interpreters.assert_right(compiled_too(Folded(out)), names_of(truth), is_right)
    interpreters.assert_all_named(result)


# Functions in C between Lua's.
C = r"(;(\w[\w.]*(_\[i\])?|\[[^;]*\]))+"


@pytest.mark.parametrize("luajit", LUAJITS)
def test_lines_and_native_frames(luajit, tmp_path):
    out = tmp_path / "x.folded"
    with started(luajit, "-joff", TRUTH, "rest") as (process, truth):
        record("-p", process.pid, "--offcpu", "-d", 0.5, "--threads", "--lines", "-o", out)
    stacks = {int(frames[0].rpartition("/")[2]): frames for frames, _ in Folded(out).stacks}
    between = callbacks = 0
    for pid, stack in truth.items():
        found = interpreters.functions(stacks[pid])
        assert len(found) == len(stack), found
        for frame, (name, line) in list(zip(found, stack))[:-2]:  # leaf() has gone on since
            if name == "foreach":
                assert frame.startswith("foreach")
            else:
                assert frame == f"{name} ({'[string]' if 'string' in name else 'luajit_truth.lua'}:{line})"
        text = ";".join(re.sub(r" \([^;]*\)(?=_\[[0i]\]|;|$)", "", frame) for frame in stacks[pid])
        assert re.search(rf"main{C};<luajit_truth.lua>_\[0\];", text), text
        assert re.search(rf"_\[0\]{C};sleep;", text), text
        between += bool(re.search(rf";luajit_truth.lua:\d+_\[0\]{C};luajit_truth.lua:\d+_\[0\]", text))
        callbacks += bool(re.search(rf"_\[0\]{C};luajit_truth.lua:\d+_\[0\]", text)) and ";qsort" in text
    assert between > 5
    assert callbacks == 1


@pytest.mark.parametrize("luajit", LUAJITS)
def test_reused_addresses_have_their_own_names(luajit, tmp_path):
    script = tmp_path / "made.lua"
    script.write_text("""
        burners = {}
        for k = 0, 15 do
            burners[k] = loadstring("local n = 0; for i = 1, 30000 do n = n + i end return n", "=burner_" .. k)
        end
        local stop = os.clock() + 3
        local n = 0
        while os.clock() < stop do
            local made = loadstring("local x = burners[" .. n % 16 .. "]() return x", "=made_" .. n)
            made()
            made = nil
            collectgarbage()
            n = n + 1
        end""")
    result = record("-F", 999, "-o", tmp_path / "x.folded", "--", luajit, "-joff", script)
    folded = Folded(tmp_path / "x.folded")
    folded.stacks = [([re.sub(r"^<(.*)>_\[0\]$", r"\1_[0]", frame) for frame in frames], value)
                     for frames, value in folded.stacks]
    interpreters.assert_reused_addresses_have_their_own_names(folded, result)


def test_a_library_is_found_that_only_its_traces_run(tmp_path):
    """No stack goes through the library's own code: the loop runs from the start."""
    out = tmp_path / "x.folded"
    program = """
import ctypes
lua = ctypes.CDLL("libluajit-5.1.so.2")
lua.luaL_newstate.restype = ctypes.c_void_p
state = ctypes.c_void_p(lua.luaL_newstate())
lua.luaL_openlibs(state)
lua.luaL_loadstring(state, b"local x, stop = 0, os.time() + 2; "
                           b"while os.time() < stop do for i = 1, 2e5 do x = (x * 31 + i) % 1003 end end")
lua.lua_pcall(state, 0, 0, 0)
"""
    record("-F", 499, "-o", out, "--", "/usr/bin/python3", "-c", program)
    folded = Folded(out)
    whole = folded.total(lambda frames: "_start" in frames and any("[string]" in frame for frame in frames))
    lost = folded.total(lambda frames: "[truncated]" in frames and "[anon]" in frames)
    assert whole > 50 and lost < 0.05 * whole, (whole, lost)


def test_other_releases_show_native_frames_and_the_reason(tmp_path):
    other = tmp_path / "luajit"
    code, n = re.subn(rb"(LuaJIT 2\.1\.[0-9a-z-]*)\d(?![0-9a-z-])", rb"\g<1>9", open(LUAJITS[0], "rb").read())
    assert n
    other.write_bytes(code)
    other.chmod(0o755)
    script = tmp_path / "spin.lua"
    script.write_text("local stop = os.clock() + 1; local n = 0; while os.clock() < stop do n = n + 1 end")
    result = record("-F", 499, "-o", tmp_path / "x.folded", "--", other, "-joff", script)
    frames = [frame for frames, _ in Folded(tmp_path / "x.folded").stacks for frame in frames]
    assert "lua_pcall" in frames
    assert not interpreters.functions(frames)
    assert "LuaJIT 2.1" in result.summary["runtimes"]["problem"]
    assert "this version is not known" in result.summary["runtimes"]["problem"]
