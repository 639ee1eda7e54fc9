# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports agree with the folded files of real recordings."""
import collections
import contextlib
import json
import os
import pty
import re
import subprocess

import pytest

from harness import (BPFFLAME, Folded, error_line, on_cpu, reason_of, record, run, workload,
                     wait_for_threads)

SUFFIXES = ("_[k]", "_[i]", "_[j]")


@pytest.fixture(scope="module")
def burning(module_path):
    """(path, folded) of an on-CPU recording with threads."""
    path = module_path / "oncpu.folded"
    with workload("burn", 120, 2) as process:
        wait_for_threads(process.pid, 3)
        record("-p", process.pid, "-d", 2, "--threads", "-o", path)
    return path, Folded(path)


@pytest.fixture(scope="module")
def machine(module_path):
    """(path, folded) of a wall recording of the whole machine, with wakers."""
    path = module_path / "wall.folded"
    with workload("burn", 120, 1):
        record("--wall", "--wakers", "-a", "-d", 2, "-o", path)
    return path, Folded(path)


def report(path, *arguments):
    result = run("report", *arguments, path)
    assert result.returncode == 0 and result.stderr == "", result
    return result.stdout


def report_json(path, *arguments):
    return json.loads(report(path, "--json", *arguments))


def full_name(row):
    return row["name"] + {"kernel": "_[k]", "inlined": "_[i]", "jit": "_[j]",
                          "interpreted": "_[0]"}.get(row["kind"], "")


def own(frames):
    """Without the wakers and the reason."""
    frames = frames[:frames.index("--")] if "--" in frames else frames
    return frames


def functions_of(folded, scale=1):
    """{name: (self, total)} from the folded file; frames[0] is the command."""
    selfs, totals = collections.Counter(), collections.Counter()
    for frames, value in folded.stacks:
        code = [frame for frame in own(frames)[1:] if frame != "[truncated]"]
        if code and scale > 1:
            code.pop()
        if code:
            selfs[code[-1]] += value * scale
        for frame in set(code):
            totals[frame] += value * scale
    return {name: (selfs[name], totals[name]) for name in totals}


def weights_of(rows):
    weights = collections.defaultdict(lambda: (0, 0))
    for row in rows:
        if row["kind"] != "note":
            self, total = weights[full_name(row)]
            weights[full_name(row)] = (self + row["self"], total + row["total"])
    return dict(weights)


def assert_whole(data):
    for table in ("functions", "by_command", "by_module", "by_thread", "by_reason"):
        if data[table]:
            assert sum(row["self"] for row in data[table]) == data["total"], table
            assert data[table + "_left_out"] == {"rows": 0, "self": 0}


# --- figures --------------------------------------------------------------------------------


def test_oncpu_is_the_folded_file(burning):
    path, folded = burning
    data = report_json(path)
    assert (data["mode"], data["unit"]) == ("oncpu", "samples")
    assert data["total"] == folded.total() > 0
    assert_whole(data)
    assert weights_of(data["functions"]) == functions_of(folded)
    threads = {row["name"]: row["self"] for row in data["by_thread"]}
    assert threads == {root: sum(value for _, value in folded.of_root(root))
                       for root in folded.roots()}


def test_wall_is_the_folded_file(machine):
    path, folded = machine
    data = report_json(path)
    assert (data["mode"], data["unit"]) == ("wall", "nanoseconds")
    assert data["total"] == folded.total() * 1000
    assert_whole(data)
    times = collections.Counter()
    for frames, value in folded.stacks:
        times[reason_of(frames)] += value * 1000
    assert {row["name"]: row["self"] for row in data["by_reason"]} == times
    assert data["running"] == on_cpu(times)
    assert data["running"] + data["waiting"] == data["total"]
    assert weights_of(data["functions"]) == functions_of(folded, 1000)
    commands = collections.Counter()
    for frames, value in folded.stacks:
        commands[frames[0]] += value * 1000
    assert {row["name"]: row["self"] for row in data["by_command"]} == commands
    assert sum(row["self_running"] for row in data["by_command"]) == data["running"]


def test_several_files_add_up(burning):
    path, folded = burning
    result = run("report", "--json", path, path)
    assert json.loads(result.stdout)["total"] == 2 * folded.total()


def test_include_and_exclude(machine):
    path, folded = machine
    whole = report_json(path)["total"]
    burn = report_json(path, "--include", "^burn$")["total"]
    others = report_json(path, "--exclude", "^burn$")["total"]
    assert 0 < burn < whole and burn + others == whole


