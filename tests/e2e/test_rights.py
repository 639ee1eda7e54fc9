# SPDX-License-Identifier: GPL-2.0-or-later
"""What recording requires, and the messages when it is missing: the tables of docs/containers.md,
row by row. bpfflame runs here as nobody, with exactly the capabilities that a test names."""
import contextlib
import ctypes
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import BPFFLAME, ROOT, WORKLOADS, Folded, can_unshare, workload

NOBODY = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
LEAST = ["bpf", "perfmon"]

pytestmark = pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv (util-linux)")


@pytest.fixture
def open_path():
    """A read-only folder with a copy of bpfflame and of a workload."""
    folder = Path(subprocess.run(["mktemp", "-d", "/tmp/bpfflame-test-XXXXXX"], check=True, capture_output=True,
                                 text=True).stdout.strip())
    folder.chmod(0o1777)
    for program in (BPFFLAME, WORKLOADS / "burn"):
        shutil.copy(program, folder)
        (folder / program.name).chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def has_names(outcome):
    """Whether burn's functions have names and complete stacks."""
    return outcome.folded.with_frame("burn_60") > 0.4 * outcome.folded.total()


class Outcome:
    def __init__(self, result, folder):
        self.code, self.stdout, self.stderr = result.returncode, result.stdout, result.stderr
        path = folder / "x.folded"
        self.folded = Folded(path) if path.exists() else None
        with contextlib.suppress(ValueError, IndexError):
            self.summary = json.loads(self.stdout.splitlines()[-1])

    def __repr__(self):
        return f"exit {self.code}\n{self.stdout[-1500:]}\n{self.stderr[-1500:]}"

    def recorded(self):
        assert self.code == 0 and self.folded is not None, self
        return self

    def refused(self, *parts):
        """One error line that contains all of @parts."""
        assert self.code == 1 and len(self.stderr.splitlines()) == 1, self
        assert all(part in self.stderr for part in parts), self
        return self


def with_capabilities(capabilities):
    wanted = ",".join(["-all", *(f"+{name}" for name in capabilities)])
    if not capabilities:
        return ["setpriv", *NOBODY, "--inh-caps=-all", "--bounding-set=-all", "--"]
    return ["setpriv", *NOBODY, f"--inh-caps={wanted}", f"--ambient-caps={wanted}", f"--bounding-set={wanted}", "--"]


