# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of JIT-compiled code: first a small JIT with a known truth, then real ones."""
import base64
import json
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from harness import WORKLOADS, Folded, Running, can_unshare, record, stolen_seconds, workload

JIT = WORKLOADS / "jit"
FREQUENCY = 999
NAMELESS = {"[anon]", "[heap]", "[unknown]"}
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]


@pytest.fixture(autouse=True)
def no_maps_left():
    """Removes the maps that JITs leave in /tmp."""
    before = set(Path("/tmp").glob("perf-*.map*"))
    yield
    for path in set(Path("/tmp").glob("perf-*.map*")) - before:
        path.unlink()


def folded_name(name):
    return name.replace(";", ":") + "_[j]"


def names_of(folded):
    """The samples of each leaf in user code, from stacks with JIT code or with code without a
    name."""
    values = {}
    for frames, value in folded.stacks:
        user = [frame for frame in frames[1:] if not frame.endswith("_[k]")]
        if any(frame.endswith("_[j]") or frame in NAMELESS for frame in user):
            values[user[-1]] = values.get(user[-1], 0) + value
    return values


def assert_truth(folded, truth, least=0.97):
    """The JIT's functions have the shares of their CPU time; almost nothing else is in their
    place."""
    values = names_of(folded)
    wanted = {folded_name(name): cpu for name, cpu in truth["functions"].items()}
    total = sum(values.get(name, 0) for name in wanted)
    assert total >= least * sum(values.values()) > 0, values
    for name, cpu in wanted.items():
        share = cpu / sum(wanted.values())
        assert values[name] / total == pytest.approx(share, abs=0.08), (name, values)


def assert_named(folded, truth, least=0.9):
    """Almost all of the JIT's code has names. For recordings too short to compare shares."""
    values = names_of(folded)
    named = sum(values.get(folded_name(name), 0) for name in truth["functions"])
    assert named >= least * sum(values.values()) > 0, values


def record_command(tmp_path, *command, options=()):
    """Records a command from start to end: folded stacks, and the truth that it printed."""
    result = record("-F", FREQUENCY, *options, "-o", tmp_path / "x.folded", "--", *command,
                    cwd=tmp_path)
    truth = [json.loads(line) for line in result.stdout.splitlines()[:-1]]
    return Folded(tmp_path / "x.folded"), truth[0]


needs_namespaces = pytest.mark.skipif(
    not can_unshare(), reason="no mount namespaces here: unshare --mount fails")


def in_namespaces(path, command):
    """Runs a command with a copy of @path as /mnt/NAME. It is PID 1 there and has its own /tmp as
    working directory; both filesystems are private and gone when it ends."""
    return [*NAMESPACES, "sh", "-c", f"mount -t tmpfs none /mnt && cp {path} /mnt && "
            f"mount -t tmpfs none /tmp && cd /tmp && exec {command}"]


# --- the small JIT --------------------------------------------------------------------------


@pytest.mark.parametrize("words", [
    "map", "map zero", "map memfd", "map heap", "map reuse", "map late", "map fork",
    "dump", "dump memfd", "dump reuse", "dump move", "dump fork",
])
def test_shares(tmp_path, words):
    folded, truth = record_command(tmp_path, JIT, 1.2, *words.split())
    assert_truth(folded, truth)


@pytest.mark.parametrize("words", ["map", "dump", "map memfd"])
def test_process_that_runs_already(tmp_path, words):
    with workload("jit", 2, *words.split(), cwd=tmp_path) as process:
        record("-p", process.pid, "-F", FREQUENCY, "-d", 1, "-o", tmp_path / "x.folded")
        truth = json.loads(process.stdout.readline())
    assert_truth(Folded(tmp_path / "x.folded"), truth)


def test_callers_are_named(tmp_path):
    folded, _ = record_command(tmp_path, JIT, 1, "map")
    burned = folded.with_frame("burn 60_[j]")
    assert folded.total(lambda frames: any(
        pair == ("outer_[j]", "burn 60_[j]") for pair in zip(frames, frames[1:]))) >= 0.95 * burned
    assert burned > 0


