# SPDX-License-Identifier: GPL-2.0-or-later
"""cargo bpfflame: a real workspace, built by a real cargo and recorded for real.

The name of the workspace's folder contains characters that trip up shells, JSON and make.
"""
import os
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import pytest

import users
from harness import BPFFLAME, ROOT, Folded, assert_well_formed

TOOL = ROOT / "tools" / "cargo-bpfflame"
WORKSPACE = ROOT / "tests" / "workload" / "cargo"
ODD_NAME = "a wörk sp'ce \"of\" $HOME"
# The distribution's cargo: results must not depend on other toolchains that are installed.
PATH = "/usr/bin:/bin:/usr/sbin:/sbin"

pytestmark = pytest.mark.skipif(not shutil.which("cargo", path=PATH),
                                reason="needs cargo (Debian: apt install cargo)")


def environment(home, **more):
    return {"PATH": PATH, "HOME": str(home), "LANG": "C.UTF-8", "BPFFLAME": str(BPFFLAME),
            "CARGO_NET_OFFLINE": "true", "TERM": "dumb", **more}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """One workspace for all tests, so that what one builds need not be built again."""
    path = tmp_path_factory.mktemp("cargo") / ODD_NAME
    shutil.copytree(WORKSPACE, path)
    return path


def call(workspace, *arguments, cwd=None, command=(TOOL,), **more):
    return subprocess.run([*map(str, command), *map(str, arguments)], cwd=cwd or workspace,
                          env=environment(workspace.parent, **more), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300, check=False)


def printed(text):
    """What the program printed about itself: {what: value}, with lists for repeated items."""
    facts = {"argument": [], "variable": {}}
    for line in text.splitlines():
        name, _, rest = line.partition(": ")
        if name == "argument":
            facts["argument"].append(rest.strip('"'))
        elif name == "variable":
            key, _, value = rest.partition("=")
            facts["variable"][key] = value.strip('"')
        elif name in ("who", "folder"):
            facts[name] = rest
    return facts


def assert_burned(folded):
    """Finds the called function and the one inlined into it, by name."""
    burned = folded.total(lambda frames: any(
        a == "hot_path::called_part" and b == "hot_path::inlined_part_[i]"
        for a, b in zip(frames, frames[1:])))
    assert burned > 0.6 * folded.total() > 0, folded.stacks[:5]


PACKAGE = "hot-path"
TEST_ARGUMENTS = ["--nocapture", "--test-threads=1"]


@pytest.mark.parametrize("options, who, in_package, arguments", [
    (["--bin", "hot-path"], "binary", False, ["x y", "$HOME"]),
    (["-p", "hot-path"], "binary", False, []),
    (["-p", "hot-path", "--features", "warm"], "binary", False, []),
    (["--example=an-example"], "example", False, ["*"]),
    (["--test", "a-test"], "test", True, TEST_ARGUMENTS),
    (["--bench", "a-bench"], "bench", True, ["it's"]),
    (["--unit-test", "hot-path"], "unit test", True, TEST_ARGUMENTS),
    (["--unit-test=hot_path"], "unit test", True, TEST_ARGUMENTS),
    (["--unit-test"], "unit test", True, TEST_ARGUMENTS),
    (["-p", "two-bins", "--bin", "first-one"], "first-one", False, []),
    (["--bin", "second_one", "--dev"], "second_one", False, []),
    (["--profile", "all-in", "--bin", "hot-path", "-r"], "binary", False, []),
])
def test_what_can_be_run(workspace, tmp_path, options, who, in_package, arguments):
    """Each kind of target: runs where cargo would run it, with its arguments, and has names."""
    out = tmp_path / "x.folded"
    result = call(workspace, *options, "-F", "999", "-o", out, "--", *arguments)
    assert result.returncode == 0, result
    facts = printed(result.stdout)
    assert facts["who"] == who
    assert facts["folder"] == str(workspace / PACKAGE if in_package else workspace)
    assert facts["argument"] == (["--bench"] if who == "bench" else []) + arguments
    package = "two-bins" if "_one" in who or "-one" in who else PACKAGE
    assert facts["variable"]["CARGO_PKG_NAME"] == package
    assert facts["variable"]["CARGO_MANIFEST_DIR"].replace('\\"', '"') == str(workspace / package)
    folded = Folded(out)
    assert_burned(folded)
    assert (folded.with_frame("hot_path::warm_part") > 0) == ("warm" in options)


def test_as_cargo_calls_it(workspace, tmp_path):
    """`cargo bpfflame` from a package's folder: flamegraph.svg is written there."""
    tools = tmp_path / "bin"
    tools.mkdir()
    shutil.copy(TOOL, tools)
    shutil.copy(BPFFLAME, tools / "bpfflame")
    where = workspace / PACKAGE / "src"
    result = call(workspace, "bpfflame", "-F", "999", command=["cargo"], cwd=where,
                  PATH=f"{tools}:{PATH}", BPFFLAME="")
    assert result.returncode == 0, result
    assert printed(result.stdout)["folder"] == str(where)
    svg = where / "flamegraph.svg"
    assert_well_formed(svg)
    text = svg.read_text()
    assert "hot_path::called_part" in text and "hot_path::inlined_part" in text
    svg.unlink()


