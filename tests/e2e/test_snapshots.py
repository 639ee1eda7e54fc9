# SPDX-License-Identifier: GPL-2.0-or-later
"""--every: consecutive windows as sets of files in a folder, their list, and the removal of old
ones. However a run ends, sets are complete and the list can be read.
"""
import contextlib
import datetime
import json
import os
import re
import signal
import subprocess
import time

import pytest

from harness import (Folded, Running, assert_well_formed, comm_of, error_line, interrupt_when_recording,
                     record, run, wait_for_threads, wait_until, workload)

NAME = re.compile(r"(\d{8}T\d{6}(\.\d{3})?Z)(-\d+)?-([a-z-]+)")
KEYS = {"bpfflame": str, "set": str, "mode": str, "event": str, "frequency_hz": float, "start": str,
        "end": str, "start_unix_seconds": float, "duration_seconds": float, "windows": int,
        "samples": int, "unit": str, "total": int, "complete_percent": float,
        "loss_percent": float, "losses": dict, "functions": list, "commands": list, "files": list, "host": str,
        "kernel": str, "command_line": str}


@pytest.fixture(scope="module")
def burning():
    with workload("burn", 300, 1) as process:
        wait_for_threads(process.pid, 2)
        yield process


def moment(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()


def check_set(folder, entry):
    """Checks one line of the list against its keys and its files."""
    assert {key: type(value) for key, value in entry.items()} == KEYS
    match = NAME.fullmatch(entry["set"])
    assert match, entry["set"]
    start = entry["start_unix_seconds"]
    assert abs(moment(entry["start"]) - start) < 1e-5
    assert abs(moment(entry["end"]) - start - entry["duration_seconds"]) < 1e-5
    stamp = datetime.datetime.fromtimestamp(start, datetime.timezone.utc)
    assert match[1].startswith(stamp.strftime("%Y%m%dT%H%M%S"))
    assert entry["windows"] >= 1 and 0 <= entry["complete_percent"] <= 100
    assert entry["host"] == os.uname().nodename and entry["kernel"] == os.uname().release
    assert entry["files"]
    for file in entry["files"]:
        assert file["name"].startswith(entry["set"] + ".")
        assert os.stat(folder / file["name"]).st_size == file["bytes"]
        if file["name"].endswith(".svg"):
            assert_well_formed(folder / file["name"])
        if file["name"].endswith(".folded"):
            folded = Folded(folder / file["name"])
            # Each line with times is rounded.
            error = len(folded.stacks) / 2 + 1 if entry["unit"] == "microseconds" else 0
            assert abs(folded.total() - entry["total"]) <= error
    assert sum(command["total"] for command in entry["commands"]) <= entry["total"] + len(entry["commands"])
    assert bool(entry["commands"]) == (entry["total"] > 0)
    for command in entry["commands"]:
        assert set(command) == {"name", "total"} and command["total"] > 0
    for one, two in zip(entry["functions"], entry["functions"][1:]):
        assert one["self"] >= two["self"]
    for function in entry["functions"]:
        assert set(function) == {"name", "module", "self", "percent"}
        assert abs(function["percent"] - 100 * function["self"] / entry["total"]) < 0.01


def list_of(folder):
    """The sets of a folder. Checks that they are complete and that there are no other files."""
    text = (folder / "index.jsonl").read_text()
    assert text.endswith("\n") or not text
    entries = [json.loads(line) for line in text.splitlines()]
    for entry in entries:
        check_set(folder, entry)
    files = {file["name"] for entry in entries for file in entry["files"]}
    assert set(os.listdir(folder)) == files | {"index.jsonl", "index.html"}
    return entries


def page_of(folder):
    """Names of the sets on the page."""
    text = (folder / "index.html").read_text()
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    return [data["strings"][row[0]] for row in data["sets"]]


def names(entries):
    return [entry["set"] for entry in entries]


# --- windows --------------------------------------------------------------------------------


def test_windows_are_back_to_back(burning, tmp_path):
    folder = tmp_path / "sets"
    result = record("-p", burning.pid, "-d", 5, "--every", 1, "--out-dir", folder)
    summary = result.summary
    entries = list_of(folder)
    assert summary["windows"] == 5
    assert sum(entry["windows"] for entry in entries) == 5
    assert summary["sets"]["written"] == len(entries)
    assert summary["sets"]["joined_windows"] == 5 - len(entries)
    assert summary["sets"]["removed"] == summary["sets"]["failed"] == 0
    assert sum(entry["samples"] for entry in entries) == summary["samples"] > 0
    assert sum(entry["total"] for entry in entries) == summary["samples"]
    for one, two in zip(entries, entries[1:]):
        assert abs(one["start_unix_seconds"] + one["duration_seconds"] -
                   two["start_unix_seconds"]) < 1e-3
    seconds = sum(entry["duration_seconds"] for entry in entries)
    assert abs(seconds - summary["duration_seconds"]) < 1e-3 and abs(seconds - 5) < 0.05
    for entry in entries:
        assert (entry["mode"], entry["unit"]) == ("oncpu", "samples")
        assert entry["event"] == summary["event"] and entry["frequency_hz"] == 99
        assert entry["losses"] == {}
        assert "." not in entry["set"]
    assert page_of(folder) == names(entries)
    assert [os.path.basename(name) for name in summary["files"]] == ["index.html", "index.jsonl"]
    assert summary["sets"]["cpu_seconds"] > 0 and summary["sets"]["peak_memory_bytes"] > 0


def test_short_windows_and_the_last_one(burning, tmp_path):
    record("-p", burning.pid, "-d", "1.25", "--every", "500ms", "--out-dir", tmp_path)
    entries = list_of(tmp_path)
    assert all("." in entry["set"] for entry in entries)
    assert sum(entry["windows"] for entry in entries) == 3
    assert abs(sum(entry["duration_seconds"] for entry in entries) - 1.25) < 0.05


def test_a_window_longer_than_the_recording(burning, tmp_path):
    record("-p", burning.pid, "-d", 1, "--every", 60, "--out-dir", tmp_path)
    (entry,) = list_of(tmp_path)
    assert entry["windows"] == 1 and 0.9 < entry["duration_seconds"] < 1.1


def test_off_cpu_time(tmp_path):
    with workload("wait", 20) as process:
        result = record("--offcpu", "-p", process.pid, "-d", 3, "--every", 1,
                        "--out-dir", tmp_path)
    entries = list_of(tmp_path)
    total = sum(entry["total"] for entry in entries)
    assert abs(total / 1e6 - result.summary["offcpu_seconds"]) < 0.001 * total / 1e6 + 1e-3
    for entry in entries:
        assert (entry["mode"], entry["unit"]) == ("offcpu", "microseconds")
        assert entry["event"] == result.summary["hook"]


def test_a_command_ends_the_recording(tmp_path):
    result = run("-q", "--every", 1, "--out-dir", tmp_path, "--", "sh", "-c",
                 "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 3")
    assert result.returncode == 0, result
    entries = list_of(tmp_path)
    assert sum(entry["samples"] for entry in entries) > 0


def test_several_events(burning, tmp_path):
    result = record("-p", burning.pid, "-d", 2, "--every", 1, "-e", "cpu-clock:u", "-e",
                    "page-faults", "--keep", 1, "--out-dir", tmp_path)
    entries = list_of(tmp_path)
    assert [entry["event"] for entry in entries] == ["cpu-clock:u", "page-faults"]
    assert entries[0]["start"] == entries[1]["start"]
    assert result.summary["sets"]["removed"] == result.summary["sets"]["written"] - 2


def test_formats(burning, tmp_path):
    record("-p", burning.pid, "-d", 1, "--every", 60, "-f", "html,pprof,folded",
           "--out-dir", tmp_path)
    (entry,) = list_of(tmp_path)
    assert [file["name"].partition(".")[2] for file in entry["files"]] == [
        "html", "pb.gz", "folded"]


def test_verbose_and_progress_and_quiet(burning, tmp_path):
    result = run("-v", "-p", burning.pid, "-d", 1, "--every", "500ms", "--out-dir", tmp_path)
    seen = [line for line in result.stderr.splitlines() if " written: " in line]
    assert len(seen) == len(list_of(tmp_path))
    assert "written of 2 windows" in result.stderr
    result = run("-q", "-p", burning.pid, "-d", 1, "--every", "500ms", "--out-dir", tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", ""), result


# --- rotation -------------------------------------------------------------------------------


def test_keep_a_number(burning, tmp_path):
    (tmp_path / "20200101T000000Z-precious.svg").write_text("mine")
    (tmp_path / "notes.txt").write_text("mine")
    result = record("-p", burning.pid, "-d", 3, "--every", "500ms", "--keep", 2,
                    "--out-dir", tmp_path)
    for name in ("20200101T000000Z-precious.svg", "notes.txt"):
        (tmp_path / name).unlink()
    entries = list_of(tmp_path)
    sets = result.summary["sets"]
    assert len(entries) == 2 and sets["removed"] == sets["written"] - 2 > 0
    assert page_of(tmp_path) == names(entries)


def test_keep_by_age(burning, tmp_path):
    result = record("-p", burning.pid, "-d", 4, "--every", "500ms", "--keep", "1s",
                    "--out-dir", tmp_path)
    entries = list_of(tmp_path)
    assert 1 <= len(entries) <= 4
    assert result.summary["sets"]["removed"] > 0


def test_keep_by_size(burning, tmp_path):
    record("-p", burning.pid, "-d", 1, "--every", 60, "--out-dir", tmp_path)
    (entry,) = list_of(tmp_path)
    size = sum(file["bytes"] for file in entry["files"])
    most = 3 * size
    record("-p", burning.pid, "-d", 4, "--every", "500ms", "--keep", f"{most}B",
           "--out-dir", tmp_path)
    entries = list_of(tmp_path)
    sizes = [sum(file["bytes"] for file in entry["files"]) for entry in entries]
    assert entry["set"] not in names(entries)
    assert sum(sizes) <= most or len(sizes) == 1
    record("-p", burning.pid, "-d", 1, "--every", 60, "--keep", "1B", "--out-dir", tmp_path)
    assert len(list_of(tmp_path)) == 1


def test_a_list_that_was_tampered_with(burning, tmp_path):
    """Entries that point outside the folder, or to files that belong to no set, are left alone."""
    folder = tmp_path / "sets"
    folder.mkdir()
    outside = tmp_path / "20200101T000000Z-x.svg"
    outside.write_text("mine")
    (folder / "passwd").write_text("mine")
    line = ('{"bpfflame":"0.1.0","set":"20200101T000000Z-x","mode":"oncpu","event":"cycles",'
            '"files":[{"name":"NAME","bytes":9}]}\n')
    (folder / "index.jsonl").write_text("".join(line.replace("NAME", name) for name in (
        "../20200101T000000Z-x.svg", str(outside), "passwd", "20200101T000000Z-gone.svg",
        "20200101T000000Z-x/../passwd")) + "garbage\n" + line[:40])
    record("-p", burning.pid, "-d", 2, "--every", 1, "--keep", 1, "--out-dir", folder)
    assert outside.read_text() == "mine" and (folder / "passwd").read_text() == "mine"
    lines = (folder / "index.jsonl").read_text().splitlines()
    kept = [json.loads(line) for line in lines if line.startswith("{") and "command_line" in line]
    assert len(kept) == 1
    check_set(folder, kept[0])
    assert "garbage" in lines and line[:40] not in lines


def test_files_removed_by_hand(burning, tmp_path):
    for _ in range(2):
        record("-p", burning.pid, "-d", 1, "--every", 60, "--out-dir", tmp_path)
    first, second = list_of(tmp_path)
    for file in first["files"]:
        (tmp_path / file["name"]).unlink()
    record("-p", burning.pid, "-d", 1, "--every", 60, "--out-dir", tmp_path)
    entries = list_of(tmp_path)
    assert len(entries) == 2 and entries[0] == second


# --- ends -----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_writes_the_window_it_comes_in(burning, tmp_path, number):
    running = Running("--json", "-p", burning.pid, "--every", 1, "--out-dir", tmp_path)
    result = interrupt_when_recording(running, number, after=2.5)
    assert result.returncode == 0, result
    entries = list_of(tmp_path)
    assert sum(entry["samples"] for entry in entries) == result.summary["samples"] > 0
    assert entries[-1]["duration_seconds"] < 1
    assert abs(sum(entry["duration_seconds"] for entry in entries) -
               result.summary["duration_seconds"]) < 1e-3


def test_the_target_ends(tmp_path):
    with workload("burn", 2, 1) as process:
        result = record("-p", process.pid, "--every", 1, "--out-dir", tmp_path)
    entries = list_of(tmp_path)
    assert sum(entry["samples"] for entry in entries) == result.summary["samples"] > 0


def lines_of(folder):
    with contextlib.suppress(FileNotFoundError):
        return (folder / "index.jsonl").read_text().count("\n")
    return 0


def test_killed_and_continued(burning, tmp_path):
    """A kill at any moment leaves no half file under its own name, and no partial line in the list
    for the next run."""
    for i in range(3):
        running = Running("-q", "-p", burning.pid, "--every", "200ms", "--out-dir", tmp_path,
                          start_new_session=True)
        before = lines_of(tmp_path)
        wait_until(lambda: lines_of(tmp_path) > before + 1)  # pylint: disable=cell-var-from-loop
        time.sleep(0.03 * i)
        os.killpg(running.process.pid, signal.SIGKILL)
        running.wait()
    with open(tmp_path / "index.jsonl", "a") as index:
        index.write('{"bpfflame":"0.1.0","set":"2026')
    (tmp_path / ".20261121T130501Z-oncpu.svg.bpfflame-1").write_text("half")
    record("-p", burning.pid, "-d", 1, "--every", 60, "--out-dir", tmp_path)
    # Complete files that no list names are left in place.
    listed = {file["name"] for line in (tmp_path / "index.jsonl").read_text().splitlines()
              for file in json.loads(line)["files"]}
    others = set(os.listdir(tmp_path)) - listed - {"index.jsonl", "index.html"}
    for name in others:
        assert NAME.match(name), name
        if name.endswith(".svg"):
            assert_well_formed(tmp_path / name)
        (tmp_path / name).unlink()
    entries = list_of(tmp_path)
    assert len(entries) >= 7
    assert page_of(tmp_path) == names(entries)


def writers_of(running):
    pid = running.process.pid
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        names = {int(child): comm_of(child) for child in children.read().split()}
    # Before the reader and the broker set their names, they are called bpfflame.
    return [child for child in names
            if names[child] == "bpfflame" and {"bpfflame-reader", "bpfflame-broker"} <= set(names.values())]


def test_a_writer_that_dies(burning, tmp_path):
    """Its set is lost; the recording continues, and says so once and at the end."""
    running = Running("--json", "-p", burning.pid, "-d", 6, "--every", "500ms",
                      "--out-dir", tmp_path)
    killed = []
    while not killed:
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            for child in writers_of(running):
                os.kill(child, signal.SIGKILL)
                killed.append(child)
        assert running.process.poll() is None, "no writer was seen"
    result = running.wait()
    assert result.returncode == 1, result
    assert "killed by signal 9" in error_line_of_stderr(result)
    sets = result.summary["sets"]
    assert sets["failed"] == 1
    assert len(list_of(tmp_path)) == sets["written"] > 2


def stop_a_writer(running):
    """Stops the process that writes a set. Returns its id."""
    while True:
        assert running.process.poll() is None, "no writer was seen"
        for child in writers_of(running):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGSTOP)
                time.sleep(0.05)
                if child in writers_of(running):
                    return child


def test_windows_join_while_a_writer_is_busy(burning, tmp_path):
    """Nothing is lost, and nothing waits."""
    running = Running("--json", "-p", burning.pid, "-d", 5, "--every", "500ms",
                      "--out-dir", tmp_path)
    writer = stop_a_writer(running)
    time.sleep(1.8)
    os.kill(writer, signal.SIGCONT)
    result = running.wait()
    assert result.returncode == 0, result
    entries = list_of(tmp_path)
    summary = result.summary
    assert max(entry["windows"] for entry in entries) >= 3
    assert sum(entry["windows"] for entry in entries) == summary["windows"] == 10
    assert summary["sets"]["joined_windows"] == 10 - len(entries)
    assert sum(entry["samples"] for entry in entries) == summary["samples"] > 0
    assert abs(sum(entry["duration_seconds"] for entry in entries) - 5) < 0.05


def test_asked_to_stop_twice(burning, tmp_path):
    """After the recording: the first signal ends the search for names, the second everything."""
    running = Running("-p", burning.pid, "--every", "500ms", "--out-dir", tmp_path)
    wait_until(lambda: lines_of(tmp_path) >= 1)
    stop_a_writer(running)
    listed = lines_of(tmp_path)
    for _ in range(2):
        running.signal(signal.SIGINT)
        time.sleep(1)
        assert running.process.poll() is None
    running.signal(signal.SIGINT)
    result = running.wait(5)
    assert result.returncode == 1, result
    assert "asked to stop twice" in result.stderr, result
    # It may have been stopped just after it listed its set.
    written, failed = re.search(r"(\d+) written.*?(\d+) failed", result.stderr).groups()
    assert (int(written), int(failed)) in ((listed, 0), (listed, 1)), result
    list_of(tmp_path)


def error_line_of_stderr(result):
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result
    return lines[0]


def test_two_recordings_in_one_folder(burning, tmp_path):
    """The same mode in the same second: no set replaces another."""
    runs = [Running("--json", "-p", burning.pid, "-d", 3, "--every", 1, "--out-dir", tmp_path)
            for _ in range(2)]
    runs.append(Running("--json", "--offcpu", "-p", burning.pid, "-d", 3, "--every", 1,
                        "--out-dir", tmp_path))
    summaries = []
    for running in runs:
        result = running.wait()
        assert result.returncode == 0, result
        summaries.append(result.summary)
    entries = list_of(tmp_path)
    assert len(entries) == len(set(names(entries))) == sum(
        summary["sets"]["written"] for summary in summaries)
    assert sum(entry["samples"] for entry in entries if entry["mode"] == "oncpu") == sum(
        summary["samples"] for summary in summaries[:2])
    assert sorted(page_of(tmp_path)) == sorted(names(entries))


# --- errors ---------------------------------------------------------------------------------


def test_folder_is_made_or_reported(burning, tmp_path):
    target = ("-p", burning.pid, "-d", 20, "--every", 1)
    for folder, wanted in ((tmp_path / "missing" / "sets", "missing"),
                           ("/proc/nothing", "/proc/nothing")):
        result = run(*target, "--out-dir", folder)
        assert result.returncode == 1, result
        assert wanted in error_line(result)
    (tmp_path / "file").write_text("")
    assert "file" in error_line(run(*target, "--out-dir", tmp_path / "file"))
    (tmp_path / "index.html").write_text("<title>my site</title>")
    result = run(*target, "--out-dir", tmp_path)
    assert result.returncode == 1 and "index.html" in error_line(result)
    assert (tmp_path / "index.html").read_text() == "<title>my site</title>"


def test_usage():
    for arguments, wanted in ((("--keep", 3), ("--keep", "--every")),
                              (("--every", "10ms"), ("--every", "100ms")),
                              (("--every", 1, "-o", "x.svg"), ("-o", "--every", "--out-dir")),
                              (("--every", 1, "--keep", "7x"), ("--keep", "7x", "12h", "2G"))):
        result = run("-a", *arguments)
        assert result.returncode == 2, result
        for text in wanted:
            assert text in error_line(result)


@contextlib.contextmanager
def small_disk(path, size, options=""):
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}{options}", "none", path],
                   check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


