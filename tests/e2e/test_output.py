# SPDX-License-Identifier: GPL-2.0-or-later
"""Files are complete or absent, whatever the names in them and however a run ends."""
import contextlib
import json
import os
import signal
import subprocess
import time

import pytest

from harness import (BPFFLAME, Folded, Running, assert_no_leftover, assert_no_loss, assert_only,
                     assert_well_formed, error_line, interrupt_when_recording, kernel_objects,
                     record, run, truth_of, wait_for_threads, workload)


@pytest.fixture(scope="module")
def burning():
    with workload("burn", 120, 1) as process:
        wait_for_threads(process.pid, 2)
        yield process


@contextlib.contextmanager
def full_disk(path):
    """A filesystem with hardly a byte left."""
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", path], check=True)
    try:
        with contextlib.suppress(OSError), open(path / "filler", "wb", buffering=0) as filler:
            while filler.write(b"x" * 512):
                pass
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


# --- files ----------------------------------------------------------------------------------


def test_default_names(burning, tmp_path):
    run("-q", "-p", burning.pid, "-d", 1, cwd=tmp_path)
    run("-q", "--offcpu", "-p", burning.pid, "-d", 1, "--out-dir", tmp_path)
    assert_only(tmp_path, ["offcpu.folded", "offcpu.svg", "oncpu.folded", "oncpu.svg"])
    for name in ("oncpu", "offcpu"):
        Folded(tmp_path / f"{name}.folded")
        assert_well_formed(tmp_path / f"{name}.svg")
        assert os.stat(tmp_path / f"{name}.svg").st_mode & 0o777 == 0o600


def test_folded_on_stdout(burning):
    result = run("-q", "-p", burning.pid, "-d", 1, "-o", "-")
    assert result.returncode == 0
    assert Folded(result.stdout.encode()).total() > 0
    assert result.stderr == ""


@pytest.mark.parametrize("arguments", [(), ("-d", 1)])
def test_end_of_waiting_for_who_reads_a_fifo(arguments, burning, tmp_path):
    """One request ends it, be it the one that ended the recording or one that came afterwards."""
    path = tmp_path / "x.folded"
    os.mkfifo(path)
    running = Running("-q", "-p", burning.pid, *arguments, "-o", path)
    result = interrupt_when_recording(running, signal.SIGTERM, 2.5)
    assert result.returncode == 1
    assert error_line(result) == f"bpfflame: cannot write {path}: nobody reads it"


def test_fifo_whose_reader_comes_late(burning, tmp_path):
    path = tmp_path / "x.folded"
    os.mkfifo(path)
    running = Running("-q", "-p", burning.pid, "-d", 0.5, "-o", path)
    time.sleep(2)
    assert Folded(path.read_bytes()).total() > 0
    assert running.wait().returncode == 0


def test_missing_folder_is_said_before_recording(burning, tmp_path):
    begin = time.monotonic()
    result = run("-p", burning.pid, "-d", 30, "-o", tmp_path / "no/x.svg")
    assert result.returncode == 1 and time.monotonic() - begin < 15
    assert error_line(result).endswith(f"mkdir -p {tmp_path}/no)")


def test_rate_without_a_meaning_is_said(burning, tmp_path):
    arguments = ("-p", burning.pid, "-d", 0.2, "-F", 50, "-o", tmp_path / "x.folded")
    said = "-F changes nothing with --offcpu"
    assert said in run("--offcpu", *arguments).stderr
    assert said not in run("--wall", *arguments).stderr


def test_json_is_one_object_and_nothing_else(burning, tmp_path):
    result = run("--json", "-p", burning.pid, "-d", 1, "-o", tmp_path / "x.svg")
    assert isinstance(json.loads(result.stdout), dict)
    assert result.stderr == ""
    assert_no_loss(result.summary)
    assert result.summary["peak_memory_bytes"] > 0
    assert [os.path.basename(str(f)) for f in result.summary["files"]] == ["x.svg"]


def test_summary_says_zero_losses(burning, tmp_path):
    result = run("-p", burning.pid, "-d", 1, "-o", tmp_path / "x.folded")
    assert result.returncode == 0
    assert "lost" in result.stderr or "loss" in result.stderr, result
    assert "x.folded" in result.stderr


def test_quiet(burning, tmp_path):
    result = run("-q", "-p", burning.pid, "-d", 1, "-o", tmp_path / "x.folded")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", ""), result


