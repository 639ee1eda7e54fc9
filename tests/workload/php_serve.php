<?php
# SPDX-License-Identifier: GPL-2.0-or-later
# A page that computes for half a second, below functions that its last line names.
class Page {
    function show($till) { array_map(fn($x) => $this->render($till), [1]); }
    function render($till) { while (microtime(true) < $till) for ($i = 0; $i < 1000; $i++) $n = $i * 2; }
}
(new Page)->show(microtime(true) + 0.5);
echo "shown", function_exists("opcache_get_status") && opcache_get_status()["jit"]["on"] ? ", compiled" : "";
