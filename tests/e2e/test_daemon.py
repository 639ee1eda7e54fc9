# SPDX-License-Identifier: GPL-2.0-or-later
"""`bpfflame daemon`: what it writes is what happened, and it continues whichever of its processes
dies."""
import contextlib
import datetime
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from harness import (BPFFLAME, STORM, WORKLOADS, Folded, record, run, wait_for_threads, wait_until,
                     workload)
from store_reader import Segment

ROLES = {"bpfflame-recor": "recorder", "bpfflame-record": "recorder", "bpfflame-write": "writer",
         "bpfflame-serve": "server"}


def children_of(pid):
    """Its child processes by name, and their children."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
            if int(rest.split()[1]) == pid and rest.split()[0] != "Z":
                found[name] = int(path.parent.name)
    return found


class Daemon:
    """A running daemon; @notify receives its messages to the service manager."""

    def __init__(self, folder, *options, store=None, config="", environment=None):
        self.store = store or folder / "store"
        self.config = folder / "daemon.conf"
        self.config.write_text(config)
        self.log = folder / "log"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = f"\0bpfflame-test-{os.getpid()}-{random.random()}"
        self.socket.bind(name)
        self.socket.settimeout(30)
        environment = dict(environment or os.environ, NOTIFY_SOCKET="@" + name[1:])
        self.process = subprocess.Popen([BPFFLAME, "daemon", "--config", self.config, "--store", self.store,
                                         "--window", "1", *options], stdin=subprocess.DEVNULL,
                                        stderr=self.log.open("w"), env=environment)

    def __enter__(self):
        assert self.hears("READY=1"), self.log.read_text()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        self.socket.close()

    def hears(self, *wanted):
        """Waits for one of these messages. False: it ended first."""
        while self.process.poll() is None:
            with contextlib.suppress(TimeoutError):
                said = self.socket.recv(4096).decode()
                if said.startswith(wanted):
                    return said
        return False

    def windows(self, n):
        """Waits until @n more windows are written, not those that nobody waited for."""
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.socket.recv(4096)
        self.socket.settimeout(30)
        for _ in range(n):
            assert self.hears("WATCHDOG=1"), self.log.read_text()

    def pids(self):
        pid = self.process.pid
        found = {"supervisor": pid}
        for name, child in children_of(pid).items():
            found[ROLES.get(name, name)] = child
        return found

    def kill(self):
        """Kills all its processes at once, as the kernel does with a service."""
        pids = self.pids()
        everybody = [pid for one in pids.values() for pid in children_of(one).values()] + list(pids.values())
        for pid in dict.fromkeys(everybody):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.terminate()
        assert self.process.wait(timeout=60) == 0, self.log.read_text()

    def list(self):
        lines = run("query", "--store", self.store, "--list", "--json").stdout.splitlines()
        return [json.loads(line) for line in lines]


def windows_of(listed, level="1s"):
    return sum(line["windows"] for line in listed if line.get("level") == level)


def folded_of(store, *arguments):
    result = run("query", "--store", store, "--idle", "-o", "-", *arguments)
    assert result.returncode == 0, result
    return Folded(result.stdout.encode())


LOOKS = "names are put off, the rate is half, threads are looked at once a second and not at each switch"
AT_SWITCHES = "names are put off, stacks of waits are fewest, the rate is half"
NO_BUDGET = "--cpu-budget", "0"
LEAST_BUDGET = "--cpu-budget", "0.001"  # to be looked at


def wait_for_looks(daemon):
    wait_until(lambda: LOOKS in daemon.log.read_text(), timeout=60)
    daemon.windows(1)


@pytest.mark.parametrize("budget, tolerance", [(NO_BUDGET, 0.03), (LEAST_BUDGET, 0.06)], ids=["switches", "looks"])
def test_recorded_time_is_real_time(tmp_path, budget, tolerance):
    """Compares it with a recording of the same process at the same time, and with the elapsed time.
    Without a budget, both take stacks of waits equally often; with the least one, no switch is seen."""
    with workload("wait", tmp_path, 300) as process, contextlib.ExitStack() as stack:
        wait_for_threads(process.pid, 7)
        daemon = stack.enter_context(Daemon(tmp_path, *budget))
        daemon.windows(1)
        effort = 0
        if budget == LEAST_BUDGET:
            wait_for_looks(daemon)
            daemon.windows(2)
            effort = 5
        begin = time.time()
        daemon.windows(1)
        beside = record("--wall", "-p", process.pid, "-d", 8, "-f", "folded", "--out-dir", tmp_path)
        daemon.windows(2)
        daemon.stop()
        threads = len(os.listdir(f"/proc/{process.pid}/task"))
        listed = daemon.list()
        gaps = [line["gap"] for line in listed if "gap" in line]
        assert not gaps, gaps
        # Each window has all time of all threads.
        spans, times = [], []
        for segment in map(Segment, sorted(daemon.store.glob("1s-*"))):
            for fields, rows in segment.windows():
                if fields[8] == effort and fields[0] / 1e9 > begin:
                    spans.append(fields[1] / 1e9)
                    times.append(sum(row[6] for row in rows if segment.processes[row[0]][0] == process.pid) / 1e6)
        print([round(time, 2) for time in times])
        assert sum(times) == pytest.approx(threads * sum(spans), rel=0.005 if not effort else 0.06)
        assert len(times) >= 7
        # Shares match those of the simultaneous recording, over the windows that are inside it.
        recorded = Folded(tmp_path / "wall.folded")
        begin = beside.summary["start_unix_seconds"]
        store = folded_of(daemon.store, "-p", process.pid, "--from", text_of(begin),
                          "--to", text_of(begin + beside.summary["duration_seconds"]))
        for cause in "[futex]", "[timer]", "[pipe]":
            share = store.total(lambda frames: frames[-1] == cause) / store.total()
            expected = recorded.total(lambda frames: frames[-1] == cause) / recorded.total()
            assert share == pytest.approx(expected, abs=tolerance), cause


def test_time_on_the_way_to_looks_and_back(tmp_path):
    """Windows in which how threads are recorded changes lose no time, and double none: neither what
    they wait, nor what they run."""
    with workload("wait", tmp_path, 300) as process, Daemon(tmp_path, "--cpu-budget", "4") as daemon:
        wait_for_threads(process.pid, 7)
        daemon.windows(1)
        begin = time.time()
        players = [subprocess.Popen([WORKLOADS / "pingpong", "300", "26", "1", other], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL) for other in ("0", "1")]
        try:
            wait_for_looks(daemon)
        finally:
            used = 0
            for player in players:
                player.kill()
                use = os.wait4(player.pid, 0)[2]
                used += use.ru_utime + use.ru_stime
        # After five quiet looks, one each six windows.
        wait_until(lambda: AT_SWITCHES in daemon.log.read_text().partition(LOOKS)[2], timeout=150)
        daemon.windows(3)
        threads = len(os.listdir(f"/proc/{process.pid}/task"))
        daemon.stop()
    windows, ran_us = [], 0
    for segment in map(Segment, sorted(daemon.store.glob("1s-*"))):
        for fields, rows in segment.windows():
            time_us = sum(row[6] for row in rows if segment.processes[row[0]][0] == process.pid)
            ran_us += sum(time for number, _, cause, _, _, _, time in rows
                          if cause == 1 and segment.processes[number][0] in [player.pid for player in players])
            if fields[0] / 1e9 > begin:
                windows.append((fields[8], fields[1] / 1e9 * threads, time_us / 1e6))
    print([(effort, round(recorded / real, 3)) for effort, real, recorded in windows])
    efforts = [effort for effort, _, _ in windows]
    assert 5 in efforts and efforts[-1] < 5, efforts
    print(ran_us / 1e6, used)
    assert ran_us / 1e6 == pytest.approx(used, rel=0.02)
    # After looks, the waits of a thread count in parts of up to 4 s: by lot at either end.
    assert sum(recorded for _, _, recorded in windows) == pytest.approx(sum(real for _, real, _ in windows), rel=0.05)


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def text_of(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_names_cgroups_and_commands(tmp_path):
    """A child that lives 50 ms has a command and its parent's cgroup; burn's functions have
    names."""
    with workload("burn", 300, 1) as process, Daemon(tmp_path) as daemon:
        for _ in range(40):
            subprocess.run(["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"], check=True)
        daemon.windows(3)
        daemon.stop()
        folded = folded_of(daemon.store, "-p", process.pid)
        assert {"burn_60", "burn_30", "burn_10"} <= folded.names()
        assert folded_of(daemon.store, "--comm", "sh", "--state", "running").total() > 0
        own = Path(f"/proc/{process.pid}/cgroup").read_text().split("0::")[-1].strip()
        assert folded_of(daemon.store, "-G", own, "--comm", "burn").total() > 0


def test_kill(tmp_path):
    """Kills all of it at random moments: every window that was written can be read, and it starts
    again."""
    chance = random.Random(1)
    written = 0
    for _ in range(6):
        with Daemon(tmp_path, "--window", "500ms") as daemon:
            daemon.windows(2)
            time.sleep(chance.random())
            daemon.kill()
        lines = daemon.list()
        windows = sum(line["windows"] for line in lines if line.get("level") == "500ms")
        assert windows >= written + 2
        written = windows
        result = run("query", "--store", daemon.store, "-o", "-")
        assert result.returncode == 0 and result.stdout, result
    assert [line["gap"] for line in lines if "gap" in line].count("not recording") == 5


@pytest.mark.parametrize("role", ["recorder", "writer"])
def test_one_that_dies_is_started_again(tmp_path, role):
    with Daemon(tmp_path) as daemon:
        daemon.windows(2)
        before = daemon.pids()
        os.kill(before[role], signal.SIGKILL)
        wait_until(lambda: daemon.pids().get(role) not in (None, before[role]), timeout=20)
        daemon.windows(4)
        after = daemon.pids()
        assert all(after[other] == before[other] for other in before if other in ("supervisor", "recorder", "writer")
                   and other != role)
        daemon.stop()
        assert "was killed by signal 9, maybe for lack of memory; started again in 1 s" in daemon.log.read_text()
        gaps = [line["gap"] for line in daemon.list() if "gap" in line]
        # Windows that the recorder sends while there is no writer are kept for the next one.
        assert gaps == (["not recording"] if role == "recorder" else [])


@contextlib.contextmanager
def hanging_search(folder):
    """The environment of a daemon that asks a debuginfod that never answers; its clients write their pids into
    FOLDER/asked."""
    client = folder / "debuginfod-find"
    client.write_text(f"#!/bin/sh\necho $$ >>{folder / 'asked'}\nexec sleep 100\n")
    client.chmod(0o755)
    try:
        yield dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", DEBUGINFOD_URLS="http://localhost:1",
                   DEBUGINFOD_CACHE_PATH=str(folder / "cache"))
    finally:
        for pid in (folder / "asked").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def is_running(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("how", ["asked", "recorder killed"])
def test_what_names_a_window_ends_with_the_recorder(tmp_path, how):
    """Though names are still being searched, the window is written and no process stays."""
    with hanging_search(tmp_path) as environment, Daemon(tmp_path, environment=environment) as daemon:
        wait_until((tmp_path / "asked").exists)
        recorder = daemon.pids()["recorder"]
        namer = children_of(recorder)["bpfflame-names"]
        if how == "asked":
            daemon.stop()
        else:
            os.kill(recorder, signal.SIGKILL)
            daemon.windows(1)
        wait_until(lambda: not is_running(namer), timeout=15)
        assert "does not end" not in daemon.log.read_text()
        assert windows_of(daemon.list()) >= 1


def test_budget(tmp_path):
    """Programs that alone are above it run no more at each switch, and half the samples are taken; CPU time stays
    exact."""
    flag = tmp_path / "end"
    with Daemon(tmp_path, "--window", "500ms", *LEAST_BUDGET) as daemon:
        busy = f"import os, time\nwhile not os.path.exists({str(flag)!r}): sum(range(30000))\nprint(time.process_time())"
        process = subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        try:
            wait_for_looks(daemon)
            daemon.windows(6)  # to the next look, which takes no step
        finally:
            flag.touch()
            # By the scheduler's clock: getrusage() counts ticks on some machines.
            ran = process.communicate()[0]
        daemon.windows(2)
        daemon.stop()
    steps = [line.rpartition(": ")[2] for line in daemon.log.read_text().splitlines() if "recording took" in line]
    assert steps == [LOOKS]
    segments = [Segment(path) for path in sorted(daemon.store.glob("500ms-*"))]
    windows = [(fields, rows, segment) for segment in segments for fields, rows in segment.windows()]
    assert sorted({(fields[8], fields[5]) for fields, _, _ in windows}) == [
        (0, 19000), (5, 9500)]
    mine = [time for _, rows, segment in windows for number, _, cause, _, _, _, time in rows
            if cause == 1 and segment.processes[number][0] == process.pid]
    # Running time is measured: all of it, whatever the rate.
    assert sum(mine) / 1e6 == pytest.approx(float(ran), rel=0.01, abs=0.02)


def test_stacks_of_short_lives(tmp_path):
    """They have names. A process that execs or exits has no memory left to walk: what was remembered of it is
    enough."""
    with Daemon(tmp_path, "-F", "99") as daemon, workload("storm", 8, command=[STORM]):
        daemon.windows(6)
        daemon.stop()
    folded = folded_of(daemon.store, "--state", "running")
    short = [(frames, value) for frames, value in folded.stacks if frames[0] in ("sh", "ls", "sort")]
    assert sum(value for frames, value in short if "[unknown]" in frames) <= 0.02 * sum(value for _, value in short)
    leaving = [(frames, value) for frames, value in short if {"exit_mmap_[k]", "begin_new_exec_[k]"} & set(frames)]
    total = sum(value for _, value in leaving)
    assert total > 0
    # Some twenty samples, of 10 ms each: three may be chance, where others stop those who leave.
    assert sum(value for frames, value in leaving if "[truncated]" in frames) <= 0.05 * total + 3 * 10200


SHORT_LIVES = """
import mmap, os, resource, time