def test_names_that_break_formats(tmp_path):
    with workload("names", 6) as process:
        result = record("--threads", "-p", process.pid, "-F", 499, "-d", 3,
                        "-o", tmp_path / "x.folded", "-o", tmp_path / "x.svg")
        truth = truth_of(process)
    folded = Folded(tmp_path / "x.folded")
    assert_well_formed(tmp_path / "x.svg")
    assert folded.total() == result.summary["samples"]
    tids = {str(thread["tid"]) for thread in truth["threads"]}
    assert {root.rpartition("/")[2] for root in folded.roots()} >= tids
    comms = {root.rpartition("-")[0] for root in folded.roots()}
    assert {"a:b", "a:b 17", 'say "hi"', "it's", "<x>&amp:</x>", "]]>"} <= comms
    # The same from its own folded file, and from the strings that pprof can hold.
    assert run("render", tmp_path / "x.folded", "-o", tmp_path / "y.folded").returncode == 0
    assert (tmp_path / "y.folded").read_bytes() == (tmp_path / "x.folded").read_bytes()
    # pprof's strings are UTF-8.
    assert run("render", tmp_path / "x.folded", "-o", tmp_path / "y.pb.gz").returncode == 0
    assert run("render", tmp_path / "y.pb.gz", "-o", tmp_path / "z.folded").returncode == 0
    as_text = [sorted((tmp_path / name).read_text(errors="replace").splitlines())
               for name in ("x.folded", "z.folded")]
    assert as_text[0] == as_text[1]
    run("render", tmp_path / "x.folded", "-o", tmp_path / "z.folded", "--no-threads")
    assert Folded(tmp_path / "z.folded").roots() == comms


def test_existing_file_is_replaced(burning, tmp_path):
    (tmp_path / "x.folded").write_text("old\n")
    record("-p", burning.pid, "-d", 1, "-o", tmp_path / "x.folded")
    assert Folded(tmp_path / "x.folded").total() > 0


def test_unwritable_output_is_reported_before_recording(burning, tmp_path):
    started = time.monotonic()
    result = run("-p", burning.pid, "-d", 20, "-o", tmp_path / "missing" / "x.svg")
    assert result.returncode == 1, result
    assert time.monotonic() - started < 5
    assert "missing" in error_line(result)


def test_full_disk(burning, tmp_path):
    """The old file stays, or none exists: never half of one."""
    with full_disk(tmp_path / "full") as full:
        result = run("-p", burning.pid, "-d", 1, "-o", full / "x.svg")
        assert result.returncode == 1, result
        assert result.stderr.splitlines()[-1].startswith("bpfflame:"), result
        assert "No space left" in result.stderr, result
        assert_only(full, ["filler"])


def test_full_disk_keeps_the_old_file(burning, tmp_path):
    path = tmp_path / "full"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", path], check=True)
    try:
        (path / "x.svg").write_text("old")
        with contextlib.suppress(OSError), open(path / "filler", "wb", buffering=0) as filler:
            while filler.write(b"x" * 512):
                pass
        result = run("-p", burning.pid, "-d", 1, "-o", path / "x.svg")
        assert result.returncode == 1, result
        assert (path / "x.svg").read_text() == "old"
        assert_only(path, ["filler", "x.svg"])
    finally:
        subprocess.run(["umount", path], check=True)


def test_what_is_open_is_written_where_it_is(burning, tmp_path):
    """`-o /dev/stdout >>file`: the file and its contents stay."""
    kept = tmp_path / "kept"
    for name, where in [("/dev/stdout", "stdout"), ("/dev/fd/2", "stderr")]:
        kept.write_text("a;b 1\n")
        with open(kept, "a", encoding="ascii") as file:
            result = subprocess.run([BPFFLAME, "-q", "-p", str(burning.pid), "-d", "1",
                                     "-o", name], check=False, timeout=60, **{where: file})
        assert result.returncode == 0
        assert kept.read_text().startswith("a;b 1\n")
        assert Folded(kept).total() > 1
        assert_only(tmp_path, ["kept"])


