# SPDX-License-Identifier: GPL-2.0-or-later
"""The gate of `bpfflame diff`: runs, folders, rules, and its output. Needs no root."""
import gzip
import json
import random
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from harness import BPFFLAME
from test_diff import HOSTILE, as_json, diff, refused, write

SHARES = {"app;main;hot": 3000, "app;main;warm": 1000, "app;main;cool": 500, "app;main;rest": 1500}
SCHEMA = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
<xs:element name="testsuites"><xs:complexType><xs:sequence>
 <xs:element ref="testsuite" minOccurs="0" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element>
<xs:element name="testsuite"><xs:complexType><xs:sequence>
 <xs:element name="properties" minOccurs="0"><xs:complexType><xs:sequence>
  <xs:element name="property" maxOccurs="unbounded"><xs:complexType>
   <xs:attribute name="name" type="xs:string" use="required"/>
   <xs:attribute name="value" type="xs:string" use="required"/></xs:complexType></xs:element>
 </xs:sequence></xs:complexType></xs:element>
 <xs:element name="testcase" minOccurs="0" maxOccurs="unbounded"><xs:complexType>
  <xs:choice minOccurs="0">
   <xs:element name="skipped"><xs:complexType><xs:attribute name="message" type="xs:string"/></xs:complexType></xs:element>
   <xs:element name="failure"><xs:complexType mixed="true"><xs:attribute name="type" type="xs:string"/>
    <xs:attribute name="message" type="xs:string"/></xs:complexType></xs:element></xs:choice>
  <xs:attribute name="name" type="xs:string" use="required"/>
  <xs:attribute name="classname" type="xs:string" use="required"/>
  <xs:attribute name="time" type="xs:decimal"/></xs:complexType></xs:element></xs:sequence>
 <xs:attribute name="name" type="xs:string" use="required"/>
 <xs:attribute name="tests" type="xs:nonNegativeInteger" use="required"/>
 <xs:attribute name="failures" type="xs:nonNegativeInteger" use="required"/>
 <xs:attribute name="errors" type="xs:nonNegativeInteger" use="required"/>
 <xs:attribute name="skipped" type="xs:nonNegativeInteger"/>
 <xs:attribute name="time" type="xs:decimal"/></xs:complexType></xs:element></xs:schema>
