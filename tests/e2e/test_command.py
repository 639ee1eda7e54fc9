# SPDX-License-Identifier: GPL-2.0-or-later
"""bpfflame … -- COMMAND: the command runs as it would without bpfflame, and its exit status is
passed on."""
import contextlib
import fcntl
import json
import os
import pty
import resource
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

import users
from harness import (BPFFLAME, WORKLOADS, Folded, Running, assert_only, comm_of, error_line, record,
                     run, wait_until)

PROBE = WORKLOADS / "probe"
PYTHON = "/usr/bin/python3"


# --- its exit status ------------------------------------------------------------------------


@pytest.mark.parametrize("script, options, code", [
    ("exit 0", ["--exit-status"], 0),
    ("exit 7", ["--exit-status"], 7),
    ("exit 1", ["--exit-status"], 1),
    ("exit 255", ["--exit-status"], 255),
    ("kill -9 $$", ["--exit-status"], 137),
    ("kill -TERM $$", ["--exit-status"], 143),
    ("exit 7", [], 0),
    ("kill -9 $$", [], 0),
])
def test_exit_status(tmp_path, script, options, code):
    result = run("--json", *options, "-o", tmp_path / "x.folded", "--", "sh", "-c", script)
    assert result.returncode == code, result
    command = result.summary["command"]
    assert command["ended"] is True
    said = 128 + command["signal"] if "signal" in command else command["exit_status"]
    assert said == (code if options else said)
    assert said == {"exit 7": 7, "kill -9 $$": 137}.get(script, code)


def test_exit_status_is_said(tmp_path):
    result = run("-o", tmp_path / "x.folded", "--", "sh", "-c", "exit 7")
    assert "exit status 7" in result.stderr, result
    result = run("-o", tmp_path / "x.folded", "--", "sh", "-c", "kill -9 $$")
    assert "killed by signal 9" in result.stderr, result


def test_command_that_is_too_short_for_a_sample(tmp_path):
    result = run("-F", "1", "-o", tmp_path / "x.folded", "--", "true")
    assert result.returncode == 0
    assert "COMMAND used too little CPU time to be sampled" in result.stderr, result


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_our_failure_wins(tmp_path):
    """The message says which of the two failed."""
    result = run("-q", "--exit-status", "-o", "/dev/full", "-f", "folded", "-F", "999", "--",
                 "sh", "-c", f"{WORKLOADS}/execs 0.2; exit 7")
    assert result.returncode == 1, result
    lines = result.stderr.splitlines()
    assert "No space left" in lines[0] and "COMMAND's is 7" in lines[1], result


@pytest.mark.parametrize("script, code", [("exit 0", 4), ("exit 7", 7)])
def test_losses_and_exit_status(tmp_path, script, code):
    """Status 4 is only returned if the command's is 0. Ring buffers overflow while bpfflame is
    stopped."""
    result = run("--json", "--exit-status", "--max-loss", "0", "-F", "20000",
                 "-o", tmp_path / "x.folded", "--", "sh", "-c",
                 "(sleep 0.5; kill -STOP $PPID; sleep 4; kill -CONT $PPID) & "
                 f"{WORKLOADS}/stacks burn 4.7 200000 >/dev/null; wait; {script}")
    assert result.summary["loss_percent"] > 0, result
    assert result.returncode == code, result


@pytest.mark.parametrize("option", [["--exit-status"], ["--as-root"], ["--user", "nobody"],
                                    ["--environment", "/proc/self/environ"]])
def test_options_that_need_a_command(tmp_path, option):
    result = run(*option, "-a", "-d", 1, "-o", tmp_path / "x.folded")
    assert result.returncode == 2, result
    assert option[0] in error_line(result)


def test_user_that_does_not_exist(tmp_path):
    result = run("--user", "no-such-user", "-o", tmp_path / "x.folded", "--", "true")
    assert result.returncode == 2, result
    assert "no-such-user" in error_line(result)
    result = run("--user", "nobody", "--as-root", "-o", tmp_path / "x.folded", "--", "true")
    assert result.returncode == 2 and "--as-root" in error_line(result), result


# --- what cannot be run ---------------------------------------------------------------------


@pytest.fixture
def bad_programs(tmp_path):
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "folder").mkdir()
    (folder / "not-executable").write_text("#!/bin/sh\n")
    (folder / "no-interpreter").write_text("#!/no/such/interpreter\n")
    (folder / "no-interpreter").chmod(0o755)
    (folder / "no-program").write_bytes(b"\x7fELF\0\0\0\0 something else")
    (folder / "no-program").chmod(0o755)
    return folder