def test_manifest_is_not_touched(workspace):
    for path in WORKSPACE.rglob("Cargo.toml"):
        copy = workspace / path.relative_to(WORKSPACE)
        assert copy.read_bytes() == path.read_bytes()


def test_manifest_path_and_options_of_cargo(workspace, tmp_path):
    """From any folder; relative paths are relative to the current one."""
    host = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True,
                          env={"PATH": PATH}).stdout
    triple = next(line.split()[1] for line in host.splitlines() if line.startswith("host:"))
    result = call(workspace, f"--manifest-path={workspace}/hot-path/Cargo.toml", "--target", triple,
                  "--target-dir", tmp_path / "other target", "-j1", "--offline", "--all-features",
                  "--no-default-features", "-F999", "-ox.folded", "--test", "a-test", "--",
                  *TEST_ARGUMENTS, cwd=tmp_path)
    assert result.returncode == 0, result
    assert printed(result.stdout)["folder"] == str(workspace / PACKAGE)
    assert_burned(Folded(tmp_path / "x.folded"))
    assert (tmp_path / "other target" / triple / "release").is_dir()


def test_options_of_bpfflame(workspace, tmp_path):
    out = tmp_path / "x.folded"
    result = call(workspace, "-p", "hot-path", "--wall", "--threads", "-o", out, "--json",
                  "--bpfflame-args", "--no-reason --max-loss 50")
    assert result.returncode == 0, result
    assert '"mode":"wall"' in result.stdout.splitlines()[-1]
    folded = Folded(out)
    assert all(root.startswith("hot-path-") for root in folded.roots()), folded.roots()
    assert not folded.with_frame("[on-cpu]")
    svg = tmp_path / "x.svg"
    result = call(workspace, "-p", "hot-path", "-q", "-o", svg, "-i", "--title", "a title",
                  "--palette", "blue", "--image-width", "900", "--deterministic", "--notes", "n")
    assert result.returncode == 0, result
    assert "a title" in svg.read_text() and 'width="900"' in svg.read_text()


@pytest.mark.parametrize("options, code", [([], 9), (["--ignore-status"], 0)])
def test_exit_status(workspace, tmp_path, options, code):
    result = call(workspace, "-p", "hot-path", *options, "-o", tmp_path / "x.svg", "--", "9")
    assert result.returncode == code, result
    assert "exit status 9" in result.stderr
    assert_well_formed(tmp_path / "x.svg")


def test_interrupt(workspace, tmp_path):
    """Ctrl-C ends the program; its picture is still drawn."""
    out = tmp_path / "x.svg"
    running = subprocess.Popen([TOOL, "-p", "hot-path", "-q", "-o", out], cwd=workspace,
                               env=environment(workspace.parent, SECONDS="30"), text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               start_new_session=True)
    assert running.stdout.readline() == "\n"
    os.killpg(running.pid, signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130
    assert_well_formed(out)


@pytest.mark.parametrize("arguments, code, said", [
    ([], 2, "hot-path, "),
    (["-p", "two-bins"], 2, "first-one, second_one"),
    (["--unit-test", "-p", "two-bins"], 2, "first-one, second_one"),
    (["--bin"], 2, "needs a value"),
    (["--bin", "no-such-thing"], 1, "no-such-thing"),
    (["--example", "no-such-thing"], 1, "no-such-thing"),
    (["-p", "no-such-package", "--bin", "x"], 1, "no-such-package"),
    (["--unit-test", "no-such-thing"], 2, "no-such-thing"),
    (["--bin", "hot-path", "--test", "a-test"], 2, "--bin was said already"),
    (["--dev", "--profile", "release"], 2, "exclude"),
    (["--profile", "no-such-profile", "--bin", "hot-path"], 1, "no-such-profile"),
    (["-c", "record -e x"], 2, "perf"),
    (["--no-such-option"], 2, "--no-such-option"),
    (["hot-path"], 2, "come after --"),
    (["--release=1"], 2, "takes no value"),
    (["-o", "-", "--bin", "hot-path"], 2, "-o -"),
])
def test_wrong_usage(workspace, tmp_path, arguments, code, said):
    """Prints the words that fix it, the list to choose from, or cargo's own complaint."""
    result = call(workspace, *arguments, cwd=workspace)
    assert result.returncode == code, result
    listed = [part.strip() for part in said.split(",") if part.strip()]
    assert all(part in result.stderr for part in listed), result
    assert not (workspace / "flamegraph.svg").exists()


def test_default_run(tmp_path):
    """Chooses as `cargo run` does."""
    workspace = tmp_path / "workspace"
    shutil.copytree(WORKSPACE, workspace)
    manifest = workspace / "two-bins" / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace(
        'edition = "2021"\n', 'edition = "2021"\ndefault-run = "second_one"\n'))
    result = call(workspace, "-F", "999", cwd=workspace / "two-bins")
    assert result.returncode == 0, result
    assert printed(result.stdout)["who"] == "second_one"
    assert_well_formed(workspace / "two-bins" / "flamegraph.svg")