def test_full_disk(burning, tmp_path):
    """Sets that fit are complete; those that don't are reported once, and leave nothing."""
    with small_disk(tmp_path / "disk", "256k") as disk:
        result = run("--json", "-p", burning.pid, "-d", 6, "--every", "200ms", "--out-dir", disk)
        assert result.returncode == 1, result
        assert "No space left" in error_line_of_stderr(result)
        sets = result.summary["sets"]
        entries = [json.loads(line) for line in (disk / "index.jsonl").read_text().splitlines()]
        assert sets["failed"] > 0 and sets["written"] == len(entries) > 0
        for entry in entries:
            check_set(disk, entry)
        files = {file["name"] for entry in entries for file in entry["files"]}
        assert set(os.listdir(disk)) - files <= {"index.jsonl", "index.html"}


def test_no_room_for_any_set(burning, tmp_path):
    """The summary names no file that is not there."""
    with small_disk(tmp_path / "disk", "40k") as disk:
        result = run("--json", "-p", burning.pid, "-d", 0.5, "--every", "200ms", "--out-dir", disk)
        assert result.returncode == 1 and "No space left" in error_line_of_stderr(result), result
        assert result.summary["sets"]["written"] == 0 and result.summary["files"] == [], result
        assert set(os.listdir(disk)) <= {"index.html"}


