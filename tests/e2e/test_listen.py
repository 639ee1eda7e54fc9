# SPDX-License-Identifier: GPL-2.0-or-later
"""`bpfflame daemon --listen`: what it answers is what the store has, and whoever asks wrongly gets
nothing and keeps nobody else from an answer."""
import collections
import contextlib
import gzip
import http.client
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from harness import run, wait_until, workload
from store_reader import Segment
from test_daemon import Daemon, children_of, status_of, windows_of

TOKEN = "a-token-of-some-length"


class Listening(Daemon):
    """A daemon that listens at a port of its own. @source: the address from which it is asked."""

    source = "127.0.0.1"

    def __init__(self, folder, *options, address="127.0.0.1:0", **others):
        super().__init__(folder, "--listen", address, "--window", "500ms", *options, **others)

    def __enter__(self):
        super().__enter__()
        self.find_port()
        return self

    def find_port(self):
        wait_until(lambda: "listening at " in self.log.read_text())
        self.address = re.findall(r"listening at (\S+)", self.log.read_text())[-1]
        self.port = int(self.address.rpartition(":")[2]) if ":/" not in self.address else None

    def connect(self, timeout=20):
        if self.port:
            return socket.create_connection(("127.0.0.1", self.port), timeout, (self.source, 0))
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(timeout)
        client.connect(self.address.removeprefix("unix:"))
        return client

    def ask(self, path, method="GET", **headers):
        """Status, headers and body."""
        status, found, body = self.ask_bytes(path, method, **headers)
        return status, found, body.decode()

    def ask_bytes(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection("localhost")
        connection.sock = self.connect()
        with contextlib.closing(connection):
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def say(self, data):
        """What a client that sends exactly these bytes gets, to the end."""
        with self.connect() as client:
            answer = b""
            with contextlib.suppress(ConnectionError):
                client.sendall(data)
            with contextlib.suppress(ConnectionError):
                while more := client.recv(65536):
                    answer += more
            return answer

    def metrics(self):
        status, _, text = self.ask("/metrics")
        assert status == 200
        return values_of(text)

    def server(self):
        """The process that talks to clients."""
        return children_of(self.pids()["server"])["bpfflame-serve"]


def values_of(text):
    """{(name, ((label, value), …)): value}"""
    values = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = re.fullmatch(r'([a-z0-9_]+)(?:\{(.*)\})? ([0-9.e+-]+)', line).groups()
        key = name, tuple(re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', labels or ""))
        assert key not in values, line
        values[key] = float(value)
    return values


def need(program):
    found = shutil.which(program)
    assert found, f"needs {program}: tools/check installs it"
    return found


def test_metrics(tmp_path):
    """promtool finds no fault in it; CPU and waiting time of the cgroups is that of the store, to the
    microsecond."""
    with workload("burn", 300, 1), Listening(tmp_path) as daemon:
        daemon.windows(4)
        status, headers, text = daemon.ask("/metrics")
        assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
        checked = subprocess.run([need("promtool"), "check", "metrics"], input=text, text=True, capture_output=True,
                                 check=False)
        assert checked.returncode == 0 and not checked.stdout + checked.stderr, checked
        values = values_of(text)
        status, headers, packed = daemon.ask_bytes("/metrics", Accept_Encoding="gzip")
        assert status == 200 and headers["Content-Encoding"] == "gzip" and len(packed) == int(headers["Content-Length"])
        assert values_of(gzip.decompress(packed).decode()).keys() == values.keys() and len(packed) < len(text) / 3
        daemon.stop()
    written = int(values["bpfflame_windows_total", (("result", "written"),)])
    assert written >= 4
    assert values["bpfflame_windows_total", (("result", "unwritten"),)] == 0
    assert values["bpfflame_windows_total", (("result", "unsent"),)] == 0
    # burn has the same few functions in each window.
    assert values["bpfflame_names_total", (("result", "hit"),)] > 0 < values["bpfflame_names_total", (("result", "missed"),)]
    segments = [Segment(path) for path in sorted(daemon.store.glob("500ms-*"))]
    windows = [(rows, segment) for segment in segments for _, rows in segment.windows()][:written]
    expected = collections.Counter()
    for rows, segment in windows:
        for process, _, cause, idle, _, _, time_us in rows:
            cgroup = segment.strings[segment.processes[process][4]]
            expected[cgroup, "cpu" if cause == 1 else "idle" if idle else "waiting"] += time_us
    found = collections.Counter()
    for (name, labels), value in values.items():
        labels = dict(labels)
        if name == "bpfflame_cgroup_cpu_seconds_total":
            found[labels["cgroup"], "cpu"] += round(value * 1e6)
        elif name == "bpfflame_cgroup_waiting_seconds_total":
            found[labels["cgroup"], "idle" if labels["class"] == "idle" else "waiting"] += round(value * 1e6)
    assert +found == +expected
    assert sum(value for (_, kind), value in found.items() if kind == "cpu") > 1e6
    assert ("bpfflame_cpu_seconds_total", (("process", "broker"),)) in values
    for process in "record", "write", "serve", "daemon":
        assert values["bpfflame_cpu_seconds_total", (("process", process),)] > 0, process
        assert values["bpfflame_starts_total", (("process", process),)] == 1 if process != "daemon" else True
    sizes = {path.name: path.stat().st_size for path in daemon.store.glob("500ms-*")}
    assert 0 < values["bpfflame_store_bytes", (("level", "window"),)] <= sum(sizes.values())


def test_counters_never_go_back(tmp_path):
    """Whichever process dies."""
    with Listening(tmp_path) as daemon:
        daemon.windows(2)
        before = daemon.metrics()
        for role in "writer", "recorder", "server":
            pids = daemon.pids()
            os.kill(pids[role], signal.SIGKILL)
            wait_until(lambda role=role, pids=pids: daemon.pids().get(role) not in (None, pids[role]), timeout=20)
            daemon.windows(2)
            after = daemon.metrics()
            for key, value in before.items():
                if key[0].endswith("_total"):
                    assert after[key] >= value, (role, key)
            before = after
        for role in "record", "write", "serve":
            assert before["bpfflame_starts_total", (("process", role),)] == 2
        assert before["bpfflame_windows_total", (("result", "written"),)] >= 8
        daemon.stop()


def test_health(tmp_path):
    with Listening(tmp_path) as daemon:
        daemon.windows(1)
        assert daemon.ask("/healthz")[::2] == (200, "ok\n")
        recorder = daemon.pids()["recorder"]
        os.kill(recorder, signal.SIGSTOP)
        try:
            wait_until(lambda: daemon.ask("/healthz")[0] == 503, timeout=20)
            status, _, text = daemon.ask("/healthz")
            assert status == 503
            assert re.fullmatch(r"no window was written for \d+ s: nothing is recorded or written\n", text), text
        finally:
            os.kill(recorder, signal.SIGCONT)
        wait_until(lambda: daemon.ask("/healthz")[0] == 200, timeout=20)
        daemon.stop()


def test_rights(tmp_path):
    """Whoever talks to clients is nobody, has no capability, one list of calls that are allowed, and
    descriptors of sockets alone. That each other call fails shows test_sandbox.py."""
    with Listening(tmp_path) as daemon:
        assert daemon.ask("/healthz")[0] == 200
        server, keeper = daemon.server(), daemon.pids()["server"]
        status = status_of(server)
        for kind in "CapInh", "CapPrm", "CapEff", "CapAmb":
            assert int(status[kind], 16) == 0, kind
        assert status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2"
        assert set(status["Uid"].split()) == set(status["Gid"].split()) == {"65534"}
        links = [os.readlink(f"/proc/{server}/fd/{fd}") for fd in os.listdir(f"/proc/{server}/fd") if int(fd) > 2]
        assert links and all(re.match(r"socket:|anon_inode:\[eventpoll\]", link) for link in links), links
        # The board can be read only.
        boards = [line for line in Path(f"/proc/{server}/maps").read_text().splitlines() if "memfd:board" in line]
        assert len(boards) == 1 and boards[0].split()[1] == "r--s", boards
        kept = int(status_of(keeper)["CapEff"], 16)
        assert kept & ~(1 << 5 | 1 << 6 | 1 << 7) == 0 # CAP_KILL, CAP_SETGID, CAP_SETUID
        assert status_of(keeper)["Seccomp"].strip() == "2"
        os.kill(server, signal.SIGKILL)
        wait_until(lambda: daemon.pids().get("server") not in (None, keeper), timeout=20)
        wait_until(lambda: children_of(daemon.pids()["server"]))
        assert daemon.ask("/healthz")[0] == 200
        daemon.stop()


def test_at_a_file(tmp_path):
    """A socket in the file system, of root alone; with a token, only who has that is answered."""
    path, token = tmp_path / "socket", tmp_path / "token"
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    with Listening(tmp_path, "--token-file", token, address=f"unix:{path}") as daemon:
        assert path.stat().st_mode & 0o777 == 0o600
        status, headers, text = daemon.ask("/metrics")
        assert (status, headers["WWW-Authenticate"]) == (401, 'Bearer realm="bpfflame"') and "bpfflame_" not in text
        assert daemon.ask("/metrics", Authorization="Bearer " + TOKEN[:-1] + "x")[0] == 401
        assert daemon.ask("/healthz")[0] == 401
        assert daemon.ask("/metrics", Authorization="Bearer " + TOKEN)[0] == 200
        daemon.stop()
    assert not path.exists()


@pytest.mark.parametrize("options, says", [
    (["--listen", "0.0.0.0:0"], "wants --token-file, and --tls-cert or --behind-proxy"),
    (["--listen", "[::]:9997", "--behind-proxy"], "wants --token-file ("),
    (["--listen", "0.0.0.0:0", "--token-file", "TOKEN"], "wants --tls-cert and --tls-key, or --behind-proxy"),
    (["--listen", "127.0.0.1"], "no address"),
    (["--token-file", "TOKEN"], "of --listen"),
])
def test_refused_at_its_start(tmp_path, options, says):
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    result = run("daemon", "--config", "/dev/null", "--store", tmp_path / "store",
                 *(token if option == "TOKEN" else option for option in options))
    assert result.returncode == 2 and says in result.stderr and result.stderr.count("\n") == 1, result
    assert not (tmp_path / "store").exists()


def test_sighup(tmp_path):
    """The same address keeps its socket; another one counts from then on; one that is in use changes
    nothing."""
    with Listening(tmp_path, config="freq 19\n") as daemon:
        daemon.config.write_text("freq 49\n")
        daemon.process.send_signal(signal.SIGHUP)
        assert daemon.hears("READY=1")
        assert daemon.ask("/healthz")[0] == 200
        daemon.stop()
    first, second = tmp_path / "a", tmp_path / "b"
    with Daemon(tmp_path, config=f"listen unix:{first}") as daemon:
        assert first.exists()
        daemon.config.write_text(f"listen unix:{second}")
        daemon.process.send_signal(signal.SIGHUP)
        assert daemon.hears("READY=1")
        assert second.exists() and not first.exists()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            daemon.config.write_text(f"listen 127.0.0.1:{taken.getsockname()[1]}")
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "the settings stay as they are" in daemon.log.read_text())
        assert second.exists()
        daemon.stop()
    assert not second.exists()


# --- attacks ----------------------------------------------------------------------------------

HOST = b"Host: localhost\r\n"
SECRET = b"bpfflame_"

WRONG = {
    "another host": b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "rebinding": b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.evil.example:9997\r\n\r\n",
    "no host": b"GET /metrics HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /metrics HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
    "cross-site POST": b"POST /metrics HTTP/1.1\r\n" + HOST + b"Origin: http://evil.example\r\nContent-Length: 3\r\n\r\na=b",
    "cross-site GET": b"GET /metrics HTTP/1.1\r\n" + HOST + b"Sec-Fetch-Site: cross-site\r\n\r\n",
    "POST": b"POST /metrics HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n\r\n",
    "PUT": b"PUT /metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "TRACE": b"TRACE /metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "traversal": b"GET /../../etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n",
    "coded traversal": b"GET /metrics/%2e%2e%2f..%5c..%00/etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n",
    "a double slash": b"GET //metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "absolute": b"GET http://localhost/metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "CONNECT": b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n",
    "pipelining": b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\nGET /metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "smuggling": b"GET /healthz HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                 b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "a body": b"GET /metrics HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\nabc",
    "a folded header": b"GET /metrics HTTP/1.1\r\n" + HOST + b"X: a\r\n b\r\n\r\n",
    "a space before the colon": b"GET /metrics HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "HTTP/0.9": b"GET /metrics\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(190),
    "many headers": b"GET /metrics HTTP/1.1\r\n" + HOST + b"".join(b"X%d: y\r\n" % i for i in range(5000)) + b"\r\n",
    "a long header": b"GET /metrics HTTP/1.1\r\n" + HOST + b"X: " + b"a" * (1 << 20) + b"\r\n\r\n",
    "a long target": b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a long body": b"POST /metrics HTTP/1.1\r\n" + HOST + b"Content-Length: 8388608\r\n\r\n" + bytes(8 << 20),
    "nothing": b"",
    "zeros": bytes(100),
}


def test_wrong_requests(tmp_path):
    """None of them gets anything that is ours; the process that reads them lives on."""
    with Listening(tmp_path) as daemon:
        assert SECRET in daemon.say(b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n")
        server = daemon.server()
        for name, request in WRONG.items():
            if not request:
                daemon.connect().close()
                continue
            answer = daemon.say(request)
            # A request longer than is read may end in a reset instead of an answer.
            assert re.match(rb"HTTP/1\.1 (400|403|404|405|414|431|501|505) ", answer) or (not answer and "long" in name), (
                name, answer[:200])
            assert SECRET not in answer and b"root:" not in answer and answer.count(b"HTTP/1.1") <= 1, name
        assert daemon.server() == server
        daemon.stop()


class Good(threading.Thread):
    """A client that asks for the page again and again, and what took longest."""

    def __init__(self, daemon):
        super().__init__()
        self.daemon_process, self.n, self.longest, self.wrong, self.ends = daemon, 0, 0, [], threading.Event()

    def run(self):
        while not self.ends.wait(0.2):
            begin = time.monotonic()
            try:
                status = self.daemon_process.ask("/")[0]
            except (OSError, http.client.HTTPException) as error:
                status = error
            self.longest = max(self.longest, time.monotonic() - begin)
            self.n += 1
            if status != 200:
                self.wrong.append(status)


def hold(daemon, n, seconds, data=b"", trickle=b""):
    """Opens n connections, holds them for so long, and sends a byte of @trickle on each now and then."""
    clients = []
    try:
        for _ in range(n):
            with contextlib.suppress(OSError):
                clients.append(daemon.connect(1))
                clients[-1].sendall(data)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            for client in clients if trickle else []:
                with contextlib.suppress(OSError):
                    client.send(trickle)
            time.sleep(min(left, 0.3))
    finally:
        for client in clients:
            client.close()


def flood(daemon, seconds, head):
    """Sends without end, on one connection after the other."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError), daemon.connect(1) as client:
            client.sendall(head)
            while time.monotonic() < end:
                client.sendall(b"a" * 65536)


ATTACKS = {
    "slow requests": lambda daemon: hold(daemon, 600, 3, b"GET /metrics HTTP/1.1\r\nX: ", b"a"),
    "10 000 connections": lambda daemon: hold(daemon, 10000, 1),
    "headers without end": lambda daemon: flood(daemon, 2, b"GET / HTTP/1.1\r\nX: "),
    "a body without end": lambda daemon: flood(daemon, 2, b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 9999999999\r\n\r\n"),
    "answers that nobody takes": lambda daemon: hold(daemon, 600, 2, b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n"),
}
PATIENCE = 5  # s: less than the server waits for any attacker to ask


@contextlib.contextmanager
def many_files():
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (20000, max(limits[1], 20000)))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@contextlib.contextmanager
def others_are_answered(daemon, name):
    server, good = daemon.server(), Good(daemon)
    good.start()
    try:
        yield
    finally:
        good.ends.set()
        good.join()
    print(f"{name}: {good.n} answers, the slowest took {good.longest:.3f} s")
    assert good.n and not good.wrong and good.longest < PATIENCE, (good.n, good.wrong, good.longest)
    assert daemon.server() == server


def end_without_loss(daemon):
    daemon.windows(1)
    values = daemon.metrics()
    for result in "unwritten", "unsent":
        assert values["bpfflame_windows_total", (("result", result),)] == 0
    daemon.stop()
    assert not [line["gap"] for line in daemon.list() if "gap" in line]
    assert windows_of(daemon.list(), "500ms") >= 2


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks(tmp_path, name):
    """Another client is answered meanwhile, and no window is lost."""
    with many_files(), Listening(tmp_path) as daemon:
        daemon.windows(1)
        with others_are_answered(daemon, name):
            ATTACKS[name](daemon)
        end_without_loss(daemon)


SLOW = {
    "headers": ["-H", "-x", "24", "-u", "/metrics"],
    "bodies": ["-B", "-s", "8192", "-x", "10", "-u", "/metrics"],
    "readers": ["-X", "-w", "1", "-y", "2", "-n", "1", "-z", "1", "-u", "/api/profile?format=html"],
}


def test_slowhttptest(tmp_path):
    """The same against a program that others wrote to bring servers down: up to 10 000 connections."""
    with many_files(), Listening(tmp_path) as daemon:
        daemon.windows(1)
        for name, (*words, path) in SLOW.items():
            before = daemon.metrics()["bpfflame_http_connections_total", ()]
            with others_are_answered(daemon, name):
                result = subprocess.run([need("slowhttptest"), "-c", "10000", "-r", "10000", "-l", "1", "-i", "1", "-p", "5", *words,
                                         f"http://127.0.0.1:{daemon.port}{path}"], stdin=subprocess.DEVNULL,
                                        capture_output=True, text=True, check=False)
            assert result.returncode == 0, result
            # More than there is room for.
            connections = daemon.metrics()["bpfflame_http_connections_total", ()] - before
            print(f"{name}: {connections:.0f} connections")
            assert connections > 256
        end_without_loss(daemon)
