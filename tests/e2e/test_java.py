# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of Java programs without any flag: held against what the machine itself says of its threads."""
import collections
import contextlib
import functools
import itertools
import re
import subprocess

import pytest

import interpreters
from harness import ROOT, Folded, record

WORKLOADS = ROOT / "tests" / "workload" / "java"
JAVAS = interpreters.named("/usr/bin/java", "JAVAS")
KNOWN = ["17", "21", "25", "26", "27"]
FREQUENCY = 499
COLLECTORS = ["-XX:+UseG1GC", "-XX:+UseParallelGC", "-XX:+UseSerialGC", "-Xint"]
LINE = re.compile(r" \(([^():]*)(?::(\d+))?\)$")
HIDDEN = {"java.lang.Thread.runWith", "jdk.internal.reflect.DirectMethodHandleAccessor.invokeImpl"}
MARK = re.compile(r"_\[[0ij]\]$")


@functools.cache
def version_of(java):
    text = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    return re.search(r'version "(\d+)', text)[1]


@pytest.fixture(autouse=True)
def known(request):
    if "classes" in request.fixturenames:
        parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
        interpreters.skip_unless_known("Java", version_of(parameters.get("java", JAVAS[0])), KNOWN)


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    subprocess.run(["/usr/bin/javac", "--release", "17", "-d", folder, *WORKLOADS.glob("*.java")],
                   check=True)
    return folder


