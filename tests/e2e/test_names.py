# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of recorded frames: inlined functions, lines, debug files, containers."""
import collections
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness import Folded, Running, can_unshare, error_line, record, run, wait_until


SOURCE = r"""
namespace space {
struct Work {
	volatile unsigned long n;
	inline __attribute__((always_inline)) void spin(unsigned long times)
	{
		for (unsigned long i = 0; i < times; i++)
			n = n * 3 + i; /* line 7 */
	}
};
}
static inline __attribute__((always_inline)) void middle(space::Work &work)
{
	work.spin(1000000); /* line 13 */
}
extern "C" __attribute__((noinline)) void outer(space::Work &work)
{
	middle(work); /* line 17 */
}
int main(int n, char **)
{
	space::Work work = {1};
	for (int i = 0; n > 1 || i < 400; i++)
		outer(work); /* line 23 */
	return work.n == 0;
}
"""

INLINED = ["outer", "middle_[i]", "space::Work::spin(unsigned long)_[i]"]
WITH_LINES = ["outer (spin.cc:17)", "middle (spin.cc:13)_[i]"]


@pytest.fixture(scope="module")
def spin(module_path):
    """The program with DWARF, and without it, with the DWARF in a separate file."""
    (module_path / "spin.cc").write_text(SOURCE.lstrip("\n"))

    def run(*command):
        subprocess.run(command, cwd=module_path, check=True, capture_output=True)

    run("g++", "-O2", "-g", "-Wl,--build-id", "-o", "spin", "spin.cc")
    run("objcopy", "--only-keep-debug", "spin", "spin.debug")
    run("objcopy", "--strip-all", "--add-gnu-debuglink=spin.debug", "spin", "bare")
    run("g++", "-O2", "-g", "-static", "-Wl,--build-id", "-o", "whole", "spin.cc")
    run("objcopy", "--only-keep-debug", "whole", "fixed.debug")
    run("objcopy", "--strip-all", "--add-gnu-debuglink=fixed.debug", "whole", "fixed")
    (module_path / "lonely").mkdir()
    shutil.copy(module_path / "bare", module_path / "lonely" / "bare")
    return module_path


def stacks(path, command, *arguments, **options):
    """Folded stacks of @command, by function alone."""
    record("-F", 499, *arguments, "-o", path / "out.folded", "--", *command, **options)
    return Folded(path / "out.folded")


def share(folded, *frames):
    """The share of the samples below outer() whose stacks have these frames in a row."""
    wanted = list(frames)

    def has(stack):
        return any(stack[i:i + len(wanted)] == wanted for i in range(len(stack)))

    return folded.total(has) / max(1, folded.total())


def test_inlined_functions_are_frames(spin, tmp_path):
    folded = stacks(tmp_path, [spin / "spin"])
    assert share(folded, "main", *INLINED) > 0.9, folded.stacks


def test_no_inline_leaves_them_out(spin, tmp_path):
    folded = stacks(tmp_path, [spin / "spin"], "--no-inline")
    assert share(folded, "main", "outer") > 0.9, folded.stacks
    assert not [name for name in folded.names() if name.endswith("_[i]")]


def test_lines(spin, tmp_path):
    folded = stacks(tmp_path, [spin / "spin"], "--lines")
    assert share(folded, "main (spin.cc:23)", *WITH_LINES) > 0.9, folded.stacks
    spin_lines = {name for name in folded.names() if name.startswith(INLINED[-1][:-4])}
    assert spin_lines <= {f"{INLINED[-1][:-4]} (spin.cc:{line})_[i]" for line in (6, 7)}


def test_addresses(spin, tmp_path):
    folded = stacks(tmp_path, [spin / "spin"], "--addresses")
    for frames, _ in folded.stacks:
        assert all(frame.startswith("[") for frame in frames[1:]), frames
    assert any(name.startswith("[spin+0x") for name in folded.names())


def test_no_demangle(spin, tmp_path):
    folded = stacks(tmp_path, [spin / "spin"], "--no-demangle")
    mangled = {name for name in folded.names() if name.startswith("_Z")}
    assert mangled and share(folded, "main") > 0.9, folded.stacks
    assert not any("::" in name for name in folded.names())


