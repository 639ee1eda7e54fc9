# SPDX-License-Identifier: GPL-2.0-or-later
"""Another user prepares the places where root writes: nothing of root's is written, read or lost
through that.

The attacker has uid 65534, and a folder that everybody may write to, like /tmp, or one of their
own.
"""
import contextlib
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from harness import (BPFFLAME, WORKLOADS, Folded, Running, assert_only, error_line, run,
                     wait_until, workload)
from pprof_file import Meaning

pytestmark = pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv (util-linux)")

OTHER = 65534
RECORD = ["-q", "-F", 99, "-p", os.getpid(), "-d", "0.2"]


class Scene:
    """public: like /tmp; home: the attacker's own; roots: only root may change it."""

    def __init__(self, path):
        self.path = path
        for parent in [path, *path.parents]:
            if str(parent).startswith("/tmp/"):
                parent.chmod(parent.stat().st_mode | 0o011)
        for name, mode in ("public", 0o1777), ("home", 0o755), ("roots", 0o755):
            (path / name).mkdir()
            (path / name).chmod(mode)
        os.chown(path / "home", OTHER, OTHER)
        self.public, self.home, self.roots = path / "public", path / "home", path / "roots"
        (path / "in.folded").write_text("a;b 1\n")
        (self.roots / "precious").write_text("precious")

    def attacker(self, *command):
        """The words that run a command as the attacker."""
        return ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups",
                *map(str, command)]

    def attack(self, script, cwd=None):
        subprocess.run(self.attacker("sh", "-ec", script), cwd=cwd or self.public, check=True,
                       timeout=30)

    def run(self, *arguments, cwd=None, **options):
        return run(*arguments, cwd=cwd or self.public, **options)

    def assert_untouched(self):
        assert_only(self.roots, ["precious"])
        assert (self.roots / "precious").read_text() == "precious"


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


def writers(scene, output):
    """The commands that write a file with this name."""
    return [[*RECORD, "-o", output, "-f", "folded"],
            ["render", scene.path / "in.folded", "-o", output, "-f", "folded"],
            ["diff", scene.path / "in.folded", scene.path / "in.folded", "-o", output,
             "-f", "json"]]


def assert_refused(result, *texts):
    assert result.returncode == 1, result
    for text in texts:
        assert text in error_line(result), result


# --- names ----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["precious", "new"])
def test_link_at_the_name(scene, target):
    scene.attack(f"ln -s ../roots/{target} x.out")
    for command in writers(scene, "x.out"):
        assert_refused(scene.run(*command), "x.out", "symbolic link")
    scene.assert_untouched()
    assert_only(scene.public, ["x.out"])


def test_link_of_the_caller(scene):
    """Neither followed nor replaced: the user who made it decides."""
    (scene.roots / "x.folded").symlink_to("precious")
    result = scene.run("render", "../in.folded", "-o", "x.folded", cwd=scene.roots)
    assert_refused(result, "symbolic link")
    assert (scene.roots / "x.folded").is_symlink()
    assert (scene.roots / "precious").read_text() == "precious"


def test_hard_link_at_the_name(scene):
    """As without fs.protected_hardlinks: the file under the other name does not change."""
    os.link(scene.roots / "precious", scene.public / "x.out")
    for command in writers(scene, "x.out"):
        assert scene.run(*command).returncode == 0
    scene.assert_untouched()


def test_file_of_another_user(scene):
    """Left alone in a sticky folder; a free name can be used."""
    scene.attack("echo theirs >x.out")
    for command in writers(scene, "x.out"):
        assert_refused(scene.run(*command), "belongs to somebody else", "-o")
    assert (scene.public / "x.out").read_text() == "theirs\n"
    for command in writers(scene, "y.out") * 2:
        assert scene.run(*command).returncode == 0
    assert_only(scene.public, ["x.out", "y.out"])


