# SPDX-License-Identifier: GPL-2.0-or-later
"""Attacks through the paths, links, mounts and files of recorded processes on a recorder that runs
as root: users try to make it open harmful files, block, reveal what only root may read, or put
wrong names on root's programs.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from harness import Folded, Running, comm_of, record, wait_until, workload

USER = 61234
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
# Root of a user namespace, who may mount and chroot there.
AS_USERS_ROOT = [*AS_USER, "unshare", "--user", "--map-root-user", "--mount"]
LIMIT = 20  # seconds; a recorder that waits for the user would take longer


def can_be_users_root():
    return subprocess.run([*AS_USERS_ROOT, "true"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


needs_user_namespaces = pytest.mark.skipif(
    not can_be_users_root(), reason="users can have no namespaces here: unshare --user fails")


@pytest.fixture
def home():
    """A folder of the user's."""
    folder = Path(tempfile.mkdtemp(prefix="bpfflame-user-"))
    os.chown(folder, USER, USER)
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def give(*paths):
    for path in paths:
        os.lchown(path, USER, USER)


@contextlib.contextmanager
def attacker(script, *arguments, words=AS_USER, **options):
    """Starts a Python script as the user, and waits for the line that it prints when it is
    ready."""
    process = subprocess.Popen([*words, sys.executable, "-c", script, *map(str, arguments)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               cwd="/", **options)
    try:
        line = process.stdout.readline()
        assert line, "the attack was not prepared"
        process.said = line.strip()
        yield process
    finally:
        process.kill()
        process.communicate()


def compile_c(source, output, *flags):
    subprocess.run(["gcc", "-O2", "-x", "c", "-", "-o", output, *flags], input=source, text=True,
                   check=True)


# --- what is opened ---------------------------------------------------------------------------

# Maps a file as code, unlinks it, and puts something else in its place: when its record is read,
# only the path is left. Each file is new, because a known one would not be opened. Closing a
# terminal that was opened hangs it up; opening a FIFO to read unblocks its writer.
MAPPER = """
import fcntl, mmap, os, struct, sys, threading, time
home, program, kind = sys.argv[1:]
text = open(program, "rb").read()
opened = []

def make_terminal(path):
    master = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    fcntl.ioctl(master, 0x40045431, struct.pack("i", 0)) # TIOCSPTLCK: unlocked
    number, = struct.unpack("I", fcntl.ioctl(master, 0x80045430, bytes(4))) # TIOCGPTN
    os.symlink(f"/dev/pts/{number}", path)
    def is_opened():
        try:
            os.read(master, 1)
        except BlockingIOError:
            return False
        except OSError:
            return True
    return is_opened

def make_fifo(path):
    opened = []
    os.mkfifo(path)
    threading.Thread(target=lambda: opened.append(os.open(path, os.O_WRONLY)), daemon=True).start()
    return lambda: bool(opened)

print("ready", flush=True)
traps = []
for number in range(100):
    path = f"{home}/library-{number}.so"
    with open(path, "wb") as file:
        file.write(text)
    fd = os.open(path, os.O_RDONLY)
    mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()
    os.close(fd)
    os.unlink(path)
    traps.append((make_terminal if kind == "terminal" else make_fifo)(path))
    time.sleep(0.02)
sys.stdin.readline()
print(sum(is_opened() for is_opened in traps), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("kind", ["terminal", "fifo"])
def test_a_replaced_library_is_not_opened(tmp_path, home, kind):
    """A link to a device would be enough: opening and closing /dev/watchdog reboots the machine."""
    with attacker(MAPPER, home, "/bin/true", kind) as process:
        result = record("-p", process.pid, "-d", 1.5, "-o", tmp_path / "x.folded", timeout=LIMIT)
        process.stdin.write("count\n")
        process.stdin.flush()
        assert int(process.stdout.readline()) == 0
    # The files were looked for, and are missing.
    assert result.summary["losses"]["unreadable_files"] > 5, result.summary["losses"]


# --- programs that claim too much about others ------------------------------------------------

SPIN = """
#include <unistd.h>
static volatile unsigned long sink;
__attribute__((noinline)) void NAME(void) { for (int i = 0; i < 100000; i++) sink += i; }
int main(void) { alarm(60); for (;;) NAME(); }
"""


@pytest.fixture(scope="module")
def spin():
    """A program without symbols that everybody can run, and its debug file; a debug file with
    another name for its function; and the program with its own symbols."""
    folder = Path(tempfile.mkdtemp(prefix="bpfflame-spin-"))
    folder.chmod(0o755)

    def run(*command):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    compile_c(SPIN.replace("NAME", "honest"), folder / "whole", "-g", "-static",
              "-Wl,--build-id=0x0123456789abcdef")
    compile_c(SPIN.replace("NAME", "forged"), folder / "forged", "-g", "-static",
              "-Wl,--build-id=0x0123456789abcdef")
    run("objcopy", "--only-keep-debug", "whole", "spin.debug")
    run("objcopy", "--only-keep-debug", "forged", "forged.debug")
    run("objcopy", "--strip-all", "--add-gnu-debuglink=spin.debug", "whole", "spin")
    (folder / "bin").mkdir()
    shutil.move(folder / "spin", folder / "bin" / "spin")
    yield folder
    shutil.rmtree(folder)


LEASE = """
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("leased", flush=True)
signal.pause()
"""


def test_lease_on_a_debug_file(tmp_path, home, spin):
    """Opening it takes until its holder releases the lease, or the kernel breaks it: 45 s."""
    for name in "bin/spin", "spin.debug":
        shutil.copy(spin / name, home)
    give(home / "spin", home / "spin.debug")
    with attacker(LEASE, home / "spin.debug"), workload(home / "spin") as process:
        result = record("-p", process.pid, "-F", 499, "-d", 0.5, "-o", tmp_path / "x.folded",
                        timeout=LIMIT)
    assert result.summary["losses"]["unreadable_files"] == 1, result.summary["losses"]
    assert Folded(tmp_path / "x.folded").with_frame("honest") == 0


# Generated code without a file; and a file that claims a name for it.
JIT = """
import ctypes, mmap, os, subprocess, sys
loop = {"x86_64": b"\\xeb\\xfe", "aarch64": b"\\x00\\x00\\x00\\x14"}[os.uname().machine]
path = f"/tmp/perf-{os.getpid()}.map"
PREPARE
memory = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                   mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(loop)
print(path, flush=True)
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()
"""
COVER = """
open(path, "w").close()
subprocess.run(["mount", "--bind", sys.argv[1], path], check=True)
"""
LINES = "0 7fffffffffff only_root_may_read_this\n"


def names_of_jit(tmp_path, process):
    record("-p", process.pid, "-F", 499, "-d", 0.5, "-o", tmp_path / "x.folded", timeout=LIMIT)
    folded = Folded(tmp_path / "x.folded")
    assert folded.total() > 20
    return {name for name in folded.names() if name.endswith("_[j]")}


@needs_user_namespaces
@pytest.mark.parametrize("is_covered", [False, True])
def test_mount_over_a_perf_map(tmp_path, home, is_covered):
    """A file of root's that the user can see but not read, presented as a perf map: its lines must
    not be shown. The same lines in a map of the user's own are shown."""
    secret = home / "secret"
    secret.write_text(LINES)
    secret.chmod(0o600)
    prepare = COVER if is_covered else f'open(path, "w").write({LINES!r})'
    with attacker(JIT.replace("PREPARE", prepare), secret, words=AS_USERS_ROOT) as process:
        os.utime(secret)  # newer than the process
        try:
            names = names_of_jit(tmp_path, process)
        finally:
            Path(process.said).unlink(missing_ok=True)
    assert names == (set() if is_covered else {"only_root_may_read_this_[j]"})


SILENT_FUSE = """
device = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
if libc.mount(b"silent", b"/tmp", b"fuse", 0, options.encode()) != 0:
    sys.exit("cannot mount: " + os.strerror(ctypes.get_errno()))
import struct
unique = struct.unpack_from("Q", os.read(device, 65536), 8)[0] # FUSE_INIT, and nothing afterwards
answer = struct.pack("IiQIIII", 16 + 64, 0, unique, 7, 31, 0, 0) + bytes(48)
os.write(device, answer)
"""


@needs_user_namespaces
@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no /dev/fuse")
def test_filesystem_that_never_answers(tmp_path):
    """The user's own, mounted as the /tmp of a process."""
    mode = os.stat("/dev/fuse").st_mode
    os.chmod("/dev/fuse", 0o666)  # as udev sets it
    try:
        with attacker(JIT.replace("PREPARE", SILENT_FUSE), words=AS_USERS_ROOT) as process:
            assert names_of_jit(tmp_path, process) == set()
    finally:
        os.chmod("/dev/fuse", mode)


# Processes whose exec closes a file of a server that does not answer: until it does, whoever reads
# what they have mapped waits, and whoever looks at their root folder.
HELD = """
import ctypes, os, struct, sys, threading
place, n = sys.argv[1], int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
open(place, "w").close()
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=100644,user_id=0,group_id=0"
if libc.mount(b"silent", place.encode(), b"fuse", 0, options.encode()) != 0:
    sys.exit("cannot mount: " + os.strerror(ctypes.get_errno()))
attributes = struct.pack("6Q10I", 1, 4096, 8, 0, 0, 0, 0, 0, 0, 0o100644, 1, 0, 0, 0, 4096, 0)
answers = {
    26: struct.pack("4I2H2I2H", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0) + bytes(28), # INIT
    14: struct.pack("Q2I", 1, 0, 0), # OPEN
    3: struct.pack("Q2I", 1000, 0, 0) + attributes, # GETATTR
}
FLUSH, FORGETS = 25, (2, 42)
held = threading.Semaphore(0)

def serve():
    while True:
        _, kind, unique = struct.unpack_from("2IQ", os.read(device, 1 << 17))
        if kind == FLUSH:
            held.release()
        elif kind not in FORGETS:
            body = answers.get(kind, b"")
            error = 0 if kind in answers else -38
            os.write(device, struct.pack("IiQ", 16 + len(body), error, unique) + body)

threading.Thread(target=serve, daemon=True).start()
for _ in range(n):
    if os.fork() == 0:
        libc.prctl(1, 9) # PR_SET_PDEATHSIG, SIGKILL
        fd = os.open(place, os.O_RDONLY) # closed by exec
        os.execv("/bin/sleep", ["sleep", "60"])
for _ in range(n):
    held.acquire()
print("held", flush=True)
sys.stdin.readline()
"""


@needs_user_namespaces
@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no /dev/fuse")
def test_processes_that_keep_who_looks_at_them_waiting(tmp_path, home, spin):
    mode = os.stat("/dev/fuse").st_mode
    os.chmod("/dev/fuse", 0o666)  # as udev sets it
    try:
        with attacker(HELD, home / "file", 40, words=AS_USERS_ROOT), workload(spin / "whole"):
            result = record("-a", "-F", 499, "-d", 0.5, "-o", tmp_path / "x.folded", timeout=LIMIT)
    finally:
        os.chmod("/dev/fuse", mode)
    assert Folded(tmp_path / "x.folded").with_frame("honest") > 20
    # After a few of them, the rest are left alone.
    assert result.summary["losses"]["over_budget"] >= 30, result.summary
    assert result.summary["over_budget_user"] == USER, result.summary


# Runs a program of root's in a root folder of the user's.
CONTAINER = """
import os, subprocess, sys
root, program, place = sys.argv[1:]
os.makedirs(os.path.dirname(root + place))
os.mkdir(root + "/old")
open(root + place, "w").close()
subprocess.run(["mount", "--bind", root, root], check=True)
subprocess.run(["mount", "--bind", program, root + place], check=True)
os.chdir(root)
subprocess.run(["pivot_root", ".", "old"], check=True)
os.chdir("/")
print("ready", flush=True)
os.execv(place, [place])
"""


@needs_user_namespaces
@pytest.mark.parametrize("where", ["below their root", "below ours"])
def test_forged_debug_file(tmp_path, home, spin, where):
    """Root and the user run the same program of root's: the user's debug file must not name root's
    processes, even if its path also exists as the user's below our root."""
    root = home / "root"
    by_id = root / "usr/lib/debug/.build-id/01/23456789abcdef.debug"
    by_id.parent.mkdir(parents=True)
    forged = by_id if where == "below their root" else home / "spin.debug"
    shutil.copy(spin / "forged.debug", forged)
    for folder, _, names in os.walk(home):
        give(folder, *(os.path.join(folder, name) for name in names))
    program, place = spin / "bin" / "spin", f"{home}/spin"
    with attacker(CONTAINER, root, program, place, words=AS_USERS_ROOT) as process:
        wait_until(lambda: comm_of(process.pid) == "spin")
        with workload(program) as roots:
            record("-p", f"{process.pid},{roots.pid}", "--threads", "-F", 499, "-d", 0.5,
                   "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    assert folded.total() > 100
    assert folded.with_frame("forged") == 0, folded.stacks


# --- probes -------------------------------------------------------------------------------------

LIBRARY = """
PADDING
static volatile unsigned long sink;
__attribute__((noinline)) void work(void) { for (int i = 0; i < 100; i++) sink += i; }
"""
# Loads a library, and mounts another over it.
LOADER = """
import ctypes, subprocess, sys, time
path, other = sys.argv[1:]
library = ctypes.CDLL(path)
subprocess.run(["mount", "--bind", other, path], check=True)
print("ready", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end:
    library.work()
"""


@needs_user_namespaces
def test_probe_goes_where_the_process_has_mapped_the_library(tmp_path, home):
    """Not in the library that its path leads to now, which other processes run."""
    path, other = home / "libattacked.so", home / "other.so"
    for library, padding in (path, ""), (other, "int padding(int i) { return i / 7; }"):
        compile_c(LIBRARY.replace("PADDING", padding), library, "-shared", "-fPIC", "-nostdlib")
    with attacker(LOADER, path, other, words=AS_USERS_ROOT) as process:
        result = record("-e", "uprobe:libattacked.so:work", "-p", process.pid, "-d", 0.5,
                        "-o", tmp_path / "x.folded", timeout=LIMIT)
    assert result.summary["samples"] > 10, result
    assert Folded(tmp_path / "x.folded").with_frame("work") > 10


# --- snapshots of a filesystem ------------------------------------------------------------------


def has_btrfs():
    if shutil.which("modprobe"):
        subprocess.run(["modprobe", "-q", "btrfs"], check=False)
    return "btrfs" in Path("/proc/filesystems").read_text().split()


@pytest.fixture
def snapshots(tmp_path, spin):
    """Two root folders, one a snapshot of the other, whose program was changed in place: to the
    kernel, the same device, inode, size and path."""
    image, place = tmp_path / "image", tmp_path / "mounted"
    place.mkdir()
    with open(image, "wb") as file:
        file.truncate(128 << 20)

    def run(*command):
        subprocess.run(command, check=True, capture_output=True)

    run("mkfs.btrfs", "-q", image)
    run("mount", "-o", "loop", image, place)
    try:
        run("btrfs", "subvolume", "create", place / "a")
        shutil.copy(spin / "whole", place / "a" / "spin")
        run("btrfs", "subvolume", "snapshot", place / "a", place / "b")
        text = (place / "b" / "spin").read_bytes()
        with open(place / "b" / "spin", "r+b") as file:
            file.write(text.replace(b"honest\0", b"second\0"))
        run("sync", "-f", place)
        assert (place / "a" / "spin").stat().st_ino == (place / "b" / "spin").stat().st_ino
        yield place
    finally:
        run("umount", place)


needs_btrfs = pytest.mark.skipif(not has_btrfs(), reason="this kernel has no btrfs")


@contextlib.contextmanager
def spin_in(root):
    with workload(None, command=["chroot", root, "/spin"]) as process:
        wait_until(lambda: comm_of(process.pid) == "spin")
        yield process


def frames_by_root(folded):
    return {root: {frame for frames, _ in folded.of_root(root) for frame in frames}
            for root in folded.roots()}


@needs_btrfs
@pytest.mark.parametrize("order", ["ab", "ba"])
def test_snapshots_are_different_programs(tmp_path, snapshots, order):
    with contextlib.ExitStack() as stack:
        pids = {name: stack.enter_context(spin_in(snapshots / name)).pid for name in order}
        record("-p", ",".join(str(pids[name]) for name in order), "--threads", "-F", 499,
               "-d", 0.5, "-o", tmp_path / "x.folded")
    names = frames_by_root(Folded(tmp_path / "x.folded"))
    for name, own, other in ("a", "honest", "second"), ("b", "second", "honest"):
        frames = names[f"spin-{pids[name]}/{pids[name]}"]
        assert own in frames and other not in frames, frames


@contextlib.contextmanager
def asleep(running):
    """Stops bpfflame, so that it only sees what happens meanwhile when that is over."""
    running.signal(signal.SIGSTOP)
    yield
    running.signal(signal.SIGCONT)


@needs_btrfs
@pytest.mark.parametrize("others", ["before", "afterwards"])
def test_program_of_a_snapshot_that_has_ended(tmp_path, snapshots, others):
    """Nothing says which of the two programs it ran: it gets no names rather than the other one's,
    whether the other runs already or is seen later."""
    with contextlib.ExitStack() as stack:
        if others == "before":
            first = stack.enter_context(spin_in(snapshots / "a"))
        running = Running("--json", "-a", "--threads", "-F", 499, "-d", 3, "-o",
                          tmp_path / "x.folded")
        time.sleep(1)  # it has begun
        with asleep(running), spin_in(snapshots / "b") as gone:
            time.sleep(0.3)
        if others == "afterwards":
            time.sleep(0.5)  # it has looked
            first = stack.enter_context(spin_in(snapshots / "a"))
        assert running.wait().returncode == 0
    names = frames_by_root(Folded(tmp_path / "x.folded"))
    assert "honest" in names[f"spin-{first.pid}/{first.pid}"]
    frames = names[f"spin-{gone.pid}/{gone.pid}"]
    assert any(frame.startswith("[spin+0x") for frame in frames), frames
    assert not frames & {"honest", "second"}, frames
