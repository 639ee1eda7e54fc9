# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of CPython programs, compared with what the interpreter itself prints about its
threads."""
import contextlib
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

import interpreters
from harness import ROOT, Folded, Running, record, wait_until

WORKLOADS = ROOT / "tests" / "workload"
PYTHONS = interpreters.named("/usr/bin/python3", "PYTHONS")
FREQUENCY = 499
LEAVES = {"burn": ["--oncpu"], "pack": ["--oncpu"], "nap": ["--offcpu"], "sleep": ["--offcpu"]}


@contextlib.contextmanager
def started(python, *arguments):
    """The process, and the line that it printed."""
    process = subprocess.Popen([python, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def is_truth(frames, truth, leaf):
    """Whether both stacks are equal, with @leaf as leaf or one step from it: a call that was just,
    or is not yet, noted."""
    return list(frames) == truth or (list(frames) == truth[:-1] and truth[-1].endswith(leaf))


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("python", PYTHONS)
def test_whole_stacks_are_those_of_the_interpreter(python, leaf, tmp_path):
    out = tmp_path / "x.folded"
    with started(python, WORKLOADS / "python_truth.py", leaf) as (process, line):
        truth = {int(tid): [name for name, _, _ in stack]
                 for tid, stack in json.loads(line)["threads"].items()}
        result = record("-p", process.pid, *LEAVES[leaf], "-d", 3, "-F", FREQUENCY, "--threads",
                        "-o", out)
    seen = interpreters.assert_right(Folded(out), truth,
                                     lambda frames, stack: is_truth(frames, stack, "." + leaf))
    interpreters.assert_all_named(result)
    # All threads are there: the iterator sees those that only sleep.
    if leaf != "burn":
        assert seen == set(truth)


@pytest.mark.parametrize("python", PYTHONS)
def test_lines_are_those_of_the_source(python, tmp_path):
    out = tmp_path / "x.folded"
    with started(python, WORKLOADS / "python_truth.py", "nap") as (process, line):
        truth = {int(tid): [f"{name} ({os.path.basename(file)}:{number})"
                            for name, file, number in stack]
                 for tid, stack in json.loads(line)["threads"].items()}
        record("-p", process.pid, "--offcpu", "-d", 2, "--threads", "--lines", "-o", out)
    interpreters.assert_right(Folded(out), truth, lambda frames, stack: list(frames) == stack)


BURN = WORKLOADS / "python_burn.py"


def burned(tmp_path, python, what, *options, seconds=3):
    """Records python_burn.py from its first instruction: the folded stacks, and the result."""
    out = tmp_path / "x.folded"
    result = record("-F", FREQUENCY, "-o", out, *options, "--", python, BURN, what, seconds)
    return Folded(out), result


def share_of(folded, name, among):
    having = folded.total(lambda frames: any(f.endswith(name + "_[0]") for f in frames))
    return having / folded.total(lambda frames: any(f.endswith(among + "_[0]") for f in frames))


@pytest.mark.parametrize("python", PYTHONS)
def test_three_equal_burners_have_their_shares(python, tmp_path):
    folded, result = burned(tmp_path, python, "three", seconds=6)
    used = result.truth
    for name, seconds in used.items():
        share = share_of(folded, name, ".spin")
        assert share == pytest.approx(seconds / sum(used.values()), abs=0.02), used


@pytest.mark.parametrize("python", PYTHONS)
def test_code_objects_at_the_same_addresses_are_distinguished(python, tmp_path):
    folded, result = burned(tmp_path, python, "reuse", seconds=5)
    assert result.truth < 5000  # addresses were used again
    interpreters.assert_reused_addresses_have_their_own_names(folded, result)


def calls_in_c(python):
    """Whether each call of a function has native frames of its own, as before 3.11."""
    return subprocess.run([python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"], check=False).returncode == 1


@pytest.mark.parametrize("python", PYTHONS)
def test_recursion_deeper_than_a_small_stack(python, tmp_path):
    loses_native = calls_in_c(python)
    for depth, is_whole in ((950, True), (3000, False)):
        out = tmp_path / "x.folded"
        script = tmp_path / "deep.py"
        script.write_text(BURN.read_text().replace("deep(seconds, n=900)",
                                                   f"deep(seconds, n={depth})"))
        record("-F", FREQUENCY, "-o", out, "--", python, script, "deep", 1.5)
        folded = Folded(out)
        spun = folded.total(lambda frames: "deep.spin_[0]" in frames)
        assert spun >= 100
        whole = folded.total(
            lambda frames: "deep.spin_[0]" in frames and ("[truncated]" in frames) == loses_native and
            sum("down" in frame for frame in frames) == depth + 1)
        cut = folded.total(lambda frames: "deep.spin_[0]" in frames and frames[1] == "[truncated]" and
                           sum("down" in frame for frame in frames) > 950)
        assert (whole if is_whole else cut) >= 0.99 * spun, (whole, cut, spun)


def test_forked_processes_have_names(tmp_path):
    folded, _ = burned(tmp_path, "/usr/bin/python3", "forks")
    inside = folded.total(lambda frames: "python_burn.forks.<locals>.in_child_[0]" in frames)
    spun = folded.total(lambda frames: "python_burn.spin_[0]" in frames)
    assert inside >= 300
    assert inside >= 0.99 * spun


def test_processes_of_twenty_milliseconds(tmp_path):
    out = tmp_path / "x.folded"
    command = f"i=0; while [ $i -lt 120 ]; do /usr/bin/python3 -S -E {BURN} short; i=$((i+1)); done"
    result = record("-F", FREQUENCY, "-o", out, "--", "sh", "-c", command)
    folded = Folded(out)
    in_python = folded.total(lambda frames: any(f.endswith("_[0]") for f in frames))
    named = folded.total(lambda frames: "python_burn.spin_[0]" in frames)
    # 10 ms at 499 Hz, 120 times, are some 600 samples; names are correct or absent.
    assert named >= 400, (in_python, result.summary["runtimes"])


def chain_of_functions(folder, n):
    """The command of a program of @n functions with long names, each of which calls the next one; the last one runs
    for 60 ms."""
    module = "chain" + 200 * "n"
    names = [f"f{i}{500 * 'x'}" for i in range(n + 1)]
    functions = [f"def {name}(): {other}()\n" for name, other in zip(names, names[1:], strict=False)]
    last = f"def {names[-1]}():\n    while time.process_time() < end:\n        sum(range(1000))\n"
    (folder / f"{module}.py").write_text(f"import time\nend = time.process_time() + 0.06\n{''.join(functions)}{last}"
                                         f"{names[0]}()\n")
    interpreter = folder / "chained"
    interpreter.symlink_to("/usr/bin/python3")
    return [interpreter, "-S", "-E", "-c", f"import sys; sys.path.append({str(folder)!r}); import {module}"]


def test_names_of_ended_processes_are_freed(tmp_path):
    """Each of 90 processes leaves 400 KB of names, and a tenth of that of stacks."""
    command = chain_of_functions(tmp_path, 400)
    subprocess.run(command, check=True)  # compiles it
    running = Running("--json", "-F", 49, "-a", "--comm", "chained", "--every", "1", "--keep", "2", "--out-dir",
                      tmp_path / "out")
    wait_until(lambda: list(tmp_path.glob("out/*.svg")))
    held = []
    for _ in range(90):
        subprocess.run(command, check=True)
        status = Path(f"/proc/{running.process.pid}/status").read_text()
        held.append(int(re.search(r"RssAnon:\s*(\d+)", status)[1]))
    running.signal(signal.SIGINT)
    result = running.wait()
    assert result.returncode == 0 and result.summary["runtimes"]["stacks"] >= 90, result
    assert max(held[60:]) - max(held[20:50]) < 9000, held


@pytest.mark.parametrize("leaf", ["burn", "nap"])
def test_applications_with_interpreters_of_their_own(leaf, tmp_path):
    """As web servers have them: the state that a thread knows is another interpreter's."""
    libraries = sorted(Path("/usr/lib").glob("*/libpython3.*.so.1.0"))
    if not libraries:
        pytest.skip("no libpython")
    script = ("import time\ndef burn():\n  for i in range(9**4): i * i\ndef nap():\n  time.sleep(0.001)\n"
              f"def serve():\n  while True: {leaf}()\nprint('up', flush=True)\nserve()\n")
    with started(ROOT / "build" / "workload" / "applications", libraries[0], script) as (process, _):
        process.stdout.readline()
        result = record("-p", process.pid, *LEAVES[leaf], "-d", 1, "-F", FREQUENCY, "--threads",
                        "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    roots = {frames[0] for frames, _ in folded.stacks}
    assert len(roots) == 2
    for root in roots:
        total = folded.total(lambda frames: frames[0] == root)
        right = folded.total(lambda frames: frames[0] == root and interpreters.functions(frames)[:2] == [
            "<string>.<module>", "<string>.serve"])
        assert total > 0
        assert right >= 0.99 * total
    interpreters.assert_all_named(result)


def test_all_ways_of_recording(tmp_path):
    modes = {"wall": ["--wall"], "wakers": ["--offcpu", "--wakers"], "event": ["-e", "context-switches:1"],
             "threads": ["--offcpu", "--threads"], "user": ["--offcpu", "-U"],
             "command": ["--offcpu", "--comm", "python3*", "-a"]}
    with started("/usr/bin/python3", WORKLOADS / "python_truth.py", "nap") as (process, _):
        for name, options in modes.items():
            out = tmp_path / f"{name}.folded"
            target = [] if "-a" in options else ["-p", process.pid]
            record(*target, *options, "-d", 1, "-o", out)
            assert any(f == "python_truth.nap_[0]" for f in Folded(out).names()), name
        record("-p", process.pid, "--offcpu", "-d", 2, "--every", "500ms", "--out-dir", tmp_path)
    sets = sorted(tmp_path.glob("*Z*-offcpu.folded"))
    assert len(sets) == 4
    for path in sets:
        assert "python_truth.nap_[0]" in Folded(path).names()


def test_options_that_turn_them_off(tmp_path):
    out = tmp_path / "x.folded"
    with started("/usr/bin/python3", WORKLOADS / "python_truth.py", "burn") as (process, _):
        result = record("-p", process.pid, "-d", 1, "-F", FREQUENCY, "--no-runtimes", "-o", out)
        none = Folded(out)
        record("-p", process.pid, "-d", 1, "-F", FREQUENCY, "--native-frames", "-o", out)
        both = Folded(out)
    assert not any(name.endswith("_[0]") for name in none.names())
    assert result.summary["runtimes"]["stacks"] == 0
    loop = "_PyEval_EvalFrameDefault"
    assert loop in none.names()
    total = wrong = 0
    for frames, value in both.stacks:
        if frames[1] != "[truncated]" and any(f.endswith("_[0]") for f in frames):
            # Each activation is a run of Python functions below the frame of the interpreter's
            # loop. Some of that is elsewhere, without a name: the compiler calls it cold.
            runs = sum(f.endswith("_[0]") and not g.endswith("_[0]")
                       for f, g in zip(frames[1:], frames))
            total += value
            wrong += value if sum(f == loop for f in frames) != runs else 0
    assert total > 0 and wrong <= 0.005 * total


def test_other_formats_keep_what_is_interpreted(tmp_path):
    with started("/usr/bin/python3", WORKLOADS / "python_truth.py", "burn") as (process, _):
        files = [tmp_path / f"x.{kind}" for kind in
                 ("folded", "pb.gz", "speedscope.json", "firefox.json", "svg", "html")]
        outputs = [argument for path in files for argument in ("-o", path)]
        record("-p", process.pid, "-d", 1, "-F", FREQUENCY, *outputs)
    wanted = Folded(files[0])
    for path in files[1:4]:
        again = tmp_path / "again.folded"
        subprocess.run([ROOT / "build" / "bpfflame", "render", path, "-o", again], check=True)
        found = Folded(again)
        assert found.with_frame("python_truth.burn_[0]") == \
            wanted.with_frame("python_truth.burn_[0]") > 0, path
    assert "interpreted" in files[4].read_text()


HONEST = """
import hashlib
def leaf(): hashlib.pbkdf2_hmac("sha256", b"x", b"y", 20000)
def middle(): leaf()
def outer():
    while True: middle()
print("ready", flush=True)
outer()
"""


def test_interpreters_that_lie_cost_the_others_nothing(tmp_path):
    """Chains without an end are cut, counted, and leave the frames of C as they are."""
    (tmp_path / "honest.py").write_text(HONEST)
    out, hostile = tmp_path / "x.folded", {}
    with contextlib.ExitStack() as stack:
        for kind in "loop", "chain", "names":
            process, _ = stack.enter_context(started(PYTHONS[0], WORKLOADS / "hostile_python.py", kind))
            hostile[kind] = process.pid
        honest, _ = stack.enter_context(started(PYTHONS[0], tmp_path / "honest.py"))
        summary = record("-p", ",".join(map(str, [honest.pid, *hostile.values()])), "-d", 3, "-F", FREQUENCY,
                         "--threads", "-o", out).summary
    folded = Folded(out)
    found = interpreters.by_tid(folded)
    wanted = ("honest.<module>", "honest.outer", "honest.middle", "honest.leaf")
    whole = sum(found[honest.pid].values())
    right = sum(value for frames, value in found[honest.pid].items()
                if frames == wanted[:len(frames)] and len(frames) > 1)
    assert whole > 20 and right >= 0.98 * whole, found[honest.pid]
    assert summary["runtimes"]["cut"] > 0
    assert summary["losses"]["lost_stacks"] == summary["losses"]["ring_full"] == 0, summary
    for kind, pid in hostile.items():
        mine = [(frames, value) for frames, value in folded.stacks if frames[0] == f"python3-{pid}/{pid}"]
        assert sum(value for _, value in mine) > 10, kind
        assert all(len(frames) < 300 for frames, _ in mine)
        reached = sum(value for frames, value in mine if any("main" in frame for frame in frames))
        assert reached >= 0.95 * sum(value for _, value in mine), (kind, mine[:3])
