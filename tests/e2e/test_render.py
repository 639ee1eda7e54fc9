# SPDX-License-Identifier: GPL-2.0-or-later
"""`bpfflame render`: its inputs, its outputs, and what it refuses. Needs no root."""
import gzip
import html.parser
import json
import os
import re
import resource
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from harness import BPFFLAME, error_line, run

SVG = "{http://www.w3.org/2000/svg}"
SIMPLE = """\
sh;main;read;vfs_read_[k] 7
sh;main;run_[j] 1
sh;main;scan;inner_[i] 4
worker;loop 12
"""
HOSTILE = [
    b"<script>alert(1)</script>", b"\"><img src=x onerror=alert(1)>", b"'single' & \"double\" &amp;",
    b"]]><script>window.hacked=1</script>", b"</title></svg>", b"</script><script>alert(2)</script>",
    b"control\x01\x02\x1f\x7f", b"\x1b[31mred\x1b]0;title\x07", b"invalid \xff\xfe\x80 utf8",
    b"surrogate \xed\xa0\x80", b"right-to-left \xe2\x80\xae evil", b"wide \xe6\xbc\xa2\xe5\xad\x97",
    b"${template} `tick` \\u003c \\", b"--><!-- comment --", b"x" * 10000, b"f(int) (3 samples, 1.00%)",
]
FORMATS = ["svg", "html", "folded", "pb.gz", "speedscope.json", "firefox.json"]


def render(*arguments, stdin=None, check=True, **options):
    """Runs bpfflame render with bytes on stdin; its output is bytes."""
    result = subprocess.run([BPFFLAME, "render", *map(str, arguments)], input=stdin,
                            capture_output=True, timeout=60, check=False, **options)
    if check:
        assert result.returncode == 0, result
    return result


def refused(*arguments, stdin=None, **options):
    """The one error line of a run that fails with 1."""
    result = render(*arguments, stdin=stdin, check=False, **options)
    assert result.returncode == 1, result
    assert result.stdout == b"", result
    lines = result.stderr.decode().splitlines()
    assert len(lines) == 1, result
    return lines[0]


def folded(*arguments, stdin=None):
    return render(*arguments, "-o", "-", stdin=stdin).stdout.decode()


def tooltips(svg):
    """{name: figures} for frames with a tooltip."""
    root = ElementTree.fromstring(svg)
    titles = [title.text for rect in root.iter(f"{SVG}rect") for title in rect.findall(f"{SVG}title")]
    return dict(re.fullmatch(r"(?s)(.*) \((.*)\)", title).groups() for title in titles)


# --- inputs ---------------------------------------------------------------------------------


def test_folded_lines_come_back_as_they_are():
    assert folded(stdin=SIMPLE.encode()) == SIMPLE


def test_without_an_output_an_svg_is_on_stdout():
    names = tooltips(render(stdin=SIMPLE.encode()).stdout)
    assert names["vfs_read"].startswith("7 samples, 29.17%")
    assert names["all"].startswith("24 samples")


def test_several_inputs_add_up(tmp_path):
    (tmp_path / "a.folded").write_text(SIMPLE)
    with gzip.open(tmp_path / "b.gz", "wb") as file:
        file.write(b"worker;loop 8\nother 1\n")
    assert folded(tmp_path / "a.folded", tmp_path / "b.gz", "-", stdin=b"other 2\n") == (
        "other 3\n" + SIMPLE.replace("loop 12", "loop 20"))


def test_times_are_shown_as_times(tmp_path):
    text = "db;main;wait_[k];[futex] 1500000\ndb;main;read;[disk] 500000\n"
    names = tooltips(render(stdin=text.encode()).stdout)
    assert names["main"].startswith("2.00 s, 100.00%")
    assert folded(stdin=text.encode()) == "".join(sorted(text.splitlines(keepends=True)))
    both = tooltips(render(stdin=(text + "db;main;[on-cpu] 8000000\n").encode()).stdout)
    assert both["[on-cpu]"].startswith("8.00 s, 80.00%")


def test_times_and_samples_do_not_add_up(tmp_path):
    (tmp_path / "a.folded").write_text(SIMPLE)
    (tmp_path / "b.folded").write_text("db;read;[disk] 5\n")
    assert "b.folded" in refused(tmp_path / "a.folded", tmp_path / "b.folded", "-o", "-")


def test_two_columns_are_a_comparison():
    assert "diff" in refused("-o", "-", stdin=b"a;b 1 2\na;c 3 4\n")


