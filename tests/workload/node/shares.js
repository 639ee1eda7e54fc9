// SPDX-License-Identifier: GPL-2.0-or-later
// shares.js SECONDS: for so long, by its CPU time, three functions burn the same each, called through
// built-in functions.
'use strict';
function burn(ms) {
  const start = process.cpuUsage();
  let n = 0, used = 0;
  while (used < 1000 * ms) {
    for (let i = 0; i < 20000; i++) n = n * 31 + i | 0;
    const now = process.cpuUsage(start);
    used = now.user + now.system;
  }
  return n;
}
function first() { return burn(10); }
function second() { return burn(10); }
function third() { return burn(10); }
function used() {
  const {user, system} = process.cpuUsage();
  return (user + system) / 1e6;
}
while (used() < process.argv[2]) {
  [2, 1].sort(() => { first(); return 0; });
  [1].map(() => second());
  'a'.replace(/a/, () => third());
}
