# SPDX-License-Identifier: GPL-2.0-or-later
"""Events that -e names: how many there were, where, and how files name them. The workload
(tests/workload/probes.c) prints what it did; page faults, probes and system calls are exact."""
import json
import os
import re
import subprocess
import sys

import pytest

import pprof_file
from harness import (BPFFLAME, WORKLOADS, Folded, assert_no_loss, assert_only, assert_well_formed,
                     can_unshare, error_line, record, run, threads_of, wait_until, workload)

PROBES = WORKLOADS / "probes"


def has_tracefs():
    return os.path.isdir("/sys/kernel/tracing/events/sched")


def events_of(result):
    return {event["name"]: event for event in result.summary["events"]}


def recorded(tmp_path, *events, arguments=()):
    """A run of the workload: {stem: Folded}, its truth, the result."""
    options = [item for event in events for item in ("-e", event)]
    result = record(*options, "--out-dir", tmp_path, "-f", "folded", "--", PROBES, *arguments)
    assert_no_loss(result.summary)
    files = {path.stem: Folded(path) for path in tmp_path.glob("*.folded")}
    return files, result.truth, result


def leaf(folded, *frames):
    """The value of the stacks that consist of main, called by libc, and exactly these functions."""
    return folded.total(lambda stack: stack[:2] == ["probes", "_start"]
                        and stack[-len(frames) - 1:] == ["main", *frames])


def test_page_faults_are_exact(tmp_path):
    files, truth, result = recorded(tmp_path, "page-faults")
    folded = files["page-faults"]
    assert leaf(folded, "touch_many") == truth["pages"]
    assert leaf(folded, "touch_few") == truth["few"]
    # Faults of the kernel, in read(2), have a kernel half.
    in_kernel = [(frames, value) for frames, value in folded.stacks if "touch_in_kernel" in frames
                 and any(frame.endswith("_[k]") for frame in frames)]
    assert sum(value for _, value in in_kernel) == truth["few"]
    assert all("read" in frames for frames, _ in in_kernel)
    event = events_of(result)["page-faults"]
    assert event["unit"] == "events" and event["period"] == 1
    assert event["total"] == event["samples"] == folded.total()


def test_page_faults_by_period(tmp_path):
    """Every 10th: within one period on each CPU."""
    files, truth, _ = recorded(tmp_path, "page-faults:10")
    assert abs(files["page-faults"].with_frame("touch_many") - truth["pages"]) \
        <= 10 * os.cpu_count()


@pytest.mark.parametrize("suffix", ["pb.gz", "speedscope.json", "firefox.json"])
def test_files_know_the_event(tmp_path, suffix):
    """The name survives reading and rewriting, and a comparison prints it."""
    record("-e", "page-faults:10", "-o", tmp_path / "x.pb.gz", "-o", tmp_path / "x.folded", "--",
           PROBES)
    for name, made_of in (f"y.{suffix}", "x.pb.gz"), ("z.pb.gz", f"y.{suffix}"), \
            ("z.folded", "z.pb.gz"):
        assert run("render", tmp_path / made_of, "-o", tmp_path / name).returncode == 0
    assert (tmp_path / "z.folded").read_bytes() == (tmp_path / "x.folded").read_bytes()
    said = json.loads(run("report", tmp_path / f"y.{suffix}", "--json").stdout)
    assert said["event"] == said["unit"] == "page-faults"
    profile = pprof_file.Meaning(tmp_path / "z.pb.gz")
    assert dict(profile.types[-1]) == {"type": "page-faults", "unit": "count"}
    assert profile.fields["period"] == 10
    difference = run("diff", tmp_path / "x.pb.gz", tmp_path / f"y.{suffix}")
    assert "page-faults" in difference.stdout and "samples" not in difference.stdout, difference