def live():
    pages = mmap.mmap(-1, 16 << 20)
    for at in range(0, len(pages), 4096):
        pages[at] = 1
    os._exit(0) # which takes a while, for the kernel frees the pages

pids, used = [], lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
for lot in range(4):
    for i in range(20):
        pids.append(os.fork())
        if not pids[-1]:
            live()
        if lot % 2:
            os.wait()
    if not lot % 2:
        time.sleep(1.5) # they stay, ended, beyond the end of a window
        for i in range(20):
            os.wait()
print(used(), *pids)
"""


@pytest.mark.parametrize("budget", [NO_BUDGET, LEAST_BUDGET], ids=["switches", "looks"])
def test_cpu_time_of_short_lives(tmp_path, budget):
    """From birth to end, as the kernel has it, also of those that nobody waits for until later."""
    with Daemon(tmp_path, *budget) as daemon:
        daemon.windows(1)
        if budget == LEAST_BUDGET:
            wait_for_looks(daemon)
        used, *pids = subprocess.run([sys.executable, "-c", SHORT_LIVES], stdin=subprocess.DEVNULL,
                                     capture_output=True, text=True, check=True).stdout.split()
        daemon.windows(2)
        daemon.stop()
    pids = set(map(int, pids))
    segments = [Segment(path) for path in sorted(daemon.store.glob("1s-*"))]
    times = [time for segment in segments for _, rows in segment.windows() for number, _, cause, _, _, _, time in rows
             if cause == 1 and segment.processes[number][0] in pids]
    print(sum(times) / 1e6, used, len(times))
    assert sum(times) / 1e6 == pytest.approx(float(used), rel=0.02)


def test_waits_of_short_lives(tmp_path):
    """From birth to end, although no switch of them is seen, and nobody looks at their end."""
    with Daemon(tmp_path, *LEAST_BUDGET) as daemon:
        wait_for_looks(daemon)
        sleepers = [subprocess.Popen(["sleep", "0.8"], stdin=subprocess.DEVNULL) for _ in range(40)]
        for sleeper in sleepers:
            sleeper.wait()
        daemon.windows(2)
        daemon.stop()
    times = {cause: sum(folded_of(daemon.store, "-p", sleeper.pid, "--state", cause).total() for sleeper in sleepers) / 1e6
             for cause in ("waiting", "running")}
    print(times)
    # Each part of a tenth of a second or more counts exactly, shorter ones by lot.
    assert times["waiting"] == pytest.approx(40 * 0.8, rel=0.05)
    assert times["running"] < 40 * 0.02


SLEEP = "import time\nwhile True: time.sleep({})"


def test_looks_tell_short_sleeps_from_long_ones(tmp_path):
    """By how many a thread had since the last look, whose distance says nothing about them."""
    with Daemon(tmp_path, *LEAST_BUDGET) as daemon, contextlib.ExitStack() as stack:
        wait_for_looks(daemon)
        pids = {}
        for seconds in "0.005", "0.2", "1", "7":
            process = subprocess.Popen([sys.executable, "-c", SLEEP.format(seconds)], stdin=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.kill)
            pids[seconds] = process.pid
        daemon.windows(14)
        daemon.stop()
    idle = {}
    segments = [Segment(path) for path in sorted(daemon.store.glob("1s-*"))]
    for seconds, pid in pids.items():
        asleep = [(is_idle, time) for segment in segments for _, rows in segment.windows()
                  for number, _, cause, is_idle, _, _, time in rows if cause != 1 and segment.processes[number][0] == pid]
        idle[seconds] = sum(time for is_idle, time in asleep if is_idle) / sum(time for _, time in asleep)
    print(idle)
    assert idle["0.005"] < 0.05 and idle["0.2"] < 0.2, idle
    assert idle["7"] > 0.95 and idle["1"] > 0.8, idle


def test_a_second_one_is_refused(tmp_path):
    with Daemon(tmp_path) as daemon:
        second = run("daemon", "--store", daemon.store)
        assert second.returncode == 1 and "another daemon writes to" in second.stderr
        assert second.stderr.count("\n") == 1
        daemon.windows(1)
        daemon.stop()


def test_sighup(tmp_path):
    """Invalid settings change nothing; valid ones apply from then on, and no window is lost."""
    with Daemon(tmp_path, config="freq 19\n") as daemon:
        daemon.windows(1)
        before = daemon.pids()
        daemon.config.write_text("freq fast\n")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.windows(2)
        assert daemon.pids()["recorder"] == before["recorder"]
        assert "the settings stay as they are" in daemon.log.read_text()
        daemon.config.write_text("freq 49\n")
        daemon.process.send_signal(signal.SIGHUP)
        assert daemon.hears("READY=1")
        daemon.windows(1)
        assert "at 49 Hz" in daemon.log.read_text()
        daemon.stop()


def test_settings_that_turn_out_wrong(tmp_path):
    """Those before are used again; whatever is wrong is said each time that it is another thing."""
    with Daemon(tmp_path, "--listen", "127.0.0.1:0", config="freq 19\n") as daemon:
        daemon.windows(1)
        for wrong, says in ("freq fast", "fast"), ("frq 49", "mean --freq?"):
            daemon.config.write_text(wrong)
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda says=says: says in daemon.log.read_text(), timeout=20)
        daemon.config.write_text("freq 49\nuser no-such-user\n")
        daemon.process.send_signal(signal.SIGHUP)
        assert daemon.hears("READY=1")
        daemon.windows(1)
        daemon.stop()
        said = daemon.log.read_text()
        assert "no-such-user" in said and "those before are used again" in said
        assert said.count("at 19 Hz") == 2 and "at 49 Hz" not in said
        assert len(set(line for line in said.splitlines() if "listening at" in line)) == 1


def status_of(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def test_rights(tmp_path):
    """The supervisor starts others and opens nothing; the writer has no capability, and the reader
    has no rights at all."""
    with Daemon(tmp_path) as daemon:
        daemon.windows(1)
        pids = daemon.pids()
        writer, recorder = status_of(pids["writer"]), status_of(pids["recorder"])
        for kind in "CapInh", "CapPrm", "CapEff", "CapAmb":
            assert int(writer[kind], 16) == 0, kind
        assert writer["NoNewPrivs"].strip() == "1" and writer["Seccomp"].strip() == "2"
        assert recorder["NoNewPrivs"].strip() == "1" and recorder["Seccomp"].strip() == "2"
        # Cannot use networks, mounts or modules, nor write other users' files.
        forbidden = [0, 1, 3, 12, 16, 17, 21, 22]
        assert not any(int(recorder["CapEff"], 16) >> number & 1 for number in forbidden)
        for pid in pids["writer"], pids["supervisor"]:
            links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            assert not any("bpf" in link and "anon_inode" in link or "perf_event" in link for link in links), links
        daemon.stop()


def test_another_user_writes(tmp_path):
    """The store belongs to that user, who can write there and nowhere else."""
    with tempfile.TemporaryDirectory(prefix="bpfflame-test-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        with Daemon(tmp_path, "--user", "nobody", store=Path(folder) / "store") as daemon:
            daemon.windows(2)
            owner = daemon.store.stat().st_uid
            assert status_of(daemon.pids()["writer"])["Uid"].split()[0] == str(owner) == "65534"
            daemon.stop()
        assert windows_of(daemon.list()) >= 2


def test_a_folder_with_other_files_is_given_to_nobody(tmp_path):
    """`--store /etc --user X` would make X root."""
    store = tmp_path / "store"
    store.mkdir()
    (store / "cron.allow").touch()
    result = subprocess.run([BPFFLAME, "daemon", "--config", "/dev/null", "--store", store, "--user", "nobody"],
                            capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1 and "cron.allow" in result.stderr, result
    assert store.stat().st_uid == 0 and os.listdir(store) == ["cron.allow"]


def test_full_disk(tmp_path):
    """The oldest file is removed, recording continues, and one line says so."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "none", disk], check=True)
    try:
        (disk / "store").mkdir()
        for hour in range(3):
            subprocess.run([Path(BPFFLAME).parent / "sample_store", disk / "store", str(int(time.time()) - 3600 * hour
                                                                                      - 3600), "600"], check=True,
                           capture_output=True)
        filled = disk / "filled"
        with contextlib.suppress(OSError), filled.open("wb") as stream:
            while True:
                stream.write(bytes(4096))
                stream.flush()
        with Daemon(tmp_path, store=disk / "store") as daemon:
            daemon.windows(4)
            daemon.stop()
        assert daemon.log.read_text().count("is full: the oldest file there is removed") == 1
        assert windows_of(daemon.list()) >= 4
        assert run("query", "--store", daemon.store, "-o", "-").stdout
    finally:
        subprocess.run(["umount", disk], check=True)


