# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of PHP programs: held against what the interpreter itself says of its functions."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

import interpreters
from harness import ROOT, Folded, record

TRUTH = ROOT / "tests" / "workload" / "php_truth.php"
N_KINDS = 10
PHPS = interpreters.named("/usr/bin/php", "PHPS")
KNOWN = ["7.4", "8.2", "8.4"]
QUIET = ["-d", "display_errors=0"]
# The second one compiles each function before it runs, the first one what is hot.
JITS = {"off": [], **{kind: ["-d", "opcache.enable=1", "-d", "opcache.enable_cli=1", "-d", f"opcache.jit={kind}",
                             "-d", "opcache.jit_buffer_size=16M", "-d", "opcache.file_update_protection=0"]
                      for kind in ("tracing", "function")}}
BURN, NAP = ["--oncpu", "-F", 499], ["--offcpu"]
CASES = {f"{leaf}-{jit}": (jit, leaf, options) for jit in JITS for leaf, options in (("burn", BURN), ("nap", NAP))}

# Which functions php_hot.php can have on its stack, below <main>; and what calls those in C.
FIB = "fib(;fib)*"
HOT = [FIB, "sorts(;range|;shuffle|;usort(;compare(;strcmp|;md5)?)?)?", f"maps(;range|;array_map(;twice(;{FIB})?)?)?",
       "regex(;preg_replace_callback(;longer(;sha1)?)?)?", f"generators(;all(;items(;md5)?)?|;items(;md5)?|;{FIB})?",
       f"catches(;{FIB}|;throws(;sqrt|;Exception::__construct)?)?",
       f"objects(;Shape::add|;Shape::__get(;md5)?|;Shape::__destruct(;{FIB})?)?", "types(;is_array)?",
       "floats(;fmod|;sqrt)?", f"warns(;none)?(;warned(;{FIB})?)?", "naps(;usort(;napped(;usleep)?)?)?",
       f"fibers(;class_exists|;{FIB}|;Fiber::(__construct|start|isTerminated|resume))?"]
CALLERS = {"compare": ["usort", "zend_call_function"], "twice": ["array_map", "zend_call_function"],
           "longer": ["preg_replace_callback", "zend_call_function"], "warned": ["warns", "zend_call_function"],
           "napped": ["usort", "zend_call_function"]}


@pytest.fixture(autouse=True)
def known(request):
    php = request.node.callspec.params.get("php", PHPS[0])
    version = subprocess.check_output([php, "-r", "echo PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION;"], text=True)
    interpreters.skip_unless_known("PHP", version, KNOWN)


def options_of(php, jit):
    """Its options. Skips what has no JIT."""
    if jit == "off":
        return QUIET
    options = [*QUIET, *JITS[jit]]
    said = subprocess.check_output([php, *options, "-r", "echo json_encode(opcache_get_status()['jit'] ?? null);"],
                                   text=True, stderr=subprocess.DEVNULL)
    if said == "null":
        pytest.skip("this version has no JIT")
    assert json.loads(said)["on"], said
    return options


@contextlib.contextmanager
def started(*command):
    """The process, and what it says of its children: {pid: [(function, line), …]}"""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        said = [json.loads(process.stdout.readline()) for _ in range(N_KINDS)]
        yield process, {child["pid"]: child["stack"] for child in said}
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def is_truth(frames, truth, leaf):
    """Whether they are the same, up to the leaf: what it calls comes and goes."""
    return list(frames[:len(truth)]) == truth and \
        list(frames[len(truth):]) in ([leaf], [leaf, "usleep"])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("php", PHPS)
def test_whole_stacks_are_those_of_the_interpreter(php, case, tmp_path):
    jit, leaf, options = CASES[case]
    out = tmp_path / "x.folded"
    with started(php, *options_of(php, jit), TRUTH, leaf) as (process, truth):
        result = record("-p", process.pid, *options, "-d", 1, "--threads", "-o", out)
    seen = interpreters.assert_right(
        Folded(out), {pid: [name for name, _ in stack] for pid, stack in truth.items()},
        lambda frames, names: is_truth(frames, names, leaf))
    interpreters.assert_all_named(result)
    assert leaf == "burn" or seen == set(truth)
    assert_whole(out)