@contextlib.contextmanager
def started(java, classes, *arguments):
    """The process, while it runs; what it prints is at .stdout."""
    process = subprocess.Popen([java, "-Xshare:auto", "-cp", classes, *map(str, arguments)],
                               stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def is_hidden(name):
    """Frames that Java leaves out of its own traces, and what it makes for lambdas and handles."""
    return "$$Lambda" in name or "LambdaForm" in name or name in HIDDEN or \
        (name.startswith("java.lang.invoke.") and "$Holder." in name)


def read_truth(process):
    """{thread: [(method, line), …]}, root first."""
    truth = {}
    for line in iter(process.stdout.readline, "\n"):
        name, *frames = line.rstrip("\n").split("\t")
        frames = [frame.rpartition(":") for frame in frames]
        truth[name] = [(method, int(number)) for method, _, number in frames if not is_hidden(method)]
    return truth


def read_virtual_truth(text):
    """The methods of all threads, root first, but for the leaf, which comes and goes."""
    lines = [line.rstrip("\n").split("\t") for line in itertools.takewhile(lambda line: line != "\n", text)]
    assert lines and all(line == lines[0] for line in lines)
    return [name for name in lines[0][:-1] if not is_hidden(name)]


def java_frames(frames):
    """(name, line or 0) of Java's methods, root first; the runtime's stubs have no dot."""
    found = []
    for frame in frames:
        if not MARK.search(frame):
            continue
        name = MARK.sub("", frame)
        line = LINE.search(name)
        name = name[:line.start()] if line else name
        if "." in name and " " not in name and not is_hidden(name):
            found.append((name, int(line[2] or 0) if line else 0))
    return found


def by_thread(folded):
    """{thread: {(whole stack): value}}"""
    found = collections.defaultdict(collections.Counter)
    for frames, value in folded.stacks:
        found[re.sub(r"-\d+/\d+$", "", frames[0])][tuple(frames)] += value
    return found


def is_truth(frames, truth, leaf):
    """Whether names are the same, the leaf in @leaf or a step off: a call that has just been, or is
    just not, made."""
    names = [name for name, _ in java_frames(frames)]
    truth = [name for name, _ in truth]
    if leaf not in truth:
        return names == truth
    end = truth.index(leaf) + 1
    return names == truth or names in (truth[:end - 1], truth[:end]) or \
        (names[:end] == truth[:end] and len(names) <= len(truth) + 1)


def compare(found, truth, leaf):
    """Values that are right and wrong, and the worst of these."""
    right = wrong = 0
    others = collections.Counter()
    for name, stack in truth.items():
        for frames, value in found[name].items():
            if not java_frames(frames):
                continue
            if is_truth(frames, stack, leaf) and frames[1] != "[truncated]":
                right += value
            else:
                wrong += value
                others[frames] += value
    return right, wrong, others.most_common(3)


def check_truth(java, classes, leaf, mode, options, tmp_path):
    out = tmp_path / "x.folded"
    with started(java, classes, *options, "JavaTruth", leaf) as process:
        truth = read_truth(process)
        result = record("-p", process.pid, mode, "-d", 2, "-F", FREQUENCY, "--threads", "-o", out)
    assert len(truth) == 6
    found = by_thread(Folded(out))
    right, wrong, others = compare(found, truth, "JavaTruth." + leaf)
    assert right > 0
    assert right >= 0.99 * (right + wrong), (right, wrong, others)
    assert result.summary["runtimes"]["nameless_code"] == 0
    assert all(found[name] for name in truth), set(truth) - set(found)
    return found, truth


@pytest.mark.parametrize("java", JAVAS)
@pytest.mark.parametrize("collector", COLLECTORS)
def test_running_threads_have_the_stacks_that_java_says(java, collector, classes, tmp_path):
    found, _ = check_truth(java, classes, "burn", "--oncpu", [collector], tmp_path)
    marks = {frame[-4:] for stacks in found.values() for frames in stacks for frame in frames
             if MARK.search(frame) and "JavaTruth" in frame}
    assert marks == ({"_[0]"} if collector == "-Xint" else {"_[0]", "_[i]", "_[j]"})


@pytest.mark.parametrize("java", JAVAS)
@pytest.mark.parametrize("leaf", ["nap", "park", "sleep", "wait", "block"])
def test_waiting_threads_have_the_stacks_that_java_says(java, leaf, classes, tmp_path):
    check_truth(java, classes, leaf, "--offcpu", [], tmp_path)


@pytest.mark.parametrize("java", JAVAS)
def test_lines_are_those_of_the_source(java, classes, tmp_path):
    out = tmp_path / "x.folded"
    with started(java, classes, "JavaTruth", "park") as process:
        truth = read_truth(process)
        record("-p", process.pid, "--offcpu", "-d", 2, "--threads", "--lines", "-o", out)
    found = by_thread(Folded(out))
    right = wrong = 0
    others = collections.Counter()
    for name, stack in truth.items():
        lines = [(method, max(line, 0)) for method, line in stack]
        for frames, value in found[name].items():
            if java_frames(frames) == lines:
                right += value
            else:
                wrong += value
                others[(tuple(java_frames(frames)), tuple(lines))] += value
    assert right > 0
    assert right >= 0.99 * (right + wrong), (right, wrong, others.most_common(3))


def skip_without_virtual(java):
    if int(version_of(java)) < 21:
        pytest.skip(f"Java {version_of(java)} has no virtual threads")


def check_virtual(folded, truth, share=0.99):
    """Of stacks that spin below @truth, @share is whole. What they do there may be a pause."""
    right = wrong = 0
    others = collections.Counter()
    for frames, value in folded.stacks:
        names = [name for name, _ in java_frames(frames)]
        if "JavaVirtual.spin" not in names:
            continue
        # Below them are those of the thread that carries it.
        start = names.index(truth[0]) if truth[0] in names else 0
        is_whole = "java.util.concurrent.ForkJoinWorkerThread.run" in names[:start] and frames[1] != "[truncated]"
        if is_whole and names[start:start + len(truth) - 1] == truth[:-1]:
            right += value
        else:
            wrong += value
            others[tuple(frames)] += value
    assert right >= 100
    assert right >= share * (right + wrong), (right, wrong, others.most_common(3))


@pytest.mark.parametrize("java", JAVAS)
@pytest.mark.parametrize("collector", ["-XX:+UseG1GC", "-XX:+UseParallelGC", "-XX:+UseSerialGC", "-XX:+UseZGC"])
@pytest.mark.parametrize("heat", ["cold", "hot", "quick"])
def test_virtual_threads_have_their_whole_stacks(java, collector, heat, classes, tmp_path):
    """A pause moves frames to the heap; what runs on has a few of them on the stack: interpreted ones or,
    if quick, compiled ones."""
    skip_without_virtual(java)
    out = tmp_path / "x.folded"
    with started(java, classes, collector, "JavaVirtual", heat, 600) as process:
        truth = read_virtual_truth(process.stdout)
        result = record("-p", process.pid, "-d", 2, "-F", FREQUENCY, "--threads", "-o", out)
    check_virtual(Folded(out), truth)
    nameless = [stack for stack in Folded(out).stacks if any(frame.startswith("[java ") for frame in stack[0])]
    # One in some thousands: docs/runtimes.md.
    assert result.summary["runtimes"]["nameless_code"] <= 1, nameless


@pytest.mark.parametrize("java", JAVAS)
def test_virtual_threads_of_what_has_just_begun(java, classes, tmp_path):
    """Where their frames are on the heap is not known when the process starts."""
    skip_without_virtual(java)
    out = tmp_path / "x.folded"
    result = record("-F", FREQUENCY, "-o", out, "--", java, "-cp", classes, "JavaVirtual", "cold", 3)
    check_virtual(Folded(out), read_virtual_truth(iter(result.stdout.splitlines(True))), 0.98)


@pytest.mark.parametrize("java", JAVAS)
def test_stacks_lead_through_java_to_the_start_of_the_thread(java, classes, tmp_path):
    out = tmp_path / "x.folded"
    with started(java, classes, "JavaBusy") as process:
        process.stdout.readline()
        result = record("-p", process.pid, "-d", 4, "-F", FREQUENCY, "-o", out)
    folded = Folded(out)
    inside = folded.total(java_frames)
    # What calls Java's main() is native.
    whole = folded.total(lambda frames: java_frames(frames) and frames[1] != "[truncated]" and
                         any("JavaMain" in frame or "start_thread" in frame for frame in frames) and
                         java_frames(frames)[0][0] == "JavaBusy.main")
    java_main = folded.total(lambda frames: ("JavaBusy.main", 0) in java_frames(frames))
    assert inside >= 300
    assert java_main > 0.9 * inside
    assert whole >= 0.995 * java_main
    assert result.summary["runtimes"]["nameless_code"] <= 0.01 * inside


@pytest.mark.parametrize("java", JAVAS)
def test_stubs_that_need_all_registers_have_their_callers(java, classes, tmp_path):
    """Where the processor has AVX2, that of SHA-512 has anything in the frame pointer."""
    out = tmp_path / "x.folded"
    with started(java, classes, "JavaBusy", "SHA-512") as process:
        process.stdout.readline()
        record("-p", process.pid, "-d", 2, "-F", FREQUENCY, "--threads", "-o", out)
    stacks = [(frames, value) for frames, value in Folded(out).stacks if frames[0].startswith("java-")]
    whole = sum(value for frames, value in stacks if "JavaBusy.digest" in dict(java_frames(frames)))
    assert whole >= 0.98 * sum(value for _, value in stacks) > 50, stacks[:3]


@pytest.mark.parametrize("java", JAVAS)
def test_classes_that_are_unloaded_leave_no_wrong_names(java, classes, tmp_path):
    out = tmp_path / "x.folded"
    result = record("-F", FREQUENCY, "-o", out, "--", java, "-cp", classes, "JavaChurn", 4)
    right = wrong = 0
    for frames, value in Folded(out).stacks:
        text = ";".join(frames)
        made, caller = re.search(r"\.burn(\d{5})_", text), re.search(r"\.caller(\d)_", text)
        if made and caller:
            owner = re.search(r"JavaChurn\$Made(\d{5})\.burn", text)
            is_right = int(made[1]) % 8 == int(caller[1]) and owner[1] == made[1]
            right += value if is_right else 0
            wrong += 0 if is_right else value
    number, unloaded = map(int, result.stdout.splitlines()[-2].split())
    assert unloaded > number / 2  # their memory was used again
    assert wrong == 0
    assert right > 0


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    program = tmp_path_factory.mktemp("hostile") / "hostile"
    subprocess.run(["gcc", "-O1", "-rdynamic", "-pthread", "-o", program, WORKLOADS / "hostile_hotspot.c"], check=True)
    return program


@pytest.mark.parametrize("kind", ["map", "names"])
def test_machines_that_lie_cost_the_others_nothing(kind, hostile, classes, tmp_path):
    out = tmp_path / "x.folded"
    with started(JAVAS[0], classes, "JavaTruth", "burn") as honest, \
            subprocess.Popen([hostile, kind], stdout=subprocess.PIPE) as process:
        try:
            truth = read_truth(honest)
            assert process.stdout.readline() == b"ready\n"
            result = record("-p", f"{honest.pid},{process.pid}", "-d", 2, "-F", FREQUENCY, "--threads", "-o", out)
        finally:
            process.kill()
    folded = Folded(out)
    right, wrong, others = compare(by_thread(folded), truth, "JavaTruth.burn")
    assert right >= 0.99 * (right + wrong) > 20, (right, wrong, others)
    assert result.summary["losses"]["lost_stacks"] == result.summary["losses"]["ring_full"] == 0, result.summary
    mine = [frames for frames, _ in folded.stacks if frames[0].startswith("hostile") and "make_others" not in frames]
    assert mine and all(frames[1] == "[truncated]" for frames in mine), mine[:3]


def test_option_that_turns_them_off(classes, tmp_path):
    out = tmp_path / "x.folded"
    with started(JAVAS[0], classes, "JavaTruth", "burn") as process:
        read_truth(process)
        result = record("-p", process.pid, "-d", 1, "-F", FREQUENCY, "--no-runtimes", "-o", out)
    assert not any(java_frames(frames) for frames, _ in Folded(out).stacks)
    assert result.summary["runtimes"]["stacks"] == 0


def test_versions_that_are_not_known_show_native_frames(tmp_path):
    """A library that says that it is HotSpot 99, and a program that runs in it for a second."""
    library, program, out = (tmp_path / name for name in ("libjvm.so", "program", "x.folded"))
    (tmp_path / "library.c").write_text("""
        #include <time.h>
        static int version = 99;
        static struct { const char *type, *field, *kind; int is_static, pad; long at; void *in; }
            fields[] = {{"Abstract_VM_Version", "_vm_major_version", "int", 1, 0, 0, &version}, {0}};
        static struct { const char *type, *super; int is[4]; long size; } types[1] = {{.size = 1}};
        void *gHotSpotVMStructs = fields, *gHotSpotVMTypes = types;
        void burn_in_java(void) { while (clock() < CLOCKS_PER_SEC) ; }
    """)
    (tmp_path / "program.c").write_text(
        "void burn_in_java(void); int main(void) { burn_in_java(); return 0; }")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "library.c"], check=True)
    subprocess.run(["gcc", "-o", program, tmp_path / "program.c", library], check=True)
    result = record("-F", FREQUENCY, "-o", out, "--", program)
    folded = Folded(out)
    inside = folded.total(lambda frames: "burn_in_java" in frames)
    assert inside >= 0.9 * folded.total(lambda frames: "main" in frames) > 0
    runtimes = result.summary["runtimes"]
    assert runtimes["stacks"] == 0 and runtimes["unknown"] == 1
    assert re.fullmatch(r"HotSpot 99\.0 \(.*/libjvm\.so, process \d+\): this version is not known",
                        runtimes["problem"])
