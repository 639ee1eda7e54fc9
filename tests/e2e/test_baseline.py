# SPDX-License-Identifier: GPL-2.0-or-later
"""`bpfflame baseline`: a new recording is compared with what was saved, here or restored from a
cache; and the messages when there is no baseline, or it is from another machine."""
import gzip
import html
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from harness import BPFFLAME, Folded, error_line, record, run, workload

COMMITS = ["0123456789abcdef0123456789abcdef01234567", "0123999999abcdef0123456789abcdef01234567",
           "fedcba9876543210fedcba9876543210fedcba98"]
CI = ["GITHUB_SHA", "GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_SHA", "CI_COMMIT_REF_NAME",
      "BPFFLAME_BASELINES"]


@pytest.fixture(autouse=True)
def outside_of_ci(monkeypatch, tmp_path):
    """Runs each test in a folder of its own, and not as part of a CI job."""
    for name in CI:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def baseline(*arguments, code=0):
    result = run("baseline", *arguments)
    assert result.returncode == code, result
    return result


def refused(*arguments, code=1):
    """The one error line of a run that fails."""
    result = run("baseline", *arguments)
    assert result.returncode == code, result
    return error_line(result)


def write(path, **functions):
    path.write_text("".join(f"app;main;{name} {value}\n" for name, value in functions.items()))
    return path


@pytest.fixture
def old(tmp_path):
    return write(tmp_path / "old.folded", fast=3000, slow=2000, other=5000)


@pytest.fixture
def new(tmp_path):
    return write(tmp_path / "new.folded", fast=3010, slow=3000, other=4990)


def save(file, commit, *arguments, name="bench"):
    return baseline("save", name, file, "--commit", commit, *arguments)


def listed(*arguments):
    return json.loads(baseline("list", "--json", *arguments).stdout)


def shown(*arguments):
    return json.loads(baseline("show", "--json", *arguments).stdout)


def facts_file(name="bench", commit=COMMITS[0], folder=".bpfflame/baselines"):
    return os.path.join(folder, name, commit, "baseline.json")


def edit(changes, **options):
    """Changes stored facts, by key."""
    path = facts_file(**options)
    with open(path, encoding="utf-8") as stream:
        facts = json.load(stream)
    for key, value in changes.items():
        target = facts["machine"] if key in facts["machine"] else facts
        assert key in target
        target[key] = value
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(facts, stream)


# --- the whole way, with recordings ---------------------------------------------------------


@pytest.fixture(scope="module")
def recordings(module_path):
    """Two recordings of the same program, known to be alike."""
    paths = []
    with workload("burn", 120, 2) as process:
        for i in range(2):
            path = module_path / f"run{i}.pb.gz"
            record("-p", process.pid, "-d", 2, "-F", 199, "-o", path, "-o",
                   module_path / f"run{i}.folded")
            paths.append(path)
    return paths