def test_a_period_above_all_weights(tmp_path):
    """Five events with a period of 2^64 - 1 are one sample, not none."""
    path = tmp_path / "x.speedscope.json"
    path.write_text(json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": "main"}]},
        "profiles": [{"type": "sampled", "name": "sh", "unit": "none", "startValue": 0,
                      "endValue": 5, "samples": [[0]], "weights": [5]}],
        "exporter": "bpfflame", "bpfflame": {"mode": "oncpu", "event": "page-faults",
                                             "weight": "events", "period": str(2 ** 64 - 1)}}))
    result = run("render", path, "-o", tmp_path / "x.pb.gz")
    assert result.returncode == 0, result
    assert [sample["value"] for sample in pprof_file.read(tmp_path / "x.pb.gz")["sample"]] \
        == [[1, 5]]


def test_context_switches_are_those_of_proc(tmp_path):
    with workload("wait", tmp_path, 20, 1) as process:
        wait_until(lambda: len(threads_of(process.pid)) >= 4)

        def switches():
            total = 0
            for tid in threads_of(process.pid):
                with open(f"/proc/{process.pid}/task/{tid}/status", encoding="utf-8") as status:
                    total += sum(int(n) for n in re.findall(r"ctxt_switches:\s+(\d+)",
                                                            status.read()))
            return total
        before = switches()
        result = record("-e", "context-switches", "-p", process.pid, "-d", 2, "-o",
                        tmp_path / "x.folded")
        outside = switches() - before
    counted = Folded(tmp_path / "x.folded").total()
    assert_no_loss(result.summary)
    assert 0 < counted <= outside
    # The recorder's own times show which events happened while bpfflame started and wrote.
    inside = result.summary["duration_seconds"] / (result.ended - result.started)
    assert counted >= 0.6 * inside * outside


@pytest.mark.skipif(not has_tracefs(), reason="tracefs is not mounted")
def test_tracepoints_are_exact(tmp_path):
    files, truth, _ = recorded(tmp_path, "syscalls:sys_enter_write",
                               "tracepoint:sched:sched_process_fork")
    writes = files["syscalls-sys_enter_write"]
    assert writes.total(lambda frames: "write_often" in frames) == truth["writes"]
    assert all("write" in frames for frames, _ in writes.stacks)
    forks = files["sched-sched_process_fork"]
    assert forks.total(lambda frames: "fork_often" in frames) == truth["forks"]


@pytest.mark.parametrize("container", [
    pytest.param([], id="host"),
    pytest.param(["unshare", "--pid", "--fork", "--mount-proc"], id="container",
                 marks=pytest.mark.skipif(not can_unshare(), reason="unshare fails here"))])
def test_processes_are_recorded_to_their_end(container, tmp_path):
    """Their last events come while they give back memory and files."""
    script = "i=0; while [ $i -lt 40 ]; do /bin/true; i=$((i+1)); done"
    subprocess.run([*container, BPFFLAME, "-q", "-e", "sched:sched_process_exit", "-o", "x.folded",
                    "--", "sh", "-c", script], cwd=tmp_path, check=True)
    folded = Folded(tmp_path / "x.folded")
    assert folded.total(lambda frames: frames[0] == "true") == 40
    assert folded.total(lambda frames: "do_exit_[k]" in frames) == 41


def test_uprobes_are_exact(tmp_path):
    files, truth, result = recorded(tmp_path, f"uprobe:{PROBES}:called_often",
                                    f"uprobe:{PROBES}:called_often:100")
    folded = files["uprobe-probes-called_often"]
    assert leaf(folded, "called_often") == truth["calls"]
    assert leaf(folded, "calls_twice", "called_often") == 2 * truth["twice"]
    assert leaf(folded, *["recurses"] * truth["recursed"], "called_often") == 1
    assert result.summary["complete_stacks_percent"] == 100
    assert result.summary["events"][0]["path"] == str(PROBES)
    # The same event again, with a period: its files get a number.
    assert abs(files["uprobe-probes-called_often-2"].total() - folded.total()) \
        <= 100 * os.cpu_count()


def test_return_probes_have_whole_stacks(tmp_path):
    """During the probe, return addresses on the stack are the kernel's trampoline, several in a
    row."""
    files, truth, result = recorded(tmp_path, *(f"uretprobe:{PROBES}:{name}" for name in
                                                ("called_often", "calls_twice", "recurses")))
    often = files["uretprobe-probes-called_often"]
    assert leaf(often) == truth["calls"]
    assert leaf(often, "calls_twice") == 2 * truth["twice"]
    assert leaf(files["uretprobe-probes-calls_twice"]) == truth["twice"]
    recursed = files["uretprobe-probes-recurses"]
    for depth in range(truth["recursed"]):
        assert leaf(recursed, *["recurses"] * depth) == 1
    assert result.summary["complete_stacks_percent"] == 100


