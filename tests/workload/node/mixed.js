// SPDX-License-Identifier: GPL-2.0-or-later
// mixed.js MODULE PATH LEAF: JavaScript and LuaJIT (lua.c made MODULE) call each other as PATH says, from
// the left: n JavaScript, j LuaJIT. The last one stays there: LEAF is burn or nap (short waits). Prints
// "ready" before that.
'use strict';
const fs = require('fs');
const lua = require(process.argv[2]);
let path = process.argv[3];
const end = process.argv[4];
const cell = new Int32Array(new SharedArrayBuffer(4));

function again(n) { return n > 0 ? [n].map(m => again(m - 1))[0] : proceed(); }
function burn() { let n = 0; while (n >= 0) n = n + 1 & 0xffff; }
function nap() { for (;;) Atomics.wait(cell, 0, 0, 2); }

function proceed() {
  const letter = path[0];
  path = path.slice(1);
  if (!path)
    fs.writeSync(1, 'ready\n');
  if (letter === 'j')
    lua.call(path ? 'calls' : end);
  else if (path)
    again(2);
  else
    end === 'burn' ? burn() : nap();
}

lua.load(`
  local ffi = require 'ffi'
  function again(n) local m = n > 0 and again(n - 1) or javascript() return m end
  function calls() local n = again(2) return n end
  function burn() local n = 0 while true do n = (n + 1) % 65536 end end
  ffi.cdef 'int poll(void *, unsigned long, int);'
  function nap() while true do ffi.C.poll(nil, 0, 2) end end`, proceed);
proceed();
