# SPDX-License-Identifier: GPL-2.0-or-later
"""`bpfflame query` and `STORE@RANGE`, on a store with known contents. Needs no root."""
import collections
import csv
import datetime
import fcntl
import io
import json
import os
import select
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness import BPFFLAME, Folded, assert_well_formed, error_line, run, wait_until
from store_reader import Segment

SAMPLE = Path(__file__).parents[2] / "build/sample_store"
END = 1795600800  # 2026-11-25T10:00:00Z
LENGTH = 26 * 3600


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A day and two hours up to END, and what it contains."""
    path = tmp_path_factory.mktemp("store")
    made = subprocess.run([SAMPLE, path, str(END), str(LENGTH)], check=True, capture_output=True)
    return path, json.loads(made.stdout)


def at(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def query(store, *arguments, ok=True, **options):
    result = run("query", "--store", store, *arguments, **options)
    assert (result.returncode == 0) == ok, result
    return result


def everything(store):
    """Microseconds, running and waiting, by command."""
    return {name: tuple(values) for name, values in store[1]["commands"].items()}


def sums(folded):
    """The same from folded lines of all time."""
    found = collections.defaultdict(lambda: [0, 0])
    for frames, value in folded.stacks:
        found[frames[0]][frames[-1] != "[on-cpu]"] += value
    return {name: tuple(values) for name, values in found.items()}


def folded_of(store, *arguments):
    result = query(store[0], "--idle", "-o", "-", *arguments)
    return Folded(result.stdout.encode()), result.stderr


def series_of(store, *arguments):
    """{start of a step: seconds of all groups}"""
    found = collections.defaultdict(float)
    for row in csv.DictReader(io.StringIO(query(store[0], "--series", "--csv", "--limit", "0", *arguments).stdout)):
        found[row["start"]] += float(row["running_seconds"]) + float(row["waiting_seconds"])
    return dict(found)


@pytest.mark.parametrize("ago, level", [(3600, "360 of 10s"), (7 * 3600, "419 of 1m"), (LENGTH, "25 of 1h")])
def test_ranges_add_up(store, ago, level):
    """Whatever level a range is read from, its sum equals that of the recorded windows."""
    folded, said = folded_of(store, "--from", at(END - ago), "--to", at(END))
    assert level in said, said
    expected = collections.defaultdict(lambda: [0, 0])
    for path in sorted(store[0].glob("10s-*")):
        segment = Segment(path)
        for fields, rows in segment.windows():
            if fields[0] < (END - ago) * 10 ** 9:
                continue
            for process, _, cause, _, _, _, time in rows:
                expected[segment.strings[segment.processes[process][2]]][cause != 1] += time
    assert sums(folded) == {name: tuple(values) for name, values in expected.items()}
    if ago == LENGTH:
        assert sums(folded) == everything(store)


def test_a_range_within_a_window(store):
    """It gets that window, and a line says so. Nothing lies after the last one."""
    whole, _ = folded_of(store, "--from", at(END - 20), "--to", at(END - 10))
    part, said = folded_of(store, "--from", at(END - 13), "--to", at(END - 11))
    assert "1 of 10s" in said and sums(part) == sums(whole)
    after, said = folded_of(store, "--from", at(END + 1), "--to", at(END + 3))
    assert "nothing was recorded" in said and not after.total()


def test_series_within_a_window(store):
    """The same as the tables of that range."""
    part, _ = folded_of(store, "--from", at(END - 13), "--to", at(END - 11))
    series = series_of(store, "--from", at(END - 13), "--to", at(END - 11))
    assert sum(series.values()) == pytest.approx(part.total() / 1e6, abs=1e-3)


@pytest.mark.parametrize("step, n", [(1, 600), (7, 87), (15, 40), (20, 30), (90, 7)])
def test_steps_that_windows_do_not_fit_into(store, step, n):
    """Each gets the share of a window that lies in it: there is no gap, and no saw of one window and two."""
    ranges = ["--from", at(END - 3600), "--to", at(END - 3000)]
    series = series_of(store, "--empty", "--step", f"{step}s", *ranges)
    expected = series_of(store, "--step", "10s", *ranges)
    assert len(series) == n
    assert sum(series.values()) == pytest.approx(sum(expected.values()), abs=1e-2)
    inner = [value / step for value in list(series.values())[1:-1]]
    assert max(inner) <= max(expected.values()) / 10 * 1.01 and min(inner) >= min(expected.values()) / 10 * 0.99


def test_gaps_beside_windows_of_a_clock_set_back(tmp_path):
    """Nothing is a gap that another recording covers."""
    for end, length in (END, 7200), (END - 3000, 600), (END + 3600, 600):
        subprocess.run([SAMPLE, tmp_path, str(end), str(length)], check=True, capture_output=True)
    rows = [json.loads(line) for line in query(tmp_path, "--list", "--json").stdout.splitlines()]
    gaps = [(row["begin"], row["end"]) for row in rows if "gap" in row]
    assert gaps == [(at(END), at(END + 3000))]


def test_ranges_of_which_only_minutes_are_kept(store, tmp_path):
    """Steps are no shorter, and nobody is made to believe that nothing was recorded."""
    for path in store[0].glob("[1s]*"):
        if not path.name.startswith("10s"):
            (tmp_path / path.name).write_bytes(path.read_bytes())
    minutes = [tmp_path]
    ranges = ["--from", at(END - 7200), "--to", at(END - 6600)]
    assert len(series_of(minutes, *ranges)) == 10
    assert series_of(minutes, *ranges) == pytest.approx(series_of(store, *ranges, "--step", "1m"), abs=1e-3)
    assert series_of(minutes, *ranges, "--by", "function") == pytest.approx(series_of(minutes, *ranges), abs=1e-3)
    assert not series_of(minutes, *ranges, "--by", "function", "--step", "10s")
    for arguments in (["--from", at(END - 7190), "--to", at(END - 7170)], [*ranges, "--series", "--step", "10s"]):
        said = query(tmp_path, *arguments).stderr
        assert "only windows of 1m are kept" in said and "nothing was recorded" not in said
    said = query(tmp_path, "--from", at(END + 10), "--to", at(END + 20)).stderr
    assert "nothing was recorded" in said


def test_a_reader_from_the_page(store):
    """A reader written only from docs/store.md finds the contents in each level."""
    for level in "10s", "1m", "1h", "1d", "series":
        found, windows = collections.defaultdict(lambda: [0, 0]), []
        for path in sorted(store[0].glob(f"{level}-*")):
            segment = Segment(path)
            for fields, rows in segment.windows():
                windows.append((fields[0], fields[1]))
                for process, node, cause, idle, end, count, time in rows:
                    found[segment.strings[segment.processes[process][2]]][cause != 1] += time
                    assert len(segment.stack(node)) == (0 if level == "series" else 40)
                    assert idle == (cause == 9) and end == 0 and count >= 1
        for (start, length), (after, _) in zip(windows, windows[1:]):
            assert start + length == after
        for name, (running, waiting) in found.items():
            assert running <= everything(store)[name][0] and waiting <= everything(store)[name][1]
        if level == "10s":
            assert {name: tuple(values) for name, values in found.items()} == everything(store)


def test_filters(store):
    everything_, _ = folded_of(store, "--from", at(END - 3600), "--to", at(END))
    ranges = ["--from", at(END - 3600), "--to", at(END)]
    total = everything_.total()

    def part(*arguments):
        return folded_of(store, *ranges, *arguments)[0]

    assert part("--comm", "sample-[12]").roots() == {"sample-1", "sample-2"}
    assert part("--unit", "sample-3.service").roots() == {"sample-3"}
    assert part("-G", "/sys/fs/cgroup/system.slice/sample-4.service").roots() == {"sample-4"}
    assert part("-G", "/sys/fs/cgroup/unified/system.slice/sample-4.service").roots() == {"sample-4"}
    assert part("--unit", "sample-3").roots() == {"sample-3"}
    assert part("--unit", "sample").total() == 0
    assert part("-G", "/system.slice").total() == part("-G", "system.slice/").total() == total
    assert part("-G", "/system.slice/sample").total() == 0
    assert part("-p", "1000,1010,1020").roots() == {"sample-0", "sample-1", "sample-2"}
    assert part("--state", "running").total() + part("--state", "waiting").total() == total
    futex = part("--state", "futex")
    assert futex.total() == everything_.total(lambda frames: frames[-1] == "[futex]") > 0
    named = part("--function", "^module_10::function_7$")
    assert named.total() == everything_.total(lambda frames: "module_10::function_7" in frames) > 0
    assert part("--container", "0123").total() == 0


def test_processes_are_sought_in_windows_that_keep_their_pids(store):
    """Those of a minute or more forget the pids of young processes."""
    ranges = ["--from", at(END - LENGTH), "--to", at(END)]
    all_, said = folded_of(store, *ranges, "-p", "1000,1001,1002")
    assert "9360 of 10s" in said
    assert sums(all_) == {"sample-0": everything(store)["sample-0"]}
    series = series_of(store, *ranges, "--by", "comm", "--step", "1h", "-p", "1000,1001,1002")
    assert sum(series.values()) == pytest.approx(sum(everything(store)["sample-0"]) / 1e6, abs=1e-3)


@pytest.mark.parametrize("step", ["10m", "90m"])
def test_steps_of_stacks_have_what_was_in_them(store, step):
    """Not what was in hours that reach beyond them."""
    ranges = ["--from", at(END - LENGTH), "--to", at(END), "--step", step]
    assert series_of(store, *ranges, "--by", "function") == pytest.approx(series_of(store, *ranges, "--by", "all"),
                                                                          abs=1e-3)


def test_formats(store, tmp_path):
    names = [tmp_path / name for name in ("a.svg", "a.html", "a.folded", "a.pb.gz", "a.speedscope.json",
                                          "a.firefox.json")]
    query(store[0], "--from", at(END - 600), "--to", at(END), *(f"-o{name}" for name in names))
    assert_well_formed(names[0])
    assert all(name.stat().st_size > 500 for name in names)
    # A file made from the store agrees with the store.
    again = run("render", names[3], "-o", "-", "-f", "folded")
    assert sums(Folded(again.stdout.encode())) == sums(Folded(names[2]))


def test_tables(store):
    result = query(store[0], "--from", at(END - 600), "--to", at(END))
    assert "module_39::function_" in result.stdout and "60 of 10s" in result.stderr
    report = json.loads(query(store[0], "--from", at(END - 600), "--to", at(END), "--json", "-q").stdout)
    assert report


def test_edges_are_reported(store):
    """Takes windows that are mostly inside the range, and prints which these are."""
    _, said = folded_of(store, "--from", at(END - 601), "--to", at(END - 7))
    assert "59 of 10s" in said, said
    _, said = folded_of(store, "--from", at(END + 3600), "--to", at(END + 7200))
    assert "nothing was recorded" in said


@pytest.mark.parametrize("command", ["report", "render", "diff"])
def test_stores_as_inputs(store, tmp_path, command):
    parts = [f"{store[0]}@{at(END - 1200)}..{at(END - 600)}", f"{store[0]}@{at(END - 600)}..{at(END)}"]
    output = tmp_path / "out.svg"
    arguments = parts if command == "diff" else parts[:1]
    result = run(command, *arguments, *([] if command == "report" else ["-o", output]))
    assert result.returncode == 0, result
    if command == "report":
        assert "module_39::function_" in result.stdout
    else:
        assert_well_formed(output)


def test_diff_of_ranges(store):
    result = query(store[0], "--from", at(END - 3600), "--to", at(END), "--diff-from", at(END - 7200))
    assert result.stdout.count("360 of 10s") == 0 and result.stderr.count("360 of 10s") == 2
    assert "noise" in result.stdout or "changes" in result.stdout


def test_diff_is_scaled_to_a_second(store):
    """Of ranges of different lengths: a machine that does the same all the time has not changed."""
    ranges = {"base": (END - 10800, END - 3600), "new": (END - 3600, END)}
    answer = json.loads(query(store[0], *(word for option, moment in zip(
        ("--diff-from", "--diff-to", "--from", "--to"), ranges["base"] + ranges["new"]) for word in (option, at(moment))),
        "--idle", "--json").stdout)
    assert answer["scale"] == "per-second"
    for side, (begin, end) in ranges.items():
        folded, _ = folded_of(store, "--from", at(begin), "--to", at(end))
        total = sum(value for _, value in folded.stacks) / 1e6
        assert answer[side]["total"] == pytest.approx(total / (end - begin), rel=1e-6)
    assert answer["new"]["total"] == pytest.approx(answer["base"]["total"], rel=0.1)
    assert answer["counts"]["grew"] == answer["counts"]["shrank"] == 0
    text = query(store[0], "--from", at(END - 3600), "--to", at(END), "--diff-from", at(END - 10800)).stdout
    assert "total time of all threads a second" in text and "times a second of each side compared" in text


def test_series(store):
    arguments = ["--from", at(END - 24 * 3600), "--to", at(END), "--series", "--by", "comm", "--step", "1h"]
    rows = list(csv.DictReader(io.StringIO(query(store[0], *arguments, "--csv").stdout)))
    lines = [json.loads(line) for line in query(store[0], *arguments, "--json").stdout.splitlines()]
    assert len(rows) == len(lines) == 24 * 8
    assert {row["group"] for row in rows} == set(everything(store))
    for row, line in zip(rows, lines):
        assert row["start"] == line["start"] and row["group"] == line["group"]
        assert float(row["running_seconds"]) == pytest.approx(line["running_seconds"])
    folded, _ = folded_of(store, "--from", at(END - 24 * 3600), "--to", at(END))
    total = sum(float(row["running_seconds"]) + float(row["waiting_seconds"]) for row in rows)
    assert total == pytest.approx(folded.total() / 1e6, abs=1e-3)
    # Functions as in the stacks; causes as in their leaves.
    for by, leaf in ("function", -2), ("cause", -1):
        rows = csv.DictReader(io.StringIO(query(store[0], "--from", at(END - 3600), "--to", at(END), "--series",
                                                "--by", by, "--csv").stdout))
        found = collections.Counter()
        for row in rows:
            found[row["group"]] += float(row["running_seconds"]) + float(row["waiting_seconds"])
        hour, _ = folded_of(store, "--from", at(END - 3600), "--to", at(END))
        for name in hour.names() & set(found):
            expected = hour.total(lambda frames: frames[leaf].removesuffix("_[k]") == name)
            assert found[name] == pytest.approx(expected / 1e6, abs=1e-3)


def test_list(store):
    lines = [json.loads(line) for line in query(store[0], "--list", "--json").stdout.splitlines()]
    files = [line for line in lines if "file" in line]
    assert {line["file"] for line in files} == {name for name in os.listdir(store[0]) if name.endswith(".bfs")}
    assert sum(line["windows"] for line in files if line["level"] == "10s") == LENGTH // 10
    for line in files:
        assert os.stat(store[0] / line["file"]).st_size == line["bytes"]


def test_list_of_a_range(store):
    """Files that reach into it, and no others."""
    begin, end = END - 600, END - 300
    lines = [json.loads(line) for line in query(store[0], "--list", "--json").stdout.splitlines()]
    expected = [line for line in lines if line["begin"] < at(end) and line["end"] > at(begin)]
    found = query(store[0], "--list", "--json", "--from", at(begin), "--to", at(end)).stdout.splitlines()
    assert 0 < len(expected) < len(lines) and [json.loads(line) for line in found] == expected


def test_damaged_files_are_counted(store, tmp_path):
    """A block that was changed costs its window, and it says so."""
    copy = tmp_path / "copy"
    shutil.copytree(store[0], copy)
    changed = sorted(copy.glob("10s-*"))[-2]
    data = bytearray(changed.read_bytes())
    data[len(data) // 2] ^= 1
    changed.write_bytes(data)
    result = query(copy, "--from", at(END - 7200), "--to", at(END), "-o", "-")
    assert "damaged" in result.stderr and changed.name in result.stderr and "719 of 10s" in result.stderr, result
    said = query(copy, "--from", at(END - 7200), "--to", at(END), "--series", "--step", "10s").stderr
    assert said == f"bpfflame: 1 damaged file, the first is {changed.name}\n"
    times = {fields[0] for path in (store[0] / changed.name, changed) for fields, _ in Segment(path).windows()}
    assert len(times) - 1 == sum(1 for _ in Segment(changed).windows())


def test_a_store_that_nobody_may_write(store, tmp_path):
    """Another user, who can only read, reads it while it has no writer."""
    copy = tmp_path / "copy"
    shutil.copytree(store[0], copy)
    for path in [copy, *copy.iterdir()]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = {path: path.stat().st_mtime_ns for path in [copy, *copy.iterdir()]}
    query(copy, "--from", at(END - 600), "--to", at(END))
    assert {path: path.stat().st_mtime_ns for path in [copy, *copy.iterdir()]} == before


@pytest.mark.parametrize("arguments, says", [
    (["--from", "never"], "point of time"), (["--from", "-1h", "--to", "-2h"], "before it begins"),
    (["--state", "bored"], "--state"), (["--series", "--list"], "exclude"), (["--by", "comm"], "--series"), (["--marks"], "--series"), (["--series", "--marks", "--csv"], "--csv"),
    (["--diff-also", "-2h..-1h"], "--diff-from"), (["--also", "-2h..-1h,-3h..-2h"], "FROM..TO"),
    (["--json", "-o", "out.svg"], "exclude"),
    (["--comm", ""], "--comm"), (["-G", ""], "--cgroup"), (["--unit", ""], "--unit"), (["--from", "2026-02-30"], "point of time"), (["--from", "-2h,-3h..-1h"], "point of time"),
    (["--from", "@1"], "point of time"), (["--diff-from", "-2h", "--diff-to", "-1h,"], "point of time"),
    (["--csv"], "--csv"), (["--function", "("], "--function: '(' is no regular"), (["rest"], "no option")])
def test_wrong_usage(store, arguments, says):
    result = query(store[0], *arguments, ok=False)
    assert result.returncode == 2, result
    assert says in error_line(result)


@pytest.mark.parametrize("words", [["report"], ["render", "-o", "out.svg"], ["diff", "base.folded"]])
@pytest.mark.parametrize("range_", ["never", "-1h..-2h", "-1h,"])
def test_wrong_ranges_of_names(store, words, range_):
    result = run(*words, f"{store[0]}@{range_}")
    assert result.returncode == 2, result
    assert any(word in error_line(result) for word in ("point of time", "before it begins", "comma")), result


def test_store_without_a_range(store):
    result = run("report", store[0])
    assert result.returncode == 1 and f"name a part of it: {store[0]}@-1h" in error_line(result)


def test_ranges_in_which_nothing_is(store):
    """A time of today that is still to come is explained; what was not recorded is not compared."""
    result = query(store[0], "--from", at(END), "--to", at(END), ok=False)
    assert result.returncode == 2 and "ends where it begins" in error_line(result)
    result = query(store[0], "--from", at(END - 60), "--to", at(END), "--diff-from", at(END - 2 * LENGTH),
                   ok=False)
    assert result.returncode == 1 and "nothing was recorded in" in result.stderr.splitlines()[-1], result
    result = query(store[0], "--from", at(END + 60), "--to", at(END + 120))
    assert "the store holds 2026-11-24 " in result.stderr and " to 2026-11-25 " in result.stderr, result


def test_ranges_of_one_name(store):
    """Each has its own beginning; a comma too many adds nothing."""
    first, second = f"{at(END - 60)}..{at(END)}", f"..{at(END - LENGTH + 60)}"

    def total(ranges):
        result = run("render", f"{store[0]}@{ranges}", "-o", "-")
        assert result.returncode == 0, result
        return Folded(result.stdout.encode()).total()
    assert total(f"{first},{second}") == total(first) + total(second)
    for ranges in f"{first},", f",{first}":
        result = run("render", f"{store[0]}@{ranges}", "-o", "-")
        assert result.returncode == 2 and "comma" in error_line(result), result


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may read all")
def test_files_that_may_not_be_read(store):
    """They are no damage, and somebody learns why nothing is there."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        copy = Path(folder) / "store"
        shutil.copytree(store[0], copy)
        os.chmod(folder, 0o755)
        copy.chmod(0o755)
        for path in copy.iterdir():
            path.chmod(0 if path.name.startswith("10s") else 0o644)
        program = Path(folder) / "bpfflame"
        shutil.copy(BPFFLAME, program)
        nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []

        def ask(*arguments):
            return subprocess.run([*nobody, program, "query", "--store", copy, *arguments], text=True,
                                  capture_output=True, check=False)
        for words in ["--from", at(END - 30)], ["--list"], ["--series", "--step", "10s"]:
            result = ask(*words)
            assert result.returncode == 0 and "permission denied" in result.stderr, result
            assert "damaged" not in result.stderr and "as segments" not in result.stderr, result
        copy.chmod(0)
        result = ask()
        assert result.returncode == 1 and "Permission denied (run it as root" in error_line(result), result
        copy.chmod(0o755)


