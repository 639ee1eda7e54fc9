# SPDX-License-Identifier: GPL-2.0-or-later
"""`bpfflame render` of perf's recordings: every sample is there, under its command.

Samples are counted independently of stacks: by `perf script` without call graphs, which prints one
line per sample, and by `perf report`.
"""
import collections
import re
import shutil
import subprocess
import sys

import pytest

from harness import BPFFLAME

pytestmark = pytest.mark.skipif(not shutil.which("perf"), reason="perf is not installed")

PROGRAM = """\
#include <time.h>
static volatile int sink;
static inline __attribute__((always_inline)) void inner(int n) { sink += n * n; }
__attribute__((noinline)) void work(int n) { for (int i = 0; i < n; i++) inner(i); }
int main(void) { while (clock() < CLOCKS_PER_SEC / 2) work(300000); }
"""


def perf(*arguments):
    result = subprocess.run(["perf", *map(str, arguments)], capture_output=True, text=True,
                            errors="surrogateescape", timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def record(data, *arguments):
    result = subprocess.run(["perf", "record", "-q", "-o", data, *map(str, arguments)],
                            capture_output=True, text=True, timeout=60, check=False)
    if result.returncode:
        pytest.skip(f"perf can't record here: {result.stderr.strip()}")
    return data


def render(path, *options):
    """{stack as a list: samples}"""
    result = subprocess.run([BPFFLAME, "render", path, "-o", "-", "-f", "folded", *options],
                            capture_output=True, text=True, errors="surrogateescape", timeout=60,
                            check=False)
    assert result.returncode == 0, result.stderr
    stacks = collections.Counter()
    for line in result.stdout.splitlines():
        stack, value = line.rsplit(" ", 1)
        stacks[tuple(stack.split(";"))] += int(value)
    return stacks


def by_comm(stacks):
    totals = collections.Counter()
    for stack, samples in stacks.items():
        totals[stack[0]] += samples
    return totals


def samples_by_comm(data):
    """Samples by command, from the output with one line per sample."""
    lines = perf("script", "-i", data, "-F", "comm").splitlines()
    return collections.Counter(line.strip() for line in lines if line.strip())


def weights_by_comm(data, event):
    """The sum of the samples' periods; a clock's samples count as 1."""
    totals = collections.Counter()
    for line in perf("script", "-i", data, "-F", "comm,period,event").splitlines():
        found = re.match(r" *(.*?) +([0-9]+) +([^ ]+): *$", line)
        if found and found.group(3).split(":")[0] == event:
            totals[found.group(1)] += 1 if event == "cpu-clock" else int(found.group(2))
    return totals


def reported(data):
    """The total of each command in perf report, over all events."""
    totals = collections.Counter()
    for line in perf("report", "-i", data, "--stdio", "--no-children", "-g", "none", "--sort",
                     "comm", "-n").splitlines():
        found = re.match(r" +[0-9.]+% +([0-9]+) +(.*?) *$", line)
        if found:
            totals[found.group(2)] += int(found.group(1))
    return totals


@pytest.fixture(scope="module", name="program")
def fixture_program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O2", "-g", "-o", folder / "program", folder / "program.c"],
                   check=True)
    return folder / "program"


@pytest.mark.parametrize("options", [["-g"], ["--call-graph", "fp"], ["--call-graph", "dwarf"]],
                         ids=" ".join)
def test_programs(tmp_path, program, options):
    script = f"""{program} & {sys.executable} -c 'sum(i * i for i in range(6000000))'
                 sleep 0.1; wait"""
    data = record(tmp_path / "data", "-e", "cpu-clock", "-F", "999", *options, "--", "sh", "-c",
                  script)
    text = tmp_path / "text"
    text.write_text(perf("script", "-i", data), errors="surrogateescape")
    stacks = render(text)
    expected = samples_by_comm(data)
    assert sum(expected.values()) > 100
    assert by_comm(stacks) == expected == reported(data)
    assert any(frame.endswith("_[k]") for stack in stacks for frame in stack)
    in_work = sum(n for stack, n in stacks.items() if stack[0] == "program" and "work" in stack)
    assert in_work > 0.9 * expected["program"]


def test_inlined_functions(tmp_path, program):
    data = record(tmp_path / "data", "-e", "cpu-clock", "-F", "499", "--call-graph", "dwarf",
                  "--", program)
    text = tmp_path / "text"
    text.write_text(perf("script", "-i", data))
    with_inlined, without = render(text), render(text, "--no-inline")
    assert sum(with_inlined.values()) == sum(without.values()) == len(
        perf("script", "-i", data, "-F", "comm").split())
    assert any("inner_[i]" in stack for stack in with_inlined)
    assert not any(frame.endswith("_[i]") for stack in without for frame in stack)
    assert sum(n for stack, n in without.items() if "work" in stack) == \
        sum(n for stack, n in with_inlined.items() if "work" in stack)


def test_whole_machine_and_events(tmp_path):
    data = record(tmp_path / "data", "-a", "-g", "-e", "cpu-clock", "-e", "context-switches",
                  "-e", "page-faults", "--", "sh", "-c", "sleep 0.3; ls -lR /usr/bin >/dev/null")
    text = tmp_path / "text"
    text.write_text(perf("script", "-i", data), errors="surrogateescape")
    for event in ("cpu-clock", "context-switches", "page-faults"):
        expected = weights_by_comm(data, event)
        assert {"sh", "ls"} & set(expected), event
        assert by_comm(render(text, "--event", event)) == expected
    assert sum(expected.values()) > 1.2 * len(expected), "faults have no periods"


@pytest.mark.parametrize("fields", ["comm,tid,ip,sym", "comm,pid,tid,time,event,ip,sym,dso",
                                    "comm,pid,tid,time,period,event,ip,sym,symoff,dso,srcline"])
def test_fields(tmp_path, program, fields):
    data = record(tmp_path / "data", "-e", "cpu-clock", "-F", "199", "-g", "--", program)
    text = tmp_path / "text"
    text.write_text(perf("script", "-i", data, "-F", fields))
    assert by_comm(render(text)) == samples_by_comm(data)


def test_without_call_graphs(tmp_path, program):
    data = record(tmp_path / "data", "-e", "cpu-clock", "-F", "499", "--", program)
    text = tmp_path / "text"
    text.write_text(perf("script", "-i", data))
    stacks = render(text)
    assert by_comm(stacks) == samples_by_comm(data)
    assert stacks[("program", "work")] > 0.8 * sum(stacks.values())


def test_other_lines(tmp_path, program):
    data = record(tmp_path / "data", "-e", "cpu-clock", "-g", "--", program)
    text = tmp_path / "text"
    text.write_text(perf("script", "-i", data, "--header", "--show-task-events",
                         "--show-mmap-events"))
    assert by_comm(render(text)) == samples_by_comm(data)
