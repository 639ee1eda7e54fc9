# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that are interpreters only by their symbols: of a version that is not known, and with
memory made to mislead."""
import contextlib
import platform
import subprocess

import pytest

from harness import Folded, record, run

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="Ruby is known on x86-64 only")

# One control frame, which ends its activation, and a tag, which may lead back to itself. All are
# written first, so that they are in memory.
RUBY = """
#include <stdint.h>
#include <unistd.h>
int ruby_api_version[3] = {VERSION};
__thread void *ruby_current_ec;
static uint64_t flags[8], frames[16], tag[8];
static struct { uint64_t *stack, n, *frame, *tag; } context;
void ruby_run_node(void) {}
void rb_vm_exec(void) {}
__attribute__((noinline)) static void spin(void) { for (volatile uint64_t n = 0;; n++); }
int main(void)
{
	flags[2] = 0x20;
	frames[4] = (uint64_t)(flags + 2);
	tag[7] = (uint64_t)NEXT_TAG;
	context = (typeof(context)){frames, 16, frames, tag};
	ruby_current_ec = &context;
	write(1, "\\n", 1);
	spin();
}
"""


@contextlib.contextmanager
def made(folder, version, next_tag=0):
    """A process that says it is Ruby of this version."""
    program = folder / "made_ruby"
    subprocess.run(["gcc", "-O1", "-rdynamic", f"-DVERSION={version}", f"-DNEXT_TAG={next_tag}", "-x", "c", "-",
                    "-o", program], input=RUBY, text=True, check=True)
    process = subprocess.Popen([program], stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        yield program, process.pid
    finally:
        process.kill()
        process.communicate()


def recorded(pid, folder):
    """What the summary says of runtimes; all stacks reach from main() to spin()."""
    result = record("-p", pid, "-d", 1, "-F", 499, "-o", folder / "x.folded")
    folded = Folded(folder / "x.folded")
    whole = folded.total(lambda frames: {"main", "spin"} <= set(frames))
    assert whole >= 0.95 * folded.total(lambda frames: True) > 0, folded.stacks
    return result.summary["runtimes"]


def test_an_unknown_version_is_named(tmp_path):
    with made(tmp_path, "9,9") as (program, pid):
        runtimes = recorded(pid, tmp_path)
        text = run("-p", pid, "-d", 0.2, "-o", tmp_path / "x.folded").stderr
        doctor = run("doctor", "-p", pid).stdout
    problem = f"Ruby 9.9 ({program}, process {pid}): this version is not known"
    assert runtimes["problem"] == problem
    assert (runtimes["unknown"], runtimes["stacks"]) == (1, 0)
    assert problem in text
    assert "Ruby 9.9" in doctor and "this version is not known" in doctor


@pytest.mark.parametrize("next_tag, is_cut", [("0", False), ("tag", True)])
def test_tags_without_an_end_are_cut_and_counted(next_tag, is_cut, tmp_path):
    with made(tmp_path, "3,1", next_tag) as (_, pid):
        runtimes = recorded(pid, tmp_path)
    assert "problem" not in runtimes
    assert (runtimes["cut"] > 0) == is_cut, runtimes