def run_in(folder, prefix, *arguments, **variables):
    result = subprocess.run([*map(str, prefix), str(folder / "bpfflame"), "--json", "-o", "x.folded",
                             *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=60,
                            env={**os.environ, **variables}, check=False)
    return Outcome(result, folder)


def nobody(folder, capabilities, *arguments, **variables):
    return run_in(folder, with_capabilities(capabilities), *arguments, **variables)


@contextlib.contextmanager
def running(*command, **options):
    process = subprocess.Popen([*map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, **options)
    time.sleep(0.3)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def sysctl(name, value):
    path = Path("/proc/sys") / name.replace(".", "/")
    before = path.read_text()
    path.write_text(f"{value}\n")
    try:
        yield
    finally:
        path.write_text(before)


needs_unshare = pytest.mark.skipif(not can_unshare(), reason="needs mount namespaces")


# --- the two required capabilities ----------------------------------------------------------


@pytest.mark.parametrize("capabilities, missing", [
    ([], "CAP_BPF and CAP_PERFMON are missing"),
    (["bpf"], "CAP_PERFMON is missing"),
    (["perfmon"], "CAP_BPF is missing"),
    (["syslog", "sys_ptrace", "dac_read_search"], "CAP_BPF and CAP_PERFMON are missing"),
])
@pytest.mark.parametrize("mode", ["--oncpu", "--offcpu"])
def test_what_is_missing_is_named(open_path, capabilities, missing, mode):
    nobody(open_path, capabilities, mode, "-a", "-d", "0.2").refused(missing)
    assert not (open_path / "x.folded").exists()


@pytest.mark.parametrize("capabilities", [LEAST, ["sys_admin"]])
@pytest.mark.parametrize("mode", ["--oncpu", "--offcpu", "--wall"])
def test_a_command_needs_two_capabilities(open_path, capabilities, mode):
    outcome = nobody(open_path, capabilities, mode, "--", open_path / "burn", "1").recorded()
    assert outcome.folded.roots() >= {"burn"} or mode == "--offcpu"
    assert outcome.summary["complete_stacks_percent"] > 95
    assert outcome.summary["losses"]["unreadable_files"] == 0


@pytest.mark.parametrize("owner", ["own", "root"])
def test_a_process_and_the_machine(open_path, owner):
    prefix = with_capabilities([]) if owner == "own" else []
    with running(*prefix, open_path / "burn", "60") as process:
        target = process.pid
        by_pid = nobody(open_path, LEAST, "-F", "499", "-p", target, "-d", "0.6").recorded()
        whole = nobody(open_path, LEAST, "-F", "499", "-a", "-d", "0.6").recorded()
    assert by_pid.folded.total() > 20
    assert "burn" in whole.folded.roots()
    if owner == "own" or tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 15):
        assert by_pid.summary["complete_stacks_percent"] > 95
        assert has_names(by_pid)


@pytest.mark.parametrize("paranoid", [-1, 2, 4])
def test_perf_event_paranoid_does_not_matter(open_path, paranoid):
    with sysctl("kernel.perf_event_paranoid", paranoid):
        nobody(open_path, LEAST, "-a", "-d", "0.2").recorded()


@pytest.mark.skipif(not shutil.which("setcap"), reason="needs setcap (libcap2-bin)")
def test_capabilities_of_the_file(open_path):
    """setcap once, and no root afterwards. The command inherits no capability."""
    if subprocess.run(["setcap", "cap_bpf,cap_perfmon+ep", open_path / "bpfflame"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        pytest.skip("this file system keeps no capabilities")
    outcome = run_in(open_path, ["setpriv", *NOBODY, "--"], "--", "sh", "-c",
                     "grep -h '^Cap[EPA]' /proc/self/status >seen; ./burn 1").recorded()
    assert outcome.folded.roots() >= {"burn"}
    assert outcome.summary["complete_stacks_percent"] > 95
    assert set(re.findall(r"\t(\w+)", (open_path / "seen").read_text())) == {"0000000000000000"}
    outcome = run_in(open_path, ["setpriv", *NOBODY, "--", "setpriv", "--no-new-privs", "--"], "-a", "-d", "0.2")
    outcome.refused("CAP_BPF and CAP_PERFMON are missing")


@pytest.mark.skipif(not shutil.which("capsh"), reason="needs capsh (libcap2-bin)")
def test_root_without_capabilities(open_path):
    """Root in a container is like this."""
    def drop(*names):
        return run_in(open_path, ["capsh", "--drop=" + ",".join(names), "--", "-c", 'exec "$0" "$@"'],
                      "-a", "-d", "0.2", container="docker")
    outcome = drop("cap_sys_admin", "cap_bpf", "cap_perfmon")
    outcome.refused("CAP_BPF and CAP_PERFMON are missing", "docker run --cap-add=BPF --cap-add=PERFMON")
    drop("cap_sys_admin", "cap_bpf").refused("CAP_BPF is missing")
    drop("cap_bpf", "cap_perfmon", "cap_sys_ptrace", "cap_syslog").recorded()


def test_kubernetes_gets_a_fix_in_its_terms(open_path):
    nobody(open_path, [], "-a", "-d", "0.2", KUBERNETES_SERVICE_HOST="10.0.0.1").refused(
        "securityContext: {runAsUser: 0, capabilities: {add: [BPF, PERFMON]}}")


# --- missing rights that cost names ---------------------------------------------------------


def kernel_frames(outcome):
    names = {frame for frame in outcome.recorded().folded.names() if frame.endswith("_[k]")}
    assert names
    return names


def hidden(names):
    return {name for name in names if name.startswith("[kernel+0x")}


@pytest.mark.parametrize("restrict", [0, 1, 2])
def test_kernel_functions_have_names(open_path, restrict):
    """The kernel hides addresses, but not names."""
    with sysctl("kernel.perf_event_paranoid", 2), sysctl("kernel.kptr_restrict", restrict):
        outcome = nobody(open_path, LEAST, "-F", "499", "--", "dd", "if=/dev/zero", "of=/dev/null",
                         "bs=1", "count=600000").recorded()
    names = {frame for frame in outcome.folded.names() if frame.endswith("_[k]")}
    assert names and not any(name.startswith("[kernel+0x") for name in names)


def named_and_read(outcome):
    """Whether burn's functions have names; if not, the unread file is counted."""
    outcome.recorded()
    named = has_names(outcome)
    assert named or outcome.summary["losses"]["unreadable_files"] > 0, outcome
    return named


@needs_unshare
@pytest.mark.parametrize("capabilities, named", [([], False), (["sys_ptrace"], True)])
def test_files_of_other_containers(open_path, capabilities, named):
    """Their mounts are in another namespace."""
    script = f"mount -t tmpfs none /mnt && cp {open_path}/burn /mnt/inside && exec /mnt/inside 60"
    with running("unshare", "--mount", "sh", "-c", script) as process:
        outcome = nobody(open_path, [*LEAST, *capabilities], "-F", "499", "-p", process.pid, "-d", "0.5")
    assert named_and_read(outcome) == named


@pytest.mark.parametrize("capabilities, named", [([], False), (["sys_ptrace"], False), (["dac_read_search"], True),
                                                 (["dac_override"], True)])
def test_files_that_only_their_owner_may_read(open_path, capabilities, named):
    (open_path / "burn").chmod(0o700)
    with running(open_path / "burn", "60") as process:
        outcome = nobody(open_path, [*LEAST, *capabilities], "-F", "499", "-p", process.pid, "-d", "0.5")
    assert named_and_read(outcome) == named


@pytest.mark.parametrize("capabilities, named", [
    ([], False), (["sys_ptrace", "dac_read_search"], False), (["dac_read_search", "checkpoint_restore"], False),
    (["sys_ptrace", "dac_read_search", "checkpoint_restore"], True)])
def test_files_that_were_deleted(open_path, capabilities, named):
    shutil.copy(open_path / "burn", open_path / "gone")
    with running(open_path / "gone", "60") as process:
        (open_path / "gone").unlink()
        outcome = nobody(open_path, [*LEAST, *capabilities], "-F", "499", "-p", process.pid, "-d", "0.5")
    assert named_and_read(outcome) == named


# --- the surroundings -----------------------------------------------------------------------


def in_mounts(script, capabilities=None):
    """Runs bpfflame in a mount namespace of its own that @script prepares."""
    prefix = ["unshare", "--mount", "sh", "-e", "-c", script + '\nexec "$@"', "sh"]
    return prefix + (with_capabilities(capabilities) if capabilities is not None else [])


@needs_unshare
@pytest.mark.parametrize("script", [
    "mount --bind /sys /sys && mount -o remount,ro,bind /sys",
    "for folder in tracing debug; do ! mountpoint -q /sys/kernel/$folder || umount -l /sys/kernel/$folder; done",
], ids=["sys is read-only", "no tracefs"])
@pytest.mark.parametrize("mode", ["--oncpu", "--offcpu"])
def test_what_does_not_matter(open_path, script, mode):
    run_in(open_path, in_mounts(script), mode, "--", open_path / "burn", "0.3").recorded()


@needs_unshare
@pytest.mark.parametrize("script", ["umount -l /sys", "mount -t tmpfs none /sys/kernel/btf"])
def test_without_btf(open_path, script):
    run_in(open_path, in_mounts(script), "-a", "-d", "0.2").refused("no BTF", "/sys/kernel/btf/vmlinux")


@needs_unshare
def test_hidden_processes(open_path):
    hide = "mount -t proc -o hidepid=2 proc /proc"
    with running(open_path / "burn", "60") as process:
        arguments = ["-F", "499", "-p", process.pid, "-d", "0.5"]
        run_in(open_path, in_mounts(hide, LEAST), *arguments).refused(str(process.pid), "hidepid", "CAP_SYS_PTRACE")
        assert named_and_read(run_in(open_path, in_mounts(hide, [*LEAST, "sys_ptrace"]), *arguments))
        outcome = run_in(open_path, in_mounts(hide, LEAST), "-a", "-d", "0.3").recorded()
        assert outcome.summary["losses"]["unreadable_files"] > 0


IN_A_CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c"]
needs_pids = pytest.mark.skipif(not can_unshare(), reason="needs PID namespaces")


def in_container(folder, script, *capabilities):
    """Runs @script in a PID namespace of its own; $@ is bpfflame without arguments."""
    wanted = with_capabilities([*LEAST, *capabilities])
    return subprocess.run([*IN_A_CONTAINER, script, "sh", *wanted, folder / "bpfflame", "--json", "-F", "499"],
                          cwd=folder, capture_output=True, text=True, timeout=60, check=False)


@needs_pids
def test_a_command_in_a_container(open_path):
    """Ids there differ from the machine's."""
    outcome = Outcome(in_container(open_path, '"$@" -o x.folded -- ./burn 1'), open_path).recorded()
    assert has_names(outcome) and outcome.folded.roots() <= {"burn", "bpfflame", "sh"}
    assert outcome.summary["complete_stacks_percent"] > 95
    assert outcome.summary["losses"]["unknown_processes"] == 0


@needs_pids
@pytest.mark.parametrize("nested", ["", "unshare --pid --fork --mount-proc "])
def test_a_process_in_a_container(open_path, nested):
    """By its id there, even if a nested container gives it another one."""
    script = f'''{nested}./burn 60 >/dev/null & sleep 0.4; for pid in $(pgrep -x burn); do :; done
        "$@" -o x.folded -p "$pid" -d 1; status=$?; kill "$pid"; exit $status'''
    outcome = Outcome(in_container(open_path, script, "sys_ptrace"), open_path).recorded()
    assert has_names(outcome) and outcome.folded.roots() == {"burn"}


@needs_pids
@pytest.mark.parametrize("mode", ["--oncpu", "--offcpu", "--wall"])
def test_all_of_a_container(open_path, mode):
    """-a means the container: no processes beside it, and no kernel threads."""
    shutil.copy(open_path / "burn", open_path / "outside")
    with running(open_path / "outside", "60"):
        script = f'./burn 20 >/dev/null & sleep 0.3; "$@" {mode} -o x.folded -a -d 1; status=$?; kill $!; exit $status'
        outcome = Outcome(in_container(open_path, script), open_path).recorded()
    roots = outcome.folded.roots()
    assert "burn" in roots and roots <= {"burn", "bpfflame", "bpfflame-reader", "bpfflame-broker", "exe", "sh", "setpriv", "sleep"}, roots
    assert outcome.summary["losses"]["unknown_processes"] == 0


@needs_pids
def test_threads_that_end_in_a_container(open_path):
    """A reaped thread has no ids any more; the recording keeps those that it had."""
    shutil.copy(WORKLOADS / "crowd", open_path)
    script = '"$@" --wall --threads -o x.folded -- ./crowd 1 20'
    outcome = Outcome(in_container(open_path, script), open_path).recorded()
    tids = {int(root.rpartition("/")[2]) for root in outcome.folded.roots()}
    truth = {thread["tid"] for thread in json.loads(outcome.stdout.splitlines()[-2])["threads"]}
    assert 0 not in tids and truth <= tids


def test_user_namespace(open_path):
    """A rootless container: all capabilities, but none that counts outside."""
    if subprocess.run(["unshare", "-Ur", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("user namespaces are not allowed here")
    run_in(open_path, ["unshare", "-Ur"], "-a", "-d", "0.2").refused("user namespace", "rootless")


@needs_unshare
def test_bare_root_folder(open_path):
    """A plain chroot: names and whole stacks need nothing of /dev. Without /proc, nothing works."""
    outcome = run_in(open_path, in_mounts("mount -t tmpfs none /dev"), "--", "./burn", "0.5").recorded()
    assert has_names(outcome) and outcome.summary["complete_stacks_percent"] > 90, outcome
    assert not any(outcome.summary["losses"].values()), outcome
    run_in(open_path, in_mounts("mount -t tmpfs none /proc"), "-a", "-d", "0.2").refused(
        "/proc is not mounted", "mount -t proc")


def locked_out(folder, capabilities):
    """Runs beside a recording that uses up its user's locked memory."""
    limit = [sys.executable, "-c", "import os, resource, sys; resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536));"
             "os.execvp(sys.argv[1], sys.argv[1:])"]
    first = [*limit, *with_capabilities(LEAST), folder / "bpfflame", "-q", "-a", "-o", "first.folded"]
    with running(*first, cwd=folder):
        time.sleep(0.7)
        return run_in(folder, [*limit, *with_capabilities(capabilities)], "-a", "-d", "0.2")


def test_locked_memory(open_path):
    with sysctl("kernel.perf_event_mlock_kb", 516):
        locked_out(open_path, LEAST).refused("limit of locked memory")
        locked_out(open_path, [*LEAST, "ipc_lock"]).recorded()


def test_few_open_files(open_path):
    limit = [sys.executable, "-c", "import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20));"
             "os.execvp(sys.argv[1], sys.argv[1:])"]
    run_in(open_path, limit, "-a", "-d", "0.2").refused("Too many open files", "ulimit -n")


@pytest.mark.parametrize("limit, words", [
    ("--data=1000000", ("memory is limited", "ulimit -d")),
    ("--data=8000000", ("memory is limited", "ulimit -d")),
    ("--as=16000000", ("memory is limited", "ulimit -v")),
    ("--nofile=5", ("Too many open files", "")),
    ("--nofile=40", ("Too many open files", "ulimit -n")),
    ("--fsize=0", ("File too large", "ulimit -f"))])
def test_low_limits(open_path, limit, words):
    """Each ends in words, not in a signal. Something runs, so that there is something to write."""
    with workload("burn", 60):
        run_in(open_path, ["prlimit", limit], "-a", "-d", "0.2").refused(*words)


@pytest.mark.parametrize("limit", ["--nproc=1", "--core=0", "--memlock=0"])
def test_limits_that_do_not_matter(open_path, limit):
    run_in(open_path, ["prlimit", limit], "-a", "-d", "0.2").recorded()


def test_small_stack(open_path):
    """What a user's shell may leave to a recording that sudo starts; a hard limit can't be raised without its right."""
    run_in(open_path, ["prlimit", "--stack=65536:8388608"], "-a", "-d", "0.2").recorded()
    run_in(open_path, ["prlimit", "--stack=65536", *with_capabilities(LEAST)], "-a", "-d", "0.2").refused(
        "stack is limited", "ulimit -s")


# --- seccomp filters ------------------------------------------------------------------------

NUMBERS = {"x86_64": {"bpf": 321, "perf_event_open": 298}, "aarch64": {"bpf": 280, "perf_event_open": 241}}
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7fff0000, 0x00050000


def deny(names, error):
    """Returns a preexec_fn that installs a seccomp filter: these system calls fail, as under a
    container's default profile without the capability."""
    numbers = [NUMBERS[os.uname().machine][name] for name in names]
    program = [(LOAD, 0, 0, 0)]
    program += [(JUMP_IF_EQUAL, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERRNO | error)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None)

    def apply(keep=code):
        assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, header, 0, 0) == 0 and keep
    return apply


@pytest.mark.parametrize("names, said", [
    (["bpf"], "refuses bpf()"), (["perf_event_open"], "refuses perf_event_open()"),
    (["bpf", "perf_event_open"], "refuses bpf() and perf_event_open()")])
@pytest.mark.parametrize("mode", ["--oncpu", "--offcpu"])
@pytest.mark.parametrize("error", [1, 38])
def test_seccomp(open_path, names, said, mode, error):
    result = subprocess.run([open_path / "bpfflame", "--json", mode, "-a", "-d", "0.2", "-o", "x.folded"], cwd=open_path,
                            preexec_fn=deny(names, error), capture_output=True, text=True, timeout=60,
                            env={**os.environ, "container": "docker"}, check=False)
    Outcome(result, open_path).refused("seccomp", said, "docker run --security-opt seccomp=")


# --- the page -------------------------------------------------------------------------------


def test_the_page_names_what_the_messages_do():
    page = (ROOT / "docs" / "containers.md").read_text()
    source = (ROOT / "user" / "collect" / "rights.c").read_text()
    for word in re.findall(r'\{(CAP_\w+), "', source):
        assert word in page, word
    for word in ("--cap-add", "securityContext", "setcap", "seccomp", "hidepid", "memlock"):
        assert word in page and word in source + (ROOT / "user/collect/targets.c").read_text(), word
