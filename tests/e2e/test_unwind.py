# SPDX-License-Identifier: GPL-2.0-or-later
"""User stacks of code without frame pointers: the exact chains of tests/workload/nofp.c, processes
that come and go, damaged files, and real programs as the distribution builds them."""
import contextlib
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

from harness import ROOT, WORKLOADS, Folded, assert_no_loss, record, run, workload

sys.path.insert(0, str(ROOT / "tests" / "unwind"))
import programs

FREQUENCY = 499
DEPTH = 20
NOFP = WORKLOADS / "nofp"

# Each shape's functions from main() on. `~`: one or more other frames: libc, vDSO, generated code.
SHAPES = {
    "recursion": f"recursion_start {'recursion_step ' * DEPTH}LEAF",
    "sort": "sort_start ~ sort_compare LEAF",
    "signal": "signal_start signal_victim ~ signal_handler LEAF",
    "altstack": "altstack_start signal_victim ~ signal_handler LEAF",
    "fault": "fault_start fault_here ~ fault_handler LEAF",
    "alloca": "alloca_start alloca_frame LEAF",
    "array": "array_start array_frame LEAF",
    "aligned": "aligned_start aligned_frame aligned_both LEAF",
    "vdso": "vdso_start vdso_loop ~",
    "threads": "thread_entry thread_work LEAF",
    "plugin": "plugin_start plugin_work plugin_inner plugin_callback LEAF",
    "fork": "fork_start fork_child LEAF",
    "exec": "exec_start exec_before LEAF",
    "handmade": "handmade_start handmade_outer handmade_inner handmade_callback LEAF",
    "generated": "generated_start ~ handmade_callback LEAF",
    "stacks": "stacks_start switch_stack stacks_low switch_stack stacks_high LEAF",
    "coroutine": "coroutine_body LEAF",
}
WAITS = ["nanosleep", "futex", "read", "poll"]
# A signal's handler runs only part of the time, because delivering a signal takes a while.
LEAF_SHARE = {"signal": 0.02, "altstack": 0.02, "fault": 0.7}

ROOTS = re.compile(r"_start|_dl_start.*|_dl_relocate.*|clone3|__clone.*|clone|start_thread|"
                   r"__libc_start_.*|__start_context|\[(libc\.so\.6|ld-linux[^+]*|ld\.so[^+]*)\+0x[0-9a-f]+\]")


def is_complete(frames):
    """Whether the user half begins at the entry of a thread or a program."""
    return bool(ROOTS.fullmatch(user_frames(frames)[0]))


# --- reading stacks ---------------------------------------------------------------------------


def own_symbols():
    """Functions of nofp and its plugin, with the addresses of nofp's."""
    functions = []
    for path in (NOFP, WORKLOADS / "nofp_plugin.so"):
        text = subprocess.run(["nm", "-S", path], capture_output=True, text=True,
                              check=True).stdout
        for line in text.splitlines():
            fields = line.split()
            if len(fields) == 4 and fields[2] in "tT":
                functions.append((int(fields[0], 16), int(fields[1], 16), fields[3],
                                  path == NOFP))
    return functions


class Chains:
    """Turns frames into chains: own functions by name, runs of other frames as one `~`."""

    def __init__(self):
        symbols = own_symbols()
        self.names = {name for _, _, name, _ in symbols}
        self.by_address = [(start, start + size, name) for start, size, name, here in symbols
                           if here]

    def own_name(self, frame):
        bare = re.fullmatch(r"\[nofp\.stripped\+0x([0-9a-f]+)\]", frame)
        if not bare:
            return frame if frame in self.names else None
        address = int(bare[1], 16)
        return next((name for start, end, name in self.by_address if start <= address < end),
                    None)

    def of(self, frames):
        """A stack's chain from its root, without kernel frames, inlined frames and reasons."""
        chain = []
        for frame in user_frames(frames):
            name = self.own_name(frame) or "~"
            if name != "~" or chain[-1:] != ["~"]:
                chain.append(name)
        return chain


def user_frames(frames):
    return [frame for frame in frames[1:]
            if not frame.endswith(("_[k]", "_[i]")) and not is_reason(frame)]


def is_reason(frame):
    return re.fullmatch(r"\[[a-z -]+\]", frame) and frame not in ("[truncated]", "[anon]",
                                                                  "[unknown]", "[vdso]")


