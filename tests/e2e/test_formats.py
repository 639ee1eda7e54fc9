# SPDX-License-Identifier: GPL-2.0-or-later
"""The formats of other tools, read by those tools: Go's pprof, protoc, speedscope (its schema, and
itself in Chromium), the Firefox Profiler. Compares what each shows with our folded lines.

tools/check installs all of them; the tests fail if one is missing. Those from npm are in build/npm.
"""
import base64
import collections
import glob
import gzip
import json
import os
import re
import shutil
import socket
import subprocess
import time

import pytest

from harness import ROOT, Folded, error_line, record, run, wait_until

NPM = ROOT / "build" / "npm" / "node_modules"
PROTO = "/usr/share/gocode/src/github.com/google/pprof/proto"

ONCPU = """\
server;[truncated];parse;scan;inner_[i] 31
server;main;loop;jit_[j] 5
server;main;loop;loop;std::vector<int>::push_back(int const&) 40
server;main;loop;read;sys_read_[k];vfs_read_[k] 17
server;main;read;sys_read_[k] 3
worker;<Vec<T> as core::Drop>::drop;[libfoo.so.1+0x1a2b] 7
worker;main;operator()(int) 2
"""
OFFCPU = """\
[idle];db;start;loop;poll;[poll] 700
db;[truncated];main;wait;sys_futex_[k];[futex];--;wake_[k];unlock;main;worker-9 300
db;main;wait;[futex] 20
db;main;wait;[page fault] 11
db;main;wait;[preempted] 13
log;main;write;[disk] 250
"""
HOSTILE = [
    b"<script>alert(1)</script>", b"\"><img src=x onerror=alert(1)>", b"'single' & \"double\" &amp;",
    b"new\\nline", b"control\x01\x02\x1f", b"invalid \xff\xfe\x80 utf8", b"surrogate \xed\xa0\x80",
    b"right-to-left \xe2\x80\xae evil", b"wide \xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x94\xa5",
    b"x" * 10000, b"\\u003c \\", b"--", b"[futex]"]
ALL = ["--fold-idle"]


def need(path, what):
    assert path and os.path.exists(path), f"{what} is missing: run tools/check, which installs it"
    return str(path)


def bare(name):
    """A frame without the suffix for its kind."""
    return re.sub(r"_\[[kij0]\]$", "", name)


def render(source, *outputs, options=()):
    arguments = [argument for output in outputs for argument in ("-o", output)]
    result = run("render", *options, source, *arguments)
    assert result.returncode == 0, result
    return outputs[0]


@pytest.fixture(scope="module")
def made(module_path):
    """{name: folded file}, and the files made from each: .pb.gz, .speedscope.json,
    .firefox.json."""
    files = {}
    for name, text in ("oncpu", ONCPU), ("offcpu", OFFCPU):
        files[name] = module_path / f"{name}.folded"
        files[name].write_text(text)
        render(files[name], *(files[name].with_suffix(ending) for ending in (
            ".pb.gz", ".speedscope.json", ".firefox.json")), options=ALL)
    return files


class Functions:
    """Self and total of each function; frames of different kinds stay separate, unnamed ones are
    left out."""

    def __init__(self):
        self.selfs = collections.Counter()
        self.totals = collections.Counter()

    def add(self, names, value):
        self.selfs[names[-1]] += value
        for name in set(names):
            self.totals[name] += value

    def __eq__(self, other):
        return +self.selfs == +other.selfs and +self.totals == +other.totals

    def __repr__(self):
        return f"self {dict(+self.selfs)}\ntotal {dict(+self.totals)}"


def of_folded(path, command=None):
    """Functions according to folded lines, without the command."""
    functions = Functions()
    for frames, value in Folded(path).stacks:
        at = frames[0] == "[idle]"
        if command in (None, frames[at]):
            functions.add([bare(name) for name in frames[:at] + frames[at + 1:]], value)
    return functions


# --- Go's pprof -----------------------------------------------------------------------------