# --- outputs --------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_holds_hostile_names(tmp_path, ending):
    """Names that break unescaped output are inert text in every format."""
    lines = [b"comm;" + name + b";leaf 5\n" for name in HOSTILE] + [name + b" 1\n" for name in HOSTILE]
    path = tmp_path / f"x.{ending}"
    render("-o", path, "--title", "<b>&\"'", stdin=b"".join(lines))
    data = path.read_bytes()
    if ending == "svg":
        root = ElementTree.fromstring(data)
        assert len(root.findall(f".//{SVG}script")) == 1
        assert subprocess.run(["xmllint", "--noout", path], check=False).returncode == 0
        assert "<script>alert(1)</script>" in tooltips(data)
    elif ending == "html":
        check_html(data.decode())
    elif ending.endswith("json"):
        text = json.dumps(json.loads(data.decode()), ensure_ascii=False)
        assert "<script>alert(1)</script>" in text
        assert "x" * 10000 in text
    elif ending == "folded":
        data.replace(b"\n", b"").replace(b"\t", b"")
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", data)
        assert b"<script>alert(1)</script> 1\n" in data
    else:
        assert b"<script>alert(1)</script>" in gzip.decompress(data)


def is_text(data):
    try:
        return bool(data.decode())
    except UnicodeDecodeError:
        return False


@pytest.mark.parametrize("ending", ["pb.gz", "folded"])
def test_hostile_names_come_back(tmp_path, ending):
    """Through pprof, whose strings are UTF-8, for names that are UTF-8."""
    names = [name for name in HOSTILE if ending == "folded" or is_text(name)]
    lines = b"".join(b"comm;" + name + b";leaf 5\n" + name + b" 1\n" for name in names)
    render("-o", tmp_path / f"x.{ending}", stdin=lines)
    assert render(tmp_path / f"x.{ending}", "-o", "-").stdout == render("-o", "-", stdin=lines).stdout


def check_html(text):
    """No element or attribute comes from a name."""
    class Reader(html.parser.HTMLParser):
        tags, handlers = set(), []

        def handle_starttag(self, tag, attributes):
            self.tags.add(tag)
            self.handlers += [name for name, _ in attributes if name.startswith("on")]

    reader = Reader()
    reader.feed(text)
    assert "img" not in reader.tags
    assert not reader.handlers
    for code in re.findall(r"(?s)<script[^>]*>(.*?)</script>", text):
        assert "alert(" not in code


@pytest.mark.parametrize("ending", FORMATS)
def test_nothing_is_a_picture_too(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    render("-o", path, stdin=b"")
    assert path.exists()
    if ending != "folded":
        assert path.stat().st_size > 0


def test_formats_by_option(tmp_path):
    render("-f", "svg,folded", "-o", tmp_path / "a", "-o", tmp_path / "b", stdin=SIMPLE.encode())
    assert (tmp_path / "a").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "b").read_text() == SIMPLE


def test_other_programs_read_the_svg(tmp_path):
    render("-o", tmp_path / "x.svg", stdin=SIMPLE.encode())
    subprocess.run(["xmllint", "--noout", tmp_path / "x.svg"], check=True)
    subprocess.run(["rsvg-convert", "-o", tmp_path / "x.png", tmp_path / "x.svg"], check=True)
    assert (tmp_path / "x.png").stat().st_size > 2000


def test_flamegraph_pl_reads_our_folded_lines(tmp_path):
    script = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
    (tmp_path / "x.folded").write_text(folded(stdin=SIMPLE.encode()))
    drawn = subprocess.run(["perl", script, tmp_path / "x.folded"], check=True, capture_output=True,
                           text=True).stdout
    assert "24 samples" in drawn and "vfs_read_[k] (7 samples" in drawn


# --- options --------------------------------------------------------------------------------


@pytest.mark.parametrize("options, there, not_there", [
    (["--include", "^scan$"], ["scan", "inner"], ["loop", "read"]),
    (["--exclude", "scan|loop"], ["read"], ["scan", "loop"]),
    (["--base", "main"], ["main", "loop"], ["sh"]),
    (["--no-inline"], ["scan"], ["inner"]),
    (["--no-kernel"], ["read"], ["vfs_read"]),
    (["--max-frames", "6"], ["worker", "[elided]"], []),
    (["--threads"], ["sh", "worker"], ["sh-0/0"]),
])
def test_what_is_shown(options, there, not_there):
    names = tooltips(render(*options, stdin=SIMPLE.encode()).stdout)
    assert set(there) <= set(names)
    assert not set(not_there) & set(names)


