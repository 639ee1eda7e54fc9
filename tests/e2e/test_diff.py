# SPDX-License-Identifier: GPL-2.0-or-later
"""`bpfflame diff`: what it calls a change, in every format, and its gate. Needs no root."""
import gzip
import json
import os
import pty
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

import pprof_file
from harness import BPFFLAME, assert_only, assert_well_formed

SVG = "{http://www.w3.org/2000/svg}"
BASE = {"app;main;parse": 1000, "app;main;parse;scan": 2000, "app;main;compress": 3000,
        "app;main;legacy": 200, "app;main;quiet": 50, "app;main;run;read;vfs_read_[k]": 700}
NEW = {"app;main;parse": 1500, "app;main;parse;scan": 2010, "app;main;compress": 2500,
       "app;main;modern": 230, "app;main;quiet": 52, "app;main;run;read;vfs_read_[k]": 690}
HOSTILE = [
    b"<script>alert(1)</script>", b"\"><img src=x onerror=alert(1)>", b"'single' & \"double\" &amp;",
    b"]]><script>window.hacked=1</script>", b"</title></svg>", b"</script><script>alert(2)</script>",
    b"control\x01\x02\x1f\x7f", b"\x1b[31mred\x1b]0;title\x07", b"invalid \xff\xfe\x80 utf8",
    b"right-to-left \xe2\x80\xae evil", b"a|b", b"`tick` ``two``", b"*bold* __under__ ~~gone~~",
    b"[link](http://x)", b"@team #12", b"x" * 10000, b"</code></details>", b"--><!-- comment --",
]
FORMATS = ["txt", "md", "json", "svg", "html"]


def diff(*arguments, code=0, stdin=None):
    """Runs bpfflame diff; its output is text."""
    result = subprocess.run([BPFFLAME, "diff", *map(str, arguments)], input=stdin,
                            capture_output=True, timeout=60, check=False)
    result.stdout, result.stderr = result.stdout.decode(), result.stderr.decode()
    assert result.returncode == code, result
    return result


def refused(*arguments, code=1, stdin=None):
    """The one error line of a run that fails."""
    result = diff(*arguments, code=code, stdin=stdin)
    assert result.stdout == "", result
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result
    return lines[0]


def write(path, stacks):
    path.write_text("".join(f"{stack} {value}\n" for stack, value in stacks.items()))
    return path


@pytest.fixture
def base(tmp_path):
    return write(tmp_path / "base.folded", BASE)


@pytest.fixture
def new(tmp_path):
    return write(tmp_path / "new.folded", NEW)


def as_json(*arguments):
    return json.loads(diff(*arguments, "--json").stdout)


def functions(answer):
    return {row["name"]: row for row in answer["functions"]}


def kinds(answer, weight):
    return {name: row[weight]["change"] for name, row in functions(answer).items()}


# --- what a change is -----------------------------------------------------------------------


def test_changes_are_found(base, new):
    answer = as_json(base, new)
    assert kinds(answer, "self") == {
        "main": "none", "parse": "grew", "scan": "none", "compress": "shrank", "legacy": "gone",
        "modern": "new", "quiet": "none", "run": "none", "read": "none", "vfs_read": "none"}
    assert answer["counts"] == {"grew": 1, "shrank": 1, "new": 1, "gone": 1, "within_noise": 5}
    parse = functions(answer)["parse"]
    assert (parse["self"]["base"], parse["self"]["new"]) == (1000, 1500)
    assert (parse["total"]["base"], parse["total"]["new"]) == (3000, 3510)
    assert parse["self"]["base_share"] == pytest.approx(1000 / 6950)
    assert parse["self"]["ratio"] == pytest.approx(1500 / 6982 / (1000 / 6950) - 1, abs=1e-6)
    assert "ratio" not in functions(answer)["modern"]["self"]
    assert functions(answer)["vfs_read"]["kernel"]


def test_one_sample_is_noise_and_ten_are_not(tmp_path):
    other = {"app;main": 10000}
    one = write(tmp_path / "a.folded", other)
    for n, change in (1, "none"), (4, "none"), (10, "new"):
        two = write(tmp_path / "b.folded", {**other, "app;main;rare": n})
        assert kinds(as_json(one, two), "self")["rare"] == change
        assert kinds(as_json(one, two, "--absolute"), "self")["rare"] == change