def test_pipe_of_another_user(scene):
    """Opening it would block, or let its creator read."""
    scene.attack("mkfifo x.out")
    scene.attack("mkfifo x.out", cwd=scene.home)
    for folder in scene.public, scene.home:
        for command in writers(scene, "x.out"):
            assert_refused(scene.run(*command, timeout=20, cwd=folder), "x.out")


def test_pipe_of_the_caller(scene):
    os.mkfifo(scene.public / "x.folded")
    with subprocess.Popen(["cat", scene.public / "x.folded"], stdout=subprocess.PIPE) as reader:
        result = scene.run("render", "../in.folded", "-o", "x.folded", timeout=20)
        assert result.returncode == 0, result
        assert reader.communicate(timeout=20)[0] == b"a;b 1\n"
    assert_only(scene.public, ["x.folded"])


def test_folders_at_predictable_names(scene):
    """The next processes' numbers are predictable."""
    probe = subprocess.Popen(["true"])
    probe.wait()
    names = [f".x.out.bpfflame-{probe.pid + i}" for i in range(400)]
    scene.attack("mkdir " + " ".join(names))
    for command in writers(scene, "x.out"):
        result = scene.run(*command)
        assert result.returncode == 0, result
    assert_only(scene.public, ["x.out", *names])


# --- folders --------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["link", "link/", "link/below", "theirs", "theirs/below"])
def test_link_or_folder_on_the_way(scene, where):
    """In /tmp a name belongs to whoever comes first, with everything below it."""
    scene.attack("ln -s ../roots link; mkdir -p theirs/below")
    (scene.roots / "below").mkdir()
    for command in writers(scene, f"{where}/x.out"):
        assert_refused(scene.run(*command), "belongs to somebody else", "-o")
    for command in ([*RECORD, "--every", 1, "--out-dir", where],
                    ["baseline", "save", "bench", "../in.folded", "--commit", "c", "--dir", where]):
        assert_refused(scene.run(*command), "belongs to somebody else", "--dir")
    assert_only(scene.roots / "below", [])
    assert_only(scene.public / "theirs/below", [])
    (scene.roots / "below").rmdir()
    scene.assert_untouched()


def open_files(pid):
    files = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            files.add(os.readlink(path))
    return files


def test_folder_that_is_exchanged(scene):
    """Writes to the folder that was checked, whatever its name is by then."""
    scene.attack("mkdir out", cwd=scene.home)
    running = Running("-q", "-p", os.getpid(), "-d", 1, "-o", "out/x.folded", cwd=scene.home)
    wait_until(lambda: str(scene.home / "out") in open_files(running.process.pid))
    scene.attack("mv out before; ln -s ../roots out", cwd=scene.home)
    result = running.wait()
    assert result.returncode == 0, result
    scene.assert_untouched()
    Folded(scene.home / "before" / "x.folded")


def test_folder_that_is_made_anew(scene):
    """A command may delete and recreate the folder that it is recorded to."""
    (scene.roots / "out").mkdir()
    result = scene.run("-q", "-o", "out/x.folded", "--", "sh", "-c", "rmdir out && mkdir out",
                       cwd=scene.roots)
    assert result.returncode == 0, result
    Folded(scene.roots / "out" / "x.folded")


@pytest.mark.parametrize("mode", [0o777, 0o2775])
def test_folder_that_others_can_write_to(scene, mode):
    """Unless it is sticky, nothing in it can be relied on."""
    os.chown(scene.public, 0, OTHER)
    scene.public.chmod(mode)
    for command in writers(scene, "x.out"):
        assert_refused(scene.run(*command), "others can write to its folder", "-o")
    for command in ([*RECORD, "--every", 1, "--out-dir", "."],
                    ["baseline", "save", "bench", "../in.folded", "--commit", "c", "--dir", "."]):
        assert scene.run(*command).returncode == (1 if "--every" in command else 0)
    scene.public.chmod(0o755)
    assert not [name for name in os.listdir(scene.public) if name != "bench"]