@pytest.mark.parametrize("arguments", [
    ["-p", os.getpid(), "-d", "0.1", "--json", "-o", "/dev/null", "-f", "svg"],
    ["-F", "997", "-o", "-", "--", "sh", "-c", "i=0; while [ $i -lt 99999 ]; do i=$((i+1)); done"],
    ["--json", "-o", "/dev/null", "-f", "svg", "--exit-status", "--", "true"],
    ["report", "IN"], ["report", "--json", "IN"], ["render", "IN", "-o", "-"],
    ["diff", "IN", "IN"], ["diff", "--json", "IN", "IN"], ["events"], ["events", "--json"],
    ["baseline", "list", "--json"], ["--help"], ["--version"], ["help", "render"],
])
def test_standard_output_that_is_full_or_closed(tmp_path, arguments):
    (tmp_path / "IN").write_text("a;b 1\n")
    for redirection in (">/dev/full", ">&-"):
        result = subprocess.run(["sh", "-c", f'exec "$0" "$@" {redirection}', BPFFLAME,
                                 *map(str, arguments)], cwd=tmp_path, stderr=subprocess.PIPE,
                                timeout=60, check=False, text=True)
        assert result.returncode == 1, result
        assert "standard output" in result.stderr, result
        assert_only(tmp_path, ["IN"])


def test_limit_of_file_sizes(burning, tmp_path):
    """Reports it, and leaves existing files alone."""
    (tmp_path / "x.svg").write_text("old")
    result = subprocess.run(["sh", "-c", 'ulimit -f 4 && exec "$0" "$@"', BPFFLAME, "-p",
                             str(burning.pid), "-d", "1", "-o", "x.svg"], cwd=tmp_path,
                            capture_output=True, timeout=60, check=False, text=True)
    assert result.returncode == 1, result
    assert "ulimit -f unlimited" in error_line(result), result
    assert (tmp_path / "x.svg").read_text() == "old"
    assert_only(tmp_path, ["x.svg"])


def test_commands_have_the_limit_of_file_sizes_as_it_was(tmp_path):
    """bpfflame survives a file that becomes too large; its command does not."""
    result = run("-o", "/dev/null", "-f", "svg", "--", "sh", "-c",
                 "ulimit -f 1; exec head -c 4096 /dev/zero >big", cwd=tmp_path)
    assert "killed by signal 25" in result.stderr, result


# --- ends -----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("mode", ["--oncpu", "--offcpu"])
def test_signal_writes_complete_output(burning, tmp_path, number, mode):
    running = Running("--json", mode, "-p", burning.pid, "-o", tmp_path / "x.folded",
                      "-o", tmp_path / "x.svg")
    result = interrupt_when_recording(running, number, 1.5)
    assert result.returncode == 0, result
    assert Folded(tmp_path / "x.folded").total() > 0
    assert_well_formed(tmp_path / "x.svg")
    assert 0.5 < result.summary["duration_seconds"] < 2
    assert_only(tmp_path, ["x.folded", "x.svg"])


def test_interrupt_reaches_command_too(tmp_path):
    """A terminal sends Ctrl-C to both: the recording is still written."""
    running = Running("--json", "-o", tmp_path / "x.folded", "--", "/bin/sleep", "20",
                      start_new_session=True)
    time.sleep(1)
    os.killpg(running.process.pid, signal.SIGINT)
    result = running.wait()
    assert result.returncode == 0, result
    Folded(tmp_path / "x.folded")


def test_kill_leaves_nothing(burning, tmp_path):
    before = kernel_objects()
    for mode in ("--oncpu", "--offcpu"):
        running = Running(mode, "-p", burning.pid, "-o", tmp_path / "x.folded")
        time.sleep(1)
        running.signal(signal.SIGKILL)
        running.wait()
        assert_no_leftover(before)
        assert_only(tmp_path, [])
        record(mode, "-p", burning.pid, "-d", 1, "-o", tmp_path / f"{mode}.folded")
        os.unlink(tmp_path / f"{mode}.folded")
    assert_no_leftover(before)


def test_two_at_once(burning, tmp_path):
    runs = [Running("--json", mode, "-p", burning.pid, "-d", 2, "-o", tmp_path / f"{i}.folded")
            for i, mode in enumerate(["--oncpu", "--oncpu", "--offcpu", "--offcpu"])]
    for i, running in enumerate(runs):
        result = running.wait()
        assert result.returncode == 0, result
        assert_no_loss(result.summary)
        assert Folded(tmp_path / f"{i}.folded").total() > 0


def test_version_and_help():
    assert run("--version").stdout.startswith("bpfflame ")
    assert len(run("--help").stdout.splitlines()) <= 50
    assert BPFFLAME.stat().st_size <= 5 << 20
