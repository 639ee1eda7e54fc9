# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of Erlang's programs: held against what BEAM itself says of its functions."""
import collections
import contextlib
import itertools
import json
import re
import subprocess

import pytest

import interpreters
from harness import ROOT, Folded, record

TRUTH = ROOT / "tests" / "workload" / "beam_truth.erl"
N_KINDS = 10
ERLANGS = interpreters.named("/usr/bin/erl", "ERLANGS")
KNOWN = ["25", "27", "29"]
MARK = "_[j]"
LINE = re.compile(r" \(([^()]*):(\d+)\)$")
FIRST = "beam_truth:started/2"
RELEASES, COMPILED = {}, {}  # by the machine, and by its module


def said_by(erlang, expression):
    return subprocess.check_output([erlang, "-noshell", "-eval", f"{expression}, halt()."], text=True)


@pytest.fixture(autouse=True)
def known(request):
    erlang = request.node.callspec.params["erlang"]
    if erlang not in RELEASES:
        RELEASES[erlang] = said_by(erlang, "io:put_chars(erlang:system_info(otp_release))")
    interpreters.skip_unless_known("Erlang/OTP", RELEASES[erlang], KNOWN)


def compiled(erlang, folder, source):
    """The arguments that run functions of the module at @source, which is compiled once."""
    if (erlang, source) not in COMPILED:
        said = said_by(erlang, f'io:format("~p", [compile:file("{source}", [{{outdir, "{folder}"}}])])')
        assert said == f"{{ok,{source.stem}}}"
        COMPILED[erlang, source] = folder
    return [erlang, "-noshell", "-pa", COMPILED[erlang, source]]


