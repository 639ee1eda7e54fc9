// SPDX-License-Identifier: GPL-2.0-or-later
// truth.js LEAF: stays below a known stack of functions, in the main thread and in a worker. LEAF is
// what it does at its end: burn, nap (short waits), sleep (one long one). Each thread prints a line of
// JSON, its stack as V8 has it: [[function or "", file, line], …], root first.
'use strict';
const fs = require('fs');
const {Worker, isMainThread, workerData} = require('worker_threads');

const cell = new Int32Array(new SharedArrayBuffer(4));
let said = false;

function say() {
  said = true;
  Error.stackTraceLimit = 200;
  Error.prepareStackTrace = (_, sites) => sites;
  const sites = new Error('x').stack.slice(1).reverse();
  Error.prepareStackTrace = undefined;
  const stack = sites.map(site => [site.getFunctionName() || '', site.getFileName() || '',
                                   site.getLineNumber() || 0]);
  fs.writeSync(1, JSON.stringify(stack) + '\n');
}

function burn() { let n = 0; while (n >= 0) n = n + 1 & 0xffff; }
function nap() { for (;;) Atomics.wait(cell, 0, 0, 2); }
function sleep() { Atomics.wait(cell, 0, 0, 600000); }
const leaves = {burn, nap, sleep};

function leaf(name) {
  if (!said)
    say();
  leaves[name]();
}
function deep(n, name) {
  if (n)
    return deep(n - 1, name);
  return leaf(name);
}
function* generated(name) {
  yield 1;
  yield deep(20, name);
}
class Shape {
  constructor(name) {
    this.name = name;
    this.area(name);
  }
  area(name) {
    return [...generated(name)];
  }
  static made(name) {
    return new Shape(name);
  }
  get size() {
    return Shape.made(this.name);
  }
}
function künstlich(name) {
  const shape = Object.create(Shape.prototype);
  shape.name = name;
  return shape.size;
}
const made = new Function('next', 'name', 'return next(name)');
function byMade(name) {
  return made(künstlich, name);
}
function bySort(name) {
  return [2, 1].sort(() => {
    return byMade(name);
  });
}
function byMap(name) {
  return [name].map(
    item => bySort(item));
}
function byReplace(name) {
  return 'a'.replace(/a/, () => byMap(name));
}
function byParse(name) {
  return JSON.parse('1',
                    () => byReplace(name));
}
exports.byApply = function (name) {
  return Reflect.apply(byParse, null, [name]);
};

if (isMainThread) {
  const name = process.argv[2];
  new Worker(__filename, {workerData: name}).on('online', () => exports.byApply(name));
} else {
  exports.byApply(workerData);
}