def test_flame_charts_are_in_the_order_of_the_input():
    text = b"z;b 1\nz;a 1\nz;b 1\n"

    def row(*options):
        root = ElementTree.fromstring(render(*options, stdin=text).stdout)
        rects = [(float(rect.get("x")), title.text.split(" ")[0]) for rect in root.iter(f"{SVG}rect")
                 for title in rect.findall(f"{SVG}title") if title.text[0] in "ab" and
                 not title.text.startswith("all")]
        return [name for _, name in sorted(rects)]

    assert row() == ["a", "b"]
    assert row("--flamechart") == ["b", "a", "b"]


@pytest.mark.parametrize("option, value", [
    ("--title", "T"), ("--subtitle", "S"), ("--notes", "N"), ("--width", "800"), ("--height", "20"),
    ("--minwidth", "0.5"), ("--min-width", "0.5"), ("--minwidth", "0.5%"), ("--fonttype", "Courier"), ("--fontsize", "12"),
    ("--fontwidth", "0.59"), ("--countname", "bytes"), ("--nametype", "Name:"), ("--colors", "mem"),
    ("--bgcolors", "blue"), ("--bgcolors", "#ffeedd"), ("--factor", "2"), ("--total", "1000"),
    ("--searchcolor", "#00ff00"), ("--encoding", "utf8"), ("--text-truncate-direction", "left"),
    ("--hash", None), ("--random", None), ("--cp", None), ("--reverse", None), ("--inverted", None),
    ("--flamechart", None), ("--flame-chart", None), ("--negate", None), ("--no-sort", None),
    ("--no-javascript", None), ("--pretty", None), ("--deterministic", None),
    ("--truncate-text-right", None),
])
def test_options_of_flamegraph_pl_and_inferno(option, value):
    arguments = [option] if value is None else [option, value]
    data = render(*arguments, stdin=SIMPLE.encode()).stdout
    ElementTree.fromstring(data)
    if option in ("--title", "--subtitle", "--notes", "--countname"):
        assert value in data.decode()


def test_narrow_frames_in_percent():
    def drawn(*options):
        return b"<title>run (" in render(*options, stdin=SIMPLE.encode()).stdout

    assert drawn("--min-width", "4%")  # 1 of 24 samples
    assert not drawn("--min-width", "5%")
    assert drawn("--min-width", "5%", "--min-width", "1")


def test_help_names_all_options():
    text = subprocess.run([BPFFLAME, "render", "--help"], capture_output=True, text=True,
                          check=True).stdout
    for option in ["--title", "--minwidth", "--max-frames", "--flamechart", "--colors", "--include"]:
        assert option in text or option.replace("min", "min-") in text
    assert text == subprocess.run([BPFFLAME, "help", "render"], capture_output=True, text=True,
                                  check=True).stdout
    assert all(len(line) <= 100 for line in text.splitlines())


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, named", [
    (["--no-such-option"], "--no-such-option"),
    (["-o", "x.unknown"], "x.unknown"),
    (["-f", "jpeg"], "-f"),
    (["-f", "svg,html", "-o", "x.svg"], "-f"),
    (["--width", "wide"], "--width"),
    (["--colors", "plaid"], "--colors"),
    (["--include", "("], "--include"),
    (["--flamechart", "--reverse"], "--flamechart"),
    (["--max-frames", "0"], "--max-frames"),
    (["--min-width", "101%"], "--min-width"),
    (["--height"], "--height"),
])
def test_wrong_usage(tmp_path, arguments, named):
    result = run("render", *arguments, cwd=tmp_path)
    assert result.returncode == 2, result
    assert named in error_line(result)
    assert os.listdir(tmp_path) == []


def test_files_that_are_not_there(tmp_path):
    assert "nothing.folded" in refused(tmp_path / "nothing.folded", "-o", "-")
    assert str(tmp_path) in refused(tmp_path, "-o", "-")
    assert "no/such/folder" in refused("-o", "no/such/folder/x.svg", stdin=b"", cwd=tmp_path)