def test_save_list_show_compare(recordings):
    one, other = recordings
    said = save(one, COMMITS[0], "--branch", "main", "--note", "first of all").stderr
    assert f"saved bench@{COMMITS[0]} (main): 1 run" in said and len(said.splitlines()) == 1

    entry, = listed()
    samples = Folded(one.with_suffix("").with_suffix(".folded")).total()
    assert (entry["name"], entry["commit"], entry["branch"]) == ("bench", COMMITS[0], "main")
    assert entry["note"] == "first of all" and entry["damaged"] is None
    assert entry["total"] == samples == entry["runs"][0]["samples"]
    assert (entry["mode"], entry["frequency_hz"]) == ("oncpu", 199)
    machine = entry["machine"]
    assert machine["host"] == platform.node() and machine["kernel"] == platform.release()
    assert machine["architecture"] == platform.machine()
    assert machine["cpus"] == os.sysconf("SC_NPROCESSORS_ONLN")
    assert machine["memory_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert abs(entry["saved_unix_seconds"] - time.time()) < 60
    assert abs(entry["runs"][0]["duration_seconds"] - 2) < 0.5
    assert str(one) == entry["runs"][0]["source"]

    head, row = baseline("list").stdout.splitlines()
    assert head.split() == ["NAME", "COMMIT", "BRANCH", "AGE", "RUNS", "TOTAL", "MACHINE"]
    assert row.split()[:3] == ["bench", COMMITS[0][:12], "main"] and f"{samples:,} samples" in row

    text = baseline("show", "bench").stdout
    assert f"bench@{COMMITS[0]}" in text and "first of all" in text
    assert platform.release() in text and "199 Hz" in text
    answer = shown("bench")
    report = json.loads(run("report", "--json", "--no-threads", "--by", "functions", one).stdout)
    assert answer["report"]["functions"] == report["functions"]
    assert answer["report"]["total"] == samples

    # Saving keeps the whole recording: diff finds no difference.
    result = baseline("compare", "bench", other, "--json")
    assert result.stderr == ""
    assert json.loads(result.stdout)["remarks"] == []
    kept, fresh = json.loads(result.stdout), json.loads(run("diff", one, other, "--json").stdout)
    for side in "base", "new":
        assert kept[side]["total"] == fresh[side]["total"]
    assert ({row["name"]: row["total"]["base"] for row in kept["functions"]}
            == {row["name"]: row["total"]["base"] for row in fresh["functions"]})


def test_several_runs_and_folders(recordings, tmp_path):
    one, other = recordings
    baseline("save", "bench", one, other, "--commit", COMMITS[0])
    entry, = listed()
    assert [run["source"] for run in entry["runs"]] == [str(one), str(other)]
    sums = [Folded(path.with_suffix("").with_suffix(".folded")).total() for path in recordings]
    assert [run["samples"] for run in entry["runs"]] == sums and entry["total"] == sum(sums)
    assert shown("bench")["report"]["total"] == sum(sums)
    baseline("compare", "bench", other, "--json")

    # A folder: each run counts once, in its best format; other files are not runs.
    folder = tmp_path / "runs"
    folder.mkdir()
    for path in recordings:
        shutil.copy(path, folder)
        shutil.copy(path.with_suffix("").with_suffix(".folded"), folder)
    (folder / "index.html").write_text("x")
    (folder / ".run9.folded").write_text("x")
    baseline("save", "bench", folder, "--commit", COMMITS[1])
    entry, = listed()[:1]
    assert [os.path.basename(run["source"]) for run in entry["runs"]] == ["run0.pb.gz",
                                                                        "run1.pb.gz"]
    (tmp_path / "empty").mkdir()
    assert "no profiles" in refused("save", "bench", tmp_path / "empty", "--commit", COMMITS[2])


def test_the_gate_is_that_of_diff(old, new, tmp_path):
    save(old, COMMITS[0])
    result = baseline("compare", "bench", new, "--fail-over", 10, "--markdown",
                      tmp_path / "comment.md", code=3)
    assert "slow" in result.stderr and "slow" in (tmp_path / "comment.md").read_text()
    baseline("compare", "bench", old, "--fail-over", 10)
    # Our own options may come anywhere before or after the name.
    baseline("compare", "--dir", ".bpfflame/baselines", "bench", new, "--fail-over", 10,
             "--same-machine", code=3)
    baseline("compare", "bench", new, "--fail-over", 10, "--dir=.bpfflame/baselines", "-q", code=3)
    assert "no option --no-such-option" in refused("compare", "bench", new, "--no-such-option", code=2)
    assert "come after it" in refused("compare", "--fail-over", 10, "bench", new, code=2)
    assert "needs a value" in refused("compare", "bench", new, "--dir", code=2)
    assert "takes no value" in refused("compare", "bench", new, "--same-machine=x", code=2)


def test_standard_input(old, new):
    result = subprocess.run([BPFFLAME, "baseline", "save", "bench", "-", "--commit", COMMITS[0]],
                            input=old.read_bytes(), capture_output=True, check=True)
    assert b"10,000 samples" in result.stderr
    result = subprocess.run([BPFFLAME, "baseline", "compare", "bench", "-", "--json"],
                            input=new.read_bytes(), capture_output=True, check=True)
    assert json.loads(result.stdout)["new"]["total"] == 11000
    assert "twice" in refused("save", "bench", "-", "-", "--commit", COMMITS[1])


# --- which one ------------------------------------------------------------------------------


def test_newest_prefix_and_branch(old, new):
    save(old, COMMITS[0], "--branch", "main")
    save(old, COMMITS[1], "--branch", "main")
    save(new, COMMITS[2], "--branch", "topic/x")
    assert [entry["commit"] for entry in listed()] == COMMITS[::-1]

    def chosen(*arguments):
        return shown(*arguments)["baseline"]["commit"]

    assert chosen("bench") == COMMITS[2]
    assert chosen("bench@01234") == COMMITS[0]
    assert chosen(f"bench@{COMMITS[1]}") == COMMITS[1]
    assert chosen("bench@main") == chosen("bench", "--branch", "main") == COMMITS[1]
    assert chosen("bench@topic/x") == COMMITS[2]
    line = refused("show", "bench@0123")
    assert "several" in line and COMMITS[0][:8] in line and COMMITS[1][:8] in line
    assert "0123" in refused("show", "bench@0123", "--branch", "main", code=2)
    assert "after @" in refused("show", "bench@", code=2)
    answer = json.loads(baseline("compare", "bench@main", new, "--json").stdout)
    assert answer["base"]["total"] == 10000


def test_rotation_and_removal(old):
    for number in range(5):
        save(old, f"main{number}", "--branch", "main", "--keep", 3)
    save(old, "topic0", "--branch", "topic")
    assert [entry["commit"] for entry in listed()] == ["topic0", "main4", "main3", "main2"]
    assert "removed 2 older" in save(old, "main5", "--branch", "main", "--keep", 2).stderr
    assert [entry["commit"] for entry in listed()] == ["main5", "topic0", "main4"]

    baseline("remove", "bench@topic")
    assert "no baseline 'bench@mine'" in refused("remove", "bench@mine")
    assert "several" in refused("remove", "bench@main")
    os.truncate(os.path.join(os.path.dirname(facts_file(commit="main4")), "run-1.pb.gz"), 5)
    baseline("remove", "bench@main4")
    assert [entry["commit"] for entry in listed()] == ["main5"]
    save(old, "a", name="other")
    assert "removed 1 baseline" in baseline("remove", "bench").stderr
    assert [entry["name"] for entry in listed()] == ["other"]
    assert "no baseline 'bench'" in refused("remove", "bench")
    baseline("remove", "other")
    assert os.listdir(".bpfflame/baselines") == []


def test_missing(old, new):
    line = refused("compare", "bench", new)
    assert ".bpfflame/baselines" in line and "bpfflame baseline save bench" in line
    result = baseline("compare", "bench", new, "--missing-ok", "--fail-over", 10)
    assert "no baseline 'bench'" in result.stderr and result.stdout == ""
    assert baseline("compare", "bench", new, "--missing-ok", "-q").stderr == ""
    # A wrong option is found by the first run of a pipeline, not the second.
    for wrong in ["--no-such"], ["--fail-over", "x"], ["-o", "x.png"]:
        result = baseline("compare", "bench", new, "--missing-ok", *wrong, code=2)
        assert wrong[0] in result.stderr and result.stderr.count("\n") == 1, result
    save(old, COMMITS[0], name="parser")
    save(old, COMMITS[1], name="parser")
    save(old, COMMITS[0], name="lexer")
    line = refused("compare", "bench", new)
    assert "which has lexer, parser" in line
    assert "no baseline 'parser@fff'" in refused("compare", "parser@fff", new)
    baseline("compare", "parser@fff", new, "--missing-ok")
    # Only a baseline that is missing may be ignored, not a broken one.
    with open(facts_file("lexer"), "w", encoding="utf-8") as stream:
        stream.write("{")
    assert "damaged" in refused("compare", "lexer@0123", new, "--missing-ok")
    assert baseline("list", "bench").stderr == ("bpfflame: no baselines of 'bench' in "
                                                ".bpfflame/baselines\n")
    assert listed("bench") == []


def test_a_second_one_and_replace(old, new):
    save(old, COMMITS[0])
    line = refused("save", "bench", new, "--commit", COMMITS[0])
    assert "already there" in line and "--replace" in line
    assert listed()[0]["total"] == 10000
    save(new, COMMITS[0], "--replace")
    assert listed()[0]["total"] == 11000
    assert len(listed()) == 1


# --- where and when it was saved ------------------------------------------------------------


def test_commit_and_branch(old, tmp_path, monkeypatch):
    line = refused("save", "bench", old, code=2)
    assert "no git repository" in line and "--commit" in line
    subprocess.run("git init -q -b trunk && git -c user.name=a -c user.email=a@b commit -q "
                   "--allow-empty -m one", shell=True, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True,
                          check=True).stdout.strip()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "er")
    monkeypatch.setenv("BPFFLAME_BASELINES", str(tmp_path / "kept"))
    baseline("save", "bench", old)
    baseline("save", "bench", old, "--commit", "other")
    monkeypatch.setenv("CI_COMMIT_SHA", "a" * 40)
    monkeypatch.setenv("CI_COMMIT_REF_NAME", "lab")
    baseline("save", "bench", old)
    monkeypatch.setenv("GITHUB_SHA", "b" * 40)
    monkeypatch.setenv("GITHUB_REF_NAME", "hub")
    baseline("save", "bench", old)
    monkeypatch.setenv("GITHUB_HEAD_REF", "topic")
    baseline("save", "bench", old, "--commit", "c" * 40)
    baseline("save", "bench", old, "--commit", "d" * 40, "--branch", "own")
    assert {entry["commit"]: entry["branch"] for entry in listed()} == {
        head: "trunk", "other": "", "a" * 40: "lab", "b" * 40: "hub", "c" * 40: "topic",
        "d" * 40: "own"}
    assert os.path.isfile(facts_file(commit=head, folder=tmp_path / "kept"))
    baseline("save", "bench", old, "--dir", tmp_path / "else" / "where")
    assert len(listed("--dir", tmp_path / "else" / "where")) == 1


