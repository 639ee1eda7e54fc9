# SPDX-License-Identifier: GPL-2.0-or-later
"""The answer at first sight: what ran and what waited longest, and titles that still make sense in
a week."""
import json
import re

import pytest

from harness import WORKLOADS, record, run, wait_for_names, workload


def rows_of(text, label):
    """The lines below a label of the summary: (percent, the rest in words)."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"  {label}"))
    rows = []
    for line in lines[first:]:
        match = re.fullmatch(r"  (?:%s| {%d}) +([0-9.]+) %%  (.*)" % (label, len(label)), line)
        if not match:
            break
        rows.append((float(match[1]), match[2].split()))
    return rows


def test_what_ran_longest(tmp_path):
    result = run("-o", tmp_path / "x.folded", "--", WORKLOADS / "burn", "2")
    assert result.returncode == 0, result
    rows = rows_of(result.stderr, "hottest")
    assert 1 <= len(rows) <= 5
    assert rows == sorted(rows, key=lambda row: -row[0])
    shares = {words[0]: share for share, words in rows}
    # spin() is inlined into all three, or each has its own.
    assert sum(shares.values()) > 80
    assert all(words[-1] == "burn" for _, words in rows)


def test_what_waited_longest(tmp_path):
    with workload("wait", tmp_path, 30) as process:
        wait_for_names(process.pid, ["waiter"])
        result = run("--offcpu", "-p", process.pid, "-d", "2", "-o", tmp_path / "x.folded", "--top", "20")
        summary = record("--offcpu", "-p", process.pid, "-d", "2", "-o", tmp_path / "x.folded").summary
    assert result.returncode == 0, result
    rows = rows_of(result.stderr, "waits in")
    assert rows and not [words for _, words in rows if words[0].startswith("__")], rows
    assert all(re.fullmatch(r"\[[a-z ]+\]", re.search(r"\[[a-z ]+\]", " ".join(words))[0]) for _, words in rows)
    assert summary["hottest"] == []
    assert len(summary["waits"]) == min(5, len(rows))
    for row in summary["waits"]:
        assert set(row) == {"function", "module", "command", "reason", "nanoseconds", "percent"}
        assert row["module"] == "wait" or row["module"] == ""
    report = json.loads(run("report", "--json", "--by", "waits", tmp_path / "x.folded").stdout)
    assert [row["name"] for row in report["waits"]][:1] == [summary["waits"][0]["function"]]


def test_silent_or_longer(tmp_path):
    for options, lines in ((["-q"], 0), (["--top", "0"], 0), (["--top", "2"], 2)):
        result = run("-o", tmp_path / "x.folded", *options, "--", WORKLOADS / "fifty", "1")
        assert result.returncode == 0, result
        found = rows_of(result.stderr, "hottest") if lines else "hottest" in result.stderr
        assert (len(found) == lines) if lines else not found, result


@pytest.mark.parametrize("mode, word", [("--oncpu", "On-CPU"), ("--offcpu", "Off-CPU"), ("--wall", "Wall-clock")])
def test_titles(tmp_path, mode, word):
    with workload("burn", 30) as process:
        record(mode, "-p", process.pid, "-d", "1", "-o", tmp_path / "x.svg", "-o", tmp_path / "x.html")
    for name in "x.svg", "x.html":
        title = re.search("<title>(.*?)</title>", (tmp_path / name).read_text())[1]
        assert title.startswith(f"{word} · burn 30 ({process.pid}) · 1"), title
        assert title.endswith(" CPUs") == (mode == "--oncpu"), title
    record("-d", "0.2", "-o", tmp_path / "x.svg", "--title", "mine", "-a")
    assert "<title>mine</title>" in (tmp_path / "x.svg").read_text()


def test_title_of_a_long_command_line(tmp_path):
    """Java's class comes after options that would fill every title."""
    words = ["-Dlogging=/etc/logging", "-classpath", "/usr/share/x.jar:" * 500, "-q", "org.Main", "start"]
    with workload("java", command=["/bin/sh", "-c", "while :; do :; done", *words]) as process:
        record("-p", process.pid, "-d", "0.3", "-o", tmp_path / "x.svg")
    title = re.search("<title>(.*?)</title>", (tmp_path / "x.svg").read_text())[1]
    assert title.startswith(f"On-CPU · sh -c while :; do :; done -q org.Main start ({process.pid}) · "), title


def test_title_of_java(tmp_path):
    """Its class path is left out of any title."""
    words = ["-c", "while :; do :; done", "-cp", "/srv/classes", "Main", "7"]
    with workload("java", command=["java", *words], executable="/bin/sh") as process:
        record("-p", process.pid, "-d", "0.3", "-o", tmp_path / "x.svg")
    title = re.search("<title>(.*?)</title>", (tmp_path / "x.svg").read_text())[1]
    assert title.startswith(f"On-CPU · java -c while :; do :; done Main 7 ({process.pid}) · "), title


def test_title_of_a_thread(tmp_path):
    """By its own name, if that says more than its process's."""
    script = """import ctypes, threading, time
def work(name):
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
    time.sleep(30)
for name in b"indexer", b"-c":
    threading.Thread(target=work, args=[name]).start()"""
    with workload("python3", command=["/usr/bin/python3", "-c", script]) as process:
        tids = wait_for_names(process.pid, ["indexer", "-c"])
        starts = {process.pid: "", tids["indexer"]: "indexer of ", tids["-c"]: "-c of "}
        for tid, start in starts.items():
            record("--offcpu", "-t", tid, "-d", "0.2", "-o", tmp_path / "x.svg")
            title = re.search("<title>(.*?)</title>", (tmp_path / "x.svg").read_text())[1]
            assert title.startswith(f"Off-CPU · {start}python3 -c … ({tid}) · "), title


def test_hostile_title(tmp_path):
    """Whatever name a program sets, it is text in the picture."""
    name = "<script>alert(1)</script>&"
    with workload("perl", command=["perl", "-e", f"$0 = '{name}'; 1 while 1"]) as process:
        record("-p", process.pid, "-d", "0.5", "-o", tmp_path / "x.svg", "-o", tmp_path / "x.html")
    for file in "x.svg", "x.html":
        text = (tmp_path / file).read_text()
        assert "<script>alert" not in text and "&lt;script&gt;" in text
