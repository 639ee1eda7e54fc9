# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks and an interpreter's frames in pages that have no entry in the page table, as those of a
service whose outer functions were swapped out. The program here needs no swap: it moves its memory
to files, and drops the entries."""
import contextlib
import subprocess

import pytest

from harness import Folded, record
from interpreters import functions

LIBRARY = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct { char *start; size_t n; } moved[1024];
static int n_moved;
static char maps[1 << 20];

/* Moves anonymous memory to files: whoever uses it waits. */
int move(void)
{
	int fd = open("/proc/self/maps", O_RDONLY);
	size_t size = 0;
	ssize_t n;

	while ((n = read(fd, maps + size, sizeof maps - 1 - size)) > 0)
		size += n;
	close(fd);
	for (char *line = maps, *next; (next = strchr(line, '\n')) && n_moved < 1024; line = next + 1) {
		char *end, *start = (char *)strtoul(line, &end, 16), *stop = (char *)strtoul(end + 1, &end, 16);

		*next = '\0';
		if (strncmp(end, " rw-p 00000000 00:00 0 ", 23) != 0 || strchr(end, '['))
			continue;
		fd = memfd_create("moved", 0);
		if (write(fd, start, stop - start) != stop - start ||
		    mmap(start, stop - start, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			abort();
		close(fd);
		moved[n_moved].start = start;
		moved[n_moved++].n = stop - start;
	}
	return n_moved;
}

/* Of those of such sizes. */
void forget(size_t least, size_t most)
{
	for (int i = 0; i < n_moved; i++)
		if (moved[i].n >= least && moved[i].n < most)
			madvise(moved[i].start, moved[i].n, MADV_DONTNEED);
}
"""

PROGRAM = """
import ctypes, sys, threading, time
library = ctypes.PyDLL(sys.argv[1])
barrier, go = threading.Barrier(3), threading.Event()

def burn():
    while True:
        for word in sys.builtin_module_names:
            sorted(str(len(word) * 1.5)), float(word.find("m")), hash(word + "."), {word: word.split("_")}

def nap():
    while True:
        time.sleep(0.005)

def outer(n, leaf):
    if n:
        return sorted([n], key=lambda n: outer(n - 1, leaf) or 0)
    barrier.wait()
    go.wait()
    leaf()

sizes = 0, 1 << 40
if int(sys.argv[2]) > 1: # the name of a function, in pages of its own that nobody touches
    outer.__code__ = outer.__code__.replace(co_qualname="outer" * 100000)
    sizes = 500_000, 700_000
threading.stack_size(1 << 20)
for leaf in burn, nap:
    threading.Thread(target=outer, args=(30, leaf), daemon=True).start()
barrier.wait()
time.sleep(0.1)
assert library.move()
go.set()
time.sleep(0.1)
print(flush=True)
for _ in range(int(sys.argv[2])):
    library.forget(*map(ctypes.c_size_t, sizes))
    time.sleep(0.1)
time.sleep(60)
"""


@contextlib.contextmanager
def forgetful(tmp_path, times):
    """A process that lacks memory; if several @times, every tenth of a second that of a name."""
    library = tmp_path / "forget.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=LIBRARY,
                   text=True, check=True)
    (tmp_path / "service.py").write_text(PROGRAM)
    process = subprocess.Popen(["/usr/bin/python3", tmp_path / "service.py", library, str(times)],
                               stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("mode, leaf", [("--oncpu", "burn"), ("--offcpu", "nap")])
def test_what_walks_lack_is_brought_back(mode, leaf, tmp_path):
    """Both stacks are cut off at first, and whole soon after."""
    out = tmp_path / "x.folded"
    with forgetful(tmp_path, 1) as process:
        record(mode, "-p", process.pid, "-d", 3, "-F", 499, "-o", out)
    level = ["service.outer", "service.outer.<locals>.<lambda>"]
    whole = ["threading.Thread._bootstrap", "threading.Thread._bootstrap_inner",
             "threading.Thread.run", *30 * level, "service.outer", "service." + leaf]
    stacks = Folded(out)
    total = stacks.total(lambda frames: "service.%s_[0]" % leaf in frames or "[truncated]" in frames)
    right = stacks.total(lambda frames: "[truncated]" not in frames and functions(frames) == whole)
    assert total and right > 0.8 * total, (right, total)


def test_names_that_were_missing_again_and_again_are_brought_back(tmp_path):
    """Frames have the wrong check while the name is missing. That is read only so often at once, but
    not given up."""
    sets = tmp_path / "sets"
    sets.mkdir()
    with forgetful(tmp_path, 70) as process:
        record("-p", process.pid, "--every", 2, "-d", 12, "-F", 499, "-f", "folded", "--out-dir", sets)
    last = Folded(max(sets.glob("*.folded")))
    nameless = last.total(lambda frames: any(frame.startswith("[python ") for frame in frames))
    assert last.total() and nameless < 0.5 * last.total(), (nameless, last.total())
