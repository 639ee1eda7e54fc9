# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that read other users' files have no rights, and nothing that happens to them stops a
recording."""
import contextlib
import errno
import os
import pty
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import pytest

from harness import BPFFLAME, WORKLOADS, Folded, Running, children_of, record, wait_for_child, wait_until, workload

NOBODY = "65534"


def wait_for_reader(pid):
    """The process that reads files for bpfflame @pid."""
    return wait_for_child(pid, "bpfflame-reader")


def status_of(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {key: value.split() for key, value in (line.split(":", 1) for line in lines)}


def filters_of(pid):
    return int(status_of(pid)["Seccomp_filters"][0])


def wait_for_confined(pid):
    """Its child that is in a sandbox of its own: others of this name are about to run another program."""
    def confined():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return [child for child in children_of(pid, "bpfflame") if filters_of(child) > filters_of(pid)]
        return []

    wait_until(confined)
    return confined()[0]


@pytest.fixture
def copy_of_burn(tmp_path):
    """A program whose file bpfflame has not seen yet."""
    copy = tmp_path / "fresh"
    copy.write_bytes((WORKLOADS / "burn").read_bytes())
    copy.chmod(0o755)
    return copy


def test_the_reader_has_no_rights(tmp_path):
    with workload("burn", 4):
        recording = Running("-a", "-d", "2", "-o", tmp_path / "x.folded")
        reader = wait_for_reader(recording.process.pid)
        time.sleep(0.5)
        status = status_of(reader)
        kinds = {os.stat(f"/proc/{reader}/fd/{fd}").st_mode for fd in os.listdir(f"/proc/{reader}/fd")}
        assert recording.wait().returncode == 0
    assert status["Uid"] == status["Gid"] == [NOBODY] * 4
    assert status["Groups"] == []
    for capabilities in "CapInh", "CapPrm", "CapEff", "CapAmb":
        assert int(status[capabilities][0], 16) == 0, capabilities
    assert status["NoNewPrivs"] == ["1"]
    assert status["Seccomp"] == ["2"]
    # /dev/null and the connection: no BPF map, no event, no other file.
    assert all(stat.S_ISSOCK(kind) or stat.S_ISCHR(kind) for kind in kinds), kinds


def capabilities_in(status, key):
    return {number for number in range(64) if int(status[key][0], 16) >> number & 1}


CAP_DAC_READ_SEARCH, CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_SYS_BOOT = 2, 16, 17, 19, 21, 22
CAP_NET_ADMIN, CAP_PERFMON, CAP_CHECKPOINT_RESTORE = 12, 38, 40


def links_of(process):
    """What the process has open; it is at work, so some may be closed meanwhile."""
    links = []
    for fd in os.listdir(f"/proc/{process}/fd"):
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(f"/proc/{process}/fd/{fd}"))
    assert links
    return links


def test_the_broker_may_open_files_and_no_more(tmp_path):
    with workload("burn", 4):
        recording = Running("-a", "-d", "2", "-o", tmp_path / "x.folded")
        broker = wait_for_child(recording.process.pid, "bpfflame-broker")
        worker = wait_for_child(broker, "bpfflame-broker")
        for process in broker, worker:
            status = status_of(process)
            assert capabilities_in(status, "CapEff") == capabilities_in(status, "CapPrm") == {
                CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON, CAP_CHECKPOINT_RESTORE}
            assert capabilities_in(status, "CapInh") == capabilities_in(status, "CapAmb") == set()
            assert (status["NoNewPrivs"], status["Seccomp"]) == (["1"], ["2"])
            links = links_of(process)
            # No BPF map and no event.
            assert all(link.startswith(("/", "socket:")) for link in links), links
        assert recording.wait().returncode == 0
    assert not Path(f"/proc/{broker}").exists() and not Path(f"/proc/{worker}").exists()


@pytest.mark.parametrize("options", [[], ["--every", "1"]], ids=["once", "every"])
def test_the_recorder_gives_up_what_it_no_longer_needs(tmp_path, options):
    with workload("burn", 6):
        recording = Running("-a", "-d", "3", *options, "--out-dir", tmp_path)
        wait_for_child(wait_for_child(recording.process.pid, "bpfflame-broker"), "bpfflame-broker")
        time.sleep(1)
        threads = [status_of(f"{recording.process.pid}/task/{tid}")
                   for tid in os.listdir(f"/proc/{recording.process.pid}/task")]
        assert recording.wait().returncode == 0
    for status in threads:
        kept = capabilities_in(status, "CapEff")
        assert not kept & {CAP_SYS_ADMIN, CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_BOOT, CAP_NET_ADMIN}
        assert kept == capabilities_in(status, "CapPrm")
        assert (status["NoNewPrivs"], status["Seccomp"]) == (["1"], ["2"])


# --- files whose filesystem does not answer -------------------------------------------------

@contextlib.contextmanager
def program_on_fuse(folder, *user):
    """A program on a filesystem that is everybody's or this user's: its process, and the server's."""
    if not Path("/dev/fuse").exists():
        pytest.skip("this machine has no FUSE")
    with contextlib.ExitStack() as stack:
        server = subprocess.Popen([WORKLOADS / "hung", folder, WORKLOADS / "burn", *map(str, user)],
                                  stdout=subprocess.PIPE, text=True)

        def end():
            server.terminate()
            server.wait()

        stack.callback(end)
        assert server.stdout.readline() == "ready\n"
        ids = {"user": user[0], "group": user[0], "extra_groups": []} if user else {}
        program = subprocess.Popen([folder / "burn", "60"], stdout=subprocess.DEVNULL, **ids)
        stack.callback(program.wait)
        stack.callback(program.kill)
        yield program, server


