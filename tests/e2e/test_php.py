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
JIT = ["-d", "opcache.enable_cli=1", "-d", "opcache.jit=tracing", "-d", "opcache.jit_buffer_size=16M"]
BURN, NAP = ["--oncpu", "-F", 499], ["--offcpu"]
CASES = {"burn": ([], "burn", BURN), "nap": ([], "nap", NAP), "burn-jit": (JIT, "burn", BURN)}


@pytest.fixture(autouse=True)
def known(request):
    php = request.node.callspec.params["php"] if hasattr(request.node, "callspec") else PHPS[0]
    version = subprocess.check_output([php, "-r", "echo PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION;"], text=True)
    interpreters.skip_unless_known("PHP", version, KNOWN)


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
    build, leaf, options = CASES[case]
    out = tmp_path / "x.folded"
    with started(php, *QUIET, *build, TRUTH, leaf) as (process, truth):
        result = record("-p", process.pid, *options, "-d", 1, "--threads", "-o", out)
    seen = interpreters.assert_right(
        Folded(out), {pid: [name for name, _ in stack] for pid, stack in truth.items()},
        lambda frames, names: is_truth(frames, names, leaf))
    interpreters.assert_all_named(result)
    assert leaf == "burn" or seen == set(truth)


@pytest.mark.parametrize("php", PHPS)
def test_lines_and_native_frames(php, tmp_path):
    out = tmp_path / "x.folded"
    with started(php, *QUIET, TRUTH, "wait") as (process, truth):
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


def test_workers_of_a_server(tmp_path):
    fpm = next(iter(sorted(pathlib.Path("/usr/sbin").glob("php-fpm*"))))
    page = shutil.copy(ROOT / "tests" / "workload" / "php_serve.php", tmp_path / "page.php")
    where, log, config = (tmp_path / name for name in ("socket", "log", "conf"))
    config.write_text(f"[global]\nerror_log = {log}\ndaemonize = no\n[www]\nlisten = {where}\n"
                      "pm = static\npm.max_children = 2\nuser = root\ngroup = root\n")
    server = subprocess.Popen([fpm, "-n", "-R", "-F", "-y", config], stderr=subprocess.DEVNULL)
    try:
        while not where.exists():
            assert server.poll() is None, log.read_text()
            time.sleep(0.05)
        asking = threading.Thread(target=lambda: [fastcgi(where, page) for _ in range(4)])
        asking.start()
        record("-p", server.pid, "-d", 1, "-F", 499, "-o", tmp_path / "x.folded")
        asking.join()
        assert b"shown" in fastcgi(where, page)
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