@pytest.mark.parametrize("command, said", [
    ("no-such-command", "no such command"),
    ("cd", "sh -c"),
    ("export", "sh -c"),
    ("programs/missing", "No such file"),
    ("programs/folder", "folder"),
    ("programs/not-executable", "chmod +x"),
    ("programs/no-interpreter", "interpreter"),
    ("programs/not-executable/x", "No such file"),
    ("", "no such command"),
])
def test_command_that_cannot_run(tmp_path, bad_programs, command, said):
    out = tmp_path / "out"
    out.mkdir()
    started = time.monotonic()
    result = run("--exit-status", "-o", out / "x.folded", "--", command, "argument", cwd=tmp_path)
    assert result.returncode == 1, result
    line = error_line(result)
    assert said in line and command in line, line
    assert_only(out, [])
    assert time.monotonic() - started < 10


def test_script_without_a_first_line_is_the_shells(tmp_path):
    """A script without `#!` runs in a shell, as with execvp()."""
    script = tmp_path / "script"
    script.write_text("exit 9\n")
    script.chmod(0o755)
    assert run("-q", "--exit-status", "-o", tmp_path / "x.folded", "--", script).returncode == 9


def test_path_is_searched_as_execvp_does(tmp_path):
    """Folders, and files that may not be executed, are skipped."""
    for name in "abc":
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "thing").mkdir()
    (tmp_path / "b" / "thing").write_text("exit 3\n")
    (tmp_path / "c" / "thing").write_text("#!/bin/sh\nexit 4\n")
    (tmp_path / "c" / "thing").chmod(0o755)
    path = ":".join(str(tmp_path / name) for name in "abc")
    environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
    result = run("-q", "--exit-status", "-o", tmp_path / "x.folded", "--", "thing",
                 env=environment)
    assert result.returncode == 4, result
    (tmp_path / "c" / "thing").unlink()
    result = run("-q", "-o", tmp_path / "x.folded", "--", "thing", env=environment)
    assert result.returncode == 1 and "Permission denied" in error_line(result)


# --- what it inherits -----------------------------------------------------------------------


def peculiar():
    """A state unlike any default, for the command to inherit; runs in the child."""
    os.umask(0o027)
    os.nice(3)
    resource.setrlimit(resource.RLIMIT_NOFILE, (700, 5000))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM, signal.SIGWINCH})
    Path("/proc/self/oom_score_adj").write_text("77")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


@contextlib.contextmanager
def probed_files(folder):
    """Standard files and one more, which both runs get."""
    (folder / "in").write_text("in")
    with open(folder / "in", "rb") as stdin, open(folder / "out", "ab") as stdout, \
            open(folder / "err", "ab") as stderr, open(folder / "extra", "wb") as extra:
        os.dup2(extra.fileno(), 57, inheritable=True)
        try:
            yield {"stdin": stdin, "stdout": stdout, "stderr": stderr, "pass_fds": [57]}
        finally:
            os.close(57)


def probe(folder, *prefix, name, setup=None, env=None, **more):
    """The lines that the probe prints, run directly or after @prefix."""
    with probed_files(folder) as files:
        result = subprocess.run([*map(str, prefix), PROBE, folder / name], preexec_fn=setup,
                                env=env, cwd=folder, timeout=60, check=False, **files, **more)
    assert result.returncode == 0, (folder / "err").read_text()
    return (folder / name).read_text(errors="replace").splitlines()


@pytest.mark.parametrize("mode", ["--oncpu", "--offcpu"])
@pytest.mark.parametrize("setup", [None, peculiar])
def test_command_sees_what_it_would_see_without_us(tmp_path, mode, setup):
    environment = {**os.environ, "ODD": "a=b c\nd", "EMPTY": "", "SUDO_UID": "0"}
    direct = probe(tmp_path, name="direct", setup=setup, env=environment)
    ours = probe(tmp_path, BPFFLAME, "-q", mode, "-o", tmp_path / "x.folded", "--", name="ours",
                 setup=setup, env=environment)
    assert ours == direct
    text = "\n".join(direct)
    # The probe does notice such things.
    assert f"descriptor 57: {tmp_path}/extra" in text and "environment: ODD=a=b c" in text
    if setup:
        assert "nice: 3" in text and "Umask:\t0027" in text and "oom_score_adj: 77" in text
        assert any("Max open files" in line and " 700 " in line for line in direct)
    Folded(tmp_path / "x.folded")


def test_closed_standard_files_stay_closed(tmp_path):
    script = 'exec "$@" <&- >&- 2>&-'
    lines = []
    for prefix in ([], [BPFFLAME, "-q", "-o", tmp_path / "x.folded", "--"]):
        subprocess.run(["sh", "-c", script, "sh", *prefix, PROBE, tmp_path / "output"], check=True,
                       timeout=60)
        lines.append([line for line in (tmp_path / "output").read_text().splitlines()
                      if line.startswith("descriptor")])
    assert lines[0] == lines[1]