@pytest.fixture
def hung_program(tmp_path):
    """A program on a filesystem whose server stops answering."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    with program_on_fuse(folder) as (program, server):
        time.sleep(0.5)
        server.send_signal(signal.SIGUSR1)
        yield program.pid


FUSE_FOR_ROOT = Path("/sys/module/fuse/parameters/allow_sys_admin_access")


@pytest.fixture(params=["0", "61234", "61234 root may"])
def fuse_user(request):
    """Whose filesystem it is, and whether root can read it."""
    user, _, may = request.param.partition(" ")
    if not may:
        yield int(user), user == "0"
        return
    if not FUSE_FOR_ROOT.exists():
        pytest.skip("this kernel has FUSE for its user alone")
    before = FUSE_FOR_ROOT.read_text()
    FUSE_FOR_ROOT.write_text("Y")
    try:
        yield int(user), True
    finally:
        FUSE_FOR_ROOT.write_text(before)


def test_a_program_on_a_filesystem_of_one_user(fuse_user):
    """As that of an AppImage: the reader, who is nobody, reads it by its descriptor; or root is shut out, and why."""
    user, is_readable = fuse_user
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        mounted = Path(folder) / "mounted"
        mounted.mkdir()
        with program_on_fuse(mounted, user) as (program, _):
            result = Running("-p", program.pid, "-d", "2", "-o", "-").wait()
    assert result.returncode == 0, result
    folded = Folded(result.stdout.encode())
    assert folded.total() > 20
    if is_readable:
        assert folded.with_frame("burn_60") > 0 and folded.with_frame("[truncated]") == 0
        assert "losses    none" in result.stderr
    else:
        assert "a FUSE filesystem (of an AppImage, say) refuses root" in result.stderr
        assert "docker" not in result.stderr and "reinstall" not in result.stderr


@pytest.mark.parametrize("options", [[], ["--offcpu"], ["--wall"]], ids=["oncpu", "offcpu", "wall"])
def test_a_filesystem_that_does_not_answer_stops_no_recording(tmp_path, hung_program, options):
    output = tmp_path / "x.folded"
    with workload("burn", 8, command=[WORKLOADS / "threads"] if "--offcpu" in options else None):
        result = Running("--json", "-a", "-d", "3", *options, "-o", output).wait()
    assert result.returncode == 0, result
    summary = result.summary
    assert 2.9 < summary["duration_seconds"] < 3.2
    assert result.ended - result.started < summary["startup_seconds"] + 3 + summary["write_seconds"] + 0.5
    assert summary["startup_seconds"] < 3 and summary["write_seconds"] < 3


def test_ctrl_c_ends_a_recording_whose_filesystem_does_not_answer(tmp_path, hung_program):
    recording = Running("-p", hung_program, "-o", tmp_path / "x.folded")
    time.sleep(2)
    recording.signal(signal.SIGINT)
    result = recording.wait(timeout=10)
    assert result.returncode == 0, result
    assert Folded(tmp_path / "x.folded").total() > 20


def test_a_probe_in_a_filesystem_that_does_not_answer(tmp_path, hung_program):
    """Does not wait for it: it counts as absent."""
    result = Running("-p", hung_program, "-e", "uprobe:burn:burn_60", "-d", "0.5", "-o", tmp_path / "x.folded"
                     ).wait(timeout=30)
    assert result.returncode != 0 and "no file" in result.stderr, result


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGSEGV, signal.SIGKILL])
def test_a_recording_goes_on_without_its_reader(tmp_path, copy_of_burn, number):
    output = tmp_path / "x.folded"
    with workload("burn", 6):
        recording = Running("--json", "-a", "-d", "3", "-o", output)
        reader = wait_for_reader(recording.process.pid)
        time.sleep(0.5)
        os.kill(reader, number)
        with workload("burn", 4, command=[copy_of_burn, "4"]):
            result = recording.wait()
    assert result.returncode == 0, result
    summary = result.summary
    assert 2.9 < summary["duration_seconds"] < 3.1
    # Others may have the CPUs for a while; whoever waits for the reader's end waits for ever.
    assert result.ended - result.started < summary["startup_seconds"] + 3 + summary["write_seconds"] + 5
    folded = Folded(output)
    assert folded.with_frame("burn_60") > 20
    # A reader that hangs or dies costs the file that it reads at that moment.
    unread = summary["losses"]["unread_files"]
    assert unread >= 1 if number == signal.SIGSTOP else unread <= 1, summary["losses"]
    assert folded.total(lambda frames: frames[0] == "fresh") > 20


def test_what_could_not_be_read_is_named(tmp_path, copy_of_burn):
    recording = Running("-a", "-d", "3", "-o", tmp_path / "x.folded")
    with workload("burn", 3):
        os.kill(wait_for_reader(recording.process.pid), signal.SIGSTOP)
        with workload("burn", 4, command=[copy_of_burn, "4"]):
            result = recording.wait()
    assert "took too long to read" in result.stderr, result
    assert "the first unread: /" in result.stderr, result


def test_compression_bombs_fill_no_memory(tmp_path):
    """A fifth of a megabyte that unpacks to 200: names come from the rest of the file."""
    bomb, program, output = tmp_path / "bomb", tmp_path / "bombed", tmp_path / "x.folded"
    size = 200 << 20
    packer = zlib.compressobj(1)
    bomb.write_bytes(b"ZLIB" + size.to_bytes(8, "big") +
                     b"".join(packer.compress(bytes(1 << 20)) for _ in range(size >> 20)) + packer.flush())
    subprocess.run(["objcopy", "--strip-debug", WORKLOADS / "burn", program], check=True)
    subprocess.run(["objcopy", "--add-section", f".zdebug_info={bomb}", program], check=True)
    with workload("burn", 4, command=[program]) as process:
        summary = record("-p", process.pid, "-d", 1, "-o", output).summary
    assert summary["peak_memory_bytes"] < 100e6
    assert Folded(output).with_frame("burn_60") > 30


def test_without_a_sandbox_the_summary_says_so(tmp_path):
    result = Running("-d", "0.3", "--no-sandbox", "-o", tmp_path / "x.folded", "-a").wait()
    assert "sandbox   none" in result.stderr
    assert "sandbox  " not in Running("-d", "0.3", "-o", tmp_path / "x.folded", "-a").wait().stderr


@pytest.mark.parametrize("prefix", [[], ["setpriv", "--reuid", "1234", "--clear-groups"],
                                    ["prlimit", "--as=300000000", "setpriv", "--reuid", "1234", "--clear-groups"]],
                         ids=["root", "user", "limited"])
def test_the_sandbox_holds(prefix):
    """As root, as an ordinary user, and as one with less memory than it allows: each attempt to escape is fatal, or fails."""
    result = subprocess.run([*prefix, WORKLOADS / "sandbox"], stdin=subprocess.DEVNULL, check=True, text=True,
                            stdout=subprocess.PIPE)
    outcomes = dict(line.split(" ", 1) for line in result.stdout.splitlines())
    assert outcomes.pop("allowed") == "exit 0", result.stdout
    assert outcomes.pop("memory") == "exit 1", result.stdout
    assert set(outcomes.values()) == {f"signal {signal.SIGSYS.value}"}, outcomes
    assert len(outcomes) == 13


@pytest.mark.parametrize("prefix", [[], ["setpriv", "--reuid", "1234", "--clear-groups"]], ids=["root", "user"])
@pytest.mark.parametrize("kind", ["confined", "server"])
def test_the_sandbox_of_those_that_read_recordings_holds(prefix, kind):
    """And that of whoever answers requests: each attempt to escape fails; their memory is their own."""
    result = subprocess.run([*prefix, WORKLOADS / "sandbox", kind], stdin=subprocess.DEVNULL, check=True,
                            text=True, stdout=subprocess.PIPE)
    outcomes = dict(line.split(" ", 1) for line in result.stdout.splitlines())
    assert (outcomes.pop("allowed"), outcomes.pop("memory")) == ("exit 0", "exit 0"), result.stdout
    code = {outcomes.pop("mmap_code"), outcomes.pop("mprotect_code")}
    assert code == {f"signal {signal.SIGSYS.value}"} and set(outcomes.values()) == {"exit 1"}, result.stdout
    assert len(outcomes) == 11


# --- processes that read recordings ----------------------------------------------------------

READS = {"render": ["render", "-", "-o", "x.svg"], "report": ["report", "-"],
         "diff": ["diff", "in.folded", "-", "--rules", "rules", "-o", "x.svg"],
         "compare": ["baseline", "compare", "bench", "-", "--dir", "store"],
         "save": ["baseline", "save", "bench", "-", "--commit", "b", "--dir", "store"]}


@contextlib.contextmanager
def reading(tmp_path, words):
    """A command that waits for its input, and its process that waits."""
    (tmp_path / "in.folded").write_text("a;b 3\n")
    (tmp_path / "rules").write_text("total fail-over 900\n")
    subprocess.run([BPFFLAME, "baseline", "save", "-q", "bench", "in.folded", "--commit", "a", "--dir", "store"],
                   cwd=tmp_path, check=True)
    with subprocess.Popen([BPFFLAME, *words], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        yield process, wait_for_confined(process.pid)
        process.kill()


@pytest.mark.parametrize("words", READS.values(), ids=READS)
def test_readers_of_recordings_have_no_rights(tmp_path, words):
    with reading(tmp_path, words) as (process, reader):
        status = status_of(reader)
        kinds = [os.readlink(f"/proc/{reader}/fd/{fd}") for fd in os.listdir(f"/proc/{reader}/fd")]
        process.communicate("a;c 3\n", timeout=20)
        assert process.returncode == 0
    assert status["Uid"] == status["Gid"] == [NOBODY] * 4
    for capabilities in "CapInh", "CapPrm", "CapEff", "CapAmb":
        assert int(status[capabilities][0], 16) == 0, capabilities
    assert (status["NoNewPrivs"], status["Groups"]) == (["1"], [])
    assert len(kinds) >= 4, kinds


@pytest.mark.parametrize("words", READS.values(), ids=READS)
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_file_that_crashes_its_reader_changes_nothing(tmp_path, words, number):
    (tmp_path / "x.svg").write_text("before")
    with reading(tmp_path, words) as (process, reader):
        os.kill(reader, number)
        output, error = process.communicate(timeout=20)
        assert process.returncode == 1 and output == ""
        assert error.startswith("bpfflame: cannot go on with ") and error.count("\n") == 1, error
    assert (tmp_path / "x.svg").read_text() == "before"
    assert {path.name for path in tmp_path.iterdir()} == {"in.folded", "rules", "store", "x.svg"}
    assert os.listdir(tmp_path / "store" / "bench") == ["a"]


@contextlib.contextmanager
def drawing(folder, *options):
    """A recording that is over, and the process that draws it: it waits for who reads the page."""
    os.mkfifo(folder / "page")
    page = os.open(folder / "page", os.O_RDONLY | os.O_NONBLOCK)
    running = Running("-a", "-d", "0.3", "-o", folder / "x.svg", *options, "-o", folder / "page", "-f", "html")
    try:
        wait_until((folder / "x.svg").exists, 30)
        yield running, wait_for_confined(running.process.pid), page
    finally:
        os.close(page)
        running.process.kill()


def read_all(fd):
    os.set_blocking(fd, True)
    return b"".join(iter(lambda: os.read(fd, 65536), b""))


def test_who_draws_has_no_rights(tmp_path):
    with drawing(tmp_path) as (running, drawer, page):
        status = status_of(drawer)
        kinds = [os.readlink(f"/proc/{drawer}/fd/{fd}") for fd in os.listdir(f"/proc/{drawer}/fd")]
        assert read_all(page).endswith(b"</html>\n")
        result = running.wait()
    assert result.returncode == 0, result
    for capabilities in "CapInh", "CapPrm", "CapEff", "CapAmb":
        assert int(status[capabilities][0], 16) == 0, capabilities
    assert (status["NoNewPrivs"], status["Seccomp"]) == (["1"], ["2"])
    # Nothing of BPF, nothing that asks the broker or the reader; one socket to its parent.
    assert not [kind for kind in kinds if "anon_inode" in kind or kind.startswith("/proc")], kinds
    assert len([kind for kind in kinds if kind.startswith("socket:")]) == 1, kinds


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_name_that_crashes_who_draws_harms_no_file(tmp_path, number):
    (tmp_path / "old.svg").write_text("before")
    with drawing(tmp_path) as (running, drawer, page):
        os.kill(drawer, number)
        result = running.wait()
    assert result.returncode == 1 and result.stdout == "", result
    assert result.stderr.startswith("bpfflame: cannot write ") and result.stderr.count("\n") == 1, result
    assert (tmp_path / "old.svg").read_text() == "before"
    assert {path.name for path in tmp_path.iterdir()} == {"old.svg", "page", "x.svg"}


def is_gone(pid):
    """Gone; init may need a moment to reap it."""
    return not Path(f"/proc/{pid}").exists() or status_of(pid)["State"][0] == "Z"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_readers_of_recordings(tmp_path, number):
    with reading(tmp_path, READS["render"]) as (process, reader):
        os.kill(process.pid, number)
        assert process.wait(timeout=20) == -number
        wait_until(lambda: is_gone(reader))


def test_the_sandbox_reads_what_we_read(tmp_path):
    """Stacks of unmodified programs are as complete with it as without."""
    command = ["sh", "-c", "for i in 1 2 3; do python3 -c 'import json, sqlite3; "
                           "[json.dumps(list(range(1000))) for i in range(12000)]'; done"]
    shares = [record("-o", tmp_path / "x.folded", *options, "--", *command).summary["complete_stacks_percent"]
              for options in ([], ["--no-sandbox"])]
    assert min(shares) > 97, shares


# --- what commands inherit ------------------------------------------------------------------

TYPING = """
import fcntl, os, termios
try:
    fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), termios.TIOCSTI, b"x")
    print("typed")