def assert_few(part, total):
    """At most 1 %, but for the first samples: before PHP is known."""
    assert total > 0
    assert part <= 0.01 * total + 5


def assert_whole(out):
    """Almost all of the value has a root."""
    folded = Folded(out)
    assert_few(folded.total(lambda frames: {"_start", "make_fcontext"}.isdisjoint(frames[:3])),
               folded.total(lambda frames: True))


@pytest.mark.parametrize("jit", JITS)
@pytest.mark.parametrize("php", PHPS)
def test_calls_of_all_kinds_while_they_are_hot(php, jit, tmp_path):
    hot = re.compile(f"<main>(;({'|'.join(HOT)}))?|(in_fiber(;str_repeat|;sha1|;Fiber::suspend)?)?")
    out = tmp_path / "x.folded"
    process = subprocess.Popen([php, *options_of(php, jit), TRUTH.parent / "php_hot.php"], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"hot\n"
        for options in BURN, NAP:
            result = record("-p", process.pid, *options, "-d", 2, "-o", out)
            assert_whole(out)
            interpreters.assert_all_named(result)
            stacks = [(frames, value, ";".join(interpreters.functions(frames))) for frames, value in Folded(out).stacks]
            assert_few(sum(value for frames, value, names in stacks
                           if not hot.fullmatch(names) or not are_called_in_order(frames)),
                       sum(value for _, value, _ in stacks))
            assert len({names.split(";")[1] for _, _, names in stacks if ";" in names}) > len(HOT) / 2 or options == NAP
    finally:
        process.kill()
        process.communicate()


def are_called_in_order(frames):
    """Whether what C calls is where C calls it, and fibers have their own functions."""
    names = [frame.removesuffix(interpreters.MARK) for frame in frames]
    places = [[names.index(name) if name in names else -1 for name in [*callers, called]]
              for called, callers in CALLERS.items() if called in names]
    return all(-1 not in place and place == sorted(place) for place in places) and \
        ("<main>" in names) != (names[1] == "make_fcontext")


@pytest.mark.parametrize("jit", ["off", "function"])
@pytest.mark.parametrize("php", PHPS)
def test_lines_and_native_frames(php, jit, tmp_path):
    out = tmp_path / "x.folded"
    with started(php, *options_of(php, jit), TRUTH, "wait") as (process, truth):
        record("-p", process.pid, "--offcpu", "-d", 0.5, "--threads", "--lines", "-o", out)
    stacks = {int(frames[0].rpartition("/")[2]): frames for frames, _ in Folded(out).stacks}
    for pid, stack in truth.items():
        found = interpreters.functions(stacks[pid])
        assert len(found) == len(stack) + 2, found  # wait(), sleep()
        for frame, (name, line) in list(zip(found, stack))[:-1]:
            place = f"php_truth.php:{line}" if line else "<php>"
            assert frame == f"{name} ({place})" or "eval()'d code:1)" in frame, (frame, name, line)
        # A segment for each time that C calls PHP, each in its place.
        text = ";".join(frame for frame in stacks[pid])
        if "by_sort" in text:
            assert re.search(r"by_sort [^;]*_\[0\];usort [^;]*_\[0\];.*;zend_call_function;"
                             r"\{closure[^;]*_\[0\];by_call", text), text
            assert not any(frame.startswith("execute_ex") for frame in stacks[pid])


@pytest.mark.parametrize("php", PHPS)
def test_a_loop_that_has_left_its_function_has_none(php, tmp_path):
    """At a sample in the first or last instructions of a callback, only its caller has frames."""
    script = tmp_path / "calls.php"
    script.write_text("<?php function sort_all($n) { while (hrtime(true) < $n) { $x = range(1, 500); shuffle($x);"
                      "usort($x, fn($a, $b) => $a - $b); } } sort_all(hrtime(true) + 1.5e9);")
    record("-F", 1999, "-o", tmp_path / "x.folded", "--", php, script)
    left = 0
    for frames, value in Folded(tmp_path / "x.folded").stacks:
        if "zend_call_function" in frames and "sort_all_[0]" in frames:
            assert frames.index("sort_all_[0]") < frames.index("zend_call_function"), frames
            left += value if "execute_ex" in frames else 0
    assert left > 0


@pytest.mark.parametrize("php", PHPS)
def test_programs_that_are_compiled_again_have_names(php, tmp_path):
    """Each request compiles its file anew, into the same place; in between, nothing is there."""
    (tmp_path / "page.php").write_text("<?php spin();")
    script = tmp_path / "requests.php"
    script.write_text("<?php function spin() { for ($x = $i = 0; $i < 20000; $i++) $x += $i * $i; } echo 'x';"
                      "while (true) { include 'page.php'; usleep(300); }")
    workers = [subprocess.Popen([php, *QUIET, "-d", "opcache.enable_cli=0", script], cwd=tmp_path,
                                stdout=subprocess.PIPE) for _ in range(12)]
    try:
        assert all(worker.stdout.read(1) == b"x" for worker in workers)
        record("-p", ",".join(str(worker.pid) for worker in workers), "-d", 5, "-F", 499,
               "-o", tmp_path / "x.folded")
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    folded = Folded(tmp_path / "x.folded")
    spun = folded.total(lambda frames: "spin_[0]" in frames)
    named = folded.total(lambda frames: interpreters.functions(frames)[:3] == ["<main>", "<main>", "spin"])
    assert spun > 0
    assert named >= 0.97 * spun  # what has no name yet at the first drain stays without


def fastcgi(path, script):
    """Asks php-fpm at socket @path for the page @script."""
    def part(kind, content):
        return struct.pack(">BBHHBB", 1, kind, 1, len(content), 0, 0) + content

    names = {"SCRIPT_FILENAME": str(script), "REQUEST_METHOD": "GET", "SCRIPT_NAME": "/"}
    pairs = b"".join(bytes((len(name), len(value))) + (name + value).encode()
                     for name, value in names.items())
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(part(1, struct.pack(">HB5x", 1, 0)) + part(4, pairs) + part(4, b"") + part(5, b""))
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    return answer


@pytest.mark.parametrize("jit", ["off", "function"])
def test_workers_of_a_server(jit, tmp_path):
    fpm = next(iter(sorted(pathlib.Path("/usr/sbin").glob("php-fpm*"))))
    page = shutil.copy(ROOT / "tests" / "workload" / "php_serve.php", tmp_path / "page.php")
    where, log, config = (tmp_path / name for name in ("socket", "log", "conf"))
    config.write_text(f"[global]\nerror_log = {log}\ndaemonize = no\n[www]\nlisten = {where}\n"
                      "pm = static\npm.max_children = 2\nuser = root\ngroup = root\n")
    loads = ["-d", "zend_extension=opcache"] if jit != "off" else []
    server = subprocess.Popen([fpm, "-n", *loads, *JITS[jit], "-R", "-F", "-y", config], stderr=subprocess.DEVNULL)
    try:
        while not where.exists():
            assert server.poll() is None, log.read_text()
            time.sleep(0.05)
        asking = threading.Thread(target=lambda: [fastcgi(where, page) for _ in range(4)])
        asking.start()
        record("-p", server.pid, "-d", 1, "-F", 499, "-o", tmp_path / "x.folded")
        asking.join()
        assert (b"shown, compiled" if jit != "off" else b"shown") in fastcgi(where, page)
    finally:
        server.terminate()
        server.wait()
    folded = Folded(tmp_path / "x.folded")
    rendered = folded.total(lambda frames: "Page::render_[0]" in frames)
    # Since 8.4 a closure's name says where it is: Page::{closure:Page::show():8}.
    whole = folded.total(lambda frames: [re.sub(r"\{closure:.*\}$", "{closure}", name) for name in interpreters.functions(frames)[:5]] == [
        "<main>", "Page::show", "array_map", "Page::{closure}", "Page::render"])
    assert rendered > 0
    assert whole >= 0.99 * rendered
    assert_whole(tmp_path / "x.folded")