@contextlib.contextmanager
def started(erlang, leaf, folder):
    """The process, and its stacks: [(function, line), …], root first."""
    # Of two schedulers one may sleep, and the other favours some processes.
    fair = ["+S", "1"] if leaf == "block" else []
    process = subprocess.Popen([*compiled(erlang, folder, TRUTH), *fair, "-s", "beam_truth", "main", leaf],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process, [[tuple(frame) for frame in json.loads(process.stdout.readline())]
                        for _ in range(N_KINDS)]
    finally:
        process.kill()
        process.communicate()


def functions(frames):
    """Erlang's, root first: (function, line)."""
    found = [frame.removesuffix(MARK) for frame in frames if frame.endswith(MARK)]
    places = [LINE.search(frame) for frame in found]
    return [(LINE.sub("", frame), int(place[2]) if place else 0) for frame, place in zip(found, places)]


def own(frames):
    """What the truth is about, which has a place once that is there several times in a row."""
    found = functions(frames)
    names = [name for name, _ in found]
    return [frame for frame, _ in itertools.groupby(found[names.index(FIRST):])] if FIRST in names else []


def kind_of(stack):
    return next((name for name, _ in stack if ":by_" in name), None)


def assert_right(folded, truths, lasts):
    """The stacks are those of @truths, and then one of @lasts or, for a moment, none: another process is next."""
    wanted = {kind_of(truth): truth for truth in truths}
    right, between, others, seen = 0, 0, collections.Counter(), set()
    for frames, value in folded.stacks:
        stack = own(frames)
        if not stack:
            continue
        truth = wanted.get(kind_of(stack), [])
        last = [name for name, _ in stack[len(truth):]]
        is_whole = frames[1] != "[truncated]" and stack[:len(truth)] == truth
        if is_whole and last in lasts:
            right += value
            seen.add(kind_of(stack))
        elif is_whole and not last:
            between += value
        else:
            others[tuple(frames)] += value
    assert right >= 0.99 * (right + others.total()) > 0, (right, others.most_common(2), truths)
    assert between <= 0.05 * right, (right, between)
    assert seen == set(wanted)


def are_in_order(frames):
    """Native frames that run Erlang's functions, those, and what these call."""
    kinds = [frame.endswith(MARK) for frame in frames[1:]]
    return re.fullmatch("N+E+N*", "".join("E" if kind else "N" for kind in kinds))


LEAVES = {
    "burn": (["--oncpu", "-F", 499], [[], ["beam_truth:burn/1"]]),
    "hash": (["--oncpu", "-F", 499], [["beam_truth:hash/2"]]),
    "equal": (["--oncpu", "-F", 499], [["beam_truth:" + name for name in names] for names in (
        ["equal/2"], ["equal/2", "equal_1/2"], ["equal/2", "equal_1/2", "equal_2/2"],
        ["equal/2", "equal_1/2", "equal_2/2", "equal_3/2"])]),
    "block": (["--offcpu"], [["beam_truth:block/1"]]),
}


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("erlang", ERLANGS)
def test_whole_stacks_are_those_of_the_machine(erlang, leaf, tmp_path):
    out = tmp_path / "x.folded"
    options, lasts = LEAVES[leaf]
    with started(erlang, leaf, tmp_path) as (process, truths):
        result = record("-p", process.pid, *options, "-d", 1.5, "--threads", "--lines", "-o", out)
    folded = Folded(out)
    assert_right(folded, truths, lasts)
    interpreters.assert_all_named(result)
    for frames, _ in folded.stacks:
        assert not own(frames) or are_in_order(frames), frames
        depth = [name for name, _ in functions(frames)].count("beam_truth:deep/2")
        assert depth in (0, 101), (depth, frames)
    if leaf != "burn":
        inside = folded.total(lambda frames: own(frames) and not frames[-1].endswith(MARK))
        assert inside >= 0.9 * folded.total(lambda frames: bool(own(frames)))


@pytest.mark.parametrize("erlang", ERLANGS)
def test_processes_that_wait_have_no_thread(erlang, tmp_path):
    """What waits is the scheduler."""
    out = tmp_path / "x.folded"
    with started(erlang, "nap", tmp_path) as (process, _):
        record("-p", process.pid, "--offcpu", "-d", 1, "-o", out)
    folded = Folded(out)
    # OTP 25 calls its threads 1_scheduler and so on, newer ones erts_sched_1.
    total = folded.total(lambda frames: "_sched" in frames[0])
    assert total > 0
    assert folded.total(lambda frames: "_sched" in frames[0] and functions(frames)) <= 0.01 * total


@pytest.mark.parametrize("erlang", ERLANGS)
def test_known_work_has_known_shares(erlang, tmp_path):
    out, source = tmp_path / "x.folded", tmp_path / "shares.erl"
    source.write_text("""
        -module(shares).
        -export([main/0]).
        main() -> main(erlang:monotonic_time(millisecond) + 2500).
        main(End) ->
            first(), second(), third(),
            case erlang:monotonic_time(millisecond) < End of true -> main(End); false -> halt() end.
        first() -> {first, work(30000, 0)}.
        second() -> {second, work(20000, 0)}.
        third() -> {third, work(10000, 0)}.
        work(0, X) -> X;
        work(N, X) -> work(N - 1, (X * 31 + N) rem 1000003).
        """)
    result = record("-F", 1999, "-o", out, "--", *compiled(erlang, tmp_path, source), "-s", "shares", "main")
    shares = collections.Counter()
    for frames, value in Folded(out).stacks:
        for name, _ in functions(frames):
            if name in ("shares:first/0", "shares:second/0", "shares:third/0"):
                shares[name[7:-2]] += value
    assert shares.total() > 2000 # by chance, a share is 1.1 points off
    for name, share in {"first": 1 / 2, "second": 1 / 3, "third": 1 / 6}.items():
        assert shares[name] / shares.total() == pytest.approx(share, abs=0.03), shares
    interpreters.assert_all_named(result)


@pytest.mark.parametrize("erlang", ERLANGS)
def test_names_are_whole(erlang, tmp_path):
    """Also longer ones than a term has room for."""
    out, source = tmp_path / "x.folded", tmp_path / "named.erl"
    names = ["a", "b" * 64, "c" * 65, "d" * 255, "\u00fcn\u00ef \u6f22"]
    source.write_text("-module(named).\n-export([main/0]).\n" + "".join(f"""
        '{name}'(0, X) -> {{X}};
        '{name}'(N, X) -> '{name}'(N - 1, (X * 31 + N) rem 1000003).""" for name in names) + """
        main() -> main(erlang:monotonic_time(millisecond) + 1000).
        main(End) -> """ + "".join(f"'{name}'(5000, 0), " for name in names) + """
            case erlang:monotonic_time(millisecond) < End of true -> main(End); false -> halt() end.
        """)
    record("-F", 999, "-o", out, "--", *compiled(erlang, tmp_path, source), "-s", "named", "main")
    found = {name for frames, _ in Folded(out).stacks for name, _ in functions(frames) if name.startswith("named:")}
    assert found - {"named:main/0", "named:main/1"} == {f"named:{name}/2" for name in names}


@pytest.mark.parametrize("erlang", ERLANGS)
def test_modules_that_replace_each_other_have_their_own_names(erlang, tmp_path):
    """made:made_N/0 calls burner_(N % 16), and is replaced by another module at its address."""
    out, source = tmp_path / "x.folded", tmp_path / "reload.erl"
    burners = " ".join(f"burner_{k}() -> {{burner, burn({k}, 3000)}}." for k in range(16))
    source.write_text(f"""
        -module(reload).
        -compile(export_all).
        -compile(nowarn_export_all).
        main() ->
            Made = list_to_tuple([made(N) || N <- lists:seq(0, 63)]),
            main(Made, 0, erlang:monotonic_time(millisecond) + 2500).
        main(Made, N, End) ->
            {{Name, Code}} = element(N rem 64 + 1, Made),
            {{module, made}} = code:load_binary(made, "made", Code),
            [made:Name() || _ <- lists:seq(1, 20)],
            true = code:delete(made),
            code:purge(made),
            case erlang:monotonic_time(millisecond) < End of true -> main(Made, N + 1, End); false -> halt() end.
        made(N) ->
            Name = list_to_atom("made_" ++ integer_to_list(N)),
            Burner = list_to_atom("burner_" ++ integer_to_list(N rem 16)),
            {{ok, made, Code}} = compile:forms([
                {{attribute, 1, module, made}}, {{attribute, 1, export, [{{Name, 0}}]}},
                {{function, 1, Name, 0, [{{clause, 1, [], [], [{{tuple, 1, [{{atom, 1, Name}},
                    {{call, 1, {{remote, 1, {{atom, 1, reload}}, {{atom, 1, Burner}}}}, []}}]}}]}}]}}]),
            {{Name, Code}}.
        {burners}
        burn(X, 0) -> X;
        burn(X, N) -> burn(X * 31 rem 1000003, N - 1).
        """)
    result = record("-F", 999, "-o", out, "--", *compiled(erlang, tmp_path, source), "-s", "reload", "main")
    right, wrong = 0, []
    for frames, value in Folded(out).stacks:
        text = ";".join(frames)
        made, burner = re.search(r";made:made_(\d+)/0_\[j\]", text), re.search(r"burner_(\d+)/0_\[j\]", text)
        if made and burner:
            is_right = int(made[1]) % 16 == int(burner[1])
            right += value if is_right else 0
            wrong += [] if is_right else [text]
    assert wrong == []
    assert right > 0 or result.summary["runtimes"]["nameless_code"] > 0