@pytest.mark.parametrize("words", ["map trampoline", "dump trampoline"])
def test_trampolines(tmp_path, words):
    """CPython's trampolines keep no frame pointer, nor do the functions that they call; callers are
    found anyway."""
    folded, truth = record_command(tmp_path, JIT, 1.5, *words.split())
    burned = folded.with_frame("compiled")
    assert burned > 0
    for name, cpu in truth["functions"].items():
        chain = ["run_code", folded_name(name), "compiled"]
        found = folded.total(lambda frames, chain=chain: any(
            frames[at:at + 3] == chain for at in range(len(frames))))
        assert found / burned == pytest.approx(cpu / sum(truth["functions"].values()), abs=0.08)
    cut = folded.total(lambda frames: "compiled" in frames and "[truncated]" in frames)
    assert cut <= 0.02 * burned


@pytest.mark.parametrize("words", ["map foreign", "map foreign thread"])
def test_what_would_name_it(tmp_path, words):
    """Code that nothing describes: the summary names the process, whichever of its threads runs it,
    and what is missing."""
    with workload("jit", 2, *words.split(), cwd=tmp_path) as process:
        result = record("-p", process.pid, "-F", FREQUENCY, "-d", 1, "-o", tmp_path / "x.folded")
        unnamed = result.summary["unnamed"]
        assert [entry["pid"] for entry in unnamed] == [process.pid]
        assert unnamed[0]["command"] == "jit"
        assert unnamed[0]["percent"] >= 20
        assert f"/tmp/perf-{process.pid}.map" in unnamed[0]["advice"]


def test_number_of_another_process(tmp_path):
    """A process that ends in the recording keeps its name though another one gets its number."""
    last_pid = Path("/proc/sys/kernel/ns_last_pid")
    assert last_pid.exists(), "a kernel without CONFIG_CHECKPOINT_RESTORE can't choose a pid"
    recording = Running("--json", "-a", "--comm", "jit", "-F", FREQUENCY, "-d", 3, "-o",
                        tmp_path / "x.folded")
    with workload("jit", 1, "map", "foreign", cwd=tmp_path) as process:
        process.wait()
    for _ in range(100):  # others fork, too
        last_pid.write_text(str(process.pid - 1))
        with subprocess.Popen(["sleep", "20"]) as other:
            if other.pid == process.pid:
                result = recording.wait()
            other.kill()
        if other.pid == process.pid:
            break
    assert other.pid == process.pid
    assert [(entry["pid"], entry["command"]) for entry in result.summary["unnamed"]] == [
        (process.pid, "jit")], result


def test_lines(tmp_path):
    """A jitdump has lines; all three functions have their loops in line 11."""
    folded, _ = record_command(tmp_path, JIT, 0.5, "dump", options=["--lines"])
    values = names_of(folded)
    in_loops = sum(value for name, value in values.items() if name.endswith(" (burn.src:11)_[j]"))
    assert in_loops >= 0.9 * sum(values.values()) > 0, values