def test_commit_of_a_folder_of_somebody_else(old, tmp_path, monkeypatch):
    """git refuses to read it as root, and applies the configuration only of its owner."""
    repository = tmp_path / "theirs"
    subprocess.run(f"git init -q -b trunk {repository} && cd {repository} && git -c user.name=a "
                   "-c user.email=a@b commit -q --allow-empty -m one", shell=True, check=True)
    head = subprocess.run(["git", "-C", repository, "rev-parse", "HEAD"], capture_output=True,
                          text=True, check=True).stdout.strip()
    for folder in [tmp_path, *tmp_path.parents][:3]:
        os.chmod(folder, folder.stat().st_mode | 0o055)
    subprocess.run(["chown", "-R", "65534:65534", repository], check=True)
    monkeypatch.chdir(repository)
    baseline("save", "bench", old, "--dir", tmp_path / "kept")
    assert [entry["commit"] for entry in listed("--dir", tmp_path / "kept")] == [head]


def test_restored_from_a_cache(old, new, tmp_path):
    save(old, COMMITS[0])
    save(new, COMMITS[1], name="other")
    subprocess.run("tar czf cache.tgz .bpfflame && mkdir -p machine/b && "
                   "tar xzf cache.tgz -C machine/b && rm -r .bpfflame", shell=True, check=True)
    elsewhere = tmp_path / "machine" / "b" / ".bpfflame" / "baselines"
    assert len(listed("--dir", elsewhere)) == 2
    answer = json.loads(baseline("compare", "bench", new, "--json", "--dir", elsewhere).stdout)
    assert answer["base"]["total"] == 10000
    # Two stores can be merged by copying.
    save(old, COMMITS[2])
    shutil.copytree(elsewhere, ".bpfflame/baselines", dirs_exist_ok=True)
    assert ({(entry["name"], entry["commit"]) for entry in listed()}
            == {("bench", COMMITS[0]), ("other", COMMITS[1]), ("bench", COMMITS[2])})
    # A name and a commit are folders, which may be renamed.
    os.rename(".bpfflame/baselines/other", ".bpfflame/baselines/renamed")
    assert shown("renamed")["baseline"]["name"] == "renamed"


