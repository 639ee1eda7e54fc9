# SPDX-License-Identifier: GPL-2.0-or-later
"""`bpfflame daemon --tls-cert --tls-key`: clients of other makes are answered over TLS, those that
break it off are in nobody's way, and the key is where it is needed alone."""
import contextlib
import copy
import glob
import gzip
import os
import re
import shutil
import signal
import ssl
import subprocess
import time
from pathlib import Path

import pytest

import pprof_file
from harness import run, wait_until, workload
from test_daemon import windows_of
from test_listen import TOKEN, Good, Listening, need, values_of

KINDS = {"rsa": ["rsa:2048"], "ec": ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]}


def make_identity(folder, name, kind="ec"):
    """NAME.cert and NAME.key."""
    certificate, key = folder / f"{name}.cert", folder / f"{name}.key"
    subprocess.run([need("openssl"), "req", "-x509", "-newkey", *KINDS[kind], "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    key.chmod(0o600)
    return certificate, key


class Encrypted(Listening):
    """A daemon with TLS, and clients that trust its certificate alone."""

    def __init__(self, folder, *options, kind="ec", **others):
        self.certificate, self.key = make_identity(folder, "ours", kind)
        super().__init__(folder, "--tls-cert", self.certificate, "--tls-key", self.key, *options, **others)

    def connect_plain(self, timeout=20):
        return super().connect(timeout)

    def connect(self, timeout=20, context=None):
        context = context or ssl.create_default_context(cafile=self.certificate)
        return context.wrap_socket(self.connect_plain(timeout), server_hostname="localhost")

    def peer(self):
        """The name in the certificate that it shows."""
        context = ssl.create_default_context(cafile=self.certificate)
        with self.connect(context=context) as client:
            return dict(pair for one in client.getpeercert()["subject"] for pair in one)["commonName"]


@pytest.mark.parametrize("kind", KINDS)
def test_curl(tmp_path, kind):
    """At an address that others reach: curl reads metrics and a profile, with the token and the right
    certificate alone."""
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    with Encrypted(tmp_path, "--token-file", token, address="0.0.0.0:0", kind=kind) as daemon:
        url = f"https://127.0.0.1:{daemon.port}"

        def curl(*arguments):
            return subprocess.run([need("curl"), "-sS", "--max-time", "60", *arguments], capture_output=True, check=False)

        authorized = "--cacert", daemon.certificate, "-H", f"Authorization: Bearer {TOKEN}"
        daemon.windows(1)
        metrics = curl(*authorized, f"{url}/metrics")
        assert metrics.returncode == 0, metrics
        assert values_of(metrics.stdout.decode())["bpfflame_windows_total", (("result", "written"),)] >= 1
        profile = curl(*authorized, f"{url}/debug/pprof/profile?seconds=1")
        assert profile.returncode == 0, profile
        profile = pprof_file.decode(gzip.decompress(profile.stdout))
        assert profile["duration_nanos"] / 1e9 == pytest.approx(1, abs=0.01) and profile["sample"]
        without = curl("--cacert", daemon.certificate, "-w", "%{http_code}", f"{url}/metrics")
        assert without.stdout.endswith(b"401") and b"bpfflame_" not in without.stdout, without
        stranger, _ = make_identity(tmp_path, "stranger")
        refused = curl("--cacert", stranger, f"{url}/metrics")
        assert refused.returncode == 60 and not refused.stdout, refused
        daemon.stop()


def test_versions_and_ciphers(tmp_path):
    """Old versions and weak ciphers are refused, and counted."""
    with Encrypted(tmp_path, kind="rsa") as daemon:

        def shake_hands(version, ciphers):
            context = ssl.create_default_context(cafile=daemon.certificate)
            context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
            with pytest.warns(DeprecationWarning) if version != ssl.TLSVersion.TLSv1_2 else contextlib.nullcontext():
                context.minimum_version = context.maximum_version = version
            with daemon.connect(context=context) as client:
                return client.version(), client.cipher()[0]

        assert shake_hands(ssl.TLSVersion.TLSv1_2, "ALL") == ("TLSv1.2", "ECDHE-RSA-AES128-GCM-SHA256")
        assert shake_hands(ssl.TLSVersion.TLSv1_2, "ECDHE-RSA-CHACHA20-POLY1305")[1] == "ECDHE-RSA-CHACHA20-POLY1305"
        for version in ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1:
            with pytest.raises(ssl.SSLError, match="(?i)alert protocol version"):
                shake_hands(version, "ALL")
        for ciphers in "AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA", "DHE-RSA-AES128-GCM-SHA256":
            with pytest.raises(ssl.SSLError, match="(?i)alert handshake failure"):
                shake_hands(ssl.TLSVersion.TLSv1_2, ciphers)
        assert daemon.metrics()["bpfflame_http_connections_closed_total", (("reason", "tls"),)] == 5
        daemon.stop()


def test_plain_http(tmp_path):
    """A client that does not know of TLS reads why it has no answer; no token comes over the wire for
    nothing, and no profile."""
    with Encrypted(tmp_path) as daemon, daemon.connect_plain() as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while more := client.recv(65536):
            answer += more
        assert answer.startswith(b"HTTP/1.1 400 ") and answer.endswith(b"\r\n\r\nTLS is wanted here: https://\n"), answer
        assert daemon.ask("/healthz")[0] == 200
        daemon.stop()


def test_names_and_protocols(tmp_path):
    """Whatever a client proposes to speak or calls the server in its handshake: HTTP/1.1 is answered, to
    those who ask for a name of this machine."""
    with Encrypted(tmp_path) as daemon:
        context = ssl.create_default_context(cafile=daemon.certificate)
        context.check_hostname = False
        context.set_alpn_protocols(["h2", "http/1.1"])
        for host, status in (b"localhost", b"200"), (b"evil.example", b"403"):
            with context.wrap_socket(daemon.connect_plain(), server_hostname="evil.example") as client:
                assert client.selected_alpn_protocol() is None
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
                assert client.recv(65536).startswith(b"HTTP/1.1 " + status)
        daemon.stop()


def test_go_reads_it(tmp_path):
    """`go tool pprof` trusts the certificate that SSL_CERT_FILE names, and no other; it sends the token as
    the password of the address."""
    found = sorted(glob.glob("/usr/lib/go-*/pkg/tool/*/pprof"))
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    with workload("burn", 300, 1), Encrypted(tmp_path, "--token-file", token) as daemon:

        def pprof(certificate, user):
            return subprocess.run([need(found[-1] if found else "pprof"), "-top", "-seconds=1",
                                   f"https://{user}@localhost:{daemon.port}/debug/pprof/profile?comm=burn"], capture_output=True,
                                  text=True, check=False, env={**os.environ, "PPROF_TMPDIR": str(tmp_path / "pprof"),
                                                               "SSL_CERT_FILE": str(certificate)})

        trusts = pprof(daemon.certificate, f"x:{TOKEN}")
        stranger = pprof(make_identity(tmp_path, "stranger")[0], f"x:{TOKEN}")
        wrong = pprof(daemon.certificate, f"{TOKEN}:x")
        daemon.stop()
    assert trusts.returncode == 0 and "burn_60" in trusts.stdout and "Type: cpu" in trusts.stdout, trusts
    assert stranger.returncode != 0 and "burn_60" not in stranger.stdout and "x509" in stranger.stderr, stranger
    assert wrong.returncode != 0 and "burn_60" not in wrong.stdout and "401" in wrong.stderr, wrong


@pytest.mark.parametrize("name", ["silence", "half a hello", "a hello", "garbage", "all of it", "a flood"])
def test_handshakes_that_stop(tmp_path, name):
    """600 of them are held, or 10 000 come that each have the server compute; others are answered, and no
    window is lost."""
    bio, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(bio, out, server_hostname="localhost").do_handshake()
    hello = out.read()
    data = {"silence": b"", "half a hello": hello[:len(hello) // 2], "a hello": hello,
            # With its lengths: of more than there is, the rest may still come.
            "garbage": hello[:9] + os.urandom(len(hello) - 9), "all of it": b"", "a flood": hello}[name]
    connect = Encrypted.connect if name == "all of it" else Encrypted.connect_plain
    with Encrypted(tmp_path) as daemon, contextlib.ExitStack() as held:
        daemon.windows(1)
        other = copy.copy(daemon)
        other.source = "127.0.0.2" # those of one address wait for each other
        server, good = daemon.server(), Good(other)
        good.start()
        try:
            clients = []
            for i in range(10000 if name == "a flood" else 600):
                clients.append(held.enter_context(connect(daemon)))
                with contextlib.suppress(ConnectionError):
                    clients[-1].sendall(data)
                if i >= 600:
                    clients[i - 600].close()
            time.sleep(1)
        finally:
            good.ends.set()
            good.join()
        print(f"{name}: {good.n} answers, the slowest took {good.longest:.3f} s")
        assert good.n and not good.wrong, (good.n, good.wrong)
        assert daemon.server() == server
        daemon.windows(1)
        values = daemon.metrics()
        for result in "unwritten", "unsent":
            assert values["bpfflame_windows_total", (("result", result),)] == 0
        closed = {dict(labels)["reason"]: value for (metric, labels), value in values.items()
                  if metric == "bpfflame_http_connections_closed_total"}
        if name == "a flood": # some leave before there is no room for them
            assert values["bpfflame_http_connections_total", ()] >= 10000
        else:
            assert closed["tls"] == 600 if name == "garbage" else closed["room"] + closed["time"] >= 300, closed
        daemon.stop()
        assert not [line["gap"] for line in daemon.list() if "gap" in line]
        assert windows_of(daemon.list(), "500ms") >= 2


@pytest.mark.parametrize("options, says", [
    (["--tls-cert", "CERT"], "--tls-cert and --tls-key need each other"),
    (["--tls-key", "KEY"], "--tls-cert and --tls-key need each other"),
    (["--tls-cert", "CERT", "--tls-key", "OTHER"], "is not that of the certificate in"),
    (["--tls-cert", "KEY", "--tls-key", "KEY"], "holds no certificate"),
    (["--tls-cert", "CERT", "--tls-key", "CERT"], "holds no key"),
    (["--tls-cert", "CERT", "--tls-key", "OPEN"], "others than its owner can read or change"),
    (["--tls-cert", "CERT", "--tls-key", "/no/such"], "cannot read /no/such"),
    (["--tls-cert", "CERT", "--tls-key", "LOCKED"], "is encrypted"),
    (["--tls-cert", "CERT", "--tls-key", "KEY", "--listen", "0.0.0.0:0"], "wants --token-file"),
])
def test_refused_at_its_start(tmp_path, options, says):
    certificate, key = make_identity(tmp_path, "ours")
    files = {"CERT": certificate, "KEY": key, "OTHER": make_identity(tmp_path, "other")[1], "OPEN": tmp_path / "open",
             "LOCKED": tmp_path / "locked"}
    certificate.chmod(0o600)
    shutil.copy(key, files["OPEN"])
    files["OPEN"].chmod(0o640)
    subprocess.run([need("openssl"), "pkey", "-in", key, "-aes128", "-passout", "pass:x", "-out", files["LOCKED"]], check=True)
    result = run("daemon", "--config", "/dev/null", "--store", tmp_path / "store", "--listen", "127.0.0.1:0",
                 *(files.get(option, option) for option in options))
    assert result.returncode in (1, 2) and says in result.stderr and result.stderr.count("\n") == 1, result
    assert not (tmp_path / "store").exists()


def test_sighup(tmp_path):
    """Certificates are read again; where the new ones are wrong, the old ones stay."""
    with Encrypted(tmp_path) as daemon:
        assert daemon.peer() == "ours"
        for one, other in zip(make_identity(tmp_path, "newer"), (daemon.certificate, daemon.key)):
            one.replace(other)
        daemon.process.send_signal(signal.SIGHUP)
        assert daemon.hears("READY=1")
        assert daemon.peer() == "newer"
        trusted = daemon.certificate.read_text()
        make_identity(tmp_path, "wrong")[1].replace(daemon.key)
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the settings stay as they are" in daemon.log.read_text())
        assert daemon.certificate.read_text() == trusted and daemon.peer() == "newer"
        daemon.stop()


def is_in_memory(pid, secret):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            begin, end, rights = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            if not rights.startswith("rw"):
                continue
            with contextlib.suppress(OSError):
                memory.seek(int(begin, 16))
                if secret in memory.read(int(end, 16) - int(begin, 16)):
                    return True
    return False


def test_key(tmp_path):
    """Who records, who writes and who reads the store have nothing of it in memory; who talks to clients
    has no file of it."""
    with Encrypted(tmp_path) as daemon:
        text = subprocess.run([need("openssl"), "pkey", "-in", daemon.key, "-noout", "-text"], capture_output=True,
                              text=True, check=True).stdout
        number = bytes.fromhex(re.sub(r"[\s:]", "", re.search(r"priv:([\s0-9a-f:]*)pub:", text)[1]))
        secret = number[-32:][::-1]  # as it lies in memory
        base64 = daemon.key.read_text().splitlines()[1].encode()
        assert daemon.ask("/metrics")[0] == 200
        pids, server = daemon.pids(), daemon.server()
        # Those that must have it show that the search finds it.
        assert is_in_memory(server, secret)
        for name in "recorder", "writer":
            assert not is_in_memory(pids[name], secret), name
        for pid in (*pids.values(), server):
            assert not is_in_memory(pid, base64), pid
        links = [os.readlink(f"/proc/{server}/fd/{fd}") for fd in os.listdir(f"/proc/{server}/fd") if int(fd) > 2]
        assert links and all(re.match(r"socket:|anon_inode:\[eventpoll\]", link) for link in links), links
        daemon.stop()