def test_same_addresses_in_two_processes(tmp_path):
    """Code at the same address has different names in each process."""
    with workload("jit", 2, "map", "tag=.A") as a, workload("jit", 2, "map", "tag=.B") as b:
        record("-p", f"{a.pid},{b.pid}", "--threads", "-F", FREQUENCY, "-d", 1,
               "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    for process, own, other in ((a, ".A_[j]", ".B_[j]"), (b, ".B_[j]", ".A_[j]")):
        names = {frame for frames, _ in folded.of_root(f"jit-{process.pid}/{process.pid}")
                 for frame in frames}
        assert f"burn 60{own}" in names
        assert not any(name.endswith(other) for name in names), names


def test_exec_in_between(tmp_path):
    """The same PID, with one JIT before the exec and another after it."""
    before = stolen_seconds()
    result = record("-F", FREQUENCY, "-o", tmp_path / "x.folded",
                    "--", JIT, 0.6, "map", "tag=.first", "next=.second")
    stolen = stolen_seconds() - before
    truths = [json.loads(line) for line in result.stdout.splitlines()[:-1]]
    assert len({truth["pid"] for truth in truths}) == 1 < len(truths)
    values = names_of(Folded(tmp_path / "x.folded"))
    for name, cpu in truths[1]["functions"].items():
        seconds = values[folded_name(name)] / FREQUENCY
        assert 0.7 * cpu / 1e9 - 0.03 <= seconds <= 1.3 * cpu / 1e9 + 0.03 + stolen
    # The second one has written over the first one's map.
    first = sum(value for name, value in values.items() if name in NAMELESS or ".first" in name)
    assert first / FREQUENCY >= 0.7 * sum(truths[0]["functions"].values()) / 1e9


@pytest.mark.parametrize("seconds", [0.08, 0.4])
@pytest.mark.parametrize("words", ["map", "dump"])
def test_process_that_ends_before_the_first_drain(tmp_path, seconds, words):
    folded, truth = record_command(tmp_path, JIT, seconds, words)
    assert_named(folded, truth)


@pytest.mark.parametrize("words", ["foreign", "stale", "link"])
def test_map_that_is_not_to_be_trusted(tmp_path, words):
    """Of another user, of another process with that PID, not a regular file: no names."""
    folded, _ = record_command(tmp_path, JIT, 0.5, "map", words)
    assert not any(name.endswith("_[j]") for name in folded.names())
    assert folded.total(lambda frames: "[anon]" in frames) > 0


def test_map_of_another_user(tmp_path):
    """A process that does not run as root writes its own map."""
    folded, truth = record_command(tmp_path, "setpriv", "--reuid=65534", "--regid=65534",
                                   "--clear-groups", JIT, 1, "map")
    assert_truth(folded, truth)


# --- namespaces -----------------------------------------------------------------------------


@needs_namespaces
@pytest.mark.parametrize("seconds", [0.1, 1.2])
@pytest.mark.parametrize("words", ["map", "dump"])
def test_namespaces_that_are_gone(tmp_path, seconds, words):
    """In a PID and mount namespace with its own /tmp, all of which end with the process."""
    folded, truth = record_command(tmp_path, *in_namespaces(JIT, f"/mnt/jit {seconds} {words}"))
    assert truth["pid"] == 1
    assert not os.path.exists("/tmp/" + os.path.basename(truth["file"]))
    assert_named(folded, truth)


def static_copy(folder):
    """A copy of the workload that needs no libraries, as the only file in a root folder."""
    for name in ("tmp", "bin", "proc"):
        (folder / name).mkdir(parents=True)
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-static", "-pthread",
                    "-fno-omit-frame-pointer", "-o", folder / "bin" / "jit",
                    WORKLOADS.parents[1] / "tests" / "workload" / "jit.c", "-lm"], check=True)


@needs_namespaces
def test_other_root(tmp_path):
    """A container's root folder: program and map are found below it, repeatedly, also for
    short-lived processes."""
    root = tmp_path / "root"
    static_copy(root)
    script = (f"mount --bind {root} {root} && cd {root} && "
              f"for s in 0.1 0.1 0.1; do chroot . /bin/jit $s map; done")
    folded, truth = record_command(tmp_path, *NAMESPACES, "sh", "-c", script)
    assert_named(folded, truth)
    assert folded.with_frame("run_code") >= 0.9 * sum(names_of(folded).values())


# --- real ones ------------------------------------------------------------------------------

NODE = """
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
function busyLoop(until) { let s = 0; while (Date.now() < until) s += fibonacci(20); return s; }
const before = process.cpuUsage();
busyLoop(Date.now() + 1000 * Number(process.argv[2]));
const [busy, all] = [process.cpuUsage(before), process.cpuUsage()];
console.log(JSON.stringify({busy: (busy.user + busy.system) / (all.user + all.system)}));
"""

