# SPDX-License-Identifier: GPL-2.0-or-later
"""Wrong usage and impossible requests: the right exit code and one clear line."""
import os
import re
import shutil
import subprocess
import time

import pytest

from harness import BPFFLAME, ROOT, Folded, error_line, run, workload


@pytest.mark.parametrize("arguments, named", [
    ([], "-a"),
    (["-d", "1"], "-a"),
    (["-a", "-d", "0"], "-d"),
    (["-a", "-d", "-1"], "-d"),
    (["-a", "-d", "soon"], "-d"),
    (["-a", "-d", "1parsec"], "-d"),
    (["-a", "-F", "0", "-d", "1"], "-F"),
    (["-a", "-F", "-5", "-d", "1"], "-F"),
    (["-a", "-F", "99x", "-d", "1"], "-F"),
    (["-a", "--unwind-memory", "1k", "-d", "1"], "--unwind-memory"),
    (["-a", "--unwind-memory", "1Q", "-d", "1"], "--unwind-memory"),
    (["-a", "--unwind-memory", "99999999T", "-d", "1"], "--unwind-memory"),
    (["-a", "--no-such-option"], "--no-such-option"),
    (["-a", "-Z"], "Z"),
    (["-p"], "p"),
    (["-p", "abc", "-d", "1"], "-p"),
    (["-p", "0", "-d", "1"], "-p"),
    (["-p", "1,,2", "-d", "1"], "-p"),
    (["-t", "99999999999999999999", "-d", "1"], "-t"),
    (["-a", "-C", "banana", "-d", "1"], "-C"),
    (["--comm", "containerd-shim-runc-v2", "-d", "1"], "--comm"),
    (["-a", "--offcpu", "-m", "often", "-d", "1"], "-m"),
    (["-a", "--offcpu", "-m", "2s", "-M", "1s", "-d", "1"], "-M"),
    (["-a", "--wall", "-m", "2s", "-M", "1s", "-d", "1"], "-M"),
    (["-a", "-m", "1ms", "-d", "1"], "-m, --min-block"),
    (["-a", "--oncpu", "-M", "1ms", "-d", "1"], "--max-block"),
    (["-a", "--oncpu", "--offcpu", "-d", "1"], "--offcpu"),
    (["-a", "--wall", "--offcpu", "-d", "1"], "--wall"),
    (["-a", "--wakers", "-d", "1"], "--wakers"),
    (["-a", "--oncpu", "--wakers", "-d", "1"], "--wakers"),
    (["-a", "--waker-depth", "2", "-d", "1"], "--waker-depth"),
    (["-a", "--offcpu", "--waker-depth", "0", "-d", "1"], "--waker-depth"),
    (["-a", "--wall", "--waker-depth", "9", "-d", "1"], "--waker-depth"),
    (["-a", "--wall", "--waker-depth", "deep", "-d", "1"], "--waker-depth"),
    (["-a", "--waker-depth"], "--waker-depth"),
    (["-a", "--offcpu-period", "1ms", "-d", "1"], "--offcpu-period"),
    (["-a", "--offcpu", "--offcpu-period", "5s", "-d", "1"], "--offcpu-period"),
    (["-a", "--wall", "--offcpu-period", "-1", "-d", "1"], "--offcpu-period"),
    (["-a", "--wall", "--offcpu-period", "rarely", "-d", "1"], "--offcpu-period"),
    (["-a", "--fold-idle", "-d", "1"], "--fold-idle"),
    (["-a", "-d", "1", "-o", "x.unknown"], "x.unknown"),
    (["nonsense-command"], "nonsense-command"),
    (["-a", "-d", "1", "--out-dir", ""], "--out-dir: '' is not a folder"),
    (["--environment", "", "--", "true"], "--environment: '' is not a file"),
    (["render", ""], "'' is not a file"),
    (["report", ""], "'' is not a file"),
    (["diff", "x.folded", ""], "'' is not a file"),
    (["diff", "x", "y", "--markdown", ""], "--markdown: '' is not a file"),
    (["diff", "x", "y", "--rules", ""], "--rules: '' is not a file"),
    (["diff", "x", "y", "--junit", ""], "--junit: '' is not a file"),
    (["events", "--path", ""], "--path: '' is not a file"),
    (["daemon", "--store", "x", "--token-file", ""], "--token-file: '' is not a file"),
    (["daemon", "--store", "x", "--tls-key", ""], "--tls-key: '' is not a file"),
    (["daemon", "--config", ""], "--config: '' is not a file"),
])
def test_wrong_usage(tmp_path, arguments, named):
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode == 2, result
    assert named in result.stderr.splitlines()[0], result
    assert result.stdout == ""
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("arguments, meant", [
    (["--bogus", "-a"], "no option --bogus (see bpfflame --help)"),
    (["--druation", "5", "-a"], "no option --druation (did you mean --duration?)"),
    (["render", "--tilte", "x"], "did you mean --title"),
    (["--json=yes", "-a"], "--json takes no value"),
    (["reprot", "x.folded"], "did you mean report?"),
    (["help", "reprot"], "did you mean report?"),
    (["12062"], "bpfflame -p 12062"),
    (["-a", "--", "sleep", "1"], "-d TIME"),
    (["./app"], "bpfflame … -- ./app"),
    (["--xyzzy"], "no option --xyzzy (see bpfflame --help)"),
    (["-Z"], "unknown option -Z (see bpfflame --help)"),
    *[([command, "--xyzzy"], f"no option --xyzzy (see bpfflame {command} --help)")
      for command in ("render", "report", "diff", "query", "daemon", "baseline", "events", "doctor")],
    (["report", "--json=yes"], "--json takes no value (see bpfflame report --help)"),
    (["render", "-", "x.folded", "-", "-o", "-"], "- is given twice"),
    (["report", "-", "-"], "- is given twice"),
    (["diff", "-", "-"], "- is given twice"),
    (["diff", "--title"], "a value is missing after --title (see bpfflame diff --help)"),
], ids=lambda value: value[0] if isinstance(value, list) else "")
def test_suggestions(arguments, meant):
    result = run(*arguments)
    assert result.returncode == 2 and meant in error_line(result), result