def go_pprof(*arguments):
    found = sorted(glob.glob("/usr/lib/go-*/pkg/tool/*/pprof"))
    program = need(found[-1] if found else None, "Go's pprof")
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True,
                          env={**os.environ, "PPROF_TMPDIR": "/nonexistent"}).stdout.decode()


def top(path, *options):
    """The functions of pprof -top, in the unit of folded lines."""
    text = go_pprof("-top", "-nodecount=100000", "-nodefraction=0", *options, path)
    functions = Functions()
    rows = text[text.index("flat%"):].splitlines()[1:]
    for row in rows:
        flat, _, _, total, _, name = row.split(None, 5)
        name = re.sub(r" \((partial-)?inline\)$", "", name)
        for counter, value in (functions.selfs, flat), (functions.totals, total):
            match = re.fullmatch(r"(-?[0-9.]+)(ns|us)?", value)
            assert match, row
            counter[name] += round(float(match[1]) / (1000 if match[2] == "ns" else 1))
    return functions


def tags(path, *options):
    """{label: {value: weight}}."""
    labels = {}
    for line in go_pprof("-tags", *options, path).splitlines():
        if match := re.fullmatch(r" *(\w+): Total .*", line):
            values = labels.setdefault(match[1], {})
        elif match := re.fullmatch(r" *([0-9.]+)(?:us|ns)? \([^)]*\): (.*)", line):
            values[match[2]] = float(match[1])
    return labels


@pytest.mark.parametrize("name, options", [
    ("oncpu", ["-sample_index=samples"]), ("offcpu", ["-unit=ns"])])
def test_top_of_pprof(made, name, options):
    assert top(made[name].with_suffix(".pb.gz"), *options) == of_folded(made[name])


def test_tags_of_pprof(made):
    assert tags(made["oncpu"].with_suffix(".pb.gz")) == {"comm": {"server": 96, "worker": 9}}
    labels = tags(made["offcpu"].with_suffix(".pb.gz"), "-unit=us")
    assert labels["comm"] == {"db": 1044, "log": 250}
    assert labels["reason"] == {"poll": 700, "futex": 320, "disk": 250, "preempted": 13,
                                "page fault": 11}
    assert labels["idle"] == {"true": 700}


def test_raw_of_pprof(made):
    text = go_pprof("-raw", made["offcpu"].with_suffix(".pb.gz"))
    assert "samples/count off_cpu/nanoseconds[dflt]" in text
    assert re.search(r"^ +1 +700000: 1 2 3 4 5 *$", text, re.MULTILINE)
    assert re.search(r"^1: 0x0/0x0/0x0 \[kernel.kallsyms\]  \[FN\]", text, re.MULTILINE)


def test_difference_by_pprof(made):
    path = made["oncpu"].with_suffix(".pb.gz")
    assert "Showing nodes accounting for 0, 0%" in go_pprof("-top", f"-diff_base={path}", path)


def test_differences_by_pprof(made, tmp_path):
    """pprof's subtraction equals that of the folded lines, function by function."""
    base = tmp_path / "base.folded"
    base.write_text("".join(line.rsplit(" ", 1)[0] + f" {10 + 3 * i}\n"
                            for i, line in enumerate(ONCPU.splitlines()[1:])))
    pb = render(base, tmp_path / "base.pb.gz")
    shown = top(made["oncpu"].with_suffix(".pb.gz"), "-sample_index=samples", f"-diff_base={pb}")
    new, old = of_folded(made["oncpu"]), of_folded(base)
    for kind in "selfs", "totals":
        expected = collections.Counter(getattr(new, kind))
        expected.subtract(getattr(old, kind))
        assert {name: value for name, value in getattr(shown, kind).items() if value} == {
            name: value for name, value in expected.items() if value}


# --- protobuf -------------------------------------------------------------------------------


def decode(path):
    program = need(shutil.which("protoc"), "protoc")
    return subprocess.run([program, f"--proto_path={PROTO}", "profile.proto",
                           "--decode=perftools.profiles.Profile"],
                          input=gzip.decompress(path.read_bytes()), capture_output=True,
                          check=True)