def expected_chain(shape, leaf):
    chain = SHAPES[shape].replace("LEAF", f"leaf_{leaf}").split()
    return ["~", *chain] if shape in ("threads", "coroutine") else ["_start", "~", "main", *chain]


def is_beginning(chain, expected):
    """Whether a chain is the expected one, complete or cut where the thread may be at the time: in
    one of its functions, or in other code that they call."""
    whole = len(expected)
    return (chain[:whole] == expected[:len(chain)] and chain[whole:] in ([], ["~"])) or (
        chain[-1] == "~" and len(chain) > 1 and chain[:-1] == expected[:len(chain) - 1])


def is_whole(chain, expected):
    return chain[:len(expected)] == expected and chain[len(expected):] in ([], ["~"])


def judge(folded, shape, leaves, chains):
    """The stacks of a shape: (correct share, share that reaches the leaf, incorrect ones)."""
    right = whole = total = 0
    wrong = []
    expected = [expected_chain(shape, leaf) for leaf in leaves]
    if shape == "threads":
        expected.append(["_start", "~", "main", "thread_start"])
    if shape == "coroutine":
        expected.append(["_start", "~", "main", "coroutine_start"])
    if shape == "plugin":
        expected.append(["_start", "~", "main", "plugin_start", "open_plugin"])
    for frames, value in folded.of_root(f"nofp-{shape}"):
        if not user_frames(frames):
            continue  # exiting, or in exec
        chain = chains.of(frames)
        total += value
        whole += value * any(is_whole(chain, one) for one in expected)
        if is_complete(frames) and any(is_beginning(chain, one) for one in expected):
            right += value
        else:
            wrong.append((value, ";".join(frames)))
    assert total, f"no stack of nofp-{shape}"
    return right / total, whole / total, sorted(wrong, reverse=True)[:5]


@contextlib.contextmanager
def running(commands, **options):
    """Runs commands in the background, each in a session of its own; kills them at the end."""
    processes = []
    try:
        for command in commands:
            processes.append(subprocess.Popen([*map(str, command)], stdin=subprocess.DEVNULL,
                                              stdout=subprocess.DEVNULL,
                                              stderr=subprocess.DEVNULL, start_new_session=True,
                                              **options))
        yield processes
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


# --- the shapes -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chains():
    return Chains()


@pytest.fixture(scope="module", params=["nofp", "nofp.stripped"])
def oncpu(request, tmp_path_factory):
    """All shapes at the same time, with symbols and without."""
    path = tmp_path_factory.mktemp("oncpu") / "x.folded"
    with running([[WORKLOADS / request.param, shape, "burn", 60, DEPTH] for shape in SHAPES]):
        time.sleep(0.3)
        result = record("--comm", "nofp*", "-F", FREQUENCY, "-d", 8, "-o", path)
    return result, Folded(path)


@pytest.mark.parametrize("shape", SHAPES)
def test_chain_on_cpu(oncpu, chains, shape):
    _, folded = oncpu
    right, reaches, wrong = judge(folded, shape, ["burn"], chains)
    assert right >= 0.99, wrong
    assert reaches >= LEAF_SHARE.get(shape, 0.9)


def test_complete_on_cpu(oncpu):
    result, folded = oncpu
    assert result.summary["complete_stacks_percent"] >= 99.5
    assert folded.total(lambda frames: "[truncated]" in frames) <= 0.005 * folded.total()
    assert_no_loss(result.summary)


@pytest.fixture(scope="module")
def offcpu(tmp_path_factory):
    """Every shape with every way to wait."""
    path = tmp_path_factory.mktemp("offcpu") / "x.folded"
    with running([[NOFP, shape, leaf, 60, DEPTH] for shape in SHAPES if shape != "vdso"
                  for leaf in WAITS]):
        time.sleep(0.5)
        result = record("--offcpu", "--offcpu-period", 0, "--comm", "nofp*", "-d", 5, "-o", path,
                        timeout=120)
    return result, Folded(path)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "vdso"])
def test_chain_off_cpu(offcpu, chains, shape):
    _, folded = offcpu
    right, reaches, wrong = judge(folded, shape, WAITS, chains)
    # Program images live for half a second: on a slow machine they may be gone before they are
    # read, and starting takes a good part of it.
    assert right >= (0.9 if shape == "exec" else 0.99), wrong
    assert reaches >= (0.3 if shape in ("threads", "fork", *LEAF_SHARE) else 0.7 if shape == "exec" else 0.9)