def test_inner_frames_change_by_their_own_total(tmp_path):
    """inferno#295: movement below a frame is no change of that frame."""
    one = write(tmp_path / "a.folded", {"app;main;loop;a": 4000, "app;main;loop;b": 1000,
                                        "app;main;other": 5000})
    two = write(tmp_path / "b.folded", {"app;main;loop;a": 1000, "app;main;loop;b": 4000,
                                        "app;main;other": 5000})
    answer = kinds(as_json(one, two), "total")
    assert (answer["a"], answer["b"], answer["loop"]) == ("shrank", "grew", "none")
    diff(one, two, "-o", tmp_path / "x.svg")
    titles = svg_titles(tmp_path / "x.svg")
    assert re.search(r"total 50\.00 ?% → 50\.00 ?%", titles["loop"]), titles["loop"]
    assert re.search(r"total 40\.00 ?% → 10\.00 ?%", titles["a"]), titles["a"]


def test_the_only_commands_of_both_sides_are_one(tmp_path):
    """Two versions of a program under different names."""
    old, new = {"app-1;main;f": 500, "app-1;main;g": 500}, {"app-2;main;f": 500, "app-2;main;g": 500}
    sides = write(tmp_path / "a", old), write(tmp_path / "b", new)
    picture = tmp_path / "x.svg"
    diff(*sides, "-o", picture)
    titles = re.findall(r"<title>([^<]*)</title>", picture.read_text())
    assert "app-1 \u2192 app-2 (total 100.00% \u2192 100.00% (unchanged)" in "\n".join(titles)
    assert not any(title.endswith((", new)", ", gone)")) for title in titles)
    # Not if a side has another one, too, in whichever of its runs.
    write(sides[1], {**new, "helper;main": 5})
    other = write(tmp_path / "c", {"app-3;main;f": 500})
    for runs in [sides[1]], [sides[1], other], [other, sides[1]]:
        diff(sides[0], "--", *runs, "-o", picture)
        titles = "\n".join(re.findall(r"<title>([^<]*)</title>", picture.read_text()))
        assert "app-1 \u2192" not in titles and "app-1 (total 100.00% \u2192 0.00%" in titles


def test_normalized_and_absolute(tmp_path):
    """A recording twice as long does not change shares."""
    one = write(tmp_path / "a.folded", {"app;f": 3000, "app;g": 1000})
    two = write(tmp_path / "b.folded", {"app;f": 6000, "app;g": 2000})
    assert set(kinds(as_json(one, two), "self").values()) == {"none"}
    assert set(kinds(as_json(one, two, "--absolute"), "self").values()) == {"grew"}
    answer = as_json(one, two, "--absolute")
    assert answer["scale"] == "absolute"
    assert answer["total"]["change"] == "grew"
    assert answer["total"]["ratio"] == 1


def test_confidence(tmp_path):
    one = write(tmp_path / "a.folded", {"app;f": 1000, "app;g": 9000})
    two = write(tmp_path / "b.folded", {"app;f": 1130, "app;g": 8870})
    assert kinds(as_json(one, two), "self")["f"] == "grew"
    assert kinds(as_json(one, two, "--confidence", 99.99), "self")["f"] == "none"


def test_many_rare_frames_do_not_hide_a_hot_one(tmp_path):
    """Thousands of frames with a few samples each: none of them changed, the hot one did."""
    rare = {f"app;main;f{i}": 1 + i % 3 for i in range(5000)}
    one = write(tmp_path / "a.folded", {**rare, "app;main;hot": 10000})
    two = write(tmp_path / "b.folded", {**{f"app;main;f{i}": 1 + (i + 1) % 3 for i in range(5000)},
                                        "app;main;hot": 11000})
    answer = as_json(one, two)
    assert answer["counts"]["grew"] == 1
    assert kinds(answer, "self")["hot"] == "grew"
    assert answer["comparisons"] < 10


def test_a_function_inlined_on_one_side_is_the_same(tmp_path):
    one = write(tmp_path / "a.folded", {"app;main;work_[i]": 1000})
    two = write(tmp_path / "b.folded", {"app;main;work": 1000})
    assert kinds(as_json(one, two), "total") == {"main": "none", "work": "none"}


# --- inputs ---------------------------------------------------------------------------------


def test_two_columns_are_both_sides(tmp_path, base, new):
    both = tmp_path / "both.folded"
    both.write_text("".join(f"{stack} {BASE.get(stack, 0)} {NEW.get(stack, 0)}\n"
                            for stack in sorted(BASE | NEW)))
    assert as_json(both)["functions"] == as_json(base, new)["functions"]
    assert "two columns" in refused(both, new)
    assert "one column" in refused(base)


