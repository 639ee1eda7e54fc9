# SPDX-License-Identifier: GPL-2.0-or-later
"""`bpfflame doctor`: what works here, and how to fix the rest."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import BPFFLAME, WORKLOADS, run, workload


def findings_of(result):
    answer = json.loads(result.stdout)
    assert all(finding["status"] in ("ok", "warn", "no") for finding in answer["findings"])
    return answer["works"], {finding["what"]: finding for finding in answer["findings"]}


def test_root_can_record():
    result = run("doctor", "--json")
    works, findings = findings_of(result)
    assert result.returncode == 0 and works, result
    for what in "kernel", "BTF", "on-CPU", "off-CPU":
        assert findings[what]["status"] == "ok", findings[what]
    assert all(finding["status"] != "no" for finding in findings.values())


def test_losses_that_nobody_counts():
    finding = findings_of(run("doctor", "--json"))[1]["losses of -e"]
    is_newer = tuple(map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups())) >= (6, 7)
    assert finding["status"] == ("ok" if is_newer else "warn"), finding
    assert ("not for counters" if is_newer else "lost uncounted") in finding["text"], finding


def test_where_cgroups_are():
    """Those of version 2 may be mounted beside version 1."""
    found = findings_of(run("doctor", "--json"))[1]["cgroups"]
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    places = [place for _, place, kind, *_ in mounts if kind == "cgroup2" and place.startswith("/sys/fs/cgroup")]
    assert found["text"].startswith("v2") == bool(places), found
    assert places != ["/sys/fs/cgroup/unified"] or places[0] in found["text"]


def test_lines_begin_with_their_status():
    result = run("doctor")
    assert result.returncode == 0 and result.stderr == "", result
    for line in result.stdout.splitlines():
        assert line.startswith(("ok   ", "warn ", "no   ", "                       → ")), line


@pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv")
def test_missing_rights_are_reported_with_their_fix(tmp_path_factory):
    copy = shutil.copy(BPFFLAME, "/tmp/bpfflame-of-doctor")
    try:
        result = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", copy, "doctor",
                                 "--json"], capture_output=True, text=True, timeout=60, check=False)
    finally:
        shutil.os.unlink(copy)
    works, findings = findings_of(result)
    assert result.returncode == 1 and not works, result
    assert findings["on-CPU"]["status"] == findings["off-CPU"]["status"] == "no"
    assert "CAP_BPF" in findings["on-CPU"]["text"] and "cap" in findings["on-CPU"]["mend"], findings


def test_files_of_a_process(tmp_path):
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, WORKLOADS / "burn"], check=True)
    for program, has_names in (WORKLOADS / "burn", True), (stripped, False):
        with workload("burn", 10, command=[program, "10"]) as process:
            result = run("doctor", "--json", "-p", process.pid)
        assert result.returncode == 0, result
        finding = findings_of(result)[1][program.name]
        assert finding["status"] == ("ok" if has_names else "warn"), finding
        assert (": functions have names" in finding["text"]) == has_names, finding
        assert ("debug symbols" in finding["mend"]) == (not has_names), finding
        assert "stacks go through it" in finding["text"], finding


@pytest.mark.parametrize("command", ["doctor", "events"])
def test_a_process_that_is_not_there(command):
    result = run(command, "-p", "4194303")
    assert result.returncode == 1, result
    assert "no process 4194303 (it may have ended; see ps -e)\n" in result.stderr, result


@pytest.mark.parametrize("arguments", [["--nothing"], ["-p", "x"], ["more"]])
def test_wrong_usage(arguments):
    result = run("doctor", *arguments)
    assert result.returncode == 2 and result.stdout == "", result