def test_failed_build(tmp_path):
    """Cargo says what is wrong; nothing is recorded."""
    workspace = tmp_path / "workspace"
    shutil.copytree(WORKSPACE, workspace)
    (workspace / "hot-path" / "src" / "main.rs").write_text("fn main() { no_such_function() }\n")
    result = call(workspace, "-p", "hot-path")
    assert result.returncode == 1, result
    assert "no_such_function" in result.stderr
    assert not (workspace / "flamegraph.svg").exists()


def test_outside_of_a_package(workspace, tmp_path):
    result = call(workspace, cwd=tmp_path)
    assert result.returncode == 1 and "Cargo.toml" in result.stderr, result


def test_open(workspace, tmp_path):
    browser = tmp_path / "xdg-open"
    browser.write_text(f'#!/bin/sh\nprintf %s "$*" >"{tmp_path}/opened"\n')
    browser.chmod(0o755)
    result = call(workspace, "-p", "hot-path", "-q", "--open", "-o", tmp_path / "x.svg",
                  PATH=f"{tmp_path}:{PATH}")
    assert result.returncode == 0, result
    assert (tmp_path / "opened").read_text() == str(tmp_path / "x.svg")


def test_help():
    result = subprocess.run([TOOL, "--help"], capture_output=True, text=True, check=True)
    assert "--unit-test" in result.stdout and result.stderr == ""


# --- as an ordinary user --------------------------------------------------------------------


@pytest.fixture(scope="module")
def caller(tmp_path_factory):
    """A user who may call sudo, with a workspace and bpfflame installed in a folder."""
    reason = users.missing()
    if reason:
        pytest.skip(reason)
    there = users.Caller(tmp_path_factory.mktemp("caller"))
    there.workspace = there.home / ODD_NAME
    shutil.copytree(WORKSPACE, there.workspace)
    there.give(there.workspace)
    there.tools = there.program(BPFFLAME).parent
    there.program(TOOL)
    # Prints its arguments, and calls the real one.
    sudo = there.folder / "sudo" / "sudo"
    sudo.parent.mkdir()
    sudo.write_text('#!/bin/sh\nprintf "%s\\n" "$*" >>"$HOME/sudo-calls"\n'
                    'exec /usr/bin/sudo "$@"\n')
    sudo.chmod(0o755)
    there.variables = {"PATH": f"{sudo.parent}:{there.tools}:{PATH}", "CARGO_NET_OFFLINE": "true"}
    return there


def owners(folder):
    return {os.lstat(path).st_uid for path in Path(folder).rglob("*")}


def test_ordinary_user(caller):
    """Root only records: build, program and picture belong to the user."""
    odd = "a'b \"c\" $d"
    result = caller.run("cargo", "bpfflame", "-p", "hot-path", "-F", "999", "--", "a b", "7",
                        cwd=caller.workspace,
                        env={**caller.variables, "ODD": odd, "LD_LIBRARY_PATH": "/no/such/folder"})
    assert result.returncode == 7, result
    facts = printed(result.stdout)
    assert facts["folder"] == str(caller.workspace) and facts["argument"] == ["a b", "7"]
    variables = facts["variable"]
    assert variables["ODD"].replace("\\", "") == odd
    assert variables["HOME"] == str(caller.home) and variables["USER"] == users.NAME
    assert variables["PATH"] == caller.variables["PATH"]
    assert variables["LD_LIBRARY_PATH"].endswith(":/no/such/folder")
    assert not [name for name in variables if name.startswith("SUDO_")]
    calls = (caller.home / "sudo-calls").read_text().splitlines()
    assert len(calls) == 1 and "bpfflame" in calls[0], calls
    svg = caller.workspace / "flamegraph.svg"
    assert_well_formed(svg)
    assert "hot_path::inlined_part" in svg.read_text()
    assert owners(caller.workspace) == {users.UID}
    assert stat.S_IMODE(svg.stat().st_mode) & 0o600 == 0o600


def test_called_through_sudo(caller):
    """Builds as the user in this case, too."""
    shutil.rmtree(caller.workspace / "target", ignore_errors=True)
    result = caller.run("sudo", caller.tools / "cargo-bpfflame", "bpfflame", "--test", "a-test",
                        "-F", "999", "-o", "x.folded", "--", *TEST_ARGUMENTS, cwd=caller.workspace,
                        env=caller.variables)
    assert result.returncode == 0, result
    facts = printed(result.stdout)
    assert facts["folder"] == str(caller.workspace / PACKAGE)
    assert facts["variable"]["USER"] == users.NAME
    assert_burned(Folded(caller.workspace / "x.folded"))
    assert owners(caller.workspace) == {users.UID}


def test_no_sudo_is_said(caller, tmp_path):
    tools = caller.folder / "few"
    tools.mkdir()
    for name in "sh cargo rustc id dirname basename cat".split():
        (tools / name).symlink_to(shutil.which(name, path=PATH))
    result = caller.run("env", f"PATH={tools}", "sh", caller.tools / "cargo-bpfflame",
                        cwd=caller.workspace)
    assert result.returncode == 1, result
    assert "no sudo" in result.stderr.splitlines()[-1]