def test_stdin_gzip_and_conversions(tmp_path, base, new):
    expected = as_json(base, new)["functions"]
    (tmp_path / "base.gz").write_bytes(gzip.compress(base.read_bytes()))
    result = diff(tmp_path / "base.gz", "-", "--json", stdin=new.read_bytes())
    assert json.loads(result.stdout)["functions"] == expected
    assert "twice" in refused("-", "-", code=2, stdin=b"a;b 1\n")


def test_samples_and_times_cannot_be_compared(tmp_path, base):
    times = write(tmp_path / "off.folded", {"app;main;wait;[sleep]": 1000000})
    line = refused(base, times)
    assert "base.folded is oncpu" in line and "off.folded is offcpu" in line
    refused(times, base)


def test_times(tmp_path):
    one = write(tmp_path / "a.folded", {"db;main;read;[disk]": 2000000, "db;main;f;[sleep]": 500000})
    two = write(tmp_path / "b.folded", {"db;main;read;[disk]": 9000000, "db;main;f;[sleep]": 500000})
    answer = as_json(one, two)
    assert (answer["mode"], answer["unit"], answer["new"]["total"]) == ("offcpu", "seconds", 9.5)
    # The number of waits is unknown.
    assert answer["counts"]["within_noise"] == 2 + (functions(answer)["main"]["total"]["ratio"] != 0)
    assert [row["name"] for row in answer["reasons"]] == ["[disk]", "[sleep]"]
    text = diff(one, two).stdout
    assert "off-CPU time 2.50 s → 9.50 s (+280.0 %)" in text
    assert "counts as one wait" in text


@pytest.mark.parametrize("scale", ["--normalized", "--absolute"])
@pytest.mark.parametrize("ending", FORMATS)
def test_empty_and_identical_sides(tmp_path, base, ending, scale):
    empty = write(tmp_path / "empty.folded", {})
    for one, two in (empty, empty), (base, empty), (empty, base), (base, base):
        path = tmp_path / f"x.{ending}"
        diff(one, two, scale, "-o", path)
        text = path.read_text()
        assert not re.search(r"\b[+-]?(nan|inf)\b", text.split("<script")[0], re.IGNORECASE)
        if ending == "json":
            assert json.loads(text)["counts"]["grew"] == 0
        elif ending == "svg":
            assert_well_formed(path)
        elif ending == "txt" and one == two == base:
            assert "no function changed" in text


def test_missing_and_damaged_files(tmp_path, base):
    assert "missing.folded" in refused(base, tmp_path / "missing.folded")
    damaged = tmp_path / "damaged.gz"
    damaged.write_bytes(gzip.compress(base.read_bytes())[:-12])
    assert "damaged.gz" in refused(damaged, base)


def waits_of(path, n, nanoseconds, seconds):
    """A file of @n stacks with one wait each."""
    numbers = range(1, n + 1)
    path.write_bytes(pprof_file.Writer().file({
        "sample_type": [{"type": "delay", "unit": "nanoseconds"}], "duration_nanos": round(seconds * 1e9),
        "sample": [{"location_id": [i], "value": [nanoseconds]} for i in numbers],
        "location": [{"id": i, "line": [{"function_id": i}]} for i in numbers],
        "function": [{"id": i, "name": f"f{i}"} for i in numbers]}))
    return path


def test_short_times_of_long_recordings_add_up(tmp_path):
    """1,000 waits of 10 us in a day: each is less than a nanosecond a second."""
    day = waits_of(tmp_path / "day.pb", 1000, 10_000, 86400)
    hours = waits_of(tmp_path / "hours.pb", 1000, 20_000, 43200)
    answer = as_json(day, hours, "--per-second")
    assert answer["base"]["total"] == pytest.approx(0.01 / 86400, abs=1e-9)
    assert answer["new"]["total"] == pytest.approx(0.02 / 43200, abs=1e-9)
    moment = waits_of(tmp_path / "moment.pb", 1, 2 ** 62, 1e-9)
    assert "too large to be added up" in refused(day, moment, "--per-second")


def test_values_too_large_to_be_added_up(tmp_path, base):
    huge = write(tmp_path / "huge.folded", {"a;b": 2 ** 64 - 1})
    for sides in (huge, base), (base, huge):
        assert "too large to be added up" in refused(*sides)


