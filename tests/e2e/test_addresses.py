# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the kernel and programs are in memory is random, to hinder attackers: no file reveals it
unless asked to."""
import gzip
import re
from pathlib import Path

import pytest

import pprof_file
from harness import WORKLOADS, record, run

ENDINGS = ["svg", "html", "folded", "pb.gz", "speedscope.json", "firefox.json"]
# Addresses in the kernel's half; addresses of programs, libraries and their mappings.
ADDRESS = re.compile(r"(?i)\b(0x)?(ffff[0-9a-f]{12}|0000(55|56|7f)[0-9a-f]{10}|(55|56|7f)[0-9a-f]{10})\b")
KPTR = Path("/proc/sys/kernel/kptr_restrict")


@pytest.fixture
def restricted():
    before = KPTR.read_text()
    KPTR.write_text("1")
    yield
    KPTR.write_text(before)


def text_of(path):
    data = path.read_bytes()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode(errors="replace")


def addresses_of(profile):
    return [(location["address"] or 0) % (1 << 64) for location in profile["location"]]


def recorded(tmp_path, *options, mode="--wall"):
    files = [tmp_path / f"x.{ending}" for ending in ENDINGS]
    outputs = [word for path in files for word in ("-o", path)]
    result = run(mode, "-F", 499, *outputs, *options, "--", "sh", "-c",
                 f"dd if=/dev/zero of=/dev/null bs=64 count=1000000 2>/dev/null; {WORKLOADS}/jit 1; true")
    assert result.returncode == 0, result
    return files, result


@pytest.mark.parametrize("mode", ["--oncpu", "--wall"])
def test_no_format_says_where_anything_lies(tmp_path, mode):
    files, _ = recorded(tmp_path, mode=mode)
    assert "_[k]" in (tmp_path / "x.folded").read_text()
    for path in files:
        if path.name != "x.html": # base64
            found = ADDRESS.search(text_of(path))
            assert not found, (path.name, found)
    profile = pprof_file.read(tmp_path / "x.pb.gz")
    starts = [mapping["memory_start"] or 0 for mapping in profile["mapping"]]
    assert starts and all(start % (1 << 40) == 0 for start in starts), starts
    assert max(addresses_of(profile)) < 1 << 47


def test_addresses_are_written_when_asked_for(tmp_path, restricted):
    _, result = recorded(tmp_path, "--addresses", mode="--oncpu")
    assert re.search(r"\[kernel\+0xffff[0-9a-f]{12}\]_\[k\]", (tmp_path / "x.folded").read_text())
    assert "kernel.kptr_restrict" in result.stderr
    assert max(addresses_of(pprof_file.read(tmp_path / "x.pb.gz"))) >= 0xffff << 48
    summary = record("-d", "0.3", "-a", "-o", tmp_path / "y.folded").summary
    assert summary["samples"] >= 0