def test_folders_of_other_users(scene):
    """Root in another user's home: does what was asked, and touches nothing of root's."""
    scene.attack("ln -s ../roots/precious y.folded; ln -s ../roots down; echo theirs >x.folded",
                 cwd=scene.home)
    result = scene.run("render", "../in.folded", "-o", "x.folded", cwd=scene.home)
    assert result.returncode == 0, result
    assert (scene.home / "x.folded").stat().st_uid == 0
    for name in "y.folded", "down/z.folded":
        assert scene.run("render", "../in.folded", "-o", name, cwd=scene.home).returncode == 1
    scene.assert_untouched()


# --- sets -----------------------------------------------------------------------------------

# Creates links under the next file names of a set as soon as its first file appears.
PLANTER = """
import contextlib, os, re, time
end = time.monotonic() + 4
while time.monotonic() < end:
    for name in os.listdir("."):
        stamp = re.match(r"[.]?(\\d{8}T\\d{6}([.]\\d{3})?Z(-\\d+)?)-oncpu[.]svg", name)
        if stamp:
            for link in stamp[1] + "-oncpu.folded", stamp[1] + "-oncpu.html", "index.html":
                with contextlib.suppress(OSError):
                    os.symlink("../roots/precious", link)
"""


def test_links_between_the_files_of_a_set(scene):
    with subprocess.Popen(scene.attacker(sys.executable, "-c", PLANTER),
                          cwd=scene.public) as planter:
        result = scene.run(*RECORD[:-2], "-d", 3, "--every", "300ms", "-f", "svg,folded,html",
                           "--out-dir", ".")
        planter.wait()
    # Sets may fail if a name is taken; existing ones are complete.
    assert result.returncode in (0, 1), result
    scene.assert_untouched()
    for path in scene.public.iterdir():
        if path.suffix == ".folded" and not path.is_symlink():
            Folded(path)


def test_list_of_another_user(scene):
    """Appending would write to the link's target."""
    empty = scene.roots / "empty"
    empty.write_text("")
    for script in "ln -s ../roots/empty index.jsonl", ": >index.jsonl":
        scene.attack(script)
        assert_refused(scene.run(*RECORD, "--every", 1, "--out-dir", "."), "index.jsonl")
        scene.attack("rm index.jsonl")
    os.link(empty, scene.public / "index.jsonl")
    assert_refused(scene.run(*RECORD, "--every", 1, "--out-dir", "."), "index.jsonl")
    assert empty.read_text() == ""


# --- locks ----------------------------------------------------------------------------------


