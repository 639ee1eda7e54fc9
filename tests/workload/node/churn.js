// SPDX-License-Identifier: GPL-2.0-or-later
// churn.js SECONDS: makes functions made_N, each of which calls burner_(N % 16), and drops them, while
// the collector is made to run and to move what is left. Prints how many it made.
'use strict';
let n = 0;
const kept = [];
const burners = Array.from({length: 16}, (_, i) => new Function('ms', `
  return (function burner_${i}(ms) {
    const end = performance.now() + ms;
    let x = 0;
    while (performance.now() < end) for (let i = 0; i < 1000; i++) x = x * 31 + i | 0;
    return x;
  })`)());
const end = Date.now() + 1000 * process.argv[2];
while (Date.now() < end) {
  const made = new Function('burner', `
    return function made_${n}(ms) { return burner(ms) + 1; }`)(burners[n % 16]);
  made(3);
  kept[n++ % 50] = made;
  if (n % 8 === 0) globalThis.gc();
}
console.log(n);