def test_standard_files_are_the_commands(tmp_path):
    """The command reads and writes them, bpfflame does not: binary data of any size, and end of
    file."""
    data = os.urandom(1 << 20)
    result = subprocess.run([BPFFLAME, "-o", tmp_path / "x.folded", "--", "sh", "-c",
                             "cat; printf said >&2"], input=data, capture_output=True,
                            timeout=60, check=True)
    assert result.stdout == data
    assert result.stderr.startswith(b"said")
    assert b"exit status 0" in result.stderr


def test_broken_pipe_ends_the_command(tmp_path):
    """SIGPIPE has its default action in the command, although bpfflame ignores it."""
    script = f"{BPFFLAME} -q -o {tmp_path}/x.folded -- yes | head -n 1"
    started = time.monotonic()
    result = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60,
                            check=True)
    assert result.stdout == "y\n" and time.monotonic() - started < 20
    Folded(tmp_path / "x.folded")


def test_arguments_are_passed_as_given(tmp_path):
    arguments = ["", " ", "--", "-d", "a\nb", "ü", "*"] + [f"argument-{i}" for i in range(1000)]
    result = subprocess.run([BPFFLAME, "-q", "-o", tmp_path / "x.folded", "--", PYTHON, "-c",
                             "import json, sys; print(json.dumps(sys.argv[1:]))", *arguments],
                            capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(result.stdout) == arguments


def test_environment_of_a_file(tmp_path):
    """Exactly the variables of the file, in the format of `env -0`; its PATH is searched."""
    (tmp_path / "thing").write_text("#!/bin/sh\n/usr/bin/env -0\n")
    (tmp_path / "thing").chmod(0o755)
    variables = [f"PATH={tmp_path}", "A=b=c", "LINES=one\ntwo", "EMPTY="]
    (tmp_path / "environment").write_text("".join(each + "\0" for each in variables))
    result = run("-q", "-o", tmp_path / "x.folded", "--environment", tmp_path / "environment",
                 "--", "thing")
    assert result.returncode == 0, result
    # Variables that the shell adds.
    assert set(variables) <= set(result.stdout.split("\0")) <= {*variables, "", *(
        f"PWD={os.getcwd()}", "SHLVL=0", "_=/usr/bin/env", "OLDPWD=")}, result
    result = run("-q", "-o", tmp_path / "x.folded", "--environment", tmp_path / "missing",
                 "--", "thing")
    assert result.returncode == 1 and "missing" in error_line(result)


def test_many_children(tmp_path):
    """All of them are recorded, and none causes trouble."""
    script = "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done"
    result = record("-F", 999, "-o", tmp_path / "x.folded", "--", "sh", "-c", script)
    assert result.summary["command"]["exit_status"] == 0
    assert {"sh", "true"} <= Folded(tmp_path / "x.folded").roots()


@pytest.mark.parametrize("mode", ["--oncpu", "--offcpu", "--wall"])
def test_short_commands(tmp_path, mode):
    for _ in range(5):
        result = run("-q", "--exit-status", mode, "-o", tmp_path / "x.folded", "--", "false")
        assert result.returncode == 1 and result.stderr == "", result
        Folded(tmp_path / "x.folded")


def test_daemon_goes_on_after_the_commands_end(tmp_path):
    """The recording ends with the command; its background processes are left alone."""
    script = (f"cd {tmp_path}; setsid sh -c 'until [ -e go ]; do sleep 0.05; done; echo done >done' "
              "</dev/null >/dev/null 2>&1 & exit 5")
    result = run("-q", "--exit-status", "-o", tmp_path / "x.folded", "--", "sh", "-c", script)
    (tmp_path / "go").touch()
    assert result.returncode == 5, result
    wait_until(lambda: (tmp_path / "done").exists())


# --- -d ends the recording, not the command -------------------------------------------------


def kernel_files(pid):
    """BPF objects and events that a process holds."""
    files = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            files.append(os.readlink(path))
    return [name for name in files if "bpf" in name or "perf" in name]


def test_duration_leaves_the_command_alone(tmp_path):
    """With --exit-status, files are written when the time is over; bpfflame ends with the
    command."""
    script = f"sleep 3; echo end >{tmp_path}/end; exit 6"
    running = Running("--exit-status", "-d", "1", "-o", tmp_path / "x.folded", "--",
                      "sh", "-c", script)
    wait_until((tmp_path / "x.folded").exists, 2.9)
    assert not (tmp_path / "end").exists()
    # It has closed everything that recorded, and only waits.
    wait_until(lambda: not kernel_files(running.process.pid), 2)
    result = running.wait()
    assert result.returncode == 6, result
    assert (tmp_path / "end").exists()
    assert "still running" in result.stderr and "exit status 6" in result.stderr.splitlines()[-1]
    assert 2.9 < result.ended - result.started < 15


def test_duration_ends_bpfflame(tmp_path):
    # Files shared with bpfflame would make us wait for its end.
    script = f"exec >/dev/null 2>&1; sleep 3; echo end >{tmp_path}/end"
    result = run("-d", "1", "-o", tmp_path / "x.folded", "--", "sh", "-c", script)
    assert result.returncode == 0, result
    assert "still running" in result.stderr and not (tmp_path / "end").exists()
    Folded(tmp_path / "x.folded")
    wait_until((tmp_path / "end").exists)


def test_duration_longer_than_the_command(tmp_path):
    result = record("-d", "30", "-o", tmp_path / "x.folded", "--", "sleep", "0.5")
    assert result.summary["duration_seconds"] < 5


def test_signals_reach_a_command_that_is_no_longer_recorded(tmp_path):
    running = Running("-q", "--exit-status", "-d", "0.5", "-o", tmp_path / "x.folded", "--",
                      "sh", "-c", "trap 'exit 8' USR1; while :; do sleep 0.1; done")
    wait_until((tmp_path / "x.folded").exists)
    running.signal(signal.SIGUSR1)
    assert running.wait().returncode == 8


# --- signals --------------------------------------------------------------------------------

# Prints a line for each signal it gets; its argument names those that end it.
LISTENER = """
import os, signal, sys
last = sys.argv[1].split(",")
out = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def heard(number, frame):
    name = signal.Signals(number).name[3:]
    os.write(out, (name + "\\n").encode())
    if name in last:
        os._exit(11)
for name in "INT TERM HUP QUIT USR1 USR2 WINCH TSTP CONT".split():
    signal.signal(getattr(signal, "SIG" + name), heard)
os.write(out, b"ready\\n")
while True:
    signal.pause()
"""


class Listener:
    """A command that prints its signals, under bpfflame."""

    def __init__(self, folder, *options, last="TERM", **popen):
        self.heard_path = folder / "heard"
        self.running = Running("--json", "--exit-status", *options, "-o", folder / "x.folded",
                               "--", PYTHON, "-c", LISTENER, last, self.heard_path, **popen)
        wait_until(lambda: self.heard()[:1] == ["ready"], 20)

    def heard(self):
        return self.heard_path.read_text().splitlines() if self.heard_path.exists() else []

    def wait_for(self, *names):
        wait_until(lambda: self.heard()[1:] == list(names))

    def end(self, code=11):
        result = self.running.wait()
        assert result.returncode == code, result
        Folded(self.running.arguments[self.running.arguments.index("-o") + 1])
        return result


@pytest.mark.parametrize("name", ["USR1", "USR2", "WINCH", "INT", "QUIT", "HUP"])
def test_signal_is_passed_on_once(tmp_path, name):
    listener = Listener(tmp_path)
    number = getattr(signal, "SIG" + name)
    listener.running.signal(number)
    listener.wait_for(name)
    time.sleep(0.2)
    listener.running.signal(signal.SIGTERM)
    listener.end()
    assert listener.heard() == ["ready", name, "TERM"]


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT"])
def test_command_ends_as_it_would(tmp_path, name):
    """Its handler runs to its end, and all of that is recorded."""
    listener = Listener(tmp_path, last=name)
    listener.running.signal(getattr(signal, "SIG" + name))
    result = listener.end()
    assert result.summary["command"] == {**result.summary["command"], "ended": True,
                                         "exit_status": 11}


def test_signals_in_a_row(tmp_path):
    listener = Listener(tmp_path)
    for name in "USR1", "WINCH", "USR2", "USR1":
        listener.running.signal(getattr(signal, "SIG" + name))
        wait_until(lambda: listener.heard()[-1] == name)
    listener.running.signal(signal.SIGTERM)
    listener.end()
    assert listener.heard() == ["ready", "USR1", "WINCH", "USR2", "USR1", "TERM"]


def test_command_that_does_not_end_is_written_all_the_same(tmp_path):
    """Whoever sends SIGTERM may send SIGKILL next, so the files are there within two seconds."""
    listener = Listener(tmp_path, last="USR1")
    listener.running.signal(signal.SIGTERM)
    wait_until((tmp_path / "x.folded").exists, 10)
    assert listener.heard() == ["ready", "TERM"]
    listener.running.signal(signal.SIGUSR1)
    result = listener.end()
    assert result.summary["command"]["ended"] is False


def test_second_request_ends_the_recording_at_once(tmp_path):
    listener = Listener(tmp_path, last="USR1")
    started = time.monotonic()
    listener.running.signal(signal.SIGINT)
    time.sleep(0.2)
    listener.running.signal(signal.SIGINT)
    wait_until((tmp_path / "x.folded").exists)
    listener.wait_for("INT", "INT")
    listener.running.signal(signal.SIGUSR1)
    # However long the file takes.
    assert listener.end().window()[1] - started < 1.9


def test_signal_from_the_command_does_not_come_back(tmp_path):
    """`kill $PPID`, and a shell's `kill 0`: the command has the signal already, or sent it."""
    script = ("trap 'echo usr1' USR1; sh -c 'kill -USR1 $1; sleep 0.3' sh $PPID; sleep 0.3; "
              "echo end")
    result = run("-q", "-o", tmp_path / "x.folded", "--", "sh", "-c", script)
    assert result.stdout == "end\n", result
    script = "trap 'echo term; exit 3' TERM; kill 0; sleep 1"
    result = run("-q", "--exit-status", "-o", tmp_path / "x.folded", "--", "sh", "-c", script,
                 start_new_session=True)
    assert result.stdout == "term\n" and result.returncode == 3, result


def test_stop_and_continue(tmp_path):
    """Sent to bpfflame alone: both stop, and both continue."""

    def state(pid):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    running = Running("--json", "-o", tmp_path / "x.folded", "--", "sleep", "3",
                      preexec_fn=os.setpgrp)
    bpfflame = running.process.pid
    wait_until(lambda: Path(f"/proc/{bpfflame}/task/{bpfflame}/children").read_text().split())
    command = int(Path(f"/proc/{bpfflame}/task/{bpfflame}/children").read_text().split()[0])
    wait_until(lambda: Path(f"/proc/{command}/comm").read_text() == "sleep\n")
    running.signal(signal.SIGTSTP)
    wait_until(lambda: state(bpfflame) == "T" and state(command) == "T")
    running.signal(signal.SIGCONT)
    wait_until(lambda: state(bpfflame) != "T" and state(command) != "T")
    assert running.wait().returncode == 0
    Folded(tmp_path / "x.folded")


def test_hang_up_is_ignored_under_nohup(tmp_path):
    running = Running("-q", "-o", tmp_path / "x.folded", "--", "sleep", "2",
                      preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    time.sleep(1)
    running.signal(signal.SIGHUP)
    result = running.wait()
    assert result.returncode == 0 and result.ended - result.started > 2, result


def test_signal_before_the_command_runs(tmp_path):
    """While BPF programs are loaded: at any moment, it ends and returns its status."""
    for delay in 0.0, 0.005, 0.02, 0.05, 0.1:
        running = Running("-q", "-o", tmp_path / "x.folded", "--", "sleep", "30")
        time.sleep(delay)
        running.signal(signal.SIGINT)
        result = running.wait(20)
        # Before signals are caught, they end bpfflame as they would any program.
        assert result.returncode in (0, -signal.SIGINT), result


def test_both_ends_of_a_killed_run(tmp_path):
    """SIGKILL cannot be passed on: the command that is waiting to start does not start."""
    for delay in 0.01, 0.03, 0.06:
        running = Running("-q", "-o", tmp_path / "x.folded", "--", "touch", tmp_path / "ran")
        time.sleep(delay)
        running.signal(signal.SIGKILL)
        running.wait()
    time.sleep(0.2)
    left = set(os.listdir(tmp_path))
    # If the machine was faster than the signal, everything is there, complete.
    assert left in (set(), {"ran"}, {"ran", "x.folded"})
    if "x.folded" in left:
        Folded(tmp_path / "x.folded")


# --- on a terminal --------------------------------------------------------------------------

# A shell with job control, reduced to one job: prints how its job stops and ends.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(job, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
    os.tcsetpgrp(0, os.getpgrp())
    print("job stopped by", os.WSTOPSIG(status), flush=True)
    sys.stdin.readline()
    os.tcsetpgrp(0, job)
    os.killpg(job, signal.SIGCONT)
os.tcsetpgrp(0, os.getpgrp())
print("job ended with", os.waitstatus_to_exitcode(status), flush=True)
"""


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *command, **options):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(PYTHON, [PYTHON, "-c", SHELL, *map(str, command)])
        self.text = b""
        self.ended = False

    def _read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 4096)
            except OSError:
                data = b""
            self.text += data
            self.ended = not data

    def expect(self, text, timeout=20):
        end = time.monotonic() + timeout
        while text.encode() not in self.text:
            assert time.monotonic() < end and not self.ended, self.text
            self._read(0.1)
        self.text = self.text.partition(text.encode())[2]

    def type(self, text):
        os.write(self.fd, text.encode())

    def processes(self):
        """All of its processes, children after their parents."""
        found = [self.pid]
        for pid in found:
            with contextlib.suppress(FileNotFoundError):
                children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                found += [int(child) for child in children if not comm_of(child).startswith("bpfflame-")]
        return found

    def done(self):
        for pid in reversed(self.processes()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@pytest.fixture
def terminal():
    terminals = []

    def make(*command):
        terminals.append(Terminal(*command))
        return terminals[-1]

    yield make
    for each in terminals:
        each.done()


def listen_on(terminal, tmp_path, last, *options):
    heard = tmp_path / "heard"
    there = terminal(BPFFLAME, "--exit-status", *options, "-o", tmp_path / "x.folded", "--",
                     PYTHON, "-c", LISTENER, last, heard)
    wait_until(lambda: heard.exists() and "ready" in heard.read_text(), 20)
    return there, lambda: heard.read_text().splitlines()[1:]


@pytest.mark.parametrize("key, name", [("\x03", "INT"), ("\x1c", "QUIT")])
def test_key_reaches_the_command_once(terminal, tmp_path, key, name):
    """The recording continues until the command ends, now or later, or to the next key."""
    there, heard = listen_on(terminal, tmp_path, "USR1")
    command = there.processes()[-1]
    there.type(key)
    wait_until(lambda: heard() == [name])
    time.sleep(2.5)
    assert heard() == [name] and not (tmp_path / "x.folded").exists()
    there.type(key)
    there.expect("still running")
    there.expect("written")
    assert heard() == [name, name]
    Folded(tmp_path / "x.folded")
    # The command continues, and bpfflame waits for its status.
    os.kill(command, signal.SIGUSR1)
    there.expect("job ended with 11")


def test_interrupted_command_is_written_at_once(terminal, tmp_path):
    there, heard = listen_on(terminal, tmp_path, "INT")
    there.type("\x03")
    there.expect("exit status 11")
    there.expect("job ended with 11")
    assert heard() == ["INT"]
    Folded(tmp_path / "x.folded")


def test_window_size_reaches_the_command_once(terminal, tmp_path):
    there, heard = listen_on(terminal, tmp_path, "INT")
    fcntl.ioctl(there.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 90, 0, 0))
    wait_until(lambda: heard() == ["WINCH"])
    time.sleep(0.3)
    assert heard() == ["WINCH"]
    there.type("\x03")
    there.expect("job ended with 11")


def test_job_control(terminal, tmp_path):
    """Ctrl-Z returns the terminal to the shell, and fg resumes both."""
    there = terminal(BPFFLAME, "-o", tmp_path / "x.folded", "--", PYTHON, "-c",
                     "import time\nprint('up', flush=True)\ntime.sleep(1)\n"
                     "print('read', input(), flush=True)")
    there.expect("up")
    there.type("\x1a")
    there.expect(f"job stopped by {int(signal.SIGTSTP)}")
    there.type("\n")
    time.sleep(1.5)
    there.type("words\n")
    there.expect("read words")
    there.expect("exit status 0")
    there.expect("job ended with 0")
    Folded(tmp_path / "x.folded")


def test_command_has_the_terminal(terminal, tmp_path):
    """It is in the foreground on the controlling terminal, and only it writes there."""
    there = terminal(BPFFLAME, "-o", tmp_path / "x.folded", "--", "sh", "-c",
                     f"{PROBE} {tmp_path}/output; sleep 1; echo first; sleep 1")
    there.expect("first")
    assert b"recording" not in there.text
    facts = (tmp_path / "output").read_text()
    assert "in the foreground: 1" in facts and "terminal: 1" in facts
    there.expect("job ended with 0")


def test_keys_are_not_for_a_scripts_background(terminal, tmp_path):
    """If SIGINT is ignored from the start, Ctrl-C ends neither command nor recording."""
    there = terminal("/bin/sh", "-c", f"trap '' INT; {BPFFLAME} -q -o {tmp_path}/x.folded -- "
                     f"sh -c 'echo up; sleep 2; echo over' & wait $!; echo waited $?")
    there.expect("up")
    there.type("\x03")
    time.sleep(0.3)
    there.type("\x03")
    there.expect("over")
    there.expect("waited 0")
    Folded(tmp_path / "x.folded")


# --- rights ---------------------------------------------------------------------------------

RECORDING_RIGHTS = {"bpf": 39, "perfmon": 38, "sys_ptrace": 19, "sys_admin": 21,
                    "sys_resource": 24, "dac_read_search": 2, "syslog": 34, "sys_nice": 23}


@pytest.fixture
def open_folder(tmp_path):
    """A folder that everybody may use."""
    for path in [tmp_path, *tmp_path.parents]:
        if str(path).startswith("/tmp/"):
            path.chmod(path.stat().st_mode | 0o011)
    tmp_path.chmod(0o1777)
    shutil.copy(BPFFLAME, tmp_path / "bpfflame")
    shutil.copy(PROBE, tmp_path / "probe")
    return tmp_path


@pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv")
def test_rights_are_not_handed_down(open_folder):
    """Capabilities that an ordinary user got for recording stay with bpfflame; other ones are
    inherited."""
    has = int(Path("/proc/self/status").read_text().partition("CapBnd:")[2].split()[0], 16)
    rights = ",".join(f"+{name}" for name, bit in {**RECORDING_RIGHTS,
                                                   "net_bind_service": 10}.items()
                      if has >> bit & 1)
    lent = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
            "--inh-caps", rights, "--ambient-caps", rights]
    facts = {}
    for name, prefix in ("direct", []), ("ours", ["./bpfflame", "-q", "-o", "x.folded", "--"]):
        result = subprocess.run([*lent, *prefix, "./probe", name], cwd=open_folder,
                                capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == 0, result
        lines = (open_folder / name).read_text().splitlines()
        facts[name] = {kind: int(line.split()[-1], 16) for line in lines for kind in
                      ("CapPrm", "CapEff", "CapAmb") if kind in line}
    net_bind_service = 1 << 10
    assert all(value == net_bind_service for value in facts["ours"].values()), facts
    assert all(value != net_bind_service for value in facts["direct"].values()), facts
    Folded(open_folder / "x.folded")


@pytest.fixture(scope="module")
def caller(tmp_path_factory):
    reason = users.missing()
    if reason:
        pytest.skip(reason)
    return users.Caller(tmp_path_factory.mktemp("caller"))


def record_by_sudo(caller, *arguments, **options):
    return caller.run("sudo", caller.program(BPFFLAME), *arguments, **options)


def facts_from(path):
    """The probe's lines as {what: the rest}, without the environment."""
    facts, environment = {}, {}
    for line in path.read_text().splitlines():
        name, _, rest = line.partition(": ")
        if name == "environment":
            key, _, value = rest.partition("=")
            environment[key] = value
        elif name == "/proc/self/status":
            key, _, value = rest.partition(":")
            facts[key] = value.split()
    return facts, environment


def test_sudo_runs_the_command_as_its_caller(caller):
    """With the caller's ids, groups and variables, and without capabilities; files belong to the
    caller."""
    folder = caller.home / "as-caller"
    folder.mkdir()
    caller.give(folder)
    result = record_by_sudo(caller, "-q", "-o", "x.folded", "-o", "x.svg", "--",
                            caller.program(PROBE), "output", cwd=folder)
    assert result.returncode == 0, result
    facts, environment = facts_from(folder / "output")
    assert facts["Uid"] == [str(users.UID)] * 4 and facts["Gid"] == [str(users.GID)] * 4
    assert sorted(facts["Groups"]) == sorted(map(str, [users.GID, users.OTHER_GROUP]))
    assert int(facts["CapEff"][0], 16) == int(facts["CapPrm"][0], 16) == 0
    assert environment["HOME"] == str(caller.home) and environment["SHELL"] == "/bin/dash"
    assert environment["USER"] == environment["LOGNAME"] == users.NAME
    assert not [name for name in environment if name.startswith("SUDO_")]
    for name in "x.folded", "x.svg", "output":
        assert ((folder / name).stat().st_uid, (folder / name).stat().st_gid) == \
            (users.UID, users.GID), name


@pytest.mark.parametrize("option, uid", [(["--as-root"], 0), (["--user", "nobody"], 65534),
                                         (["--user", "65534"], 65534), (["--user", "0"], 0)])
def test_user_of_the_command_can_be_chosen(caller, option, uid):
    folder = caller.home / f"as-{'-'.join(option)}"
    folder.mkdir()
    folder.chmod(0o1777)
    result = record_by_sudo(caller, "-q", *option, "-o", "x.folded", "--", caller.program(PROBE),
                            "output", cwd=folder)
    assert result.returncode == 0, result
    facts, environment = facts_from(folder / "output")
    assert facts["Uid"] == [str(uid)] * 4
    assert (folder / "x.folded").stat().st_uid == uid
    assert environment["USER"] == ("nobody" if uid else "root")


def test_recording_under_sudo_sees_all(caller):
    """Everything is recorded although the command runs as another user."""
    result = record_by_sudo(caller, "--json", "-F", "999", "-o", "x.folded", "--",
                            caller.program(WORKLOADS / "execs"), "0.5")
    assert result.returncode == 0, result
    burned = Folded(caller.home / "x.folded").with_frame("burn_after_exec")
    assert burned == pytest.approx(500, rel=0.1)


def test_links_of_the_callers_lead_nowhere(caller, tmp_path):
    """Root does not write through a user's link: its target does not change."""
    folder = caller.home / "links"
    folder.mkdir()
    roots = tmp_path / "roots"
    roots.mkdir(mode=0o755)
    (roots / "precious").write_text("precious")
    (folder / "x.svg").symlink_to(roots / "precious")
    (folder / "y.svg").symlink_to(roots / "new")
    (folder / "below").symlink_to(roots)
    caller.give(folder)
    for name, said in (("x.svg", "symbolic link"), ("y.svg", "symbolic link"),
                       ("below/z.svg", "--as-root"), ("below/precious", "--as-root")):
        result = record_by_sudo(caller, "-q", "-f", "svg", "-o", name, "--", "true",
                                cwd=folder)
        assert result.returncode == 1, (name, result)
        assert said in result.stderr, result
    assert (roots / "precious").read_text() == "precious"
    assert_only(roots, ["precious"])
    assert not [name for name in os.listdir(folder) if "bpfflame" in name]
    # Folders of the user may be links to other folders of the user.
    (folder / "real").mkdir()
    (folder / "mine").symlink_to("real")
    caller.give(folder)
    result = record_by_sudo(caller, "-q", "-o", "mine/x.svg", "--", "true", cwd=folder)
    assert result.returncode == 0, result
    assert (folder / "real" / "x.svg").stat().st_uid == users.UID


def test_files_of_roots_earlier_runs_are_replaced(caller):
    folder = caller.home / "earlier"
    folder.mkdir()
    caller.give(folder)
    (folder / "x.folded").write_text("old 1\n")  # root's file, as `sudo bpfflame -a` leaves it
    result = record_by_sudo(caller, "-q", "-o", "x.folded", "--",
                            caller.program(WORKLOADS / "burn"), "0.3", cwd=folder)
    assert result.returncode == 0, result
    assert "old" not in (folder / "x.folded").read_text()
    assert (folder / "x.folded").stat().st_uid == users.UID


def test_files_in_folders_of_root_are_the_callers(caller):
    """As in `sudo bpfflame -o /root/x.svg`."""
    path = Path("/root/bpfflame-test.svg")
    try:
        result = record_by_sudo(caller, "-q", "-o", path, "--", "true")
        if os.stat("/root").st_mode & 0o002 or os.stat("/root").st_uid:
            pytest.skip("/root is not root's alone here")
        assert result.returncode == 0, result
        assert path.stat().st_uid == users.UID and path.stat().st_mode & 0o777 == 0o600
        result = record_by_sudo(caller, "-q", "-o", path, "--", "true")
        assert result.returncode == 0, result  # it is replaced
        result = record_by_sudo(caller, "-q", "--as-root", "-o", path, "--", "true")
        assert result.returncode == 0 and path.stat().st_uid == 0, result
    finally:
        path.unlink(missing_ok=True)


def test_snapshots_are_the_callers_too(caller):
    """So are their folder and everything in it."""
    result = record_by_sudo(caller, "--json", "--every", "0.5", "--out-dir", "sets", "--", "sleep",
                            "1.2")
    assert result.returncode == 0, result
    made = [caller.home / "sets", *(caller.home / "sets").iterdir()]
    assert len(made) > 2 and {path.stat().st_uid for path in made} == {users.UID}, made


def test_files_are_the_callers_without_a_command_too(caller):
    """In every kind of recording; where only root may write, lists and stores belong to root."""
    folder = caller.home / "all"
    folder.mkdir()
    caller.give(folder)
    (folder / "in.folded").write_text("a;b 1\n")
    for command in (["-q", "-a", "-d", "0.2", "-F", "49"], ["render", "in.folded", "-o", "r.svg"],
                    ["-q", "-a", "-d", "0.5", "--every", "60", "--out-dir", "sets"],
                    ["diff", "in.folded", "in.folded", "-o", "d.html", "--markdown", "d.md"],
                    ["baseline", "save", "-q", "bench", "in.folded", "--commit", "c"],
                    ["-q", "-p", str(os.getpid()), "-d", "0.1", "-o", "/dev/null", "-f", "svg"]):
        result = record_by_sudo(caller, *command, cwd=folder)
        assert result.returncode == 0, result
    made = [path for path in folder.rglob("*") if path.name != "in.folded"]
    assert len(made) == 2 + 1 + 5 + 2 + 6, made
    assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == \
        {(users.UID, users.GID)}, made
    assert {path.stat().st_mode & 0o777 for path in made if path.is_file()} == {0o600}
    roots = caller.folder / "roots"
    roots.mkdir(mode=0o755)
    for command in (["-q", "-a", "-d", "0.5", "--every", "60", "--out-dir", roots / "sets"],
                    ["render", folder / "in.folded", "-o", roots / "r.svg"],
                    ["baseline", "save", "-q", "bench", folder / "in.folded", "--commit", "c",
                     "--dir", roots / "store"]):
        result = record_by_sudo(caller, *command, cwd=folder)
        assert result.returncode == 0, result
    made = list(roots.rglob("*"))
    assert len(made) == 5 + 1 + 5, made
    pictures = {path for path in made if path.suffix in (".svg", ".folded")}
    assert len(pictures) == 3 and {path.stat().st_uid for path in pictures} == {users.UID}
    assert {path.stat().st_uid for path in set(made) - pictures} == {0}


def test_user_without_rights_to_the_program(caller, tmp_path):
    program = tmp_path / "secret"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    result = record_by_sudo(caller, "-q", "-o", "x.folded", "--", program)
    assert result.returncode == 1 and "Permission denied" in result.stderr, result
    assert users.NAME in result.stderr and "--as-root" in result.stderr