def test_complete_off_cpu(offcpu):
    assert offcpu[0].summary["complete_stacks_percent"] >= 99


def test_stacks_cut_before_the_entry_are_not_complete(tmp_path):
    """A frame pointer of 0 proves nothing in code that keeps none."""
    with running([[NOFP, "unmarked", "burn", 60]]) as (process,):
        record("-p", process.pid, "-F", FREQUENCY, "-d", 1, "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    assert folded.with_frame("leaf_burn") >= 0.9 * folded.total() > 0
    for frames, _ in folded.stacks:
        assert "main" in frames or frames[1] == "[truncated]", frames


def test_deeper_than_there_is_room(tmp_path, chains):
    with running([[NOFP, "recursion", "burn", 60, 2100]]) as (process,):
        result = record("-p", process.pid, "-F", FREQUENCY, "-d", 2, "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    assert_no_loss(result.summary)
    assert folded.total() == result.summary["samples"]
    deep = [(frames, value) for frames, value in folded.stacks if "leaf_burn" in frames]
    # The rest is on its way to the leaf, or back.
    assert sum(value for _, value in deep) >= 0.9 * folded.total()
    for frames, _ in deep:
        assert frames[1] == "[truncated]"
        assert chains.of(frames)[1:] == ["recursion_step"] * 2046 + ["leaf_burn"]
    assert result.summary["complete_stacks_percent"] <= 10
    assert result.summary["truncated_percent"]["depth"] >= 90


def test_as_deep_as_there_is_room(tmp_path, chains):
    """_start, two of libc's, main, recursion_start and the leaf leave room for 1,017."""
    with running([[NOFP, "recursion", "burn", 60, 1017]]) as (process,):
        record("-p", process.pid, "-F", FREQUENCY, "-d", 1, "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    whole = ["_start", "~", "main", "recursion_start", *["recursion_step"] * 1017, "leaf_burn"]
    complete = folded.total(lambda frames: chains.of(frames) == whole)
    assert complete >= 0.98 * folded.with_frame("leaf_burn") > 0


# --- processes that come and go ---------------------------------------------------------------


def test_snapshots_are_of_what_is_sampled(tmp_path):
    """Not of every process that begins and ends."""
    command = "for i in $(seq 300); do /bin/true; done"
    summary = record("-F", 1, "-o", tmp_path / "x.folded", "--", "sh", "-c", command).summary
    assert summary["unwinding"]["snapshots"] <= 60


def test_a_new_program_that_waits_often(tmp_path):
    """Until bpfflame has read a new program's mappings, all its stacks are snapshots. One snapshot
    per stack is enough to lose none while bpfflame is stopped."""
    waiting = "".join(f"{NOFP} recursion {leaf} 60 {DEPTH} & " for leaf in WAITS)
    command = f"kill -STOP $PPID; {waiting} sleep 1.5; kill -CONT $PPID; sleep 0.3; kill $(jobs -p)"
    summary = record("--offcpu", "--offcpu-period", 0, "--comm", "nofp-*", "-o",
                     tmp_path / "x.folded", "--", "bash", "-c", command).summary
    assert_no_loss(summary)
    assert summary["samples"] >= 1000
    assert summary["unwinding"]["snapshots"] <= 150
    assert summary["complete_stacks_percent"] >= 99


def test_first_stacks_of_threads(tmp_path):
    """The first stacks of an unknown process are complete, however deep."""
    command = f"for i in $(seq 50); do {WORKLOADS / 'deep'} 40 10; done"
    record("-F", FREQUENCY, "-o", tmp_path / "x.folded", "--", "sh", "-c", command)
    folded = Folded(tmp_path / "x.folded")
    burning = [(frames, value) for frames, value in folded.stacks
               if frames[0] == "deep" and not {"[vdso]", "deep_burn"}.isdisjoint(frames)]
    total = sum(value for _, value in burning)
    assert total >= 100
    assert sum(value for frames, value in burning if is_complete(frames)) >= 0.97 * total


def test_storm(tmp_path, chains):
    """200 processes that start after the recording and live for 50 ms each."""
    script = f"for i in $(seq 100); do {NOFP} recursion burn 0.05 {DEPTH} >/dev/null & " \
             f"{NOFP} sort burn 0.05 >/dev/null; wait; done"
    with workload("storm", command=["sh", "-c", f"sleep 0.7; {script}"]) as process:
        result = record("-p", process.pid, "-F", FREQUENCY, "-d", 6, "-o", tmp_path / "x.folded")
    folded = Folded(tmp_path / "x.folded")
    stacks = [(frames, value) for frames, value in folded.stacks
              if frames[0].startswith("nofp") and user_frames(frames)]
    total = sum(value for _, value in stacks)
    frames_seen = sum(value * len(user_frames(frames)) for frames, value in stacks)
    # `[module+0x…]` counts as a name: it is a place in a file without symbols.
    named = sum(value * sum(not frame.startswith("[") or "+0x" in frame
                            for frame in user_frames(frames)) for frames, value in stacks)
    complete = sum(value for frames, value in stacks if is_complete(frames))
    assert total > 1000
    assert named >= 0.95 * frames_seen
    assert complete >= 0.95 * total
    expected = [expected_chain(shape, "burn") for shape in ("recursion", "sort")]
    exact = sum(value for frames, value in stacks if frames[0] != "nofp"
                and any(is_beginning(chains.of(frames), chain) for chain in expected))
    of_shapes = sum(value for frames, value in stacks if frames[0] != "nofp")
    assert exact >= 0.95 * of_shapes
    assert_no_loss(result.summary)


# --- damaged files ----------------------------------------------------------------------------


def section(path, name):
    """File offset and size."""
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True,
                          check=True).stdout
    match = re.search(rf" {re.escape(name)} +\S+ +[0-9a-f]+ +([0-9a-f]+) +([0-9a-f]+)", text)
    return int(match[1], 16), int(match[2], 16)


def made_hostile(folder, n):
    """Running copies of nofp's plugin whose call frame information is noise, or cut off."""
    source = WORKLOADS / "nofp_plugin.so"
    data = source.read_bytes()
    offset, size = section(source, ".eh_frame")
    noise = random.Random(4)
    for i in range(n):
        changed = bytearray(data)
        if i % 3 == 0:
            changed[offset:offset + size] = noise.randbytes(size)
        elif i % 3 == 1:
            for _ in range(8):
                changed[offset + noise.randrange(size)] = noise.randrange(256)
        else:
            # Section headers are missing or truncated; what is mapped stays.
            del changed[int.from_bytes(data[40:48], "little") + noise.randrange(600):]
        path = folder / f"hostile{i}.so"
        path.write_bytes(changed)
        yield path


# A frame of unknown size, which can only be unwound by call frame information.
ODD_FRAME = """
#include <stdlib.h>
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline, used)) void leaf(double seconds)
{
    clock_t end = clock() + seconds * CLOCKS_PER_SEC;
    while (clock() < end)
        for (int i = 0; i < 100000; i++) sink += i;
}
__attribute__((noinline, naked)) void odd(int n, double seconds)
{
    __asm__("push %rbx\\n .cfi_def_cfa_offset 16\\n .cfi_offset rbx, -16\\n mov %rsp, %rbx\\n"
            ".cfi_def_cfa_register rbx\\n test %edi, %edi\\n jz 1f\\n"
            "2: sub $16, %rsp\\n dec %edi\\n jnz 2b\\n"
            "1: call leaf\\n mov %rbx, %rsp\\n .cfi_def_cfa rsp, 16\\n"
            "pop %rbx\\n .cfi_def_cfa_offset 8\\n ret");
}
int main(void) { odd(5, 1.0); return sink == 1; }
"""


def without_sections(path):
    data = bytearray(path.read_bytes())
    data[40:48] = bytes(8)
    data[60:64] = bytes(4)
    path.write_bytes(data)


# Finds its caller by a word below the stack pointer, as OpenSSL's SHA-512 does.
RED_ZONE = """
__attribute__((noinline, naked)) void deep(long n)
{
    __asm__("mov %rsp, -8(%rsp)\\n .cfi_escape 0x0f,5,0x77,0x78,0x06,0x23,8\\n"
            "1: dec %rdi\\n jnz 1b\\n .cfi_def_cfa rsp, 8\\n ret");
}
int main(void) { deep(20000000); }
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="x86-64 assembly")
def test_first_stacks_use_the_red_zone(tmp_path):
    """Snapshots of a new process have the words below its stack pointer, too."""
    (tmp_path / "zone.c").write_text(RED_ZONE)
    subprocess.run("gcc -O2 zone.c -o zone", shell=True, cwd=tmp_path, check=True)
    command = f"for i in $(seq 30); do {tmp_path / 'zone'}; done"
    record("-F", FREQUENCY, "-o", tmp_path / "x.folded", "--", "sh", "-c", command)
    found = [(frames, value) for frames, value in Folded(tmp_path / "x.folded").stacks
             if frames[0] == "zone" and "deep" in frames]
    total = sum(value for _, value in found)
    assert total >= 50
    assert sum(value for frames, value in found if is_complete(frames)) >= 0.97 * total


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="x86-64 assembly")
@pytest.mark.parametrize("kind", ["debug_file", "no_sections"])
def test_where_call_frame_information_is(tmp_path, kind):
    """In the debug file that a link names, or where only program headers point."""
    (tmp_path / "odd.c").write_text(ODD_FRAME)
    is_stripped = kind == "debug_file"
    flag = f"-f{'no-' if is_stripped else ''}asynchronous-unwind-tables"
    make = f"gcc -O2 -g -rdynamic {flag} odd.c -o odd"
    if is_stripped:
        make += " && objcopy --only-keep-debug odd odd.debug && strip odd"
        make += " && objcopy --add-gnu-debuglink=odd.debug odd"
    subprocess.run(make, shell=True, cwd=tmp_path, check=True)
    if not is_stripped:
        without_sections(tmp_path / "odd")
    result = record("-F", 499, "-o", tmp_path / "x.folded", "--", tmp_path / "odd")
    assert_no_loss(result.summary)
    assert result.summary["complete_stacks_percent"] > 98, result
    assert ";main;odd;leaf" in (tmp_path / "x.folded").read_text()


@pytest.mark.parametrize("mode", ["--oncpu", "--wall"])
@pytest.mark.parametrize("is_command", [True, False])
def test_process_whose_first_thread_has_left(tmp_path, is_command, mode):
    """/proc shows such a process's mappings and files only through its other threads."""
    arguments = [mode, "-F", 499, "-o", tmp_path / "x.folded"]
    if is_command:
        result = record(*arguments, "--", WORKLOADS / "left", 1)
    else:
        with workload("left", 60) as process:
            time.sleep(0.2)
            result = record(*arguments, "-d", 1, "-p", process.pid)
    assert_no_loss(result.summary)
    assert result.summary["complete_stacks_percent"] > 95, result
    folded = Folded(tmp_path / "x.folded")
    assert folded.with_frame("stay_behind") > 0.9 * folded.total()


def test_files_that_lie(tmp_path, chains):
    """The recording works, and other programs lose nothing."""
    commands = [([NOFP, "recursion", "burn", 60, DEPTH], None)]
    for path in made_hostile(tmp_path, 12):
        commands.append(([NOFP, "plugin", "burn", 60], path))
    processes = []
    with contextlib.ExitStack() as stack:
        for command, plugin in commands:
            environment = dict(os.environ, **({"NOFP_PLUGIN": str(plugin)} if plugin else {}))
            processes += stack.enter_context(running([command], env=environment))
        result = record("--comm", "nofp*", "-F", FREQUENCY, "-d", 5, "-o", tmp_path / "x.folded")
        assert not any(process.poll() for process in processes)
    folded = Folded(tmp_path / "x.folded")
    of_others = folded.total(lambda frames: any("hostile" in frame or "plugin_inner" in frame
                                                for frame in frames))
    assert of_others >= 0.5 * folded.total()
    right, reaches, wrong = judge(folded, "recursion", ["burn"], chains)
    assert right >= 0.99 and reaches >= 0.9, wrong
    assert folded.total() == result.summary["samples"]


# --- real programs ----------------------------------------------------------------------------


# Names of their threads.
REAL = {
    "python3": ["python3"],
    "node": ["node", "libuv-worker"],
    "perl": ["perl"],
    "cc1": ["cc1"],
    "openssl rsa2048": ["openssl"],
    "openssl aes-256-gcm": ["openssl"],
    "xz": ["xz"],
    "sqlite3": ["sqlite3"],
    "git": ["git"],
    "bash": ["bash"],
    "gdb": ["gdb", "gdb worker"],
    "ld": ["ld"],
    "rust -O": ["made-rust"],
}


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """argv by program, with missing ones listed apart."""
    folder = tmp_path_factory.mktemp("real")
    ready, missing = {}, {}
    for name in REAL:
        try:
            argv = programs.prepare(name, folder)
            # Those that end are started again.
            ready[name] = ["sh", "-c", 'while :; do "$@"; done', "sh", *argv]
        except programs.Missing as error:
            missing[name] = str(error)
    return ready, missing


def processes_of(sessions):
    return [entry for entry in os.listdir("/proc") if entry.isdigit()
            and session_of(int(entry)) in sessions]


def session_of(pid):
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def record_programs(commands, path, *options):
    with running(commands) as processes:
        time.sleep(1.5)
        for _ in range(20):  # some are gone before they are recorded
            pids = processes_of({process.pid for process in processes})
            result = run("--json", "-p", ",".join(pids), *options, "-o", path, timeout=120)
            if "it may have ended" not in result.stderr:
                break
        assert result.returncode == 0, result
        return result, Folded(path)


@pytest.fixture(scope="module", params=["on-CPU", "off-CPU"])
def recorded(real, request, tmp_path_factory):
    """All programs at the same time."""
    options = ["-F", FREQUENCY, "-d", 14] if request.param == "on-CPU" else ["--offcpu", "-d", 5]
    path = tmp_path_factory.mktemp("programs") / "x.folded"
    return record_programs(real[0].values(), path, *options)


def shares(folded, names):
    """(complete, all) of the stacks with a user half, and the largest that are cut off."""
    complete = total = 0
    cut = []
    for frames, value in folded.stacks:
        if frames[0] not in names or not user_frames(frames):
            continue
        total += value
        if is_complete(frames):
            complete += value
        else:
            cut.append((value, ";".join(frames)))
    return complete, total, sorted(cut, reverse=True)[:5]


# Between two address spaces a thread's stack can't be read, and bash switches processes all the
# time. ld, which starts again and again, is cut off while it reads its script, for an unknown
# reason.
CUT_MORE = {"bash": 0.02, "ld": 0.02}


@pytest.mark.parametrize("name", REAL)
def test_program_is_complete(real, recorded, name):
    if name in real[1]:
        pytest.skip(real[1][name])
    complete, total, cut = shares(recorded[1], REAL[name])
    assert total >= 100
    assert complete >= (1 - CUT_MORE.get(name, 0.01)) * total, (complete / total, cut)


def test_programs_are_complete(recorded):
    result, folded = recorded
    complete, total, cut = shares(folded, folded.roots())
    assert complete >= 0.995 * total, (complete / total, cut)
    assert result.summary["complete_stacks_percent"] >= 99.5


def little_memory(real, tmp_path, commands, seconds):
    result, folded = record_programs(commands, tmp_path / "x.folded", "-F", FREQUENCY, "-d",
                                     seconds, "--unwind-memory", "2M")
    assert result.summary["unwinding"]["memory_bytes"] <= 2 << 20
    assert_no_loss(result.summary)
    return result.summary, shares(folded, folded.roots())


def test_little_memory_programs_in_turn(real, tmp_path):
    """Unused tables are evicted."""
    script = ";".join(f"timeout 1.5 {shlex.join(real[0][name])}"
                      for name in ("python3", "perl", "sqlite3", "bash", "openssl rsa2048", "xz"))
    _, (complete, total, cut) = little_memory(real, tmp_path, [["sh", "-c", script]], 9)
    assert complete >= 0.95 * total, (complete / total, cut)


def test_little_memory_programs_at_once(real, tmp_path):
    """More is in use than there is room for: what fits stays, and the rest is reported as cut off
    for that reason."""
    chosen = [argv for name, argv in real[0].items()
              if name in ("python3", "node", "perl", "cc1", "gdb", "git", "openssl rsa2048")]
    summary, (complete, total, _) = little_memory(real, tmp_path, chosen, 5)
    assert complete > 0.1 * total
    assert summary["complete_stacks_percent"] + summary["truncated_percent"]["budget"] >= 98


def test_idle_tables_make_room(real, tmp_path):
    """Big programs, one after another: the first one's tables are gone when the last one runs."""
    script = ";".join(f"timeout 3.5 {shlex.join(real[0][name])}"
                      for name in ("cc1", "gdb", "node") if name in real[0])
    summary, _ = little_memory(real, tmp_path, [["sh", "-c", script]], 10)
    assert summary["unwinding"]["evictions"] > 0
