<?php
# SPDX-License-Identifier: GPL-2.0-or-later
#
# php_hot.php: calls of many kinds, again and again, so that a JIT compiles them. Says when that is
# done, and goes on.
#
# Which functions can call which is in HOT of tests/e2e/test_php.py.
function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
function compare($a, $b) { return strcmp(md5($a), md5($b)); }
function sorts() { $x = range(1, 60); shuffle($x); usort($x, "compare"); }
function twice($x) { return fib(4) + $x; }
function maps() { return array_map("twice", range(1, 60)); }
function longer($match) { return sha1($match[0]); }
function regex() { return preg_replace_callback("/[0-9]+/", "longer", "1 22 333 4444 55555 666666"); }
function items() { for ($i = 0; $i < 60; $i++) yield md5("item $i"); }
function all() { yield from items(); }
function generators() { foreach (all() as $item) fib(3); }
function throws($i) { if ($i % 2) throw new Exception("odd"); return sqrt($i); }
function catches() { for ($i = 0; $i < 60; $i++) try { throws($i); } catch (Exception $e) { fib(3); } }
class Shape {
    private $area = 0;
    function __get($name) { return md5($name); }
    function add($x) { $this->area += $x; return $this; }
    function __destruct() { fib(3); }
}
function objects() { for ($i = 0; $i < 60; $i++) { $shape = new Shape; $shape->add($i)->add(2)->none; } }
# Of other types each time: code that expects the last ones is left.
function types() { for ($t = $i = 0; $i < 300; $i++) { $v = [1, 1.5, "3", null, [1], true][$i % 6]; $t += is_array($v) ? 1 : $v; } }
function floats() { for ($a = 1.0, $i = 1; $i < 300; $i++) $a = fmod($a * 1.5 + sqrt($i), 1000.0); }
function warned($number, $text) { return fib(3) > 0; }
function none() { return $none; }
function warns() { for ($i = 0; $i < 60; $i++) { none(); $x = "5 apples" + $i; } }
function in_fiber() { for ($i = 0; $i < 20; $i++) { sha1(str_repeat("$i", 2000)); Fiber::suspend($i); } }
function fibers() {
    if (!class_exists("Fiber")) return;
    for ($fiber = new Fiber("in_fiber"), $fiber->start(); !$fiber->isTerminated();) { fib(3); $fiber->resume(); }
}
function napped($a, $b) { usleep(300); return $a - $b; }
function naps() { $x = [3, 1, 2]; usort($x, "napped"); }

set_error_handler("warned");
$kinds = ["sorts", "maps", "regex", "generators", "catches", "objects", "types", "floats", "warns", "fibers", "naps"];
for ($round = 0;; $round++) {
    foreach ($kinds as $kind) for ($i = $kind == "naps" ? 19 : 0; $i < 20; $i++) $kind();
    fib(15);
    if ($round == 20) echo "hot\n";
}
