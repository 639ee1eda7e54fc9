# SPDX-License-Identifier: GPL-2.0-or-later
"""Values that are not samples: bytes of a heap, events with a period, several events of perf
script. Tests their labels, and that no gate treats them as samples. Needs no root."""
import gzip
import json
import subprocess

import pytest

import pprof_file
from harness import BPFFLAME

HEAP = [("alloc_objects", "count"), ("alloc_space", "bytes"),
        ("inuse_objects", "count"), ("inuse_space", "bytes")]
MEGABYTE = 1 << 20


def bpfflame(*arguments, code=0):
    result = subprocess.run([BPFFLAME, *map(str, arguments)], capture_output=True, text=True,
                            timeout=60, check=False)
    assert result.returncode == code, result
    return result


def report(*arguments):
    return json.loads(bpfflame("report", "--json", *arguments).stdout)


def write_pprof(path, types, values, period=0, period_type=("", ""), default=""):
    """@values: {function: a value of each type}."""
    names = list(values)
    path.write_bytes(gzip.compress(pprof_file.Writer().file({
        "sample_type": [{"type": name, "unit": unit} for name, unit in types],
        "sample": [{"location_id": [i + 1], "value": list(values[name])}
                   for i, name in enumerate(names)],
        "location": [{"id": i + 1, "line": [{"function_id": i + 1, "line": 1}]}
                     for i in range(len(names))],
        "function": [{"id": i + 1, "name": name} for i, name in enumerate(names)],
        "period_type": {"type": period_type[0], "unit": period_type[1]}, "period": period,
        "default_sample_type": default})))
    return path


@pytest.fixture
def heaps(tmp_path):
    """A Go heap of 10 MB, and one of 11."""
    return [write_pprof(tmp_path / name, HEAP,
                        {"cache": (500, 20 * MEGABYTE, 100, megabytes * MEGABYTE),
                         "pool": (100, 5 * MEGABYTE, 50, 5 * MEGABYTE)},
                        524288, ("space", "bytes"), "inuse_space")
            for name, megabytes in (("base.pb.gz", 10), ("new.pb.gz", 11))]


def test_bytes_are_no_samples(heaps):
    text = bpfflame("report", heaps[0]).stdout
    assert "15,728,640 bytes of inuse_space" in text and "samples" not in text, text
    assert report(heaps[0])["unit"] == "bytes"
    text = bpfflame("diff", *heaps).stdout
    assert "changes have no confidence" in text and "σ" not in text, text
    assert "cache" in text and "+2.08" in text, text


def test_gate_refuses_what_is_no_samples(heaps):
    result = bpfflame("diff", *heaps, "--fail-over", 5, code=1)
    assert result.stdout == "" and len(result.stderr.splitlines()) == 1, result
    assert "inuse_space" in result.stderr and "--sample-type" in result.stderr, result


@pytest.mark.parametrize("name, unit, total",
                         [("alloc_space", "bytes", 25 * MEGABYTE),
                          ("inuse_objects", "inuse_objects", 150)])
def test_sample_type(heaps, tmp_path, name, unit, total):
    found = report("--sample-type", name, heaps[0])
    assert (found["unit"], found["event"], found["total"]) == (unit, name, total)
    output = tmp_path / "heap.svg"
    bpfflame("render", heaps[0], "--sample-type", name, "-o", output)
    assert f"{total:,} {unit}" in output.read_text()
    assert name in bpfflame("diff", *heaps, "--sample-type", name).stdout


def test_sample_type_that_is_not_there(heaps, tmp_path):
    error = bpfflame("report", "--sample-type", "cpu", heaps[0], code=1).stderr
    assert all(name in error for name, _ in HEAP), error
    folded = tmp_path / "a.folded"
    folded.write_text("a;b 1\n")
    assert "no pprof" in bpfflame("report", "--sample-type", "cpu", folded, code=1).stderr


def test_samples_with_a_period(tmp_path):
    """10 samples against 12 are noise, however much each represents."""
    for types in ([("samples", "count"), ("cycles", "count")], [("cycles", "count")],
                  [("cycles_sample", "count"), ("cycles_event", "count")]):
        sides = []
        for i, n in enumerate((10, 12)):
            values = {name: (n * k, n * k * 1000003)[-len(types):]
                      for name, k in (("hot", 1), ("cold", 2))}
            values["same"] = (30, 30 * 1000003)[-len(types):]
            sides.append(write_pprof(tmp_path / f"{i}.pb.gz", types, values, 1000003,
                                     ("cycles", "count")))
        found = json.loads(bpfflame("diff", "--json", "--absolute", *sides,
                                    "--fail-over", 5).stdout)
        changes = {row["name"]: row["self"]["deviations"] for row in found["functions"]}
        assert max(changes.values()) < 1 and found["total"]["deviations"] < 2, found
        assert found["gate"]["verdict"] == "passed" and found["unit"] != "samples"