JAVA = """
public class Busy {
    static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
    static int busyLoop(long until) {
        int s = 0;
        while (System.nanoTime() < until)
            s += fibonacci(20);
        return s;
    }
    public static void main(String[] words) {
        long seconds = Integer.parseInt(words[0]);
        System.exit(busyLoop(System.nanoTime() + seconds * 1000000000L) == 1 ? 1 : 0);
    }
}
"""

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="needs nodejs")
needs_java = pytest.mark.skipif(not shutil.which("javac"), reason="needs a JDK (17 or newer)")


@pytest.fixture(scope="module")
def busy_js(module_path):
    path = module_path / "busy.js"
    path.write_text(NODE)
    return path


def assert_function(folded, function, share=0.8):
    """Most samples are in code that the JIT named after this function."""
    inside = folded.total(lambda frames: any(
        function in frame and frame.endswith("_[j]") for frame in frames))
    assert inside >= share * folded.total() > 0, folded.names()


@needs_node
@pytest.mark.parametrize("option", ["--perf-basic-prof", "--perf-prof"])
def test_node(tmp_path, busy_js, option):
    """What names the functions of versions that are not known; so this one is made unknown."""
    process = subprocess.Popen(["node", option, busy_js, "4"], cwd=tmp_path)
    try:
        time.sleep(1)  # while it warms up
        record("-p", process.pid, "-F", 499, "-d", 2, "--no-runtimes", "-o", tmp_path / "x.folded")
    finally:
        process.kill()
        process.wait()
    assert_function(Folded(tmp_path / "x.folded"), "fibonacci", share=0.9)


@needs_node
@needs_namespaces
def test_node_in_namespaces_until_its_end(tmp_path, busy_js):
    result = record("-F", 499, "--no-runtimes", "-o", tmp_path / "x.folded", "--",
                    *in_namespaces(busy_js, "node --perf-basic-prof /mnt/busy.js 2"))
    folded = Folded(tmp_path / "x.folded")
    assert_function(folded, "fibonacci", share=0.7 * result.truth["busy"])
    assert folded.with_frame("[anon]") <= 0.02 * folded.total()


@needs_node
def test_short_node(tmp_path, busy_js):
    """Ends before the first drain."""
    result = record("-F", 999, "--no-runtimes", "-o", tmp_path / "x.folded", "--",
                    "node", "--perf-basic-prof", busy_js, 0.2)
    folded = Folded(tmp_path / "x.folded")
    # On a slow machine, it takes longer to start than to run.
    assert_function(folded, "fibonacci", share=0.7 * result.truth["busy"])
    assert folded.with_frame("[anon]") <= 0.05 * folded.total()


@needs_java
@pytest.mark.parametrize("how", ["at exit", "by jcmd"])
def test_java(tmp_path, how):
    """Java writes its map at the end, or on request. It is what names the methods of versions that
    are not known; so this one is made unknown."""
    (tmp_path / "Busy.java").write_text(JAVA)
    subprocess.run(["javac", "Busy.java"], cwd=tmp_path, check=True)
    options = ["-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions"]
    if how == "at exit":
        options.append("-XX:+DumpPerfMapAtExit")
    java = subprocess.Popen(["java", *options, "-cp", tmp_path, "Busy", "4"])
    try:
        time.sleep(1)
        result = record("-p", java.pid, "-F", 499, "-d", 1 if how == "by jcmd" else 8,
                        "--no-runtimes", "-o", tmp_path / "x.folded")
        if how == "by jcmd":
            assert [entry["advice"] for entry in result.summary["unnamed"]] == [
                f"jcmd {java.pid} Compiler.perfmap"]
            # It was recorded without a map, and has one now.
            subprocess.run(["jcmd", str(java.pid), "Compiler.perfmap"], check=True,
                           capture_output=True)
            assert "fibonacci" not in (tmp_path / "x.folded").read_text()
            record("-p", java.pid, "-F", 499, "-d", 1, "--no-runtimes",
                   "-o", tmp_path / "x.folded")
        else:
            java.wait(timeout=20)
    finally:
        java.kill()
        java.wait()
    assert_function(Folded(tmp_path / "x.folded"), "Busy.fibonacci")