def test_decoded_by_protoc(made):
    result = decode(made["oncpu"].with_suffix(".pb.gz"))
    text = result.stdout.decode()
    assert result.stderr == b""
    ids = [int(number) for number in re.findall(r"^location {\n  id: (\d+)", text, re.MULTILINE)]
    assert ids == list(range(1, len(ids) + 1))
    strings = re.findall(r'^string_table: "(.*)"', text, re.MULTILINE)
    assert strings[0] == ""
    assert len(set(strings)) == len(strings)


# --- round trips ----------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".speedscope.json", ".firefox.json", ".pb.gz"])
@pytest.mark.parametrize("name", ["oncpu", "offcpu"])
def test_comes_back(made, name, ending, tmp_path):
    """Comes back as the same folded lines, and as the same file."""
    source = made[name].with_suffix(ending)
    folded = render(source, tmp_path / "again.folded", options=ALL)
    assert folded.read_bytes() == made[name].read_bytes()
    assert render(source, tmp_path / f"again{ending}", options=ALL).read_bytes() == (
        source.read_bytes())
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    if ending != ".pb.gz":
        assert render(packed, tmp_path / "packed.folded",
                      options=ALL).read_bytes() == made[name].read_bytes()


@pytest.mark.parametrize("name", ["oncpu", "offcpu"])
def test_pprof_comes_back(made, name, tmp_path):
    pb = made[name].with_suffix(".pb.gz")
    folded = render(pb, tmp_path / "again.folded", options=ALL)
    assert folded.read_bytes() == render(made[name], tmp_path / "plain.folded",
                                         options=ALL).read_bytes()
    again = render(pb, tmp_path / "again.pb.gz", options=ALL)
    assert again.read_bytes() == pb.read_bytes()
    unpacked = tmp_path / "unpacked.pb"
    unpacked.write_bytes(gzip.decompress(pb.read_bytes()))
    from_unpacked = render(unpacked, tmp_path / "from_unpacked.pb.gz", options=ALL)
    assert from_unpacked.read_bytes() == pb.read_bytes()


def test_profile_by_go(tmp_path):
    """A profile that another program wrote: pprof's own copy of ours."""
    folded = tmp_path / "a.folded"
    folded.write_text(ONCPU)
    pb = render(folded, tmp_path / "a.pb.gz")
    copy = tmp_path / "copy.pb.gz"
    go_pprof("-proto", f"-output={copy}", pb)
    assert copy.read_bytes() != pb.read_bytes()
    again = render(copy, tmp_path / "again.folded")
    assert again.read_text() == render(folded, tmp_path / "plain.folded").read_text()