def test_no_store(tmp_path):
    result = query(tmp_path / "none", ok=False)
    assert result.returncode == 1 and "daemon" in error_line(result)
    result = query(tmp_path, ok=False)
    assert result.returncode == 1 and "no recordings" in error_line(result)


# --- a store in which others put what they like ---


@pytest.mark.parametrize("words", [["query", "--series", "--step", "1m", "--csv", "--from", at(END - LENGTH), "--store"],
                                   ["report", "--json"]], ids=["query", "report"])
def test_who_reads_a_store_has_no_rights(store, words):
    """It is a process of its own, which waits here until somebody takes what it says."""
    path = store[0] if words[0] == "query" else f"{store[0]}@{at(END - 3600)}..{at(END)}"
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    with subprocess.Popen([BPFFLAME, *words, path], stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        wait_until(lambda: select.select([ours], [], [], 0)[0])
        reader, = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{reader}/status").read_text().splitlines())
        with open(ours, "rb") as stream:
            output = stream.read()
    assert process.returncode == 0 and len(output) > 4096
    assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1")
    assert int(status["CapPrm"], 16) == 0
    assert os.geteuid() or status["Uid"] == "\t".join(["65534"] * 4)


def test_what_is_no_segment_is_passed_over(store, tmp_path):
    """Links, pipes and folders called like segments neither hide the others nor make anybody wait."""
    good = shutil.copytree(store[0], tmp_path / "store")
    name = max(path.name for path in good.glob("10s-*"))
    secret = shutil.copy(good / name, tmp_path / "secret")
    ranges = ["--from", at(END - 3600), "--to", at(END)]
    before = folded_of(store, *ranges)[0].stacks
    (good / "10s-a.bfs").symlink_to(secret)
    (good / "10s-b.bfs").symlink_to("/no/such/file")
    os.mkfifo(good / "10s-c.bfs")
    (good / "10s-d.bfs").mkdir()
    for kind in [], ["--list"], ["--series"]:
        result = query(good, *ranges, *kind, timeout=20)
        assert "bpfflame: 4 " in result.stderr, result
        assert "secret" not in result.stdout
    result = query(good, "--idle", "-o", "-", *ranges, timeout=20)
    assert Folded(result.stdout.encode()).stacks == before


@pytest.mark.parametrize("kind", ["--csv", "--json", None])
def test_names_of_segments_are_escaped(store, tmp_path, kind):
    """A terminal obeys nothing of them, and they are one field."""
    good = shutil.copytree(store[0], tmp_path / "store")
    name = '10s-\x1b[31m\u202e\u009b,"1",\n.bfs'
    (good / max(path.name for path in good.glob("10s-*"))).rename(good / name)
    output = query(good, "--list", *[kind] if kind else []).stdout
    assert not set(output) & set("\x1b\u202e\u009b")
    if kind == "--csv":
        found = [row["file"] for row in csv.DictReader(io.StringIO(output), strict=True) if row["level"] == "10s"]
        assert '10s-\ufffd[31m\ufffd\ufffd,"1", .bfs' in found
        assert all(len(row) == 6 for row in csv.reader(io.StringIO(output)))
    else:
        assert sum("[31m" in line for line in output.splitlines()) == 1
