# SPDX-License-Identifier: GPL-2.0-or-later
"""The BPF programs in the eyes of the verifier: how much work each is, with every compiler here."""
import re
import shutil
import subprocess

import pytest

from harness import BPFFLAME, ROOT

# Verified instructions; the kernel's limit is a million. Half as much again as was seen.
BUDGETS = {
    "on_sample": 17_000, "on_switch": 24_000, "on_wakeup": 100, "on_waking": 50_000,
    "on_switched_tp": 35_000, "on_switched_fentry": 35_000, "on_switched_kprobe": 35_000,
    "on_fork": 400, "on_exec": 400, "on_leaving": 20_000, "on_exit": 400,
    "on_each_task_at_start": 400, "on_each_task_at_start_stacks": 40_000,
    "on_each_task_at_end": 31_000, "on_each_task_at_end_kernel_only": 2_500,
}
MODES = {"oncpu": ["--oncpu"], "offcpu": ["--offcpu"],
         "at sched_switch": ["--offcpu", "--offcpu-hook", "sched_switch"],
         "all": ["--wall", "--wakers", "--waker-depth", "8"],
         "user only": ["--offcpu", "-U"], "kernel only": ["-K"],
         "filters": ["--wall", "--comm", "x*", "-C", "0", "--threads"]}
# The newest compiler that the distribution has, beside the one that built bpfflame.
NEWEST = max((version for version in range(15, 40) if shutil.which(f"clang-{version}")), default=0)


@pytest.fixture(scope="module", params=["default", "newest"])
def built(request):
    if request.param == "default":
        return BPFFLAME
    if not NEWEST:
        pytest.skip("no clang-NN newer than 14 is installed")
    folder = ROOT / "build" / "newest"
    subprocess.run(["make", "-s", "-C", ROOT, f"CLANG=clang-{NEWEST}", f"BUILD={folder}",
                    f"{folder}/bpfflame"], check=True, capture_output=True)
    return folder / "bpfflame"


@pytest.mark.parametrize("mode", MODES)
def test_budget(built, mode, tmp_path):
    target = [] if mode == "filters" else ["-a"]
    result = subprocess.run([built, "-v", *target, *MODES[mode], "-d", "100ms", "-o",
                             tmp_path / "x.folded"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    programs = {name: int(count) for name, count in
                re.findall(r"^program (\w+): (\d+) instructions verified", result.stderr, re.M)}
    assert "on_fork" in programs and len(programs) >= 4
    over = {name: count for name, count in programs.items() if count > BUDGETS[name]}
    assert not over
