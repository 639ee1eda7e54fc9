# SPDX-License-Identifier: GPL-2.0-or-later
"""A user whose files cost too much loses only names and stacks of their own, and is named."""
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from harness import WORKLOADS, Folded, Running, record, wait_for_child, workload

MALLORY, ALICE = 12345, 12346
LIBRARIES = 110 # twice what the budget pays for where reading one takes 25 ms, as on a fast machine

# Each function has rows of its own in .eh_frame.
SOURCE = """
.text
.globl spin
spin:
.cfi_startproc
push %rbp
.cfi_adjust_cfa_offset 8
1: dec %rdi
jnz 1b
pop %rbp
.cfi_adjust_cfa_offset -8
ret
.cfi_endproc
.rept 400000
.cfi_startproc
push %rbx
.cfi_adjust_cfa_offset 8
pop %rbx
.cfi_adjust_cfa_offset -8
ret
.cfi_endproc
.endr
.section .note.GNU-stack,"",@progbits
"""

# Runs through all of them repeatedly.
PROGRAM = """
import ctypes, glob, os, sys
libraries = [ctypes.CDLL(path) for path in sorted(glob.glob(sys.argv[1] + "/*.so"))]
while True:
    for library in libraries:
        library.spin(ctypes.c_ulong(3000000))
"""


@pytest.fixture
def open_path():
    """A folder that all users may enter."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o755)
        yield Path(path)


MOST_SECTIONS = 65279 # SHN_LORESERVE - 1


def fill_with_sections(path):
    """Lists the headers of its symbol tables thousands of times."""
    data = bytearray(path.read_bytes())
    start, = struct.unpack_from("<Q", data, 0x28)
    count, = struct.unpack_from("<H", data, 0x3c)
    headers = [bytes(data[start + 64 * i:start + 64 * (i + 1)]) for i in range(count)]
    tables = [header for header in headers if struct.unpack_from("<I", header, 4)[0] in (2, 11)]
    headers += [tables[i % len(tables)] for i in range(MOST_SECTIONS - count)]
    data += bytes(-len(data) % 8)
    struct.pack_into("<Q", data, 0x28, len(data))
    struct.pack_into("<H", data, 0x3c, len(headers))
    path.write_bytes(bytes(data) + b"".join(headers))


@pytest.fixture(params=["rows", "sections"])
def libraries(open_path, request):
    """Many expensive libraries of one user."""
    (open_path / "x.s").write_text(SOURCE if request.param == "rows" else SOURCE.replace(".rept 400000", ".rept 1"))
    folder = open_path / "libraries"
    folder.mkdir()
    first = folder / "lib0.so"
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", first, open_path / "x.s"], check=True)
    if request.param == "sections":
        fill_with_sections(first)
    for i in range(1, LIBRARIES):
        shutil.copy(first, folder / f"lib{i}.so")
    for path in folder.iterdir():
        os.chown(path, MALLORY, MALLORY)
    return folder


def test_the_others_pay_nothing(libraries, open_path, tmp_path):
    program = open_path / "honest"
    shutil.copy(WORKLOADS / "burn", program)
    os.chown(program, ALICE, ALICE)
    with workload("mallory", command=["setpriv", f"--reuid={MALLORY}", "--clear-groups", sys.executable, "-c", PROGRAM,
                                      libraries]) as mallory, \
            workload("honest", command=["setpriv", f"--reuid={ALICE}", "--clear-groups", program, "30"]) as honest:
        time.sleep(1)
        summary = record("-a", "-d", "5", "-F", "499", "-o", tmp_path / "x.folded").summary
        assert honest.poll() is None and mallory.poll() is None
    assert summary["losses"]["over_budget"] > 0, summary
    assert summary["losses"]["unread_files"] == 0, summary
    assert summary["over_budget_user"] == MALLORY, summary
    folded = Folded(tmp_path / "x.folded")
    mine = folded.of_root("honest")
    whole = sum(value for _, value in mine)
    assert whole > 200
    good = sum(value for frames, value in mine if "[truncated]" not in frames and
               any(frame.startswith("burn_") for frame in frames))
    assert good > 0.97 * whole, mine


SMALL = "__attribute__((noinline)) void work(unsigned long n) { for (volatile unsigned long i = 0; i < n; i++); }"


def offset_of_work(library):
    symbols = subprocess.run(["nm", "-D", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    return next(line.split()[0] for line in symbols.splitlines() if line.endswith(" work"))


SIZES = "3000", "10000", "2000" # of threads, mappings, files


@pytest.fixture
def storm(open_path, request):
    """Threads, execs, mappings, small files and changes of mappings of one user, all at once; the path
    of what is mapped is as long as paths can be."""
    files, folder = open_path / "files", open_path
    while len(str(folder)) < 3700:
        folder /= 200 * "x"
    folder.mkdir(parents=True)
    library = folder / "small.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-nostdlib", "-Wl,-z,noseparate-code", "-x", "c", "-", "-o",
                    library], input=SMALL, check=True, text=True)
    program = shutil.copy(WORKLOADS / "storms", open_path)
    files.mkdir()
    os.chown(files, MALLORY, MALLORY)
    process = subprocess.Popen(["setpriv", f"--reuid={MALLORY}", "--clear-groups", program, "60", *getattr(request, "param", SIZES),
                                library, offset_of_work(library), files], stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    yield
    os.killpg(process.pid, 9)
    process.communicate()


@pytest.mark.usefixtures("storm")
@pytest.mark.parametrize("storm", [("0", "0", "0")], indirect=True, ids=["changes"])
def test_records_that_wait_fill_no_memory(open_path, tmp_path):
    """Those of who maps code without end, while the reader does not answer."""
    program = open_path / "fresh"
    shutil.copy(WORKLOADS / "burn", program)
    recording = Running("--json", "-a", "-d", "4", "-o", tmp_path / "x.folded")
    os.kill(wait_for_child(recording.process.pid, "bpfflame-reader"), signal.SIGSTOP)
    with workload("fresh", command=[program, "10"]):
        result = recording.wait()
    assert result.returncode == 0, result
    assert result.summary["peak_memory_bytes"] < 150e6, result
    assert result.summary["over_budget_user"] == MALLORY, result


@pytest.mark.usefixtures("storm")
@pytest.mark.parametrize("mode", ["--oncpu", "--wall"])
def test_a_storm_costs_the_others_nothing(open_path, tmp_path, mode):
    program = open_path / "honest"
    shutil.copy(WORKLOADS / "burn", program)
    with workload("honest", command=["setpriv", f"--reuid={ALICE}", "--clear-groups", program, "30"]) as honest:
        summary = record(mode, "-a", "-d", "4", "-F", "499", "-o", tmp_path / "x.folded").summary
        assert honest.poll() is None
    assert summary["peak_memory_bytes"] < 150e6, summary
    assert 3.9 < summary["duration_seconds"] < 4.5, summary
    mine = Folded(tmp_path / "x.folded").of_root("honest")
    whole = sum(value for _, value in mine)
    assert whole > (200 if mode == "--oncpu" else 3e6)
    good = sum(value for frames, value in mine if "[truncated]" not in frames and
               any(frame == "main" or frame.startswith("burn_") for frame in frames))
    assert good >= 0.99 * whole, mine