@contextlib.contextmanager
def held(scene, folder):
    """The attacker locks a folder that they can read, and keeps the lock."""
    script = f"exec flock -x {folder} sh -c 'echo held; exec sleep 60'"
    with subprocess.Popen(scene.attacker("sh", "-c", script), stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        yield
        process.kill()


@pytest.mark.skipif(not shutil.which("flock"), reason="needs flock (util-linux)")
def test_folders_locked_by_another_user(scene):
    sets, store = scene.public / "sets", scene.public / "store"
    save = ["baseline", "save", "-q", "bench", "../in.folded", "--dir", store, "--commit"]
    assert scene.run(*save, "a").returncode == 0
    sets.mkdir()
    for folder in sets, store, store / "bench":
        assert folder.stat().st_mode & 0o777 == 0o755
    with held(scene, sets), held(scene, store), held(scene, store / "bench"):
        result = scene.run("--json", "-p", os.getpid(), "-d", "0.5", "--every", 60, "--out-dir",
                           sets, timeout=30)
        assert result.returncode == 0 and result.summary["sets"]["written"] == 1, result
        assert scene.run(*save, "b", timeout=30).returncode == 0
        assert scene.run("baseline", "remove", "-q", "bench@b", "--dir", store,
                         timeout=30).returncode == 0
    assert_only(store / "bench", ["a"])
    assert not [name for name in os.listdir(sets) if name.startswith(".")]


def test_lock_file_of_another_user(scene):
    scene.attack("touch .bpfflame.lock")
    assert_refused(scene.run(*RECORD, "--every", 1, "--out-dir", "."), ".bpfflame.lock",
                   "belongs to somebody else")


# --- who can read it ------------------------------------------------------------------------


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_modes(scene):
    """Private to the caller, whatever the umask; --mode changes that for everything that is
    written."""
    for options, mode in ([], 0o600), (["--mode", "644"], 0o644), (["--mode", "0640"], 0o640):
        for umask in 0, 0o077:
            folder = scene.roots / f"{mode:o}-{umask:o}"
            folder.mkdir()
            for command in ([*RECORD, *options], [*RECORD, "--every", 60, *options],
                            ["render", "../../in.folded", "-o", "r.svg", *options],
                            ["diff", "../../in.folded", "../../in.folded", "-o", "d.svg",
                             "--markdown", "d.md", *options],
                            ["baseline", "save", "bench", "../../in.folded", "--commit", "c",
                             "--dir", "store", *options]):
                result = subprocess.run(
                    ["sh", "-c", f'umask {umask:03o}; exec "$0" "$@"', BPFFLAME,
                     *map(str, command)], cwd=folder, check=False, timeout=60,
                    capture_output=True, text=True)
                assert result.returncode == 0, result
            files = [path for path in folder.rglob("*") if path.is_file()]
            assert len(files) == 2 + 4 + 1 + 2 + 2, files
            assert {mode_of(path) for path in files} == {mode}, files


@pytest.mark.parametrize("mode", ["", "8", "1777", "rw", "-1", "64 4", "0x1"])
def test_modes_that_are_none(scene, mode):
    for command in (RECORD, ["render", "../in.folded", "-o", "x.svg"]):
        result = scene.run(*command, "--mode", mode)
        assert result.returncode == 2 and "--mode" in error_line(result), result


def test_replaced_files_have_the_mode_too(scene):
    path = scene.roots / "x.folded"
    path.write_text("old")
    path.chmod(0o666)
    assert scene.run("render", "../in.folded", "-o", path).returncode == 0
    assert mode_of(path) == 0o600


def test_names_of_temporary_files(scene):
    """While a set is written, readers see none of it or complete files."""
    seen = set()
    running = Running("-q", "-p", os.getpid(), "-d", 2, "--every", "200ms", "--out-dir",
                      scene.roots)
    while running.process.poll() is None:
        seen |= set(os.listdir(scene.roots))
    result = running.wait()
    assert result.returncode == 0, result
    hidden = {name for name in seen if name.startswith(".")} - {".bpfflame.lock"}
    # Those that replace another file: the page.
    assert all(re.fullmatch(r"[.]index[.]html[.]bpfflame-[0-9a-f]{16}", name) for name in hidden)
    wait_until(lambda: ".bpfflame.lock" not in os.listdir(scene.roots))


def test_where_files_were_mapped(scene):
    """That is random to keep it secret; profiles need only offsets in files."""
    with workload("burn", 5, 1) as process:
        path = scene.roots / "x.pb.gz"
        assert scene.run("-q", "-p", process.pid, "-d", "0.5", "-o", path).returncode == 0
        maps = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
    starts = {int(line.partition("-")[0], 16) for line in maps}
    offsets = set()
    for mapping, address, _, _ in Meaning(path).locations.values():
        mapping = dict(mapping or {})
        if mapping.get("filename", "").endswith("/burn"):
            assert mapping["memory_start"] not in starts
            offsets.add(address - mapping["memory_start"] + (mapping["file_offset"] or 0))
    assert offsets and all(0 < offset < (WORKLOADS / "burn").stat().st_size for offset in offsets)