def test_read_only(tmp_path):
    """Says why, and does not continue as if it were recording."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k,ro", "none", disk], check=True)
    try:
        result = run("daemon", "--store", disk / "store")
        assert result.returncode == 1 and "store" in result.stderr, result
    finally:
        subprocess.run(["umount", disk], check=True)


def test_the_folder_is_removed(tmp_path):
    """There is another one, with all windows from then on."""
    with Daemon(tmp_path, "--window", "500ms") as daemon:
        daemon.windows(3)
        shutil.rmtree(daemon.store)
        daemon.windows(4)
        daemon.stop()
    assert windows_of(daemon.list(), "500ms") >= 4


def test_a_full_disk_without_files_to_spare(tmp_path):
    """A window that is not written is said once, is a gap with its reason, and costs no other."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], check=True)
    try:
        with Daemon(tmp_path, "--window", "500ms", store=disk / "store") as daemon:
            daemon.windows(2)
            filled = disk / "filled"
            with contextlib.suppress(OSError), filled.open("wb") as stream:
                while True:
                    stream.write(bytes(4096))
                    stream.flush()
            wait_until(lambda: "a window is not written to" in daemon.log.read_text(), timeout=60)
            filled.unlink()
            daemon.windows(4)
            daemon.stop()
        assert daemon.log.read_text().count("a window is not written to") == 1
        lines = daemon.list()
        assert windows_of(lines, "500ms") >= 4
        assert "not written" in [line["gap"] for line in lines if "gap" in line]
    finally:
        subprocess.run(["umount", disk], check=True)