def test_usdt_is_exact(tmp_path):
    """The program checks whether the second probe has a listener."""
    files, truth, _ = recorded(tmp_path, f"usdt:{PROBES}:probes:passed")
    assert leaf(files["usdt-probes-probes-passed"], "pass_marks") == truth["passed"]
    assert truth["watched"] == 0
    files, truth, _ = recorded(tmp_path, f"usdt:{PROBES}:watched")
    assert leaf(files["usdt-probes-watched"], "pass_marks") == truth["watched"] == truth["passed"]


def test_filters_hold(tmp_path):
    """Two processes of the same program: only one is recorded, without its children."""
    probe = f"uprobe:{PROBES}:called_often"
    with workload("probes", 10, 50_000_000_000) as wanted, workload("probes", 10, 50_000_000_000):
        for target in (["-p", wanted.pid], ["-t", wanted.pid], ["-p", wanted.pid, "-C", "0"]):
            result = record("-e", f"{probe}:1000", "--threads", *target, "-d", 1, "-o",
                            tmp_path / "x.folded")
            assert_no_loss(result.summary)
            roots = Folded(tmp_path / "x.folded").roots()
            assert roots <= {f"probes-{wanted.pid}/{wanted.pid}"}, target
            if "-C" not in target:
                assert roots
        record("-e", f"{probe}:1000", "--comm", "no*", "-d", 1, "-o", tmp_path / "y.folded")
        assert not Folded(tmp_path / "y.folded").stacks


@pytest.mark.skipif(not has_tracefs(), reason="tracefs is not mounted")
@pytest.mark.parametrize("event", ["sched:sched_waking", "sched:sched_switch", "lock:contention_end",
                                   "irq_vectors:irq_work_entry", "kmem:kmalloc"])
def test_events_within_events(event, tmp_path):
    """Events that recording itself causes: nothing hangs, and losses are counted."""
    category, name = event.split(":")
    if not os.path.isdir(f"/sys/kernel/tracing/events/{category}/{name}"):
        pytest.skip(f"no {event} in this kernel")
    result = record("--max-loss", 100, "-e", event, "-e", "page-faults", "-a", "-d", 1,
                    "-o", tmp_path / "x.folded")
    assert "nested_events" in result.summary["losses"]


def python_program():
    """A Python interpreter that is a binary, not a script that starts one."""
    return os.path.realpath(sys.executable)


STRINGS = "for i in range(20): list(map(str, range(1000)))\n[bytes(100000) for i in range(50)]"


def assert_mallocs(path):
    folded = Folded(path)
    assert folded.total() > 50
    assert not [frames for frames, _ in folded.stacks
                if frames[-1] not in ("malloc", "__libc_malloc", "__GI___libc_malloc")]


def test_malloc_of_a_real_program(tmp_path):
    result = record("-e", "uprobe:libc.so.6:malloc", "-o", tmp_path / "x.folded", "--",
                    python_program(), "-c", STRINGS)
    assert_no_loss(result.summary)
    assert result.summary["complete_stacks_percent"] > 99
    assert_mallocs(tmp_path / "x.folded")


@pytest.mark.parametrize("strings, fits", [(400, True), (5000, False)])
def test_events_while_bpfflame_is_stopped(tmp_path, strings, fits):
    """A program's whole life, which the loader only sees when it is over."""
    script = 'kill -STOP "$PPID"; exec perl -e "$0; kill CONT => getppid"'
    result = record("--max-loss", 100, "-e", "uprobe:libc.so.6:malloc", "-o", tmp_path / "x.folded",
                    "--", "sh", "-c", script, f'@x = map {{ "x" x 100 . $_ }} 1 .. {strings}')
    assert result.summary["unwinding"]["snapshots"] > 1000
    assert (result.summary["losses"]["snapshots"] == 0) == fits
    assert (result.summary["complete_stacks_percent"] > 99) == fits
    assert_mallocs(tmp_path / "x.folded")