# --- other machines -------------------------------------------------------------------------


def remarks(*arguments, code=0):
    """What a comparison prints about the machines on stderr."""
    lines = baseline("compare", "bench", *arguments, code=code).stderr.splitlines()
    return [line.removeprefix("bpfflame: ") for line in lines]


@pytest.mark.parametrize("fact, value, expected", [
    ("cpu_model", "Some CPU", r"CPU differs: Some CPU, now .+"),
    ("cpus", 1234, r"number of CPUs differs: 1234, now \d+"),
    ("kernel", "1.2.3", r"kernel differs: 1\.2\.3, now " + re.escape(platform.release())),
    ("architecture", "pdp11", r"architecture differs: pdp11, now " + platform.machine()),
])
def test_other_machines_are_reported(old, new, fact, value, expected):
    save(old, COMMITS[0])
    assert remarks(new) == []
    edit({fact: value})
    line, = remarks(new)
    assert re.fullmatch(expected, line)
    assert remarks(new, "-q") == []
    # The remark appears in every format.
    text = baseline("compare", "bench", new, "--markdown", "x.md").stdout
    with open("x.md", encoding="utf-8") as stream:
        assert line in text and f"⚠ <code>{html.escape(line)}</code>" in stream.read()
    assert json.loads(baseline("compare", "bench", new, "--json").stdout)["remarks"] == [line]
    result = baseline("compare", "bench", new, "--same-machine", code=1)
    assert result.stdout == "" and len(result.stderr.splitlines()) == 2
    assert "not of this machine" in result.stderr
    assert baseline("compare", "bench", new, "--same-machine", "-q", code=1).stderr != ""
    # Unknown facts are ignored, and so is a different host.
    edit({fact: type(value)(), "host": "another"})
    assert remarks(new, "--same-machine") == []