def test_tree(machine):
    path, folded = machine
    data = report_json(path, "--tree", "--threshold", "0.5")
    path_of, left = [], []
    for node in data["tree"]:
        depth = node["depth"]
        assert depth <= len(path_of)
        del path_of[depth:], left[depth:]
        if depth:
            left[depth - 1] -= node["total"]
            assert left[depth - 1] >= 0
        else:
            whole = [row for row in data["by_command"] if row["name"] == node["name"]]
            assert node["kind"] == "elided" or whole[0]["total"] == node["total"]
        assert node["kind"] == "elided" or node["total_percent"] >= 0.4999
        path_of.append(node["name"])
        left.append(node["total"] - node["self"])
    assert sum(node["total"] for node in data["tree"] if node["depth"] == 0) == data["total"]


def test_callers(machine):
    path, folded = machine
    data = report_json(path, "--callers", r"^\[on-cpu\]$", "--threshold", "0")
    assert data["callers_total"] == data["running"]
    tops = [node for node in data["callers"] if node["depth"] == 0]
    assert [top["name"] for top in tops] == ["[on-cpu]"]
    # In each direction, the last one is the command.
    ends = collections.Counter()
    for node in data["callers"]:
        ends[node["name"]] += node["self"]
    running = collections.Counter()
    for frames, value in folded.stacks:
        if reason_of(frames) == "[on-cpu]":
            running[frames[0]] += value * 1000
    assert +ends == +running


# --- text -----------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("arguments", [[], ["--tree"], ["--callers", "."], ["--limit", "0"],
                                       ["--sort", "total"]])
def test_text_fits(machine, columns, arguments):
    text = report(machine[0], "--columns", columns, *arguments)
    assert "\033" not in text
    assert max(map(len, text.splitlines())) <= columns
    assert "recorded" in text.splitlines()[0]


def test_selfs_in_text(burning):
    path, folded = burning
    text = report(path, "--limit", "0", "--by", "functions", "--columns", "200")
    rows = re.findall(r"^ *([0-9.]+) [█▏▎▍▌▋▊▉ ]+ ([0-9.]+) +([0-9,]+)  (\S+)", text, re.M)
    expected = functions_of(folded)
    assert len(rows) == len(expected)
    for percent, total, samples, name in rows:
        assert int(samples.replace(",", "")) == expected[name][0]
        assert abs(float(percent) - 100 * expected[name][0] / folded.total()) <= 0.051
        assert abs(float(total) - 100 * expected[name][1] / folded.total()) <= 0.051


def on_a_terminal(path, *arguments, **environment):
    """The output on a terminal of 72 columns."""
    ours, theirs = pty.openpty()
    subprocess.run(["stty", "cols", "72", "rows", "24"], stdin=theirs, check=True)
    process = subprocess.Popen([BPFFLAME, "report", *arguments, path], stdin=subprocess.DEVNULL,
                               stdout=theirs, env={"PATH": os.environ["PATH"], "TERM": "xterm",
                                                   **environment})
    os.close(theirs)
    text = b""
    with contextlib.suppress(OSError):  # a terminal ends with EIO
        while data := os.read(ours, 65536):
            text += data
    os.close(ours)
    assert process.wait(30) == 0
    return text.decode().replace("\r\n", "\n")


def test_colours_on_a_terminal_only(machine):
    text = on_a_terminal(machine[0])
    assert "\033[" in text
    plain = re.sub("\033\\[[0-9;]*m", "", text)
    assert "\033" not in plain
    assert 40 < max(map(len, plain.splitlines())) <= 72
    assert on_a_terminal(machine[0], NO_COLOR="1") == plain
    assert on_a_terminal(machine[0], "--no-color") == plain
    assert on_a_terminal(machine[0], TERM="dumb") == plain


def test_hostile_names_are_inert(tmp_path):
    path = tmp_path / "x.folded"
    path.write_bytes(b"\033[2Jcomm;\033]0;owned\007;\xff\xfe\xc2\x9b31m;" + b"x" * 10000 +
                     b";\xe2\x80\xaegnp.exe;a<b<c>> 7\nb;plain\x08\x08 3\n")
    for arguments in ([], ["--tree"], ["--callers", "."], ["--limit", "0"], ["--json"],
                      ["--json", "--tree", "--callers", "."]):
        text = report(path, "-q", *arguments)
        assert all(c == "\n" or (c >= " " and not "\x7f" <= c <= "\x9f") for c in text)
        assert "\u202e" not in text
        if "--json" in arguments:
            assert json.loads(text)["total"] == 10
        else:
            assert max(map(len, text.splitlines())) <= 100
    text = on_a_terminal(path)
    assert "\033" not in re.sub("\033\\[[0-9]m|\033\\[3[0-9]m", "", text)