@pytest.mark.parametrize("arguments", [
    [], ["a"] * 3, ["a", "b", "--confidence", "100"], ["a", "b", "--confidence", "0"],
    ["a", "b", "--fail-over", "x"], ["a", "b", "--absolute", "--normalized"],
    ["a", "b", "-o", "x.unknown"], ["a", "b", "--json", "-o", "-"],
    ["a", "b", "--json", "--markdown", "-"], ["a", "b", "--unknown"], ["a", "b", "-f", "pprof"]])
def test_wrong_usage(arguments):
    refused(*arguments, code=2)


def test_wrong_expression_is_named():
    assert "--from: '('" in refused("a", "b", "--from", "(", code=2)


def test_two_outputs_to_one_file(tmp_path, base):
    svg, markdown = tmp_path / "x.svg", tmp_path / "x.md"
    for outputs in (["-o", svg, "-o", svg], ["-o", markdown, "--markdown", markdown],
                    ["-o", "-", "-o", "/dev/stdout"]):
        assert "two outputs" in refused(base, base, *outputs, code=2)
    assert not svg.exists() and not markdown.exists()


# --- outputs --------------------------------------------------------------------------------


def svg_titles(path):
    """The tooltips of the frames: {name: text after the name}."""
    root = ElementTree.parse(path).getroot()
    titles = [title.text for rect in root.iter(f"{SVG}rect") for title in rect.findall(f"{SVG}title")]
    return dict(title.split(" (", 1) for title in titles)


def test_both_sides_are_visible(tmp_path, base, new):
    paths = [tmp_path / f"x.{ending}" for ending in FORMATS]
    diff(base, new, *[word for path in paths for word in ("-o", path)])
    assert_only(tmp_path, ["base.folded", "new.folded", *(path.name for path in paths)])
    for path in paths[:4]:
        text = path.read_text()
        assert "legacy" in text and "modern" in text, path
    titles = svg_titles(tmp_path / "x.svg")
    assert "gone" in titles["legacy"] and "new" in titles["modern"]
    assert "within noise" in titles["quiet"] and "noise" not in titles["parse"]
    assert re.search(r"total 43\.17.*self 14\.39", titles["parse"])


def test_text_is_for_people(base, new):
    result = diff(base, new)
    lines = result.stdout.splitlines()
    assert result.stderr == ""
    assert lines[0] == ("total on-CPU samples 6,950 → 6,982 (+0.5 %); 1 function grew, 1 shrank, "
                        "1 new, 1 gone; 5 changes are within noise")
    assert "\033" not in result.stdout
    rows = [line for line in lines if "→" in line][1:]
    assert len({len(line[:line.index("→")]) for line in rows}) <= 4
    assert diff(base, new, "--limit", 1).stdout.count("… and 3 more") == 2
    assert "legacy" not in diff(base, new, "--threshold", 5).stdout


def terminal_output(arguments, **environment):
    """The output of a run on a terminal."""
    leader, follower = pty.openpty()
    subprocess.run([BPFFLAME, *map(str, arguments)], stdout=follower, check=True, timeout=60,
                   env={**os.environ, **environment})
    os.close(follower)
    data = b""
    try:
        while chunk := os.read(leader, 65536):
            data += chunk
    except OSError:
        pass
    os.close(leader)
    return data.decode()


def test_colour_on_a_terminal_only(tmp_path, base, new):
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    assert "\033[" in terminal_output(["diff", base, new], **{**environment, "NO_COLOR": "", "TERM": "xterm"})
    assert "\033[" not in terminal_output(["diff", base, new], NO_COLOR="1")
    assert "\033[" not in terminal_output(["diff", base, new], TERM="dumb")
    diff(base, new, "-o", tmp_path / "x.txt")
    assert "\033" not in (tmp_path / "x.txt").read_text()


def test_markdown_besides(tmp_path, base, new):
    result = diff(base, new, "--markdown", tmp_path / "x.md")
    text = (tmp_path / "x.md").read_text()
    assert text.splitlines()[0] == f"**{result.stdout.splitlines()[0]}**"
    assert "| 14.39 % | 21.48 % | +7.10 | +49.3 % | 10.9 σ | 1,000 → 1,500 | <code>parse</code> |" \
        in text
    assert text.count("<details>") == text.count("</details>") == 1
    assert diff(base, new, "--markdown", "-").stdout == text


def test_the_same_input_gives_the_same_output(tmp_path, base, new):
    shuffled = write(tmp_path / "shuffled.folded", dict(reversed(NEW.items())))
    for ending in FORMATS:
        outputs = []
        for path in (new, shuffled):
            path.rename(tmp_path / "input.folded")
            diff(base, tmp_path / "input.folded", "-o", tmp_path / f"x.{ending}")
            (tmp_path / "input.folded").rename(path)
            outputs.append((tmp_path / f"x.{ending}").read_bytes())
        assert outputs[0] == outputs[1], ending