"""


def make_runs(folder, n, slower=1.0, seed=1, spread=0.0, ending=".folded"):
    """Makes @n runs of 6,000 samples each, with the hot function slower by @slower."""
    folder.mkdir()
    generator = random.Random(seed)
    for i in range(n):
        weights = [value * (slower if "hot" in stack else 1) * generator.gauss(1, spread)
                   for stack, value in SHARES.items()]
        drawn = generator.choices(list(SHARES), weights, k=6000)
        write(folder / f"run-{i}{ending}", {stack: drawn.count(stack) for stack in SHARES})
    return folder


@pytest.fixture
def base(tmp_path):
    return make_runs(tmp_path / "base", 5)


@pytest.fixture
def slow(tmp_path):
    return make_runs(tmp_path / "slow", 5, 1.2, 2)


def runs(folder):
    return sorted(folder.glob("run-*"))


# --- which files belong to which side ---------------------------------------------------------


def test_all_forms_mean_the_same(base, slow):
    forms = [[base, slow], [*runs(base), "--", *runs(slow)], [base, "--", *runs(slow)],
             [word for path in runs(base) for word in ("--base", path)] + [slow],
             ["--base", base, *runs(slow)]]
    expected = None
    for form in forms:
        for arguments in ([*form, "--json", "--fail-over", "5"],
                          ["--json", "--fail-over", "5", *form]):
            answer = json.loads(diff(*arguments, code=3).stdout)
            assert answer["runs"] == {"base": 5, "new": 5}
            expected = expected or answer
            assert answer == expected
    assert expected["gate"]["offenders"][0]["name"] == "hot"


def test_two_words_with_and_without_a_separator(base, slow):
    one, two = runs(base)[0], runs(slow)[0]
    expected = diff(one, two).stdout
    assert diff(one, "--", two).stdout == diff("--", one, two).stdout == expected
    assert diff(one, two, "--").stdout == expected
    assert "BASE… -- NEW…" in refused(one, two, one, code=2)
    assert "--base" in refused("--base", one, code=2)


def test_a_folder_holds_each_run_once(tmp_path, base, slow):
    """Of a run in several formats one counts; pictures, pages and summaries are none."""
    before = as_json(base, slow)
    for path in runs(base):
        for ending in (".svg", ".html", ".json", ".txt"):
            path.with_suffix(ending).write_text("no profile")
    for name in ("index.html", "index.jsonl", ".hidden.folded"):
        (base / name).write_text("no profile")
    subprocess.run([BPFFLAME, "render", runs(base)[0], "-o", base / "run-0.pb.gz"], check=True,
                   timeout=60)
    assert as_json(base, slow)["functions"] == before["functions"]
    (tmp_path / "empty").mkdir()
    assert "empty" in refused(tmp_path / "empty", slow)


def test_kinds_of_a_folder(tmp_path):
    """`…-oncpu` and `…-offcpu` of the same windows: takes the kind that the other side has, or
    --kind."""
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        for second in range(3):
            stem = tmp_path / side / f"20261121T13050{second}Z"
            write(stem.with_name(stem.name + "-oncpu.folded"), SHARES)
            write(stem.with_name(stem.name + "-offcpu.folded"), {"app;main;wait;[sleep]": 900000})
    line = refused(tmp_path / "a", tmp_path / "b", code=2)
    assert "offcpu, oncpu" in line and "--kind" in line
    answer = as_json(tmp_path / "a", tmp_path / "b", "--kind", "offcpu")
    assert (answer["mode"], answer["runs"]["base"]) == ("offcpu", 3)
    assert "holds no wall" in refused(tmp_path / "a", tmp_path / "b", "--kind", "wall", code=2)
    for path in (tmp_path / "b").glob("*-offcpu.folded"):
        path.unlink()
    assert as_json(tmp_path / "a", tmp_path / "b")["mode"] == "oncpu"
    single = tmp_path / "b" / "20261121T130500Z-oncpu.folded"
    assert as_json(tmp_path / "a", single)["runs"] == {"base": 3, "new": 1}


# --- the spread -------------------------------------------------------------------------------


def test_identical_code_passes_and_slower_code_fails(tmp_path, base, slow):
    same = make_runs(tmp_path / "same", 5, seed=3)
    passed = diff(base, same, "--fail-over", 5)
    assert passed.stderr == "" and "gate: nothing" in passed.stdout
    result = diff(base, slow, "--fail-over", 5, code=3)
    assert result.stderr.startswith("bpfflame: grew too much: hot: self ")
    assert "5 runs against 5" in result.stderr and "% sure" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_runs_that_differ_as_much_are_noise(tmp_path):
    one = make_runs(tmp_path / "one", 4, spread=0.2, seed=4)
    two = make_runs(tmp_path / "two", 4, 1.2, spread=0.2, seed=5)
    answer = as_json(one, two, "--fail-over", 3)
    assert answer["gate"]["verdict"] == "passed" and answer["gate"]["noise_is_learned"]
    assert answer["gate"]["noise_percent"] > 5
    assert {row["self"]["change"] for row in answer["functions"]} == {"none"}


def test_a_pair_allows_for_noise(tmp_path):
    one = write(tmp_path / "a.folded", {"app;f": 300000, "app;g": 700000})
    two = write(tmp_path / "b.folded", {"app;f": 312000, "app;g": 688000})
    assert as_json(one, two)["counts"]["grew"] == 1  # more than by chance
    answer = as_json(one, two, "--fail-over", 3)
    assert answer["gate"]["verdict"] == "passed"
    assert [row["name"] for row in answer["gate"]["unsure"]] == ["f"]
    assert "may be noise" in diff(one, two, "--fail-over", 3).stdout
    assert diff(one, two, "--fail-over", 3, "--noise", "0.1", code=3).stderr


def test_a_caller_is_named_too_unless_selfs_are_asked_for(tmp_path):
    one = write(tmp_path / "a.folded", {"app;main;f;g": 2000, "app;main;f": 2000, "app;main;h": 6000})
    two = write(tmp_path / "b.folded", {"app;main;f;g": 3000, "app;main;f": 2000, "app;main;h": 5000})
    names = lambda *more: [row["name"] for row in json.loads(
        diff(one, two, "--fail-over", 10, "--json", *more, code=3).stdout)["gate"]["offenders"]]
    assert names() == names("--weight", "both") == ["g", "f"]
    assert names("--weight", "self") == ["g"]
    assert names("--weight", "total") == ["g", "f"]


@pytest.fixture
def scattered(tmp_path):
    """A function of 20 helpers, each of which grew by too little to exceed chance."""
    sides = []
    for name, each, rest in (("a", 100, 8000), ("b", 145, 7100)):
        stacks = {f"app;main;parse;helper_{i:02}": each // 10 for i in range(20)}
        sides.append(write(tmp_path / f"{name}.folded", {**stacks, "app;main;other": rest // 10}))
    return sides


def test_the_gate_looks_at_totals(tmp_path, scattered):
    result = diff(*scattered, "--fail-over", 5, "--markdown", tmp_path / "x.md", code=3)
    assert "grew too much: parse: total 20.00 %" in result.stderr, result.stderr
    assert "1 function grew by more than 5 %" in result.stdout, result.stdout
    assert (tmp_path / "x.md").read_text().startswith("**❌")


@pytest.mark.parametrize("options", [["--weight", "self"], ["--by", "total"]])
def test_no_check_mark_above_a_row_that_grew(tmp_path, scattered, options):
    result = diff(*scattered, "--fail-over", 5, *options, "--markdown", tmp_path / "x.md")
    assert "in the tables 1 function did" in result.stdout, result.stdout
    text = (tmp_path / "x.md").read_text()
    assert text.startswith("**⚠️") and "✅" not in text and "parse" in text


def test_what_a_table_calls_growth_fails(tmp_path):
    """A cold function among hot ones, which take most of the allowed probability of error."""
    hot = {f"app;main;hot_{i:02}": 1000 for i in range(40)}
    one = write(tmp_path / "a.folded", {**hot, "app;main;cold": 20})
    two = write(tmp_path / "b.folded", {**hot, "app;main;cold": 60})
    answer = json.loads(diff(one, two, "--fail-over", 10, "--json", code=3).stdout)
    grown = {row["name"] for row in answer["functions"] if row["change"] in ("grew", "new")}
    assert grown == {"cold"} == {row["name"] for row in answer["gate"]["offenders"]}


# --- pictures ---------------------------------------------------------------------------------


def shown(path):
    """{function: what its tooltip says}"""
    titles = re.findall(r"<title>(.*?) \((total .*?)\)</title>", path.read_text())
    return dict(titles)


def test_pictures_judge_as_tables_do(tmp_path):
    """Runs differ by as much as the sides do: by chance alone, it would be coloured."""
    one = make_runs(tmp_path / "one", 4, spread=0.2, seed=4)
    two = make_runs(tmp_path / "two", 4, 1.2, spread=0.2, seed=5)
    steady = make_runs(tmp_path / "steady", 4, seed=6)
    slower = make_runs(tmp_path / "slower", 4, 1.2, seed=7)
    for base, new, is_noise in ((one, two, True), (steady, slower, False)):
        output = tmp_path / "x.svg"
        diff(base, new, "-o", output)
        table = {row["name"]: row["self"]["change"] for row in as_json(base, new)["functions"]}
        for name in ("hot", "warm", "cool", "rest"):
            assert ("within noise" in shown(output)[name]) == (table[name] == "none"), name
        assert (table["hot"] == "none") == is_noise


def test_modules_and_the_total(tmp_path):
    one = write(tmp_path / "a.folded", {"app;main;[libx.so.1+0x10]": 2000, "app;main;run": 8000})
    two = write(tmp_path / "b.folded", {"app;main;[libx.so.2+0x10]": 4000, "app;main;run": 8000})
    result = diff(one, two, "--fail-over", 10, "--by", "module", code=3)
    assert result.stderr.startswith("bpfflame: grew too much: module libx.so: self 20.00 % → 33.33 %")
    result = diff(one, two, "--fail-over", 10, "--by", "total", code=3)
    assert result.stderr.startswith("bpfflame: grew too much: all: total 10,000 → 12,000 (+20.0 %")
    assert diff(one, two, "--fail-over", 25, "--by", "total").stderr == ""


# --- rules ------------------------------------------------------------------------------------


def test_rules(tmp_path, base, slow):
    rules = tmp_path / "limits.rules"
    rules.write_text("# limits\nfunction hot fail-over 30\nfunction /^wa/ fail-over 5\n"
                     "function nobody fail-over 5\n")
    result = diff(base, slow, "--rules", rules)
    assert "gate: nothing grew by more than the rules allow" in result.stdout
    assert result.stderr == ("bpfflame: line 4 of the rules matches nothing that was recorded: "
                             "function nobody\n")
    assert diff(base, slow, "--rules", rules, "-q").stderr == ""
    assert as_json(base, slow, "--rules", rules)["gate"]["checked"] == 2
    rules.write_text("function * fail-over 5\nfunction hot fail-over 5\n")
    assert "limit 5 % of line 2" in diff(base, slow, "--rules", rules, code=3).stderr
    # Comes after the option, so it takes precedence.
    rules.write_text("ignore function hot\n")
    diff(base, slow, "--fail-over", 5, "--rules", rules)
    rules.write_text("function nobody fail-over 5\n")
    assert "nothing that the gate is about" in diff(base, slow, "--rules", rules, code=1).stderr


def test_faults_of_rules_say_where(tmp_path, base, slow):
    rules = tmp_path / "limits.rules"
    rules.write_text("# fine\nfunction hot fail-under 5\n")
    assert f"{rules}:2: fail-over is missing" in refused(base, slow, "--rules", rules)
    assert "missing.rules" in refused(base, slow, "--rules", tmp_path / "missing.rules")


@pytest.mark.parametrize("arguments", [
    ["--by", "function"], ["--junit", "x.xml"], ["-o", "x.xml"], ["-f", "junit", "-o", "x"],
    ["--fail-over", "5", "--by", "line"], ["--fail-over", "5", "--weight", "neither"],
    ["--fail-over", "5", "--noise", "-1"]])
def test_wrong_usage(base, slow, arguments):
    refused(base, slow, *arguments, code=2)


# --- output -----------------------------------------------------------------------------------


def test_markdown_says_the_verdict_first(tmp_path, base, slow):
    diff(base, slow, "--fail-over", 5, "--markdown", tmp_path / "x.md", code=3)
    lines = (tmp_path / "x.md").read_text().splitlines()
    assert lines[0] == "**❌ gate: 1 function grew by more than 5 %**"
    row = next(line for line in lines if "<code>hot</code>" in line)
    assert row.startswith("| 49.84 % | 54.72 % | +9.8 % | ") and row.endswith("| function <code>hot</code> (self) |")
    diff(base, base, "--fail-over", 5, "--markdown", tmp_path / "x.md")
    assert (tmp_path / "x.md").read_text().startswith("**✅ gate: nothing grew by more than 5 %**")


def valid(tmp_path, path):
    """The parsed file, checked against the schema."""
    (tmp_path / "junit.xsd").write_text(SCHEMA)
    result = subprocess.run(["xmllint", "--noout", "--schema", tmp_path / "junit.xsd", path],
                            capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    return ElementTree.parse(path).getroot().find("testsuite")


def test_junit(tmp_path, base, slow):
    rules = tmp_path / "limits.rules"
    rules.write_text("function nobody fail-over 5\ntotal fail-over 20\n")
    diff(base, slow, "--fail-over", 5, "--rules", rules, "--junit", tmp_path / "x.xml", code=3)
    suite = valid(tmp_path, tmp_path / "x.xml")
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert set(cases) == {"hot", "warm", "cool", "rest", "total", "line 1: function nobody"}
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("6", "1", "1")
    failure = cases["hot"].find("failure")
    assert "limit 5 %" in failure.get("message") and "grew too much" in failure.text
    assert cases["line 1: function nobody"].find("skipped") is not None
    diff(base, slow, "--fail-over", 5, "-o", tmp_path / "y.xml", code=3)
    assert valid(tmp_path, tmp_path / "y.xml").get("failures") == "1"


def test_hostile_names_in_junit(tmp_path):
    one, two = tmp_path / "<&\"a.folded", tmp_path / "b.folded"
    one.write_bytes(b"a;b 90000\n" + b"".join(b"c;" + name + b" 100\n" for name in HOSTILE))
    two.write_bytes(b"a;b 90000\n" + b"".join(b"c;" + name + b" 300\n" for name in HOSTILE))
    result = diff(one, two, "--fail-over", 5, "--junit", tmp_path / "x.xml", code=3)
    assert int(valid(tmp_path, tmp_path / "x.xml").get("failures")) > 5
    assert "\033" not in result.stderr and "\x01" not in result.stderr
    assert all(line.startswith("bpfflame: grew too much: ") for line in result.stderr.splitlines())


def test_the_numbers_of_an_offender(base, slow):
    answer = json.loads(diff(base, slow, "--fail-over", 5, "--json", code=3).stdout)
    row = answer["gate"]["offenders"][0]
    assert row["name"] == "hot" and row["by"] == "function" and row["weight"] == "self"
    assert row["ratio"] == pytest.approx(row["new"] / row["base"] - 1, abs=1e-5)
    assert 0 < row["ratio_low"] < row["ratio"] < row["ratio_high"] < 0.3
    assert row["sure_percent"] > 99 and row["fail_over_percent"] == 5
    assert answer["gate"]["confidence_percent"] == 99


def test_different_machines_are_reported(tmp_path):
    """The host is a comment in a pprof file."""
    paths = []
    for host in ("alpha", "beta"):
        path = write(tmp_path / f"{host}.folded", SHARES)
        subprocess.run([BPFFLAME, "render", path, "-o", path.with_suffix(".pb.gz")],
                                           check=True, timeout=60)
        data = gzip.decompress(path.with_suffix(".pb.gz").read_bytes())
        paths.append(tmp_path / f"{host}.pb")
        paths[-1].write_bytes(with_comment(data, f"host: {host}"))
    result = diff(*paths, "--markdown", tmp_path / "x.md")
    assert result.stderr == "bpfflame: recorded on different machines: alpha and beta\n"
    assert "different machines: <code>alpha</code> and <code>beta</code>" in \
        (tmp_path / "x.md").read_text()
    assert diff(paths[0], paths[0]).stderr == diff(*paths, "-q").stderr == ""


def with_comment(profile, text):
    """A pprof profile (profile.proto) with one more string, and a comment that refers to it."""
    strings, at = 0, 0
    while at < len(profile):  # fields of the message: varints, or bytes with their length
        key, at = varint(profile, at)
        value, at = varint(profile, at)
        if key & 7 == 2:
            at += value
        strings += key == 6 << 3 | 2
    return (profile + bytes([6 << 3 | 2, len(text)]) + text.encode()
            + bytes([13 << 3, *encoded(strings)]))


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def encoded(value):
    while value > 0x7f:
        yield value & 0x7f | 0x80
        value >>= 7
    yield value


@pytest.mark.parametrize("limit, status", [("5%", 3), ("5", 3), ("90%", 0), ("5%%", 2), ("%", 2)])
def test_limit_with_a_percent_sign(base, slow, limit, status):
    assert subprocess.run([BPFFLAME, "diff", base, slow, "--fail-over", limit], check=False,
                          capture_output=True).returncode == status