def test_functions_of_a_static_program_without_symbols(spin, tmp_path):
    """Are named by their starts, though such a program has no table of them."""
    shutil.copy(spin / "fixed", tmp_path / "fixed")
    folded = stacks(tmp_path, [tmp_path / "fixed"])
    symbols = subprocess.run(["nm", spin / "whole"], check=True, capture_output=True, text=True).stdout
    starts = {int(line.split()[0], 16) for line in symbols.splitlines() if line.split()[1] in "tTwW"}
    addresses = {int(name[len("[fixed+"):-1], 16) for name in folded.names() if name.startswith("[fixed+")}
    assert len(addresses) > 2
    assert addresses <= starts, [hex(address) for address in addresses - starts]


def test_debug_file_beside_the_program(spin, tmp_path):
    folded = stacks(tmp_path, [spin / "bare"])
    assert share(folded, "main", *INLINED) > 0.9, folded.stacks
    folded = stacks(tmp_path, [spin / "lonely" / "bare"])
    assert share(folded, *INLINED) == 0
    assert any(name.startswith("[bare+0x") for name in folded.names())


def test_symfs(spin, tmp_path):
    program = spin / "lonely" / "bare"
    place = tmp_path / "symbols" / str(program.parent).lstrip("/")
    place.mkdir(parents=True)
    shutil.copy(spin / "spin", place / "bare")
    folded = stacks(tmp_path, [program], "--symfs", tmp_path / "symbols")
    assert share(folded, "main", *INLINED) > 0.9, folded.stacks


def test_debuginfod(spin, tmp_path):
    """A script replaces the real client and its servers."""
    client = tmp_path / "debuginfod-find"
    client.write_text(f"#!/bin/sh\necho {spin / 'spin.debug'}\n")
    client.chmod(0o755)
    environment = dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}",
                       DEBUGINFOD_URLS="http://localhost:1",
                       DEBUGINFOD_CACHE_PATH=str(tmp_path / "cache"))
    folded = stacks(tmp_path, [spin / "lonely" / "bare"], env=environment)
    assert share(folded, "main", *INLINED) > 0.9, folded.stacks


@pytest.mark.skipif(os.geteuid() != 0, reason="files of two users")
@pytest.mark.parametrize("owner, caller, is_believed", [(0, "", True), (12345, "", False), (12345, "12345", True)])
def test_what_others_put_into_debuginfods_cache(spin, tmp_path, owner, caller, is_believed):
    """Only root and who called sudo name root's programs."""
    notes = subprocess.run(["readelf", "-n", spin / "spin"], check=True, capture_output=True, text=True).stdout
    cached = tmp_path / "cache" / notes.split("Build ID:")[1].split()[0] / "debuginfo"
    cached.parent.mkdir(parents=True)
    shutil.copy(spin / "spin.debug", cached)
    os.chown(cached, owner, owner)
    environment = dict(os.environ, PATH="/usr/bin:/bin", DEBUGINFOD_URLS="http://localhost:1",
                       DEBUGINFOD_CACHE_PATH=str(tmp_path / "cache"), **{"SUDO_UID": caller} if caller else {})
    folded = stacks(tmp_path, [spin / "lonely" / "bare"], "--user", "root", env=environment)
    assert (share(folded, "main", *INLINED) > 0.9) == is_believed, folded.stacks


def hanging_client(folder):
    """A debuginfod-find whose server never answers, and the environment that makes us find it."""
    client = folder / "debuginfod-find"
    client.write_text(f"#!/bin/sh\necho >>{folder / 'asked'}\nexec sleep 100\n")
    client.chmod(0o755)
    return dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}",
                DEBUGINFOD_URLS="http://localhost:1", DEBUGINFOD_CACHE_PATH=str(folder / "cache"))


@pytest.mark.parametrize("options", [[], ["--every", "1m", "--out-dir", "."]])
def test_search_for_names_ends_when_asked(spin, tmp_path, options):
    """The first signal after the recording: writes the names it has, and the summary says so."""
    running = Running("--json", "-F", 499, *(options or ["-o", "out.folded"]), "--",
                      spin / "lonely" / "bare", cwd=tmp_path, env=hanging_client(tmp_path))
    wait_until((tmp_path / "asked").exists)
    running.signal(signal.SIGTERM)
    result = running.wait(5)
    assert result.returncode == 0, result
    assert result.summary["unsearched_files"] > 0
    assert Folded(next(tmp_path.glob("*.folded"))).total() == result.summary["samples"] > 0