def test_wrong_usage(tmp_path):
    for arguments, says in [(["--freq", "0"], "--freq"), (["--keep", "x"], "--keep"), (["more"], "no option"),
                            (["--config", tmp_path / "none"], "none")]:
        result = run("daemon", *arguments)
        assert result.returncode in (1, 2) and says in result.stderr, result


PACKAGING = Path(__file__).parents[2] / "tools/packaging"


def capabilities_of_unit():
    lines = (PACKAGING / "systemd/bpfflame.service").read_text().splitlines()
    return [word.removeprefix("CAP_").lower() for line in lines if line.startswith("CapabilityBoundingSet=")
            for word in line.partition("=")[2].split()]


def capabilities_of_pod():
    yaml = pytest.importorskip("yaml", reason="needs python3-yaml")
    pod = yaml.safe_load((PACKAGING / "kubernetes/daemonset.yaml").read_text())["spec"]["template"]["spec"]
    assert pod["hostPID"] and pod["containers"][0]["command"] == ["/bpfflame", "daemon"]
    return [name.lower() for name in pod["containers"][0]["securityContext"]["capabilities"]["add"]]


@pytest.mark.parametrize("least", [capabilities_of_unit, capabilities_of_pod])
def test_the_rights_of_a_service_are_enough(tmp_path, least):
    """The capabilities of the unit and of the pod are enough for names and cgroups."""
    names = least()
    bounding = ",".join(["-all", *(f"+{name}" for name in names)])
    # The store belongs to root, as StateDirectory= creates it.
    with workload("burn", 300, 1) as process:
        store = tmp_path / "store"
        store.mkdir()
        daemon = subprocess.Popen(["setpriv", f"--bounding-set={bounding}", "--inh-caps=-all", "--no-new-privs",
                                   BPFFLAME, "daemon", "--window", "1", "--store", store, "--config", "/dev/null"],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            time.sleep(8)
            daemon.terminate()
            _, said = daemon.communicate(timeout=60)
        finally:
            daemon.kill()
        assert daemon.returncode == 0, said
        folded = folded_of(store, "-p", process.pid)
        assert {"burn_60", "burn_30", "burn_10"} <= folded.names(), (said, sorted(folded.names())[:50])


def test_the_unit_is_one(tmp_path):
    unit = PACKAGING / "systemd/bpfflame.service"
    text = unit.read_text()
    assert "Type=notify" in text and "WatchdogSec=" in text
    copy = tmp_path / unit.name
    copy.write_text(text.replace("/usr/local/bin/bpfflame", str(BPFFLAME)))
    try:
        result = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs systemd-analyze (systemd)")
    mine = [line for line in result.stderr.splitlines() if "bpfflame" in line]
    assert not mine, mine
