# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/fleet.md: what it has people write is what programs take. Prometheus is run; of the others, what
they would ask for is asked for."""
import contextlib
import json
import re
import signal
import socket
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path

import yaml

from harness import wait_until
from test_daemon import Daemon
from test_listen import TOKEN, Listening, need
from test_tls import Encrypted, make_identity

PAGE = Path(__file__).parents[2] / "docs/fleet.md"


def example(name):
    """The block that begins with a comment which names it."""
    found = re.findall(rf"^```\w*\n(?:#|//) {re.escape(name)}\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert len(found) == 1, name
    return found[0]


def replaced(text, **others):
    """Each must be there."""
    for old, new in others.items():
        assert old in text, (old, text)
        text = text.replace(old, str(new))
    return text


class Fleet(Encrypted):
    """A daemon whose options are those of the page."""

    def __init__(self, folder):
        self.certificate, self.key = make_identity(folder, "ours")
        self.token = folder / "token"
        self.token.write_text(TOKEN)
        self.token.chmod(0o600)
        config = replaced(example("/etc/bpfflame.conf"), **{
            "0.0.0.0:9997": "0.0.0.0:0", "/etc/bpfflame/token": self.token, "/etc/bpfflame/tls.crt": self.certificate,
            "/etc/bpfflame/tls.key": self.key})
        Daemon.__init__(self, folder, "--window", "500ms", config=config)

    def ask_bytes(self, path, method="GET", **headers):
        return super().ask_bytes(path, method, Authorization=f"Bearer {TOKEN}", **headers)


class Prometheus:
    """With the configuration of the page, but an interval of a second."""

    def __init__(self, folder, daemon):
        targets, rules, self.config = folder / "targets.yml", folder / "bpfflame.rules.yml", folder / "prometheus.yml"
        targets.write_text(json.dumps([{"targets": [f"localhost:{daemon.port}"]}]))
        rules.write_text(example("bpfflame.rules.yml"))
        self.config.write_text(replaced(example("prometheus.yml"), **{
            "scrape_interval: 30s": "scrape_interval: 1s, evaluation_interval: 1s", "/etc/prometheus/bpfflame.token": daemon.token,
            "/etc/prometheus/fleet-ca.pem": daemon.certificate, "/etc/prometheus/bpfflame/*.yml": targets}))
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.log = folder / "prometheus.log"
        self.words = [need("prometheus"), f"--config.file={self.config}", f"--storage.tsdb.path={folder / 'tsdb'}",
                      f"--web.listen-address={self.address}"]

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=self.log.open("w"))
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def ask(self, path):
        assert self.process.poll() is None, self.log.read_text()
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{self.address}/api/v1/{path}", timeout=20) as answer:
            return json.load(answer)["data"]
        return None

    def value(self, query):
        """Of the one series that there is; None: there is none yet."""
        found = (self.ask("query?" + urllib.parse.urlencode({"query": query})) or {}).get("result")
        assert not found or len(found) == 1, found
        return float(found[0]["value"][1]) if found else None


def test_prometheus(tmp_path):
    """Its checker takes the examples; over TLS and with the token it scrapes what the daemon has, without
    the series that are dropped, and can evaluate each rule."""
    with Fleet(tmp_path) as daemon, Prometheus(tmp_path, daemon) as prometheus:
        for kind, path in ("config", prometheus.config), ("rules", tmp_path / "bpfflame.rules.yml"):
            checked = subprocess.run([need("promtool"), "check", kind, path], capture_output=True, text=True, check=False)
            assert checked.returncode == 0 and "FAILED" not in checked.stdout + checked.stderr, checked
        written = 'bpfflame_windows_total{result="written"}'
        daemon.windows(2)
        before = daemon.metrics()["bpfflame_windows_total", (("result", "written"),)]
        wait_until(lambda: (prometheus.value(written) or 0) >= before, timeout=60)
        seen = prometheus.value(written)
        assert before <= seen <= daemon.metrics()["bpfflame_windows_total", (("result", "written"),)]
        assert prometheus.value("up") == 1
        kept = prometheus.value('count(bpfflame_cgroup_waiting_seconds_total{cgroup="other"})')
        assert kept == 5 and prometheus.value('bpfflame_cgroup_waiting_seconds_total{cgroup="other",class="idle"}') is None
        wait_until(lambda: prometheus.value("scrape_samples_scraped") == len(daemon.metrics()), timeout=60)
        rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
        assert len(rules) >= 5
        wait_until(lambda: all(rule["health"] == "ok" for group in prometheus.ask("rules")["groups"] for rule in group["rules"]),
                   timeout=60)
        daemon.stop()


def test_paths_that_others_ask_for(tmp_path):
    """Those of the examples for Parca and Alloy, with what each adds, are profiles; what they would ask for
    besides, unless it is switched off, is not there."""
    parca = yaml.safe_load(example("parca.yaml"))
    assert parca["object_storage"]["bucket"]["type"] == "FILESYSTEM"
    kinds = parca["scrape_configs"][0]["profiling_config"]["pprof_config"]
    off = {name for name, kind in kinds.items() if not kind["enabled"]}
    assert off == {"memory", "block", "goroutine", "mutex"}
    # A kind that is named has no delta unless it is written.
    on = {kind["path"] for kind in kinds.values() if kind["enabled"] and kind["delta"]}
    alloy = example("config.alloy")
    assert set(re.findall(r'profile\.(\w+) *{ enabled = false }', alloy)) == off
    assert set(re.findall(r'path *= "(/[^"]*)"', alloy)) | {"/debug/pprof/profile"} == on
    with Listening(tmp_path) as daemon:
        for path in on:
            status, headers, body = daemon.ask_bytes(path + "?seconds=1", Accept_Encoding="gzip")
            assert status == 200 and headers["Content-Type"] == "application/octet-stream" and body[:2] == b"\x1f\x8b"
        for path in "allocs", "block", "goroutine", "mutex":
            assert daemon.ask(f"/debug/pprof/{path}")[0] == 404
        daemon.stop()