def test_other_frequencies_and_kinds(recordings, old):
    one, other = recordings
    save(one, COMMITS[0])
    assert remarks(other, "--same-machine") == []
    edit({"frequency_hz": 99})
    assert remarks(other) == ["sampling frequency differs: 99 Hz, now 199 Hz"]
    edit({"event": "cache-misses"})
    assert len(remarks(other)) == 1
    times = old.with_name("times.folded")
    times.write_text("app;main;wait;[sleep] 1000000\n")
    result = run("baseline", "compare", "bench", times)
    assert result.returncode == 1 and "offcpu" in result.stderr.splitlines()[-1]
    assert "two names" in refused("save", "mixed", one, times, "--commit", "x")
    assert listed("mixed") == []


def test_events(recordings, tmp_path):
    """Baselines are separate for each event."""
    faults = tmp_path / "faults.pb.gz"
    record("-e", "page-faults", "-o", faults, "--", "sh", "-c",
           "for i in 1 2 3 4; do ls / >/dev/null; done")
    save(faults, COMMITS[0], name="faults")
    entry, = listed()
    assert entry["event"] == "page-faults" and entry["total"] > 0
    assert entry["runs"][0]["nanoseconds"] == 0
    assert "page-faults" in baseline("show", "faults").stdout
    baseline("compare", "faults", faults, "--same-machine")
    assert "two names" in refused("save", "mixed", faults, recordings[0], "--commit", "x")
    result = baseline("compare", "faults", recordings[0], code=1)
    assert "page-faults" in result.stderr.splitlines()[-1]


def from_elsewhere(path):
    """A copy of a recording with another host and kernel."""
    copy = path.with_name("elsewhere.pb.gz")
    subprocess.run([BPFFLAME, "render", path, "-o", copy], check=True)
    data = gzip.decompress(copy.read_bytes())
    for prefix, fact in (b"host: ", platform.node()), (b"kernel: ", platform.release()):
        comment = prefix + fact.encode()
        assert comment in data
        data = data.replace(comment, prefix + b"z" * len(fact))
    copy.write_bytes(gzip.compress(data))
    return copy