def test_other_names(tmp_path):
    assert run("-V").stdout == run("--version").stdout != ""
    for arguments in ["record"], ["-q"], ["render"], ["report"], ["diff"], ["query"], ["daemon"]:
        result = run(*arguments, "--version")
        assert (result.returncode, result.stdout) == (0, run("--version").stdout), result
    assert run("help", "record").stdout == run("record", "--help").stdout == run("--help").stdout != ""
    result = run("record", "--json", "-a", "-d", "0.2", "-o", tmp_path / "x.folded")
    assert result.returncode == 0 and result.summary["mode"] == "oncpu", result


def test_frequency_above_what_the_kernel_allows(tmp_path):
    result = run("-a", "-F", "1000000", "-d", "1", cwd=tmp_path)
    assert result.returncode == 2, result
    line = error_line(result)
    assert "-F" in line and "kernel.perf_event_max_sample_rate" in line


def free_pid():
    """A process id that was in use a moment ago and is free now."""
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    return process.pid


@pytest.mark.parametrize("option", ["-p", "-t"])
@pytest.mark.parametrize("mode", ["--oncpu", "--offcpu"])
def test_target_that_does_not_exist(tmp_path, option, mode):
    pid = free_pid()
    result = run(mode, option, pid, "-d", 1, "-o", tmp_path / "x.folded")
    assert result.returncode == 1, result
    assert str(pid) in error_line(result)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("option, value", [("-C", "4095"), ("-G", "/sys/fs/cgroup/no-such-group"), ("-G", ""),
                                           ("-G", "/tmp")])
def test_target_that_cannot_be(tmp_path, option, value):
    result = run("-a", option, value, "-d", 1, "-o", tmp_path / "x.folded")
    assert result.returncode in (1, 2), result
    error_line(result)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("life", [0.0, 0.02, 0.2])