def test_one_set_of_files_each(tmp_path):
    result = record("-e", "page-faults,context-switches", "-e", "cpu-clock", "--out-dir", tmp_path,
                    "--", PROBES)
    assert_only(tmp_path, [f"{stem}.{ending}" for stem in
                           ("page-faults", "context-switches", "cpu-clock")
                           for ending in ("svg", "folded")])
    for event in events_of(result).values():
        assert Folded(tmp_path / f"{event['name']}.folded").total() == event["total"]
    assert events_of(result)["cpu-clock"]["unit"] == "samples"


def test_what_is_lost_uncounted_is_named(tmp_path):
    options = ["-e", "page-faults", "-e", f"uprobe:{PROBES}:called_often", "--out-dir", tmp_path]
    kinds = {event["kind"]: event["counts_misses"] for event in record(*options, "--", PROBES).summary["events"]}
    is_newer = tuple(int(word) for word in os.uname().release.split(".")[:2]) >= (6, 7)
    assert kinds == {"counter": False, "uprobe": is_newer}
    lines = [line for line in run(*options, "--", PROBES).stderr.splitlines() if line.startswith("  uncounted ")]
    assert len(lines) == 1 and "page-faults" in lines[0] and ("called_often" in lines[0]) != is_newer, lines


def test_names_of_o(tmp_path):
    record("-e", "page-faults", "-e", "cs", "-o", tmp_path / "out.pb.gz", "-o", tmp_path / "b.svg",
           "--", PROBES)
    assert_only(tmp_path, ["out.page-faults.pb.gz", "out.cs.pb.gz", "b.page-faults.svg",
                           "b.cs.svg"])
    record("-e", "page-faults", "-o", tmp_path / "one.folded", "--", PROBES)
    assert (tmp_path / "one.folded").exists()


def test_units_are_named(tmp_path):
    """In pictures, reports and files; a profile that is read back still has them."""
    outputs = [tmp_path / f"x.{ending}" for ending in
               ("svg", "html", "pb.gz", "speedscope.json", "firefox.json", "folded")]
    record("-e", "page-faults:2", *(item for path in outputs for item in ("-o", path)), "--",
           PROBES)
    svg = (tmp_path / "x.svg").read_text()
    assert_well_formed(tmp_path / "x.svg")
    assert "<title>page-faults · " in svg and 'data-count="page-faults"' in svg
    assert re.search(r"[\d,]+ page-faults", svg) and "samples" not in svg.split("<script")[0]
    assert '"unit":"page-faults"' in (tmp_path / "x.html").read_text()
    speedscope = json.loads((tmp_path / "x.speedscope.json").read_text())
    assert {profile["unit"] for profile in speedscope["profiles"]} == {"none"}
    firefox = json.loads((tmp_path / "x.firefox.json").read_text())
    total = Folded(tmp_path / "x.folded").total()
    assert sum(sum(thread["samples"]["weight"]) for thread in firefox["threads"]) == total

    pprof = tmp_path / "x.pb.gz"
    report = json.loads(run("report", "--json", pprof).stdout)
    assert (report["unit"], report["event"], report["total"]) == ("page-faults", "page-faults",
                                                                 total)
    assert f"{total:,} page-faults in" in run("report", pprof).stdout
    for again, name in ((tmp_path / "y.pb.gz", pprof), (tmp_path / "z.pb.gz", tmp_path / "y.pb.gz")):
        assert run("render", name, "-o", again).returncode == 0
    assert (tmp_path / "y.pb.gz").read_bytes() == (tmp_path / "z.pb.gz").read_bytes()
    assert run("render", tmp_path / "z.pb.gz", "-o", tmp_path / "z.folded").returncode == 0
    assert (tmp_path / "z.folded").read_bytes() == (tmp_path / "x.folded").read_bytes()


