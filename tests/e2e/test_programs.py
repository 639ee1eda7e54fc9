# SPDX-License-Identifier: GPL-2.0-or-later
"""The BPF programs as the verifier sees them: how much work each is, with every compiler installed
here."""
import functools
import os
import re
import shutil
import subprocess

import pytest

from bpf_stack import deepest_stacks
from harness import BPFFLAME, ROOT

# Verified instructions; the kernel's limit is a million. A start takes about 1 us for each.
BUDGETS = {
    "on_counter": 30_000, "on_tracepoint": 30_000, "on_probe": 30_000, "on_sample": 30_000,
    "on_switch": 30_000, "on_wakeup": 100, "on_waking": 30_000,
    "on_switched_tp": 30_000, "on_switched_fentry": 30_000, "on_switched_kprobe": 30_000,
    "on_fork": 13_500, "on_exec": 4_200, "on_rename": 2_500, "on_leaving": 30_000, "on_exit": 400, "on_free": 2_000,
    "on_each_task_at_start": 13_500, "on_each_task_at_start_stacks": 17_000,
    "on_each_task_at_end": 30_000, "on_each_task_at_end_kernel_only": 2_500, "on_each_task_polled": 30_000,
}
OF_DAEMON = BUDGETS | {"on_exit": 10_000}
MODES = {"oncpu": ["--oncpu"], "offcpu": ["--offcpu"],
         "at sched_switch": ["--offcpu", "--offcpu-hook", "sched_switch"],
         "all": ["--wall", "--wakers", "--waker-depth", "8"],
         "events": ["-e", "page-faults,sched:sched_switch", "-e", "uprobe:libc.so.6:getpid"],
         "events of few": ["-e", "page-faults:10", "--comm", "x*", "-C", "0", "--threads", "-U"],
         "windows": ["--wall", "--wakers", "--waker-depth", "8", "--every", "1"],
         "windows at sched_switch": ["--offcpu", "--offcpu-hook", "sched_switch", "--every", "1"],
         "user only": ["--offcpu", "-U"], "kernel only": ["-K"],
         "targets": ["--wall", "-p", str(os.getpid()), "-G", "/"],
         "filters": ["--offcpu", "--comm", "x*", "-C", "0", "--threads"]}
# The newest compiler of the distribution, besides the one that built bpfflame.
NEWEST = max((version for version in range(15, 40) if shutil.which(f"clang-{version}")), default=0)


@functools.cache
def build(compiler):
    """bpfflame with BPF programs by that compiler."""
    if compiler == "default":
        return BPFFLAME
    folder = ROOT / "build" / "newest"
    shutil.rmtree(folder, ignore_errors=True)
    for part in "gen", "user": # what does not hold the programs is the same
        shutil.copytree(ROOT / "build" / part, folder / part)
    for rules in folder.glob("user/**/*.d"):
        if ".skel.h" in rules.read_text():
            rules.with_suffix(".o").unlink()
    for skeleton in folder.glob("gen/*.skel.h"):
        skeleton.unlink()
    subprocess.run(["make", "-s", "-C", ROOT, f"CLANG=clang-{NEWEST}", f"BUILD={folder}",
                    f"{folder}/bpfflame"], check=True, capture_output=True)
    return folder / "bpfflame"


@pytest.fixture(scope="module", params=["default", "newest"])
def built(request):
    if request.param == "newest" and not NEWEST:
        pytest.skip("no clang-NN newer than 14 is installed")
    return build(request.param)


@pytest.mark.parametrize("mode", MODES)
def test_budget(built, mode, tmp_path):
    target = [] if mode in ("filters", "events of few", "targets") else ["-a"]
    files = ["--out-dir", tmp_path] if "--every" in MODES[mode] else ["-o", tmp_path / "x.folded"]
    result = subprocess.run([built, "-v", *target, *MODES[mode], "-d", "100ms", *files],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    check_programs(result.stderr, BUDGETS, {"on_fork"})


def check_programs(log, budgets, expected):
    programs = {name: int(count) for name, count in
                re.findall(r"^program (\w+): (\d+) instructions verified", log, re.M)}
    assert expected <= set(programs) and len(programs) >= 4
    over = {name: count for name, count in programs.items() if count > budgets[name]}
    assert not over


def test_budget_of_the_daemon(built, tmp_path):
    result = subprocess.run(["timeout", "-s", "TERM", "3", built, "daemon", "--store", tmp_path / "store", "-v", "-v"],
                            capture_output=True, text=True, check=False)
    check_programs(result.stderr, OF_DAEMON, {"on_free", "on_each_task_polled"})


def test_stack(built):
    """Linux before 6.13 allows 512 bytes for all functions that call each other. Some are kept free: another
    compiler needs other frames."""
    stacks = deepest_stacks(built.parent / "profiler.bpf.o")
    assert {"on_sample", "on_switched_tp", "on_each_task_at_end"} <= set(stacks)
    assert stacks["on_sample"][0] > 200, stacks["on_sample"]
    over = {name: stack for name, stack in stacks.items() if stack[0] > 448}
    assert not over


@pytest.mark.parametrize("kernel", ["6.1", "6.12"])
def test_older_kernels(kernel, tmp_path):
    """Their verifiers know less of what compilers do."""
    run_vm = ROOT / "tools" / "run-vm"
    found = subprocess.run([run_vm, kernel], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(f"Linux {kernel}: {found.stderr.splitlines()[-1]}")
    compilers = ["default", "newest"] if NEWEST else ["default"]
    for compiler in compilers:
        shutil.copy(build(compiler), tmp_path / compiler)
    script = f"for by in {' '.join(compilers)}; do " \
             "for mode in '--oncpu' '--offcpu --offcpu-hook sched_switch' '--wall --wakers --waker-depth 8 " \
             "--every 1' '-e page-faults'; do $by $mode -a -d 1 --out-dir /tmp -q && echo $by; done; " \
             "$by daemon --store /tmp/$by.store --window 500ms --cpu-budget 0.001 2> /tmp/log & " \
             "for i in $(seq 60); do grep -q 'looked at once' /tmp/log && break; sleep 1; done; " \
             "sleep 2; kill $!; wait $! && grep -q 'looked at once' /tmp/log && echo $by; done 2>&1"
    files = [argument for compiler in compilers for argument in ("-f", tmp_path / compiler)]
    result = subprocess.run([run_vm, "-t", "300", *files, kernel, "sh", "-c", script],
                            capture_output=True, text=True, check=False)
    assert result.stdout.split() == [compiler for compiler in compilers for _ in range(5)], \
        (result.stdout + result.stderr)[-800:]