LLVM = """
#include <stdlib.h>
#include <unistd.h>
static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) int inner(int *values)
{
	for (int i = 0; i < 1000; i++)
		values[i] = rand();
	qsort(values, 1000, sizeof *values, compare);
	usleep(100);
	return values[0];
}
__attribute__((noinline)) int outer(int n)
{
	int values[1000], sum = 0;

	for (int i = 0; i < n; i++)
		sum += inner(values);
	return sum;
}
int main(int argc, char **argv)
{
	return outer(atoi(argv[1])) == 1;
}
"""


@pytest.fixture(scope="module")
def bitcode(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llvm")
    (folder / "busy.c").write_text(LLVM)
    subprocess.run(["clang", "-O2", "-c", "-emit-llvm", "busy.c"], cwd=folder, check=True)
    return folder / "busy.bc"


@pytest.mark.parametrize("how", ["was there", "begins later", "waits"])
def test_llvm(tmp_path, bitcode, how):
    """Code without frame pointers, made while the program runs: its frames are described beside it."""
    options = ("-F", FREQUENCY, "-o", tmp_path / "x.folded")
    if how == "begins later":
        record(*options, "--", "lli", bitcode, 10000)
    else:
        with workload("lli", command=["lli", bitcode, 1000000]) as process:
            time.sleep(1)
            record(*options, "-p", process.pid, "-d", 2, *(["--offcpu"] if how == "waits" else []))
    folded = Folded(tmp_path / "x.folded")
    leaves = {"clock_nanosleep", "usleep"} if how == "waits" else {"rand", "random", "random_r"}
    stacks = [(frames, value) for frames, value in folded.stacks if leaves & set(frames)]
    total = sum(value for _, value in stacks)
    assert total > (500000 if how == "waits" else 20)
    whole = [value for frames, value in stacks if "[truncated]" not in frames and frames.count("[anon]") == 3]
    assert sum(whole) >= 0.99 * total


def test_regular_expressions_that_pcre2_has_compiled_have_their_callers(tmp_path):
    """grep -P: no file says how large its frames are."""
    grep = shutil.which("grep")
    if not grep:
        pytest.skip("no grep")
    known = subprocess.run([grep, "-qP", "a"], input=b"a", check=False).returncode == 0
    if not known or os.uname().machine != "x86_64":
        pytest.skip("this grep has no -P, or it generates code that is not known")
    chance = random.Random(1)
    lines = [base64.b64encode(chance.randbytes(150)) for _ in range(20000)]
    text = tmp_path / "text"
    text.write_bytes(b"\n".join(lines) * 4)
    script = (f"end=$((SECONDS + 3)); while [ $SECONDS -lt $end ]; do "
              f"{grep} -cP '(a+b|c[d-z]+)+(\\d\\w)+x\\1' {text}; done; true")
    out = tmp_path / "x.folded"
    record("-F", FREQUENCY, "--oncpu", "-o", out, "--", "bash", "-c", script)
    stacks = [(frames, value) for frames, value in Folded(out).stacks if frames[0] == "grep"]
    total = sum(value for _, value in stacks)
    compiled = sum(value for frames, value in stacks if "PCRE2 JIT_[j]" in frames)
    if not compiled and not any("pcre2_jit_match_8" in frames for frames, _ in stacks):
        pytest.skip("libpcre2 of this machine generates no code")
    assert compiled > 0.3 * total > 100, (compiled, total)
    cut = sum(value for frames, value in stacks if "[truncated]" in frames)
    assert cut <= 0.03 * total, (cut, total)
    for frames, _ in stacks:
        if "PCRE2 JIT_[j]" in frames and "[truncated]" not in frames:
            assert "pcre2_match_8" in frames[2:frames.index("PCRE2 JIT_[j]")], frames
            assert frames[1] == "_start", frames