@pytest.mark.parametrize("event, says", [
    ("page-fault", "page-faults"), ("cylces", "cycles"), ("switch", "context-switches"),
    (f"uprobe:{PROBES}:caled_often", "called_often"), (f"uprobe:{PROBES}:zzzzzzzzz", "nm"),
    ("uprobe:no-such-file:main", "no-such-file"), (f"usdt:{PROBES}:probes:pased", "passed"),
    ("uprobe:libc.so.6", "uprobe:FILE:FUNCTION"), ("page-faults:0", "page-faults:0"),
    ("page-faults:x", "page-faults:x"), ("", "not an event"),
    pytest.param("sched:sched_swich", "sched:sched_switch",
                 marks=pytest.mark.skipif(not has_tracefs(), reason="tracefs is not mounted"))])
def test_unknown_events_suggest(event, says, tmp_path):
    result = run("-e", event, "-a", "-d", 1, "-o", tmp_path / "x.folded")
    assert result.returncode == 2, result
    line = error_line(result)
    assert event in line and says in line, line
    assert_only(tmp_path, [])


def test_conflicting_options(tmp_path):
    for mode in ("--offcpu", "--wall"):
        result = run("-e", "page-faults", mode, "-a")
        assert result.returncode == 2
        assert "-e page-faults" in error_line(result) and mode in result.stderr
    result = run("-e", "page-faults", "-e", "cs", "-o", "-", "-a")
    assert result.returncode == 2 and "-o -" in error_line(result)


# --- bpfflame events ------------------------------------------------------------------------


def listed(*arguments, **options):
    result = run("events", "--json", *arguments, **options)
    assert result.returncode == 0, result
    return json.loads(result.stdout)


def test_the_list_says_what_there_is_and_why_the_rest_is_not():
    everything = listed()
    kinds = {event["kind"] for event in everything["events"]}
    missing = {kind["kind"]: kind["why"] for kind in everything["missing"]}
    assert "software" in kinds
    assert kinds | set(missing) >= {"software", "hardware", "cache", "tracepoint", "uprobe",
                                    "kprobe", "usdt"}
    assert not kinds & set(missing)
    assert all(missing.values())
    names = [event["name"] for event in everything["events"]]
    assert "page-faults" in names and len(set(names)) == len(names)
    # Lists what can be recorded, even on idle CPUs, which once kept counters of instructions busy
    # for minutes.
    for name in [name for name in names if name in ("cycles", "instructions", "cgroup-switches")]:
        assert run("-e", name, "-a", "-d", "100ms", "-o", "-").returncode == 0, name
    if "hardware" in missing:
        result = run("-e", "instructions", "-a", "-d", 1, "-o", "-")
        assert result.returncode == 1
        assert "instructions" in error_line(result) and missing["hardware"] in result.stderr


def test_patterns_of_the_list():
    assert [event["name"] for event in listed("faults")["events"]][:1] == ["alignment-faults"]
    assert {event["name"] for event in listed("page-*")["events"]} == {"page-faults"}
    assert "page-faults" in run("events", "page").stdout
    nothing = run("events", "xyzzy")
    assert nothing.returncode == 1 and "xyzzy" in error_line(nothing)


def test_usdt_probes_of_files_and_processes():
    wanted = {f"usdt:{PROBES}:probes:passed", f"usdt:{PROBES}:probes:watched"}
    assert {event["name"] for event in listed("--path", PROBES)["events"]} == wanted
    with workload("probes", 10, 50_000_000_000) as process:
        assert {event["name"] for event in listed("-p", process.pid)["events"]} >= wanted
    assert run("events", "--path", "/etc/passwd").returncode == 1


def test_the_list_needs_no_rights(tmp_path):
    """But says which rights are missing."""
    program = tmp_path / "bpfflame"
    program.write_bytes(BPFFLAME.read_bytes())
    program.chmod(0o755)
    tmp_path.chmod(0o755)
    for folder in list(tmp_path.parents)[:2]:
        folder.chmod(0o755)
    result = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                             "--inh-caps=-all", "--bounding-set=-all", program, "events",
                             "--json"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    everything = json.loads(result.stdout)
    assert any(event["kind"] == "uprobe" for event in everything["events"])
    assert everything["missing"]
