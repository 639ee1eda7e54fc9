# SPDX-License-Identifier: GPL-2.0-or-later
"""Deep recursion of interpreted functions: whole up to 1 023, above that the innermost ones stay."""
import os
import shutil

import pytest

from harness import Folded, record

# Calls itself as often as its argument says, then works for a second and a half.
SCRIPTS = {
    "perl": ("deep.pl", """no warnings; use Time::HiRes "time";
        sub spin { my $end = time + 1.5; my $x = 0; while (time < $end) { $x += $_ for 0 .. 1000 } }
        sub down { my $n = shift; if ($n) { down($n - 1) } else { spin() } }
        down($ARGV[0]);"""),
    "php": ("deep.php", """<?php
        function spin() { $end = microtime(true) + 1.5; $x = 0;
                          while (microtime(true) < $end) for ($i = 0; $i < 1000; $i++) $x += $i; }
        function down($n) { if ($n) down($n - 1); else spin(); }
        down((int)$argv[1]);"""),
    "ruby": ("deep.rb", """def spin; stop = Time.now + 1.5; x = 0; (i = 0; while i < 1000; x += i += 1; end) while Time.now < stop; end
        def down(n) n > 0 ? down(n - 1) : spin end
        down(ARGV[0].to_i)"""),
    "luajit": ("down.lua", """local function spin() local stop, x = os.clock() + 1.5, 0
            while os.clock() < stop do for i = 1, 1000 do x = x + i end end end
        local function down(n) if n == 0 then spin() else down(n - 1); return 1 end return 2 end
        down(tonumber(arg[1]))"""),
    "node": ("deep.js", """function spin() { const end = Date.now() + 1500; let x = 0;
                                   while (Date.now() < end) for (let i = 0; i < 1000; i++) x += i; }
        function down(n) { if (n) return 1 + down(n - 1); spin(); return 0 }
        down(+process.argv[2])"""),
}


def recorded(tmp_path, language, depth):
    """Total, and that of stacks with each number of calls of down(), whole ones and cut off ones."""
    name, text = SCRIPTS[language]
    script, out = tmp_path / name, tmp_path / f"{depth}.folded"
    script.write_text(text)
    record("-F", 199, "-o", out, "--", shutil.which(language), script, depth, env=os.environ | {"LC_ALL": "C.UTF-8"})
    # Functions of Lua have no names: those of the third line.
    mark = "down.lua:3" if language == "luajit" else "down"
    calls = {True: {}, False: {}}
    for frames, value in Folded(out).stacks:
        n = sum(mark in frame for frame in frames)
        of = calls["[truncated]" not in frames]
        of[n] = of.get(n, 0) + value
    return calls


@pytest.mark.parametrize("language", SCRIPTS)
def test_recursion(language, tmp_path):
    calls = recorded(tmp_path, language, 950)
    assert calls[True].get(951, 0) >= 100, calls
    assert calls[True][951] >= 0.97 * sum(value for of in calls.values() for n, value in of.items() if n), calls
    calls = recorded(tmp_path, language, 3000)
    assert sum(value for n, value in calls[False].items() if 950 < n < 1024) >= 100, calls
    # A program that has not begun, or is over, makes no calls.
    assert sum(calls[True].values()) + calls[False].get(0, 0) <= 60, calls