def test_target_that_ends_at_once(tmp_path, life):
    """Either it was gone, and a message says so, or everything that it did is written."""
    process = subprocess.Popen(["/bin/sleep", str(life)])
    started = time.monotonic()
    # Reaped at once, as by init: never a zombie while we look.
    import threading
    threading.Thread(target=process.wait, daemon=True).start()
    result = run("-p", process.pid, "-d", 10, "-o", tmp_path / "x.folded")
    assert time.monotonic() - started < 8
    if result.returncode == 0:
        Folded(tmp_path / "x.folded")
    else:
        assert result.returncode == 1, result
        assert str(process.pid) in error_line(result)


def test_zombie(tmp_path):
    """A process that ended but was not reaped has nothing left to record."""
    process = subprocess.Popen(["/bin/true"])
    time.sleep(0.3)
    started = time.monotonic()
    result = run("-p", process.pid, "-d", 10, "-o", tmp_path / "x.folded")
    process.wait()
    assert result.returncode in (0, 1), result
    assert time.monotonic() - started < 8


@pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv")
@pytest.mark.parametrize("mode", ["--oncpu", "--offcpu"])
def test_without_rights(mode):
    """One line, which says how to fix it."""
    folder = subprocess.run(["mktemp", "-d", "/tmp/bpfflame-test-XXXXXX"], check=True,
                            capture_output=True, text=True).stdout.strip()
    try:
        os.chmod(folder, 0o777)
        copy = shutil.copy(BPFFLAME, folder)
        os.chmod(copy, 0o755)
        result = subprocess.run(
            ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", copy, mode, "-a",
             "-d", "1"], cwd=folder, capture_output=True, text=True, timeout=30)
        assert result.returncode == 1, result
        assert len(result.stderr.splitlines()) == 1, result
        assert "root" in result.stderr or "CAP_" in result.stderr, result
        assert os.listdir(folder) == ["bpfflame"]
    finally:
        shutil.rmtree(folder)


def test_target_of_another_kind(tmp_path):
    """A kernel thread is a process like any other."""
    with workload("sh", command=["/bin/sleep", "5"]):
        result = run("--json", "--offcpu", "-p", "2", "-d", "1", "-o", tmp_path / "x.folded")
    assert result.returncode == 0, result
    # kthreadd's children, which are recorded with it, are the other kernel threads.
    folded = Folded(tmp_path / "x.folded")
    assert "kthreadd" in folded.roots()
    assert all(name.endswith("_[k]") or name.startswith("[")
               for frames, _ in folded.stacks for name in frames[1:])


COMMANDS = ["", "render", "report", "diff", "daemon", "query", "baseline", "events", "doctor"]
COMPLETIONS = ROOT / "tools" / "packaging" / "completions"


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_listed_for_completions(command):
    words = [command] if command else []
    listed = [line.split("\t")[0] for line in run(*words, "--list-options").stdout.splitlines()]
    seen = set(re.findall(r"(--[a-z][a-z-]+)", run(*words, "--help").stdout))
    assert listed and len(listed) == len(set(listed))
    assert {name.rstrip("=") for name in listed} >= seen - {"--version", "--list-options"}, seen - set(listed)


def completed(*words):
    script = f'. {COMPLETIONS}/bpfflame.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bpfflame; ' \
        'printf "%s\\n" "${COMPREPLY[@]}"'
    return subprocess.run(["bash", "-c", script, "bash", BPFFLAME, *words], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split()


def test_bash_completes():
    assert completed("rep") == ["report"]
    assert "--offcpu-period=" in completed("--off") and "--offcpu" in completed("--off")
    assert completed("report", "--so") == ["--sort="]
    assert completed("record", "--dura") == ["--duration="]
    assert "diff" in completed("help", "")
    assert "1" in completed("-p", "1")
    assert completed("baseline", "s") == ["save", "show"]
    assert completed("-a", "--", "ls", "--col") == []


def test_completions_know_the_commands():
    help_text = run("--help").stdout
    for shell in "bpfflame.bash", "_bpfflame", "bpfflame.fish":
        words = (COMPLETIONS / shell).read_text().split()
        for command in COMMANDS[1:]:
            assert any(command in re.split(r"[^a-z]", word) for word in words), (shell, command)
            assert command in help_text