def test_threads_of_long_commands(tmp_path):
    """Thread numbers follow the name, however long that is."""
    comm = "c" * 300
    path = tmp_path / "long.pb.gz"
    path.write_bytes(gzip.compress(pprof_file.Writer().file({
        "sample_type": [{"type": "samples", "unit": "count"}],
        "sample": [{"location_id": [1], "value": [1], "label": [
            {"key": "comm", "str": comm}, {"key": "pid", "num": 7}, {"key": "tid", "num": tid}]}
            for tid in (7, 8)],
        "location": [{"id": 1, "line": [{"function_id": 1, "line": 1}]}],
        "function": [{"id": 1, "name": "f"}]})))
    lines = bpfflame("render", "--threads", path, "-f", "folded").stdout.splitlines()
    assert lines == [f"{comm}-7/{tid};f 1" for tid in (7, 8)]


def test_no_flame_chart_of_a_recording(tmp_path):
    for option in ("--flamechart", "--no-sort"):
        error = bpfflame("-a", "-d", "1", option, "--out-dir", tmp_path, code=2).stderr
        assert "no order in time" in error and not list(tmp_path.iterdir())


def test_values_keep_their_unit(heaps, tmp_path):
    """The unit survives our JSON, in both directions."""
    for name in ("heap.speedscope.json", "heap.firefox.json", "again.pb.gz"):
        output = tmp_path / name
        bpfflame("render", heaps[0], "-o", output)
        found = report(output)
        assert (found["unit"], found["total"]) == ("bytes", 15 * MEGABYTE), name
        bpfflame("diff", output, output, "--fail-over", 5, code=1)


def test_speedscope_bytes(tmp_path):
    path = tmp_path / "a.speedscope.json"
    path.write_text(json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": "f"}]},
        "profiles": [{"type": "sampled", "name": "p", "unit": "bytes", "startValue": 0,
                      "endValue": 4096, "samples": [[0]], "weights": [4096]}]}))
    assert report(path)["unit"] == "bytes"


PERF = """\
prog 1 [000] 1.000001:     250000 cpu-clock: 
	1000 clock+0x0 (/bin/prog)

prog 1 [000] 1.000002:         17 page-faults: 
	2000 fault+0x0 (/bin/prog)

prog 1 [000] 1.000003:     250000 cpu-clock: 
	1000 clock+0x0 (/bin/prog)

prog 1 [000] 1.000004:          3 page-faults: 
	2000 fault+0x0 (/bin/prog)

prog 1 [000] 1.000005:     900000 cycles:u: 
	3000 cycle+0x0 (/bin/prog)

"""


@pytest.fixture
def perf(tmp_path):
    path = tmp_path / "perf.txt"
    path.write_text(PERF)
    return path


def test_one_event_of_perf_script(perf):
    result = bpfflame("render", perf, "-f", "folded")
    assert result.stdout == "prog;clock 2\n"
    assert "only cpu-clock" in result.stderr and "3 samples" in result.stderr
    assert "page-faults" in result.stderr and "--event" in result.stderr, result.stderr


@pytest.mark.parametrize("event, line", [("page-faults", "prog;fault 20\n"),
                                         ("cycles", "prog;cycle 900000\n"),
                                         ("cpu-clock", "prog;clock 2\n")])
def test_event_of_perf_script(perf, event, line):
    assert bpfflame("render", perf, "-f", "folded", "--event", event, "-q").stdout == line


def test_samples_of_an_event_with_periods(perf):
    """Two samples that represent 20 page faults do not count as 20 samples."""
    found = json.loads(bpfflame("diff", "--json", "-q", "--event", "page-faults", "--absolute",
                                perf, perf).stdout)
    assert found["unit"] == "page-faults" and found["base"]["total"] == 20
    assert found["functions"][0]["name"] == "fault"


def test_event_that_is_not_there(perf, tmp_path):
    error = bpfflame("report", "--event", "branches", perf, code=1).stderr
    assert "branches" in error, error
    folded = tmp_path / "a.folded"
    folded.write_text("a;b 1\n")
    bpfflame("report", "--event", "cycles", folded, code=1)
