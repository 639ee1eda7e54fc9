# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles that are fetched from the daemon: of exactly the next seconds, for several at a time, and
equal to what the store has of that time."""
import contextlib
import datetime
import glob
import gzip
import json
import os
import select
import subprocess
import threading
from pathlib import Path

import pytest

import pprof_file
from harness import Folded, run, wait_until, workload
from store_reader import Segment
from test_daemon import children_of, folded_of
from test_listen import Listening, need


class Scraper(threading.Thread):
    """Fetches one profile."""

    def __init__(self, daemon, path):
        super().__init__()
        self.daemon_process, self.path = daemon, path
        self.start()

    def run(self):
        with self.daemon_process.connect(120) as client:
            client.sendall(f"GET {self.path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            answer = b""
            while more := client.recv(65536):
                answer += more
        self.head, _, self.body = answer.partition(b"\r\n\r\n")

    def profile(self):
        self.join()
        assert self.head.startswith(b"HTTP/1.1 200 ") and b"application/octet-stream" in self.head, self.head + self.body
        return Profile(self.body)


class Profile:
    def __init__(self, packed):
        profile = pprof_file.decode(gzip.decompress(packed))
        strings = profile["string_table"]
        self.types = [(strings[one["type"]], strings[one["unit"]]) for one in profile["sample_type"]]
        self.begin = profile["time_nanos"] / 1e9
        self.seconds = profile["duration_nanos"] / 1e9
        self.total = sum(sample["value"][1] for sample in profile["sample"]) / 1e9
        self.functions = {strings[function["name"]].decode() for function in profile["function"]}


def of_store(daemon, profile, state, *arguments):
    """Seconds that the store has of the same time."""
    begin, end = (datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
                  for seconds in (profile.begin + 0.2, profile.begin + profile.seconds - 0.2))
    result = run("query", "--store", daemon.store, "--idle", "--state", state, "--from", begin, "--to", end, "-o", "-",
                 *arguments)
    assert result.returncode == 0, result
    return Folded(result.stdout.encode()).total() / 1e6


def test_profiles(tmp_path):
    """Two scrapers whose times overlap, and one with a filter: windows of 4 s end where they ask, and
    nothing is counted twice or lost."""
    with workload("burn", 300, 1) as burn, workload("wait", tmp_path, 300) as process, \
            Listening(tmp_path, "--window", "4s", "--cpu-budget", "0") as daemon:
        mine = f"pid={process.pid}"
        first = Scraper(daemon, "/debug/pprof/profile?seconds=3")
        waits = Scraper(daemon, f"/debug/pprof/offcpu?seconds=3&{mine}")
        own = Scraper(daemon, f"/debug/pprof/profile?seconds=3&{mine}")
        second = Scraper(daemon, "/debug/pprof/profile?seconds=5&comm=burn")
        named = Scraper(daemon, "/debug/pprof/profile?seconds=3&seconds=9&function=burn_%5b0-9%5d%2b&cgroup=/")
        nobody = Scraper(daemon, "/debug/pprof/profile?seconds=3&unit=nobody.service&container=abc")
        profiles = [one.profile() for one in (first, waits, own, second, named, nobody)]
        burnt = Scraper(daemon, f"/debug/pprof/profile?seconds=2&pid={burn.pid}").profile()
        daemon.stop()
        listed = daemon.list()
        threads = len(os.listdir(f"/proc/{process.pid}/task"))
    first, waits, own, second, named, nobody = profiles
    assert first.types == own.types == [(b"samples", b"count"), (b"cpu", b"nanoseconds")]
    assert waits.types == [(b"samples", b"count"), (b"off_cpu", b"nanoseconds")]
    for profile, seconds in (first, 3), (waits, 3), (own, 3), (second, 5), (named, 3), (nobody, 3):
        assert profile.seconds == pytest.approx(seconds, abs=0.01)
    assert first.total == pytest.approx(of_store(daemon, first, "running"), abs=1e-3)
    assert second.total == pytest.approx(of_store(daemon, second, "running", "--comm", "burn"), abs=1e-3)
    assert own.total == pytest.approx(of_store(daemon, own, "running", "-p", process.pid), abs=1e-3)
    assert waits.total == pytest.approx(of_store(daemon, waits, "waiting", "-p", process.pid), abs=1e-3)
    assert named.total == pytest.approx(of_store(daemon, named, "running", "--function", "burn_[0-9]+", "-G", "/"), abs=1e-3)
    assert 0 < named.total < first.total and nobody.total == 0
    assert "burn_60" in burnt.functions
    # Back to back, also where one was cut.
    assert not [line["gap"] for line in listed if "gap" in line]
    lengths = [fields[1] / 1e9 for path in sorted(daemon.store.glob("4s-*")) for fields, _ in Segment(path).windows()]
    assert min(lengths[:-1]) < 3.5 and max(lengths) < 4.1 and sum(lengths) >= 5.9, lengths
    # All time of all threads is in the store, whoever had windows end early.
    assert folded_of(daemon.store, "-p", process.pid).total() / 1e6 == pytest.approx(threads * sum(lengths), rel=0.005)


def test_waiting_profiles_leave_room(tmp_path):
    """However many are waited for, the store answers; whoever goes away makes room for others."""
    with Listening(tmp_path) as daemon, contextlib.ExitStack() as held:
        daemon.windows(1)
        waits = [held.enter_context(daemon.connect()) for _ in range(64)]
        for client in waits:
            client.sendall(b"GET /debug/pprof/profile?seconds=300 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        # All have been read when so many are refused: nobody else has taken one of the places.
        wait_until(lambda: len(select.select(waits, [], [], 0)[0]) == 16)
        assert daemon.ask_bytes("/debug/pprof/profile?seconds=1")[::2] == (503, b"too many profiles are waited for\n")
        for path in "/api/list", "/healthz", "/metrics":
            assert daemon.ask(path)[0] == 200
        held.close()
        wait_until(lambda: daemon.ask_bytes("/debug/pprof/profile?seconds=1")[0] == 200)
        daemon.stop()


def test_go_reads_it(tmp_path):
    """`go tool pprof URL`."""
    found = sorted(glob.glob("/usr/lib/go-*/pkg/tool/*/pprof"))
    with workload("burn", 300, 1), Listening(tmp_path) as daemon:
        result = subprocess.run([need(found[-1] if found else "pprof"), "-top", "-seconds=2",
                                 f"http://{daemon.address}/debug/pprof/profile?comm=burn"], capture_output=True, text=True,
                                check=False, env={**os.environ, "PPROF_TMPDIR": str(tmp_path / "pprof")})
        daemon.stop()
    assert result.returncode == 0 and "burn_60" in result.stdout and "Type: cpu" in result.stdout, result


def test_wrong_parameters(tmp_path):
    with Listening(tmp_path) as daemon:
        for query in ("seconds=0", "seconds=301", "seconds=x", "seconds=-1", "seconds=1&store=/etc", "seconds=1&output=/tmp/x",
                      "seconds=1&comm=%00", "seconds=1&pid=x", "seconds=1&from=-1h"):
            status, headers, text = daemon.ask("/debug/pprof/profile?" + query)
            assert status == 400 and headers["X-Go-Pprof"] == "1" and text.count("\n") == 1, (query, status, text)
        for path in ("/api/profile?from=x", "/api/profile?format=exe", "/api/profile?output=/tmp/x", "/api/profile?mode=777",
                     "/api/series?by=x", "/api/series?step=0", "/api/list?from=-1h", "/api/list?format=svg",
                     "/api/profile?function=(", "/api/profile?from=-1h@/etc"):
            status, _, text = daemon.ask(path)
            assert 400 <= status <= 500 and text.count("\n") == 1, (path, status, text)
        assert daemon.ask("/healthz")[0] == 200
        daemon.stop()


def test_api(tmp_path):
    """What `query` gives, in each format."""
    with workload("burn", 300, 1), Listening(tmp_path) as daemon:
        daemon.windows(4)
        end = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        daemon.windows(2)
        asked = {}
        for path, *arguments in [
                (f"/api/profile?to={end}&format=folded&comm=burn", "--to", end, "-o", "-", "--comm", "burn"),
                (f"/api/profile?to={end}&comm=burn", "--to", end, "--json", "--comm", "burn"),
                (f"/api/series?to={end}&by=comm&step=1s", "--to", end, "--series", "--by", "comm", "--step", "1s", "--json"),
                (f"/api/series?to={end}&format=csv", "--to", end, "--series", "--csv")]:
            status, _, text = daemon.ask(path)
            expected = run("query", "--store", daemon.store, "-q", *arguments)
            assert status == 200 and expected.returncode == 0 and text, (path, status, text, expected)
            assert text == expected.stdout, path
            asked[path] = text
        kinds = {"svg": ("image/svg+xml", "<svg"), "html": ("text/html; charset=utf-8", "<!DOCTYPE html>"),
                 "speedscope": ("application/json", "speedscope"), "firefox": ("application/json", "{")}
        for kind, (mime, holds) in kinds.items():
            status, headers, text = daemon.ask(f"/api/profile?format={kind}&to={end}")
            assert (status, headers["Content-Type"]) == (200, mime) and holds in text, (kind, status, text[:200])
            assert "sandbox" in headers["Content-Security-Policy"]
        lines = [json.loads(line) for line in daemon.ask("/api/list")[2].splitlines()]
        assert any(line.get("level") == "500ms" for line in lines)
        daemon.stop()


def name_of(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def test_rights_of_who_reads_the_store(tmp_path):
    """While many ask, each process that reads the store is nobody, without capabilities; it ends."""
    with workload("burn", 300, 1), Listening(tmp_path) as daemon:
        daemon.windows(2)
        scrapers = [Scraper(daemon, "/api/profile?format=html&from=-1h") for _ in range(12)]
        seen = {}
        while any(one.is_alive() for one in scrapers):
            for path in Path("/proc").glob("[0-9]*/status"):
                try:
                    status = dict(line.split(":\t", 1) for line in path.read_text().splitlines() if ":\t" in line)
                except OSError:
                    continue
                if status.get("Name") == "bpfflame-query" and name_of(status["PPid"]) == "bpfflame-query":
                    seen[status["Pid"]] = status
        for one in scrapers:
            one.join()
            assert one.head.startswith(b"HTTP/1.1 200 "), one.head
        assert seen
        for status in seen.values():
            if status["CapPrm"] == "0" * 16: # it has given up its rights
                assert status["Uid"].split() == ["65534"] * 4 and status["NoNewPrivs"] == "1"
        assert any(status["CapPrm"] == "0" * 16 and status["Seccomp"] == "2" for status in seen.values())
        # They are taken up with what comes next.
        wait_until(lambda: daemon.metrics() and "bpfflame-query" not in children_of(daemon.pids()["server"]))
        daemon.stop()
