<?php
# SPDX-License-Identifier: GPL-2.0-or-later
#
# php_truth.php LEAF: processes that each stay below a known stack of PHP functions.
#
# LEAF is what they do at its end: burn, nap (short sleeps), wait (a long one), look (stream_select).
# Each prints one line of JSON first: {"pid": PID, "stack": [[name, line or null], ...]}, root first,
# as the interpreter itself has it; that of the last function is not known.
function burn() { for ($n = 0; $n >= 0; $n = $n + 1 & 0xffff); }
function nap() { while (true) usleep(2000); }
function wait() { while (true) sleep(1000); }
function look() {
    $pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    while (true) { $r = [$pair[0]]; $w = $e = null; stream_select($r, $w, $e, 0, 2000); }
}

function leaf() {
    global $argv;
    $stack = [];
    $line = null;
    foreach (debug_backtrace() as $frame) {
        $name = in_array($frame["function"], ["eval", "include"]) ? "<main>" : $frame["function"];
        $stack[] = [(isset($frame["class"]) ? $frame["class"] . "::" : "") . $name, $line];
        $line = $frame["line"] ?? null;
    }
    $stack[] = ["<main>", $line];
    fwrite(STDOUT, json_encode(["pid" => getmypid(), "stack" => array_reverse($stack)]) . "\n");
    $argv[1]();
}

class Shape {
    static function made() { return array_map(function ($x) { return leaf(); }, [1]); }
    function __call($name, $arguments) { return self::made(); }
    function __invoke() { leaf(); }
    function __destruct() { if (isset($this->ends)) leaf(); }
}

function generator() { yield leaf(); }
function by_generator() { foreach (generator() as $x); }
function by_sort() { $a = [2, 1]; usort($a, function ($x, $y) { by_call(); return 0; }); }
function by_call() { (new Shape)->magic(); }
function by_invoke() { (new Shape)(); }
function by_regex() { preg_replace_callback("/a/", fn($m) => leaf(), "a"); }
function by_eval() { eval("leaf();"); }
function by_destructor() { $shape = new Shape; $shape->ends = true; unset($shape); }
function by_user_call() { call_user_func_array("leaf", []); }
function by_walk() { $a = [1]; array_walk($a, "by_walked"); }
function by_walked($x, $i) { leaf(); }
function deep($n = 100) { if ($n) deep($n - 1); else leaf(); }

foreach (["by_generator", "by_sort", "by_call", "by_invoke", "by_regex", "by_eval", "by_destructor",
          "by_user_call", "by_walk", "deep"] as $kind)
    if (!pcntl_fork()) {
        $kind();
        exit;
    }
pcntl_wait($status);