def test_recorded_elsewhere(recordings, tmp_path):
    one, other = recordings
    strange = from_elsewhere(shutil.copy(one, tmp_path / "copy.pb.gz"))
    result = save(strange, COMMITS[0])
    assert "another machine" in result.stderr and "zzz" in result.stderr
    machine = listed()[0]["machine"]
    assert set(machine["kernel"]) == {"z"} and machine["cpu_model"] == "" and machine["cpus"] == 0
    kernel, unknown = remarks(other)
    assert kernel.startswith("kernel differs: zzz") and "not known" in unknown
    # The other way round.
    save(one, COMMITS[1])
    assert [line for line in remarks(strange) if "another machine" in line]
    assert len(remarks(strange)) == 2
    baseline("compare", "bench", strange, "--same-machine", code=1)


# --- damage and concurrency -----------------------------------------------------------------


def test_damaged_ones_are_listed(old, new):
    for commit in COMMITS:
        save(old, commit)
    os.remove(os.path.join(os.path.dirname(facts_file()), "run-1.pb.gz"))
    with open(facts_file(commit=COMMITS[2]), "w", encoding="utf-8") as stream:
        stream.write("\x1b[31m{")
    entries = {entry["commit"]: entry["damaged"] for entry in listed()}
    assert entries[COMMITS[1]] is None and "run-1.pb.gz" in entries[COMMITS[0]]
    assert "baseline.json" in entries[COMMITS[2]]
    text = baseline("list").stdout
    assert text.count("damaged:") == 2 and "\x1b" not in text
    # Takes the newest undamaged one, and says so.
    result = baseline("compare", "bench", new)
    assert "2 of 'bench' are damaged" in result.stderr
    assert "damaged" in refused("show", f"bench@{COMMITS[0]}")
    save(old, COMMITS[0], "--replace")
    assert shown("bench")["baseline"]["commit"] == COMMITS[0]