@pytest.mark.parametrize("ending", FORMATS)
def test_hostile_names_are_inert(tmp_path, ending):
    one, two, path = tmp_path / "<b>|`a.folded", tmp_path / "b.folded", tmp_path / f"x.{ending}"
    one.write_bytes(b"".join(b"comm;" + name + b" 500\n" for name in HOSTILE[::2]) + b"a;b 9000\n")
    two.write_bytes(b"".join(b"comm;" + name + b" 500\n" for name in HOSTILE[1::2]) + b"a;b 9000\n")
    diff(one, two, "-o", path, "--title", "<b>&\"'")
    text = path.read_text()
    if ending == "json":
        assert functions(json.loads(text))["<script>alert(1)</script>"]["change"] == "gone"
    elif ending == "svg":
        assert_well_formed(path)
        root = ElementTree.fromstring(text)
        assert len(root.findall(f".//{SVG}script")) == 1
        assert "<script>alert(1)</script>" in svg_titles(path)
    else:
        assert "\033" not in text and "\x01" not in text and "\u202e" not in text
    if ending in ("md", "html"):
        assert "<script>alert" not in text and "<img src=x" not in text and "<b>&" not in text
    if ending == "md":
        assert "<b>" not in text
        tags = set(re.findall(r"</?[a-z]+", text))
        assert tags <= {"<code", "</code", "<details", "</details", "<summary", "</summary",
                        "<sub", "</sub"}
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert len(rows) > 20 and {line.count("|") for line in rows} == {8}
        assert not any(set("`*~[]@") & set(name) for name in re.findall("<code>(.*?)</code>", text))


# --- the gate -------------------------------------------------------------------------------


def test_the_gate_names_what_grew(base, new):
    result = diff(base, new, "--fail-over", 40, code=3)
    assert result.stderr == (
        "bpfflame: grew too much: parse: self 14.39 % → 21.48 % (+49.3 %, +34.6 to +65.6 % at "
        "99 %; > 99.9999 % sure; limit 40 %; 1 run against 1)\n")
    assert "gate: 1 function grew by more than 40 %" in result.stdout
    assert diff(base, new, "--fail-over", 60).stderr == ""
    assert diff(new, base, "--fail-over", 30).stderr == ""
    answer = json.loads(diff(base, new, "--fail-over", 40, "--json", code=3).stdout)
    assert answer["gate"]["failed"]
    assert [row["name"] for row in answer["gate"]["offenders"]] == ["parse"]


def test_the_gate_lets_noise_through(tmp_path):
    one = write(tmp_path / "a.folded", {"app;f": 100, "app;g": 900, "app;h": 2})
    two = write(tmp_path / "b.folded", {"app;f": 120, "app;g": 880, "app;h": 5})
    assert diff(one, two, "--fail-over", 1).stderr == ""


def test_new_functions_count_by_their_share(base, new):
    """A renamed function did not grow; a new one with 3.3 % is too much at 3 %."""
    assert "modern" in diff(base, new, "--fail-over", 3, code=3).stderr
    assert "modern" not in diff(base, new, "--fail-over", 4, code=3).stderr


def test_the_gate_of_the_total(tmp_path, base):
    more = write(tmp_path / "more.folded", {stack: value * 6 // 5 for stack, value in BASE.items()})
    assert diff(base, more, "--fail-over", 10).stderr == ""
    result = diff(base, more, "--fail-over", 10, "--absolute", code=3)
    assert result.stderr.startswith("bpfflame: grew too much: all: total 6,950 → 8,340 (+20.0 %")


def test_the_gate_needs_recordings(tmp_path, base):
    """An empty recording does not prove that nothing grew."""
    empty = write(tmp_path / "empty.folded", {})
    assert "empty.folded" in diff(base, empty, "--fail-over", 10, code=1).stderr
    assert "empty.folded" in diff(empty, base, "--fail-over", 10, code=1).stderr


def test_outputs_are_written_before_the_gate_says_no(tmp_path, base, new):
    diff(base, new, "--fail-over", 1, "-o", tmp_path / "x.svg", "--markdown", tmp_path / "x.md",
         code=3)
    assert (tmp_path / "x.svg").stat().st_size and "❌" in (tmp_path / "x.md").read_text()