except OSError as error:
    print("refused", error.errno)
"""


@pytest.fixture
def typing_is_possible():
    """TIOCSTI works, as before Linux 6.2."""
    switch = Path("/proc/sys/dev/tty/legacy_tiocsti")
    before = switch.read_text() if switch.exists() else None
    if before is not None:
        switch.write_text("1")
    yield
    if before is not None:
        switch.write_text(before)


def on_a_terminal(*command):
    """The output of a command on a terminal of its own."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], list(map(str, command)))
    text = b""
    with contextlib.suppress(OSError):
        while data := os.read(terminal, 4096):
            text += data
    os.close(terminal)
    os.waitpid(pid, 0)
    return text.decode()


@pytest.mark.usefixtures("typing_is_possible")
def test_a_users_command_types_nothing_into_roots_terminal():
    assert "typed" in on_a_terminal(sys.executable, "-c", TYPING)
    output = on_a_terminal(BPFFLAME, "-q", "--user", "nobody", "-o", "-", "--",
                           "/usr/bin/python3", "-c", TYPING)
    assert f"refused {errno.EPERM}" in output, output


def test_a_users_command_inherits_no_capabilities():
    result = subprocess.run(["setpriv", "--inh-caps=+net_raw,+sys_ptrace", BPFFLAME, "-q", "--user", "nobody", "-o",
                             "-", "--", "cat", "/proc/self/status"], check=True,
                            stdout=subprocess.PIPE, text=True)
    capabilities = dict(line.split(":\t") for line in result.stdout.splitlines() if line.startswith("Cap"))
    assert [capabilities[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")] == ["0" * 16] * 4


@pytest.fixture
def with_file_capabilities():
    """A copy of bpfflame with file capabilities that let every user record."""
    folder = Path(tempfile.mkdtemp(prefix="bpfflame-test-"))
    folder.chmod(0o777)
    copy = shutil.copy(BPFFLAME, folder / "bpfflame")
    wanted = "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep"
    if subprocess.run(["setcap", wanted, copy], check=False).returncode:
        pytest.skip("this filesystem keeps no file capabilities")
    yield copy
    shutil.rmtree(folder)


@pytest.mark.parametrize("arguments", [
    ["render", "SECRET", "-o", "x.svg"], ["report", "SECRET"], ["diff", "SECRET", "SECRET"],
    ["--environment", "SECRET", "-o", "x.folded", "--", "env"],
    ["--environment", "/proc/1/environ", "-o", "x.folded", "--", "env"]])
def test_file_capabilities_open_no_files_for_their_user(with_file_capabilities, tmp_path, arguments):
    secret = tmp_path / "secret"
    secret.write_text("password=1;main 1\n")
    secret.chmod(0o600)
    for folder in tmp_path.parents[:-2]:
        folder.chmod(folder.stat().st_mode | 0o011)
    words = [str(secret) if word == "SECRET" else word for word in arguments]
    result = subprocess.run(["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups",
                             with_file_capabilities, *words], cwd=with_file_capabilities.parent, check=False,
                            capture_output=True, text=True)
    assert result.returncode == 1, result
    assert "ermission denied" in result.stderr or "not permitted" in result.stderr, result
    assert "password" not in result.stdout


SYMBOLS = """
#include <unistd.h>
static volatile unsigned long sink;
__attribute__((noinline)) void secret_name(void) { for (int i = 0; i < 100000; i++) sink += i; }
int main(void) { alarm(2); for (;;) secret_name(); }
"""


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_file_capabilities_read_no_symbols_for_their_user(with_file_capabilities, tmp_path, mode):
    """Neither files below --symfs nor folders on the way are visible, unless the user may read
    them."""
    folder = with_file_capabilities.parent
    program, symbols = folder / "program", tmp_path / "symfs"
    subprocess.run(["gcc", "-O2", "-g", "-x", "c", "-", "-o", program], input=SYMBOLS, text=True, check=True)
    debug = symbols / str(folder)[1:] / ".debug" / "program.debug"
    debug.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", program], check=True)
    for parent in [*debug.parents][:-2]:
        parent.chmod(parent.stat().st_mode | 0o011)
    debug.chmod(mode)
    words = ["-q", "-F", "499", "-d", "0.5", "--symfs", symbols, "-o", "-", "--", program]
    users = subprocess.run(["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", with_file_capabilities,
                            *words], cwd=folder, check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout
    assert "program;" in users
    assert ("secret_name" in users) == (mode == 0o644), users
    roots = subprocess.run([BPFFLAME, *words], cwd=folder, check=True, stdout=subprocess.PIPE, text=True,
                           timeout=60).stdout
    assert "secret_name" in roots


@pytest.mark.parametrize("mode", [0o600, 0o644])
@pytest.mark.parametrize("words", [["-e", "uprobe:LIBRARY:secret_nmae", "-d", "0.2", "-a"], ["events", "--path", "LIBRARY"]],
                         ids=["uprobe", "events"])
def test_file_capabilities_probe_no_files_for_their_user(with_file_capabilities, tmp_path, mode, words):
    """Suggestions of similar names would reveal a file's contents."""
    library = tmp_path / "library.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", library], check=True, text=True,
                   input=SYMBOLS.replace("main", "secret_main"))
    for parent in [*library.parents][:-2]:
        parent.chmod(parent.stat().st_mode | 0o011)
    library.chmod(mode)
    result = subprocess.run(["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", with_file_capabilities,
                             *(word.replace("LIBRARY", str(library)) for word in words)],
                            cwd=with_file_capabilities.parent, check=False, capture_output=True, text=True, timeout=60)
    if mode == 0o600:
        assert result.returncode != 0 and "no file" in result.stderr and "secret_name" not in result.stderr, result
    elif words[0] == "-e":
        assert "secret_name" in result.stderr, result
    else:
        assert "no file" not in result.stderr, result