def test_unreadable_baselines_are_not_missing(old, monkeypatch):
    """A cache restored as root is not the same as having no baseline yet."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        monkeypatch.chdir(folder)
        save(old, COMMITS[0])
        os.chmod(".bpfflame/baselines/bench", 0o700)
        binary, file = shutil.copy(BPFFLAME, folder), shutil.copy(old, folder)

        def as_nobody(*arguments):
            return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                   binary, "baseline", *arguments], capture_output=True,
                                  text=True, check=False)

        result = as_nobody("compare", "bench", file, "--missing-ok")
        assert result.returncode == 1 and "bench: Permission denied" in result.stderr, result
        result = as_nobody("save", "bench", file, "--commit", "x")
        assert result.returncode == 1 and "Permission denied" in result.stderr, result
        assert as_nobody("list").returncode == 0


def test_files_that_cannot_be_saved(old, tmp_path):
    (tmp_path / "empty.folded").write_text("")
    (tmp_path / "bad.pb.gz").write_bytes(b"\x1f\x8bnonsense")
    (tmp_path / "both.folded").write_text("a;b 1 2\n")
    for name, said in (("empty.folded", "no samples"), ("bad.pb.gz", "bad.pb.gz"),
                       ("both.folded", "two columns"), ("missing", "missing")):
        assert said in refused("save", "bench", old, name, "--commit", "x")
    assert os.listdir(".bpfflame/baselines") == []
    (tmp_path / "file").write_text("")
    assert "Not a directory" in refused("save", "bench", old, "--commit", "x", "--dir", "file")


@pytest.mark.parametrize("name", ["a/b", "..", "", ".x", "-x", "a\x1b[31mb", "a\nb", "a@b", "a:b",
                                  "x" * 101])
def test_hostile_names(old, name):
    for arguments in (["save", "--commit", "x", "--", name, old],
                      ["save", "bench", old, "--commit", name]):
        line = refused(*arguments, code=2)
        assert "\x1b" not in line and "\n" not in line
    assert not os.path.exists(".bpfflame")
    if "@" not in name:
        refused("show", "--", name, code=2)
        refused("remove", "--", name, code=2)


def test_input_is_never_executed(recordings, old, new, monkeypatch):
    """A cache, a profile or the environment may contain anything; none of it is executed or
    interpreted."""
    monkeypatch.setenv("GITHUB_REF_NAME", "a\x1b[31mb")
    assert "\x1b" not in refused("save", "bench", old, "--commit", "x", code=2)
    monkeypatch.delenv("GITHUB_REF_NAME")
    save(old, COMMITS[0])
    edit({"cpu_model": "\x1b]0;title\x07 \u202e", "branch": "\x1b[31m", "note": "a\r\x1b[2J"})
    for arguments in (["list"], ["show", "bench"], ["list", "--json"], ["show", "bench", "--json"],
                      ["compare", "bench", new], ["compare", "bench", new, "--markdown", "-"]):
        result = baseline(*arguments)
        assert not set("\x1b\x07\r\u202e") & set(result.stdout + result.stderr), arguments
    result = baseline("compare", "bench", new, "--same-machine", code=1)
    assert "CPU differs" in result.stderr and "\x1b" not in result.stderr


def test_wrong_usage(old):
    for arguments, said in (([], "nothing to do"), (["bake"], "bake"), (["save", "bench"], "files"),
                            (["show"], "NAME"), (["list", "a", "b"], "one name"),
                            (["save", "bench", old, "--keep", "0"], "--keep"),
                            (["save", "bench", old, "--missing-ok"], "--missing-ok"),
                            (["list", "--dir", ""], "--dir"),
                            (["save", "b", old, "--note", "a\nb"], "--note")):
        assert said in refused(*arguments, code=2)
    for arguments in ["help", "baseline"], ["baseline", "--help"], ["baseline", "compare", "-h"]:
        result = run(*arguments)
        assert result.returncode == 0 and "--same-machine" in result.stdout, result


def test_several_at_a_time(old, new):
    """One commit from several jobs, and several commits: each is complete."""
    def start(commit, file):
        return subprocess.Popen([BPFFLAME, "baseline", "save", "bench", old, file, "--commit",
                                 commit, "--replace", "-q"], stderr=subprocess.PIPE)

    jobs = [start(commit, file) for _ in range(4) for commit in COMMITS for file in (old, new)]
    for job in jobs:
        assert job.communicate()[1] == b"" and job.returncode == 0
    entries = listed()
    assert sorted(entry["commit"] for entry in entries) == sorted(COMMITS)
    for entry in entries:
        assert entry["damaged"] is None and entry["total"] in (20000, 21000)
    assert sorted(os.listdir(".bpfflame/baselines/bench")) == sorted(COMMITS)

    # Without --replace, exactly one of them is first.
    jobs = [subprocess.Popen([BPFFLAME, "baseline", "save", "bench", old, "--commit", "same"],
                             stderr=subprocess.PIPE) for _ in range(6)]
    codes = sorted((job.communicate(), job.returncode)[1] for job in jobs)
    assert codes == [0, 1, 1, 1, 1, 1]


def test_killed_in_the_middle(old, new):
    """Whenever the process is killed, the old or the new baseline is there, complete."""
    large = old.with_name("large.folded")
    large.write_text("".join(f"app;main;f{i};g{i % 97} {i % 7 + 1}\n" for i in range(20000)))
    save(old, COMMITS[0])
    totals = {10000, sum(i % 7 + 1 for i in range(20000))}
    for delay in range(12):
        job = subprocess.Popen([BPFFLAME, "baseline", "save", "bench", large, "--commit",
                                COMMITS[0], "--replace", "-q"])
        time.sleep(delay * 0.01)
        job.send_signal(signal.SIGKILL)
        job.wait()
        entry, = listed()
        assert entry["damaged"] is None and entry["total"] in totals
        if entry["total"] != 10000:
            save(old, COMMITS[0], "--replace")
    save(new, COMMITS[1])
    assert sorted(os.listdir(".bpfflame/baselines/bench")) == sorted(COMMITS[:2])