def test_asked_to_stop_twice_it_leaves(spin, tmp_path):
    """A reader that hangs delays the files: at the second signal, unfinished ones are removed."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "x.svg").write_text("old")
    running = Running("-F", 499, "-o", "x.svg", "-o", "pipe", "-f", "svg", "--",
                      spin / "lonely" / "bare", cwd=tmp_path, env=hanging_client(tmp_path))
    wait_until((tmp_path / "asked").exists)
    running.signal(signal.SIGINT)
    wait_until(lambda: (tmp_path / "x.svg").stat().st_size > 3)
    time.sleep(0.2)  # two signals at once count as one
    running.signal(signal.SIGINT)
    result = running.wait(5)
    assert result.returncode == 1, result
    assert error_line(result) == "bpfflame: asked to stop twice: not all files are written"
    assert not list(tmp_path.glob(".*"))


def test_program_that_is_gone_at_the_end(spin, tmp_path):
    """Names come from files that were opened while it ran."""
    program = tmp_path / "gone"
    shutil.copy(spin / "spin", program)
    folded = stacks(tmp_path, ["sh", "-c", f"{program} & sleep 0.3; rm {program}; wait"])
    assert share(folded, "main", *INLINED) > 0.8, folded.stacks


@pytest.mark.skipif(not can_unshare(), reason="no mount namespaces here: unshare --mount fails")
def test_debug_file_of_a_container(spin, tmp_path):
    """The debug file of a process with its own root folder is found where the process sees it."""
    root = tmp_path / "root"
    root.mkdir()
    script = (f"mount -t tmpfs none {root} && mkdir -p {root}/bin {root}/usr/lib/debug/bin {root}/old && "
              f"cp {spin}/fixed {root}/bin/ && cp {spin}/fixed.debug {root}/usr/lib/debug/bin/ && "
              f"cd {root} && pivot_root . old && exec /bin/fixed forever")
    process = subprocess.Popen(["unshare", "--mount", "sh", "-c", script])
    try:
        wait_until(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "fixed\n")
        record("-F", 499, "-p", process.pid, "-d", 1, "-o", tmp_path / "out.folded")
    finally:
        process.kill()
        process.wait()
    folded = Folded(tmp_path / "out.folded")
    assert not list(root.iterdir())
    assert share(folded, "main", *INLINED) > 0.9, folded.stacks


@pytest.mark.parametrize("arguments, word", [(["--symfs", "/nonexistent"], "--symfs"),
                                             (["--symfs", "/etc/passwd"], "--symfs"),
                                             (["--addresses", "--lines"], "--addresses")])
def test_wrong_usage(arguments, word):
    result = run(*arguments, "--", "true")
    assert result.returncode == 2
    assert word in error_line(result)


def kernel_functions():
    """Names in /proc/kallsyms."""
    lines = (line.split()[:3] for line in Path("/proc/kallsyms").read_text().splitlines())
    return {name for _, kind, name in lines if kind in "tTwW"}


def test_kernel_functions(tmp_path):
    """Each name is a function, and calls match those in the kernel."""
    record("--wall", "-F", 4000, "-o", tmp_path / "x.folded", "--", "sh", "-c",
           "for i in 1 2 3 4 5; do dd if=/dev/zero of=/dev/null bs=1 count=100000; ls -lR /sys/class; done")
    known, seen, callers = kernel_functions(), set(), collections.defaultdict(set)
    folded = Folded(tmp_path / "x.folded")
    for frames, _ in folded.stacks:
        names = [frame.removesuffix("_[k]") for frame in frames if frame.endswith("_[k]")]
        # Programs have ended by now.
        seen.update(name for name in names if not name.startswith("bpf_prog_") and name != "[kernel]")
        for caller, callee in zip(names, names[1:]):
            callers[callee].add(caller)
    assert not seen - known
    # Programs that others recorded with beside this have no name once they have ended.
    assert folded.with_frame("[kernel]_[k]") <= 0.005 * folded.total()
    assert callers["do_syscall_64"] <= {"entry_SYSCALL_64_after_hwframe"}
    assert "ksys_read" in callers["vfs_read"]
    assert callers["vfs_read"] <= {"ksys_read", "kernel_read", "ksys_pread64", "__x64_sys_read", "__x64_sys_pread64"}
    assert len(seen) > 100