def test_keep_makes_room_on_a_full_disk(burning, tmp_path):
    with small_disk(tmp_path / "disk", "512k") as disk:
        result = record("-p", burning.pid, "-d", 4, "--every", "200ms", "--keep", 3,
                        "--out-dir", disk)
        assert result.summary["sets"]["failed"] == 0
        assert len(list_of(disk)) == 3


def test_read_only(burning, tmp_path):
    with small_disk(tmp_path / "disk", "256k", ",ro") as disk:
        started = time.monotonic()
        result = run("-p", burning.pid, "-d", 20, "--every", 1, "--out-dir", disk)
        assert result.returncode == 1, result
        assert "disk" in error_line(result) and time.monotonic() - started < 5


def test_names_are_found_once(burning, tmp_path):
    """All windows have the same names, although only the first one read the files."""
    result = record("-p", burning.pid, "-d", 5, "--every", 1, "--out-dir", tmp_path)
    names = result.summary["sets"]["names"]
    # A later window may have a few of its own; found each time, there would be no hits.
    assert names["misses"] and names["hits"] > names["misses"] / 2, names
    assert not names["evictions"] and not names["given_up"]
    windows = [Folded(tmp_path / file["name"]) for entry in list_of(tmp_path)
               for file in entry["files"] if file["name"].endswith(".folded")]
    assert len(windows) >= 5
    for window in windows:
        assert {"burn_60", "burn_30", "burn_10"} <= window.names()
