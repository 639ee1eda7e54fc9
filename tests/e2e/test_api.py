# SPDX-License-Identifier: GPL-2.0-or-later
"""`/api/…` of `bpfflame daemon --listen` on a store with known contents: what it answers is what
`query` gives."""
import contextlib
import datetime
import gzip
import json
import os
import re
import signal
import subprocess
import time
import urllib.parse
from pathlib import Path

import pytest

from harness import Folded, run, wait_until
from test_daemon import children_of
from test_listen import Listening

SAMPLE = Path(__file__).parents[2] / "build/sample_store"


def at(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Served:
    """A daemon beside what an invented machine recorded up to @end, seconds since 1970."""

    def __init__(self, daemon, end):
        self.daemon, self.end = daemon, end

    def ask(self, path, **parameters):
        """Status, headers and body. `diff_from` is `diff-from`."""
        pairs = {name.replace("_", "-"): value for name, value in parameters.items()}
        return self.daemon.ask(f"/api/{path}?{urllib.parse.urlencode(pairs)}")

    def query(self, *arguments):
        result = run("query", "--store", self.daemon.store, "-q", *arguments)
        assert result.returncode == 0, result
        return result.stdout


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    end = (int(time.time()) - 600) // 3600 * 3600
    subprocess.run([SAMPLE, folder / "store", str(end), "97200"], check=True, capture_output=True)
    with Listening(folder, "--window", "10s") as daemon:
        yield Served(daemon, end)
        daemon.stop()


def queries_of(daemon):
    """Processes that compute answers."""
    found = children_of(daemon.pids()["server"])
    return [pid for name, one in found.items() if name == "bpfflame-query" for pid in children_of(one).values()]


def stop_queries(daemon):
    """Whether one was caught in the second after it was asked for."""
    end = time.monotonic() + 1
    while time.monotonic() < end:
        for pid in queries_of(daemon):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                return pid in queries_of(daemon)
    return False


def test_client_that_leaves(served):
    """The work for it ends at once, however long it would take."""
    daemon, is_stopped = served.daemon, False
    for _ in range(10):
        with daemon.connect() as client:
            client.sendall(f"GET /api/profile?from={at(served.end - 97200)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            is_stopped = stop_queries(daemon)
        if is_stopped:
            break
    assert is_stopped
    wait_until(lambda: not queries_of(daemon))


def ranges_of(end):
    """The last hour, compared with the one before."""
    moments = {"from": at(end - 3600), "to": at(end), "diff-from": at(end - 7200)}
    return moments, [word for name, value in moments.items() for word in ("--" + name, value)]


@pytest.mark.parametrize("kind, mime", [
    ("json", "application/json"), ("svg", "image/svg+xml"), ("html", "text/html; charset=utf-8"),
    ("text", "text/plain; charset=utf-8"), ("markdown", "text/markdown; charset=utf-8")])
def test_diff(served, kind, mime):
    moments, words = ranges_of(served.end)
    for filters in {}, {"comm": "sample-3"}, {"function": "function_7$", "idle": ""}:
        status, headers, text = served.ask("diff", format=kind, **moments, **filters)
        expected = served.query(*words, "-f", kind, "-o", "-", *(
            f"--{name}={value}" if value else f"--{name}" for name, value in filters.items()))
        assert (status, headers["Content-Type"]) == (200, mime), text
        assert text == expected and text
    if kind == "json":
        answer = json.loads(served.ask("diff", **moments)[2])
        assert answer["scale"] == "per-second" and answer["confidence_percent"] == 99
        assert answer["counts"]["grew"] == answer["counts"]["shrank"] == 0
        assert all("deviations" in row["total"] for row in answer["functions"])


def test_worse(served):
    """Against the only day before that was recorded; there may be none."""
    words = ["--from", at(served.end - 3600), "--to", at(served.end)]
    hour = {"from": at(served.end - 3600), "to": at(served.end)}
    for filters in {}, {"limit": "5"}, {"idle": ""}:
        status, headers, text = served.ask("worse", **hour, **filters)
        assert (status, headers["Content-Type"]) == (200, "application/json"), text
        assert text == served.query(*words, "--worse", "--json", *(
            f"--{name}={value}" if value else f"--{name}" for name, value in filters.items()))
        answer = json.loads(text)
        assert answer["scale"] == "per-second" and at(served.end - 90000) in answer["base"]["file"]
        assert len(answer["self"]) == 5 if "limit" in filters else len(answer["self"]) > 5
        differences = [row["difference"] for row in answer["self"]]
        assert differences == sorted(differences, reverse=True) and differences[-1] > 0
        # In that store stacks are replaced by others, of functions with other names.
        before, after = (Folded(served.query("--idle", "-o", "-", "--from", at(end - 3600), "--to", at(end)).encode()).names()
                         for end in (served.end - 86400, served.end))
        for row in answer["self"]:
            name = row["name"] + ("_[k]" if row["kernel"] else "")
            assert row["change"] == "new" and row["base"] == 0 and name in after and name not in before, row
    status, _, text = served.ask("worse", **{"from": at(served.end - 90000)}, to=at(served.end - 86400))
    assert (status, text) == (404, "nothing was recorded at that time of the seven days before\n")


@pytest.mark.parametrize("name, function", [("a function", "function_7$"), ("a command", "^sample-3$"), ("a cause", "futex")])
def test_function_over_time(served, name, function):
    """It adds up to the stacks that have it, of each level that is read."""
    for step, begin in ("10s", served.end - 3600), ("1h", served.end - 14400):
        words = ["--from", at(begin), "--to", at(served.end), "--function", function]
        status, _, text = served.ask("series", **{"from": at(begin)}, to=at(served.end), function=function, step=step)
        assert status == 200 and text == served.query(*words, "--series", "--step", step, "--json")
        rows = [json.loads(line) for line in text.splitlines()]
        assert 0 < len(rows) <= 360 and {row["group"] for row in rows} == {"all"}, name
        expected = Folded(served.query(*words, "--idle", "-o", "-").encode()).total() / 1e6
        assert sum(row["running_seconds"] + row["waiting_seconds"] for row in rows) == pytest.approx(expected, abs=1e-3)


def test_functions(served):
    """By their names; what they weigh is what the stacks say."""
    hour = {"from": at(served.end - 3600), "to": at(served.end)}
    words = ["--from", hour["from"], "--to", hour["to"]]
    status, headers, text = served.ask("functions", **hour, q="_7$|sample-[0-3]")
    assert (status, headers["Content-Type"]) == (200, "application/json"), text
    assert text == served.query(*words, "--search", "_7$|sample-[0-3]", "--json")
    answer = json.loads(text)
    stacks = Folded(served.query(*words, "-o", "-").encode())
    names = {name.removesuffix("_[k]") for name in stacks.names() if name.startswith("module_")}
    assert {row["name"] for row in answer["functions"]} == {name for name in names if name.endswith("_7")}
    everything = json.loads(served.ask("functions", **hour, q="_7$", idle="")[2])
    for row in everything["functions"][:5]:
        expected = stacks.total(lambda frames, row=row: row["name"] in [name.removesuffix("_[k]") for name in frames])
        assert row["total_seconds"] == pytest.approx(expected / 1e6, abs=1e-3)
    assert {row["comm"] for row in answer["processes"]} == {f"sample-{i}" for i in range(4)}
    assert len({row["pid"] for row in answer["processes"]}) == len(answer["processes"]) == 12
    everybody = json.loads(served.ask("functions", **hour, idle="")[2])
    assert everybody["functions_left_out"] == everybody["processes_left_out"] == 0
    assert sum(row["total_seconds"] for row in everybody["processes"]) == pytest.approx(everybody["total_seconds"], abs=1e-3)
    assert everybody["total_seconds"] == pytest.approx(Folded(served.query(*words, "--idle", "-o", "-").encode()).total() / 1e6)
    limited = json.loads(served.ask("functions", **hour, idle="", limit=3)[2])
    assert limited["functions"] == everybody["functions"][:3] and limited["processes"] == everybody["processes"][:3]
    assert limited["functions_left_out"] == len(everybody["functions"]) - 3


def test_empty_steps_are_no_gaps(served):
    """Each cell of a heat map: there, empty, or not recorded."""
    begin, day = served.end - 97200 - 1800, served.end - 86400
    for moment, seconds, step, n in (served.end, 3600, "10s", 360), (day, 86400 // 4, "10m", 18):
        answers = [[json.loads(line) for line in served.ask("series", **{"from": at(moment - seconds)}, to=at(moment), step=step,
                                                            comm="sample-3", function="function_7$", **more)[2].splitlines()]
                   for more in ({}, {"empty": ""})]
        filled = [row for row in answers[1] if row["running_seconds"] or row["waiting_seconds"]]
        assert answers[0] == filled
        # The second range begins before what was recorded.
        starts = [row["start"] for row in answers[1]]
        assert len(starts) == len(set(starts)) == n and starts == sorted(starts)
    rows = [json.loads(line) for line in served.ask("series", **{"from": at(begin)}, to=at(begin + 3600), step="10m", comm="nobody",
                                                    empty="")[2].splitlines()]
    assert [row["start"] for row in rows] == [at(begin + 1800 + 600 * i) for i in range(3)]
    assert {row["group"] for row in rows} == {"all"}


@pytest.mark.parametrize("path", ["profile", "profile?format=svg", "profile?format=html", "diff", "series?by=function", "list"])
def test_packed(served, path):
    """For those who take it: the same, in fewer bytes."""
    path, _, query = path.partition("?")
    parameters = dict(urllib.parse.parse_qsl(query))
    if path != "list":
        moments, _ = ranges_of(served.end)
        parameters |= moments if path == "diff" else {"from": moments["from"], "to": moments["to"]}
    target = f"/api/{path}?{urllib.parse.urlencode(parameters)}"
    status, plain_headers, plain = served.daemon.ask_bytes(target, Accept_Encoding="br, gzip;q=0")
    assert status == 200 and "Content-Encoding" not in plain_headers
    status, headers, packed = served.daemon.ask_bytes(target, Accept_Encoding="gzip, deflate, br")
    assert status == 200 and headers["Content-Encoding"] == "gzip" and int(headers["Content-Length"]) == len(packed)
    assert headers["Content-Type"] == plain_headers["Content-Type"]
    if path == "list": # grows meanwhile
        assert gzip.decompress(packed).startswith(plain[:100])
    else:
        assert gzip.decompress(packed) == plain and len(packed) < len(plain) / (1.2 if "html" in query else 4)


def test_never_packed_twice(served):
    """pprof files are packed as they are; errors are plain."""
    moments, _ = ranges_of(served.end)
    hour = urllib.parse.urlencode({"from": moments["from"], "to": moments["to"], "format": "pprof"})
    status, headers, body = served.daemon.ask_bytes("/api/profile?" + hour, Accept_Encoding="gzip")
    assert status == 200 and "Content-Encoding" not in headers and gzip.decompress(body)[:2] != b"\x1f\x8b"
    status, headers, body = served.daemon.ask_bytes("/api/diff", Accept_Encoding="gzip")
    assert status == 400 and "Content-Encoding" not in headers and b"diff-from" in body


def test_ranges_that_add_up(served):
    """`also`: the sum of several ranges."""
    hours = [(at(served.end - (i + 1) * 3600), at(served.end - i * 3600)) for i in range(4)]
    words = [word for hour in hours[1:3] for word in ("--also", "..".join(hour))]
    together = served.query("--from", hours[0][0], "--to", hours[0][1], *words, "-o", "-")
    alone = [Folded(served.query("--from", begin, "--to", end, "-o", "-").encode()).total() for begin, end in hours[:3]]
    assert Folded(together.encode()).total() == sum(alone)
    # A moment in two of them counts once.
    overlapping = served.query("--from", hours[1][0], "--to", hours[0][1], "--also", "..".join(hours[0]), "-o", "-")
    assert Folded(overlapping.encode()).total() == sum(alone[:2])
    status, _, text = served.ask("profile", **{"from": hours[0][0]}, to=hours[0][1], also="..".join(hours[1]), format="folded")
    assert status == 200 and Folded(text.encode()).total() == sum(alone[:2])
    # Of a comparison, each side.
    status, _, text = served.ask("diff", **{"from": hours[0][0]}, to=hours[0][1], also="..".join(hours[2]), diff_from=hours[1][0],
                                 diff_to=hours[1][1], diff_also="..".join(hours[3]), idle="")
    answer = json.loads(text)
    both = [Folded(served.query("--from", hours[a][0], "--to", hours[a][1], "--also", "..".join(hours[b]), "-o", "-").encode())
            for a, b in ((0, 2), (1, 3))]
    assert status == 200
    assert [answer[side]["total"] for side in ("new", "base")] == pytest.approx([side.total() / 1e6 / 7200 for side in both])


def test_marks(served):
    """Losses of the invented machine, and the hours of half the rate; the first step says the rate."""
    begin, step = served.end - 97200, 600
    rows = [json.loads(line) for line in served.ask("series", **{"from": at(begin)}, to=at(served.end), step="10m", marks="")[2].splitlines()]
    marks = [row for row in rows if "group" not in row]
    losses = {row["start"]: row["lost"] for row in marks if "lost" in row}
    assert losses == {at((begin + number * 10) // step * step): 12 for number in range(500, 9720, 1000)}
    saving = "names are put off, stacks of waits are fewest, the rate is half"
    changes = {row["start"]: (row["hertz"], row.get("saving")) for row in marks if "hertz" in row}
    assert changes == {at(begin): (19, None), at(begin + 18.5 * 3600): (19, "names are put off"), at(begin + 19 * 3600): (9.5, saving), at(begin + 20 * 3600): (19, None)}
    text = served.query("--from", at(begin), "--to", at(served.end), "--series", "--step", "10m", "--marks")
    assert text.count("12 samples or stacks are lost") == len(losses) and f"the rate is 9.5 Hz, {saving}" in text


@pytest.mark.parametrize("groups", ["unit,comm", "cause,unit", "comm,cgroup,cause"])
def test_groups(served, groups):
    """Stacks begin with these, in that order, and add up to the same."""
    words = ["--from", at(served.end - 3600), "--to", at(served.end), "--group", groups]
    text = served.query(*words, "-o", "-")
    names = groups.split(",")
    for line in text.splitlines():
        found = dict(zip(names, line.rpartition(" ")[0].split(";")))
        number = re.search(r"sample-(\d)", line).group(1)
        expected = {"unit": f"sample-{number}.service", "comm": f"sample-{number}",
                    "cgroup": f"/system.slice/sample-{number}.service", "cause": line.rpartition(" ")[0].rpartition(";")[2].strip("[]")}
        assert found == {name: expected[name] for name in names}
    plain = served.query(*words[:4], "-o", "-")
    assert Folded(text.encode()).total() == Folded(plain.encode()).total() > 0
    status, _, answer = served.ask("profile", **{"from": words[1]}, to=words[3], group=groups, format="folded")
    assert (status, answer) == (200, text)
    assert served.ask("profile", group=groups + ",x")[0] == 400 and served.ask("series", group=groups)[0] == 400


WRONG = {
    "functions": [{"q": "("}, {"q": r"(a)\1"}, {"q": "(a{1,99}){1,99}"}, {"q": "a" * 1025}, {"q": "a", "format": "csv"},
                  {"search": "a"}, {"limit": "x"}, {"from": "x"}, {"by": "comm"}],
    "worse": [{"from": "-2d"}, {"from": "-1h", "to": "-2h"}, {"diff-from": "-2h"}, {"format": "svg"}, {"from": "1970-01-02"},
              {"limit": "1e99"}, {"worse": "x"}, {"step": "1m"}],
    "series": [{"function": "("}, {"function": "((((.*){1,99}){1,99}){1,99}){1,99}"}, {"function": r"(.*)(.*)\2\1"}, {"step": "0"}, {"step": "-1s"},
               {"by": "x"}, {"from": "2001-01-01", "step": "1s"}, {"from": "x"}, {"diff-from": "-1h"}, {"limit": "-1"},
               {"format": "svg"}, {"state": "bored"}, {"pid": "1,x"}],
    "diff": [{}, {"diff_from": "x"}, {"diff_from": "-2h", "from": "-1h", "to": "-2h"}, {"diff_from": "-2h@/etc"},
             {"diff_from": "-2h", "diff_to": "-3h"}, {"diff_from": "-2h", "format": "exe"},
             {"diff_from": "-2h", "format": "junit"}, {"diff_from": "-2h", "format": "svg,html"},
             {"diff_from": "-2h", "function": "("}, {"diff_from": "-2h", "limit": "x"}, {"diff_from": "-2h", "output": "/x"},
             {"diff_from": "-2h", "junit": "/x"}, {"diff_from": "-2h", "step": "1m"}],
}


@pytest.mark.parametrize("path", WRONG)
def test_wrong_parameters(served, path):
    """One line says what is wrong."""
    for parameters in WRONG[path]:
        status, headers, text = served.ask(path, **parameters)
        assert (status, headers["Content-Type"]) == (400, "text/plain; charset=utf-8"), (parameters, status, text)
        assert text.count("\n") == 1 and len(text) > 10, (parameters, text)
