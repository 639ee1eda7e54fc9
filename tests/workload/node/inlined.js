// SPDX-License-Identifier: GPL-2.0-or-later
// inlined.js SECONDS: waits for a millisecond below functions that are small enough to be inlined into
// outer(), once that is optimized. Then it prints "ready".
'use strict';
const fs = require('fs');
const cell = new Int32Array(new SharedArrayBuffer(4));

// Waits if the cell is as expected.
function inner(expected, ms) { return Atomics.wait(cell, 0, expected, ms); }
function middle(expected, ms) { return inner(expected, ms) === 'ok' ? 1 : 0; }
function outer(expected, ms, n) {
  let all = 0;
  for (let i = 0; i < n; i++) all += middle(expected, ms);
  return all;
}

for (let i = 0; i < 20000; i++) outer(1, 1, 10);
fs.writeSync(1, 'ready\n');
const end = Date.now() + 1000 * process.argv[2];
while (Date.now() < end) outer(0, 1, 10);