@pytest.mark.parametrize("data, where", [
    (b"a;b 1\na;c\n", "2"),
    (b"a;b 1\n\n# comment\na;b -3\n", "4"),
    (b"a;b 99999999999999999999999\n", "1"),
    (b"\x7fELF\x02\x01\x01" + bytes(100), "byte 7"),
    (b"a;b 1\n" * 1000 + b"c\0d 1\n", ":1001"),
    (b"PERFILE2" + bytes(100), "perf script"),
    (gzip.compress(SIMPLE.encode() * 1000)[:-20], "byte"),
    (b"\x1f\x8b\x08\x00garbage garbage", "byte"),
], ids=["no value", "negative", "overflow", "ELF", "NUL", "perf.data", "cut gzip", "bad gzip"])
def test_damaged_input(tmp_path, data, where):
    (tmp_path / "in").write_bytes(data)
    (tmp_path / "out.svg").write_text("old")
    line = refused(tmp_path / "in", "-o", tmp_path / "out.svg")
    assert f"{tmp_path}/in" in line and where in line.split("/in", 1)[1], line
    assert (tmp_path / "out.svg").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["in", "out.svg"]


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_pictures_are_no_input(tmp_path, ending):
    picture = tmp_path / f"x.{ending}"
    render("-o", picture, stdin=SIMPLE.encode())
    line = refused(picture, "-o", "-")
    assert "a picture" in line and ".folded" in line, line


@pytest.mark.parametrize("text, options, message", [
    ("", [], "has no stacks\n"), ("# a comment\n\n", [], "has no stacks\n"), (SIMPLE, ["-q", "--include", "nothing"], ""),
    (SIMPLE, ["--include", "nothing"], "has no stacks that --include and --exclude leave\n"),
    ("# a comment\n\n" + SIMPLE, [], ""),
], ids=["empty", "comments", "quiet", "left out", "comment above"])
def test_nothing_to_draw(text, options, message):
    """An empty picture comes with a word on why it is empty; comments are no news."""
    result = render("-f", "svg", *options, stdin=text.encode())
    error = result.stderr.decode()
    assert result.stdout.startswith(b"<?xml") and error.endswith(message)
    assert bool(message) == bool(error), error


def test_byte_order_mark():
    text = SIMPLE.encode()
    assert render("-o", "-", stdin=b"\xef\xbb\xbf" + text).stdout == render("-o", "-", stdin=text).stdout


@pytest.mark.parametrize("ending", ["pb.gz", "speedscope.json", "firefox.json"])
def test_nothing_keeps_its_mode(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    render("--include", "nothing", "-o", path, stdin=b"app;main;[futex] 5\n")
    assert json.loads(run("report", "--json", path).stdout)["mode"] == "offcpu"


def test_standard_input_that_is_closed():
    result = subprocess.run(["sh", "-c", '"$0" render - -o - <&-', BPFFLAME], capture_output=True,
                            text=True, check=False)
    assert result.returncode == 1 and "Bad file descriptor" in result.stderr, result


def test_two_outputs_to_one_place(tmp_path):
    for outputs in (["-o", "x.svg", "-o", "x.svg"], ["-f", "svg,folded"],
                    ["-f", "svg,folded", "-o", "x", "-o", "x"]):
        result = run("render", *outputs, cwd=tmp_path)
        assert result.returncode == 2 and "two outputs" in error_line(result), result
    assert os.listdir(tmp_path) == []


def limited():
    """At most 1 GiB of memory."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def test_a_line_without_end():
    """10 GB without a newline: refused long before the end, in bounded memory."""
    source = subprocess.Popen("head -c 10G /dev/zero | tr '\\0' a", shell=True,
                              stdout=subprocess.PIPE)
    result = subprocess.run([BPFFLAME, "render", "-", "-o", "/dev/null", "-f", "svg"],
                            stdin=source.stdout, capture_output=True, text=True, timeout=50,
                            preexec_fn=limited, check=False)
    source.stdout.close()
    source.wait()
    assert result.returncode == 1, result
    assert "1" in result.stderr and len(result.stderr.splitlines()) == 1


def test_a_bomb(tmp_path):
    """1 MB of gzip that unpacks to 1 GB of one line, and one that unpacks to 1 GB of lines."""
    with gzip.open(tmp_path / "line.gz", "wb", compresslevel=6) as file:
        for _ in range(1024):
            file.write(b"a" * (1 << 20))
    with gzip.open(tmp_path / "lines.gz", "wb", compresslevel=6) as file:
        for _ in range(256):
            file.write(b"a;b;c 1\n" * (1 << 17))
    assert "line.gz" in refused(tmp_path / "line.gz", "-o", "-", preexec_fn=limited)
    result = render(tmp_path / "lines.gz", "-o", "-", preexec_fn=limited)
    assert result.stdout == f"a;b;c {256 << 17}\n".encode()


def test_a_full_disk(tmp_path):
    result = render("-o", "/dev/full", "-f", "svg", stdin=SIMPLE.encode(), check=False)
    assert result.returncode == 1
    assert b"/dev/full" in result.stderr


def test_tools_are_there():
    """The tools that the tests above compare the output with."""
    for program in "xmllint", "rsvg-convert", "perl":
        assert shutil.which(program), program