def test_damaged_json(made, tmp_path):
    whole = made["oncpu"].with_suffix(".speedscope.json").read_bytes()
    damaged = tmp_path / "damaged.json"
    damaged.write_bytes(whole[:len(whole) // 2])
    result = run("render", damaged, "-o", tmp_path / "x.folded")
    assert result.returncode == 1
    assert re.search(rf"{damaged}: damaged JSON at byte \d+: the file ends", error_line(result))
    assert not (tmp_path / "x.folded").exists()


def test_damaged_pprof(made, tmp_path):
    whole = gzip.decompress(made["oncpu"].with_suffix(".pb.gz").read_bytes())
    damaged = tmp_path / "damaged.pb"
    damaged.write_bytes(whole[:len(whole) // 2])
    result = run("render", damaged, "-o", tmp_path / "x.folded")
    assert result.returncode == 1
    assert re.search(rf"{damaged}: damaged pprof at byte \d+: ", error_line(result))
    cut = tmp_path / "cut.pb.gz"
    cut.write_bytes(made["oncpu"].with_suffix(".pb.gz").read_bytes()[:-20])
    result = run("render", cut, "-o", tmp_path / "x.folded")
    assert result.returncode == 1
    assert str(cut) in error_line(result)
    assert not (tmp_path / "x.folded").exists()


# --- speedscope -----------------------------------------------------------------------------


def node_program():
    """Node.js from npm if tools/check installed it, because Debian's may be too old."""
    own = NPM / ".bin" / "node"
    return own if own.exists() else need(shutil.which("node"), "node")


def node(*arguments, **options):
    return subprocess.run([node_program(), *map(str, arguments)], capture_output=True, timeout=120,
                          **options)


VALIDATE = """
const [schema, ...files] = process.argv.slice(1);
const fs = require("fs"), Ajv = require("ajv"), read = (file) => JSON.parse(fs.readFileSync(file));
const validate = new (Ajv.default || Ajv)({strict: false}).compile(read(schema));
for (const file of files)
    if (!validate(read(file)))
        throw new Error(file + ": " + JSON.stringify(validate.errors));
"""


def validate(*files):
    schema = need(NPM / "speedscope" / "dist" / "release" / "file-format-schema.json", "speedscope")
    need(NPM / "ajv", "ajv")
    result = node("-e", VALIDATE, schema, *files, env={**os.environ, "NODE_PATH": str(NPM)})
    assert result.returncode == 0, result.stderr.decode()


def of_speedscope(path, profile):
    data = json.loads(path.read_text())
    names = [frame["name"] for frame in data["shared"]["frames"]]
    functions = Functions()
    for stack, weight in zip(profile["samples"], profile["weights"]):
        functions.add([names[frame] for frame in stack],
                      weight / 1000 if profile["unit"] == "nanoseconds" else weight)
    return functions


@pytest.mark.parametrize("name, heaviest", [("oncpu", "server"), ("offcpu", "db")])
def test_speedscope_file(made, name, heaviest):
    path = made[name].with_suffix(".speedscope.json")
    validate(path)
    profiles = json.loads(path.read_text())["profiles"]
    assert profiles[0]["name"] == heaviest
    assert [profile["endValue"] for profile in profiles] == sorted(
        (profile["endValue"] for profile in profiles), reverse=True)
    for profile in profiles:
        assert sum(profile["weights"]) == profile["endValue"]
        assert of_speedscope(path, profile) == of_folded(made[name], profile["name"])


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    pytest.importorskip("selenium", reason="python3-selenium is not installed")
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        pytest.skip("chromium or chromium-driver is not installed")
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
            --disable-background-networking --disable-component-update --disable-sync
            --window-size=1400,1400""".split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    yield driver
    driver.quit()


class Speedscope:
    """speedscope with a file open, in its view of functions."""

    def __init__(self, browser, path, folder):
        from selenium.webdriver import ActionChains

        page = need(NPM / "speedscope" / "dist" / "release" / "index.html", "speedscope")
        loader = folder / "load.js"
        content = base64.b64encode(path.read_bytes()).decode()
        loader.write_text(f"speedscope.loadFileFromBase64({json.dumps(path.name)}, '{content}')")
        self.browser = browser
        browser.get("about:blank")
        browser.get_log("browser")
        browser.get(f"file://{page}#localProfilePath={loader}")
        self.wait(lambda: "Left Heavy" in self.text())
        ActionChains(browser).send_keys("3").perform()
        self.wait(lambda: re.search("Symbol Name\n(.+\n.+\n.+)+", self.text()))

    def text(self):
        return self.browser.find_element("tag name", "body").text

    def wait(self, condition):
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, 20).until(lambda _: condition())

    def functions(self):
        """{name: (total, self)} as displayed, once they stop changing."""
        before = None
        while before != (before := self.text()):
            time.sleep(0.2)
        rows = before.split("Symbol Name\n")[1].split("\n")
        return {name: (total.split(" ")[0], own.split(" ")[0])
                for total, own, name in zip(rows[::3], rows[1::3], rows[2::3])}

    def errors(self):
        return [entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]


def shown(functions, unit):
    """Formats nanoseconds as speedscope does, in the unit that fits."""
    def text(value):
        if unit == "none":
            return f"{value:,}"
        for size, name in (1000, "ms"), (1, "µs"):
            if value >= size:
                return f"{value / size:.2f}{name}"
        return "0.00ns"

    return {name: (text(total), text(functions.selfs[name]))
            for name, total in functions.totals.items()}


@pytest.mark.parametrize("ending", [".speedscope.json", ".pb.gz", ".folded"])
def test_speedscope_opens(made, browser, tmp_path, ending):
    page = Speedscope(browser, made["oncpu"].with_suffix(ending), tmp_path)
    functions = page.functions()
    assert page.errors() == []
    if ending == ".folded":
        assert functions["vfs_read_[k]"] == ("17", "17")
        assert functions["server"] == ("96", "0")
    else:
        command = "server" if ending == ".speedscope.json" else None
        assert functions == shown(of_folded(made["oncpu"], command), "none")


@pytest.mark.parametrize("name", ["oncpu", "offcpu"])
def test_speedscope_opens_folded(made, browser, tmp_path, name):
    """It distinguishes frames by their suffixes, treats commands as frames, and has no unit for
    values."""
    functions = Functions()
    for frames, value in Folded(made[name]).stacks:
        functions.add(frames, value)
    page = Speedscope(browser, made[name], tmp_path)
    assert page.functions() == shown(functions, "none")
    assert page.errors() == []


@pytest.mark.parametrize("ending", [".speedscope.json", ".pb.gz"])
def test_speedscope_opens_times(made, browser, tmp_path, ending):
    page = Speedscope(browser, made["offcpu"].with_suffix(ending), tmp_path)
    command = "db" if ending == ".speedscope.json" else None
    assert page.functions() == shown(of_folded(made["offcpu"], command), "nanoseconds")
    assert page.errors() == []


# --- Firefox Profiler -----------------------------------------------------------------------


class Firefox:
    """The profiler's own command line with a file open. Its background process is started here,
    because its `load` waits only half a second for it, which may be too short on a busy machine."""

    SESSION = ["--session", "test"]

    def __init__(self, path, folder):
        self.program = need(NPM / ".bin" / "profiler-cli", "the Firefox Profiler's CLI")
        self.environment = {**os.environ, "HOME": str(folder)}
        self.daemon = subprocess.Popen([node_program(), self.program, "--daemon", path, *self.SESSION],
                                       env=self.environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # A request that comes before it answers removes its session, so wait for the socket first.
        wait_until(lambda: self.is_listening(folder / ".profiler-cli" / "test.sock"), timeout=60)
        wait_until(lambda: self.run("thread", "list").returncode == 0, timeout=60)

    def is_listening(self, path):
        assert self.daemon.poll() is None, "it did not start"
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(path)) == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.daemon.terminate()
        self.daemon.wait(10)

    def run(self, *arguments):
        return node(self.program, *arguments, *self.SESSION, env=self.environment)

    def ask(self, *arguments):
        result = self.run(*arguments)
        assert result.returncode == 0, result
        return result.stdout.decode()

    def json(self, *arguments):
        text = self.ask(*arguments, "--json")
        return json.loads(text[text.index("{"):])

    def functions(self, thread):
        answer = self.json("thread", "functions", "--thread", thread, "--limit", 0,
                           "--include-idle")
        functions = Functions()
        for row in answer["functions"]:
            scale = 1000 if answer["weightType"] == "tracing-ms" else 1
            functions.selfs[row["name"]] += round(row["selfSamples"] * scale)
            functions.totals[row["name"]] += round(row["totalSamples"] * scale)
        return functions


@pytest.mark.parametrize("name, threads", [("oncpu", ["server", "worker"]),
                                           ("offcpu", ["db", "log"])])
def test_firefox_opens(made, name, threads, tmp_path):
    with Firefox(made[name].with_suffix(".firefox.json"), tmp_path) as firefox:
        rows = re.findall(r"^[* ] (t-\d+) +(\S+)", firefox.ask("thread", "list"), re.MULTILINE)
        assert sorted(command for _, command in rows) == threads
        for thread, command in rows:
            assert firefox.functions(thread) == of_folded(made[name], command)


def test_firefox_opens_threads(made, tmp_path):
    folded = tmp_path / "threads.folded"
    folded.write_text("db-7/7;main;wait;[futex] 20\ndb-7/8;main;wait;[futex] 30\n")
    path = render(folded, tmp_path / "threads.firefox.json", options=["--threads"])
    with Firefox(path, tmp_path) as firefox:
        listed = firefox.ask("thread", "list")
        assert re.search(r"db-7/8 +db-7/8 +7 ", listed) and re.search(r"db-7/7 +\S+ +7 ", listed)


# --- hostile names --------------------------------------------------------------------------


def test_hostile_names(tmp_path, browser):
    source = tmp_path / "hostile.folded"
    source.write_bytes(b"".join(b"sh;main;%s 1\n%s;main 2\n" % (name, name) for name in HOSTILE))
    pb, speedscope, firefox = (tmp_path / f"hostile{ending}" for ending in (
        ".pb.gz", ".speedscope.json", ".firefox.json"))
    render(source, pb, speedscope, firefox)
    assert decode(pb).stderr == b""
    assert "x" * 10000 in go_pprof("-raw", pb)
    validate(speedscope)
    for path in speedscope, firefox:
        path.read_bytes().decode("utf-8")
        json.loads(path.read_text())
    page = Speedscope(browser, speedscope, tmp_path)
    assert "<script>alert(1)</script>" in page.functions()
    assert page.errors() == []
    with Firefox(firefox, tmp_path) as profiler:
        assert "onerror" in profiler.ask("thread", "list")


# --- recordings -----------------------------------------------------------------------------


@pytest.mark.parametrize("options", [
    ["--offcpu", "--wakers"], ["--wall", "--wakers", "--threads"], ["--oncpu", "--threads"]],
    ids=" ".join)
def test_recordings_come_back(tmp_path, options):
    """With wakers and threads."""
    endings = ".folded", ".pb.gz", ".speedscope.json", ".firefox.json"
    outputs = [argument for ending in endings for argument in ("-o", tmp_path / f"out{ending}")]
    record(*options, "-F", 199, *outputs, "--", "sh", "-c",
           "(sleep 0.1; head -c 90000000 /dev/zero) | cat | wc -c; sleep 0.1")
    expected = (tmp_path / "out.folded").read_bytes()
    assert expected
    for ending in endings:
        again = render(tmp_path / f"out{ending}", tmp_path / "again.folded")
        assert again.read_bytes() == expected, ending


@pytest.mark.parametrize("mode", ["oncpu", "offcpu", "wall"])
def test_recordings(tmp_path, mode):
    """The files of a recording, opened in the tools that read them."""
    stem = tmp_path / "out"
    outputs = [argument for ending in (".folded", ".pb.gz", ".speedscope.json", ".firefox.json")
               for argument in ("-o", f"{stem}{ending}")]
    record(f"--{mode}", "-F", 199, *outputs, "--", "sh", "-c",
           "dd if=/dev/zero of=/dev/null bs=1M count=3000 2>/dev/null; sleep 0.3; ls / >/dev/null")
    folded, pb = tmp_path / "out.folded", tmp_path / "out.pb.gz"
    assert Folded(folded).total() > 0
    again = run("render", pb, "-o", tmp_path / "again.folded")
    assert again.returncode == 0, again
    assert (tmp_path / "again.folded").read_bytes() == folded.read_bytes()
    rewritten = render(pb, tmp_path / "again.pb.gz")
    assert rewritten.read_bytes() == pb.read_bytes()
    for ending in ".speedscope.json", ".firefox.json":
        again = render(f"{stem}{ending}", tmp_path / "again.folded")
        assert again.read_bytes() == folded.read_bytes(), ending
    validate(tmp_path / "out.speedscope.json")
    functions = top(pb, "-sample_index=samples" if mode == "oncpu" else "-unit=ns")
    expected = of_folded(folded)
    if mode == "oncpu":
        assert functions == expected
    else:
        # Microseconds are rounded once per line here, and once per function there.
        assert functions.totals.keys() == expected.totals.keys()
        for name, total in expected.totals.items():
            assert abs(functions.totals[name] - total) <= len(Folded(folded).stacks), name
    with Firefox(tmp_path / "out.firefox.json", tmp_path) as firefox:
        assert firefox.functions("t-0").totals