# --- use ------------------------------------------------------------------------------------


def test_standard_input(burning):
    path, folded = burning
    for arguments in (["-"], []):
        with open(path) as stream:
            result = subprocess.run([BPFFLAME, "report", "--json", *arguments], stdin=stream,
                                    capture_output=True, check=True)
        assert json.loads(result.stdout)["total"] == folded.total()


def test_empty_input(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    result = run("report", tmp_path / "empty")
    assert result.returncode == 0
    assert result.stdout.startswith("recorded  0 samples"), result


def test_wrong_usage(burning):
    for arguments, named in ((["--sort", "name"], "--sort"), (["--by", "functions,x"], "x"),
                             (["--callers", "("], "--callers"), (["--limit", "-1"], "--limit"),
                             (["--threshold", "101"], "--threshold"), (["--columns", "3"], "40"),
                             (["--include", "["], "--include"), (["--what"], "--what")):
        result = run("report", *arguments, burning[0])
        assert result.returncode == 2, result
        assert named in error_line(result)


def test_what_cannot_be_read(tmp_path):
    result = run("report", tmp_path / "none.folded")
    assert result.returncode == 1
    assert "none.folded" in error_line(result)


def test_two_columns_are_for_diff(tmp_path):
    (tmp_path / "two.folded").write_text("a;b 1 2\na;c 3 4\n")
    result = run("report", tmp_path / "two.folded")
    assert result.returncode == 1
    assert "diff" in error_line(result)


def test_a_full_disk_is_reported(burning):
    with open("/dev/full", "w") as full:
        result = subprocess.run([BPFFLAME, "report", burning[0]], stdout=full,
                                stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 1
    assert "No space left" in result.stderr


HEADER = """# bpfflame command\tapp --fast
# bpfflame host\tbuild-7
# bpfflame seconds\t2.500
# bpfflame hz\t99.000
# bpfflame module\tapp\tmain;work_[i];
# bpfflame module\tlibz.so.1\tinflate;
app;main;work_[i];inflate 3
app;main;work_[i];read_[k] 1
"""


def test_header_of_folded_lines(tmp_path):
    """The header is read back, and written again unchanged."""
    (tmp_path / "x.folded").write_text(HEADER)
    result = subprocess.run([BPFFLAME, "report", "--json", tmp_path / "x.folded"], capture_output=True, check=True)
    modules = {row["name"]: row["self"] for row in json.loads(result.stdout)["by_module"]}
    assert modules == {"libz.so.1": 3, "[kernel]": 1, "app": 0} or modules == {"libz.so.1": 3, "[kernel]": 1}
    subprocess.run([BPFFLAME, "render", "x.folded", "--header", "-o", "y.folded", "-o", "y.svg"], cwd=tmp_path,
                   check=True)
    assert (tmp_path / "y.folded").read_text() == HEADER
    assert "build-7" in (tmp_path / "y.svg").read_text()
    subprocess.run([BPFFLAME, "render", "x.folded", "-o", "z.folded"], cwd=tmp_path, check=True)
    assert (tmp_path / "z.folded").read_text() == "".join(HEADER.splitlines(True)[6:])


@pytest.mark.parametrize("line", [
    b"# bpfflame module\t\tmain;", b"# bpfflame module\tapp\t;;;", b"# bpfflame ",
    b"# bpfflame module\tapp\tmain", b"# bpfflame seconds\tnan", b"# bpfflame hz\t-1", b"# bpfflame host",
    b"# bpfflame seconds\t" + b"9" * 5000, b"# bpfflame module\tapp\t" + b"x" * 100000 + b";",
    b"# bpfflame module\tapp\t[idle];--;[futex];[truncated];"], ids=range(10))
def test_header_that_is_none(tmp_path, line):
    (tmp_path / "x.folded").write_bytes(line + b"\napp;[truncated];main;f 4\n")
    subprocess.run([BPFFLAME, "render", "x.folded", "-o", "y.folded"], cwd=tmp_path, check=True)
    assert (tmp_path / "y.folded").read_text() == "app;[truncated];main;f 4\n"
