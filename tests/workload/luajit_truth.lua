-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- luajit_truth.lua LEAF: processes that each stay below a known stack of Lua's functions.
--
-- LEAF is what they do at its end: burn, mix (functions in Lua, C and of the machine itself), nap
-- (short sleeps), or rest (a long one). Each prints one line of JSON first: {"pid": PID, "stack":
-- [[function, line], …]}, root first, as the machine itself has it; a function is FILE:LINE, where it
-- is defined. The line of the last one is not known.
local ffi = require "ffi"
ffi.cdef [[
int fork(void);
int getpid(void);
int usleep(unsigned);
unsigned sleep(unsigned);
int wait(int *);
void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
]]
local C = ffi.C
local outer = {} -- frames of what has resumed the coroutine that runs
local kinds, leaves = {}, {}
local order = {}

local function small(n) return n % 7 + 1 end
local printed = setmetatable({}, {__tostring = function() return "x" end, __add = function(a, b) return a end})

function leaves.burn() local n = 0; while true do n = (n + 1) % 65536 end end

function leaves.mix()
    local n, t, s = 0, {}, ""
    while true do
        n = small(n) + math.floor(math.sin(n) * 2.5) + math.fmod(n, 3)
        t[n % 100 + 1] = n
        t["k" .. n % 100] = n
        s = string.sub(s .. string.rep("ab", 3), -20)
        for _, v in ipairs(t) do n = n + small(v) end
        for k in pairs(t) do if #t > 99 then t[k] = nil end end
        n = #string.format("%d %s", n, s) + select("#", n, s) + #tostring(n) + printed
        pcall(small, n)
        if n > 1e6 then n = 0 end
    end
end

function leaves.nap() while true do C.usleep(2000) end end
function leaves.rest() while true do C.sleep(1000) end end

local function stack(level)
    local frames = {}
    while true do
        local frame = debug.getinfo(level, "Sl")
        if not frame then return frames end
        if frame.what ~= "C" then
            local file = frame.source:match("^@.-([^/]*)$") or "[string]"
            local name = file .. ":" .. frame.linedefined
            if frame.linedefined == 0 then name = "<" .. file .. ">" end
            if frame.linedefined == -1 then name = frame.source end -- the library's own
            table.insert(frames, 1, {name, frame.currentline})
        end
        level = level + 1
    end
end

local function leaf()
    local all, text = {}, {}
    for _, frame in ipairs(outer) do table.insert(all, frame) end
    for _, frame in ipairs(stack(2)) do table.insert(all, frame) end
    for _, frame in ipairs(all) do table.insert(text, string.format('["%s", %d]', frame[1], frame[2])) end
    local last = debug.getinfo(leaves[arg[1]], "S").linedefined
    table.insert(text, string.format('["luajit_truth.lua:%d", 0]', last))
    io.write(string.format('{"pid": %d, "stack": [%s]}\n', C.getpid(), table.concat(text, ", ")))
    io.flush()
    local never = leaves[arg[1]]()
    return never
end
leaf_of_texts = leaf

local function kind(name, f) kinds[name] = f; table.insert(order, name) end

local function resumed(f)
    local thread = coroutine.create(f)
    local function go() for _, frame in ipairs(stack(3)) do table.insert(outer, frame) end return coroutine.resume(thread) end
    local ok, said = go() -- a call that is no tail call
    return ok, said
end

local function deep(n) local x = n > 0 and deep(n - 1) or leaf(); return x end
kind("call", function() local x = deep(100); return x end)
kind("tail", function() return leaf() end)
kind("pcall", function() local x = pcall(function() local y = leaf(); return y end); return x end)
kind("xpcall", function() local x = xpcall(function() local y = leaf(); return y end, print); return x end)
kind("handler", function()
    local x = xpcall(function() local y = {}; return y + nil end, function(said) local z = leaf(said); return z end)
    return x
end)
kind("sort", function()
    table.sort({3, 2, 1}, function(a, b)
        local x = leaf()
        return a < b, x
    end)
end)
kind("nested", function()
    table.sort({2, 1}, function() string.gsub("a", "a", function() local x = pcall(table.sort, {2, 1}, function() leaf() end) return x end) return false end)
end)
kind("gsub", function() local x = string.gsub("abc", "%w", function(c) local y = leaf(c); return y end); return x end)
kind("index", function() local x = setmetatable({}, {__index = function(t, k) local y = leaf(); return y end}).missing; return x end)
kind("newindex", function() setmetatable({}, {__newindex = function() leaf() end}).x = 1 end)
kind("add", function() local t = setmetatable({}, {__add = function() local y = leaf(); return y end}); local x = t + 1; return x end)
kind("concat", function() local t = setmetatable({}, {__concat = function() local y = leaf(); return y end}); local x = "a" .. t .. "b"; return x end)
kind("compare", function() local m = {__lt = function() leaf(); return true end}; if setmetatable({}, m) < setmetatable({}, m) then return 1 end end)
kind("called", function() local x = setmetatable({}, {__call = function(self, n) local y = leaf(n); return y end})(1); return x end)
kind("tostring", function() local x = tostring(setmetatable({}, {__tostring = function() local y = leaf(); return y end})); return x end)
kind("variadic", function() local function many(...) local x = leaf(...); return x, ... end local y = many(1, 2, 3, 4); return y end)
kind("iterator", function() for x in function() local y = leaf(); return y end do return x end end)
kind("resume", function() local x = resumed(function() local y = leaf(); return y end); return x end)
kind("wrap", function()
    local f = coroutine.wrap(function() coroutine.yield(); local y = leaf(); return y end)
    f()
    for _, frame in ipairs(stack(2)) do table.insert(outer, frame) end local x = f(); return x
end)
kind("resume_in_sort", function()
    table.sort({2, 1}, function() local x = resumed(function() table.sort({2, 1}, function() leaf() end) end) return x end)
end)
kind("text", function() local x = loadstring("local x = 1\nlocal y = leaf_of_texts()\nreturn y")(); return x end)
kind("reader", function() local x = load(function() local y = leaf(); return y end); return x end)
kind("collector", function() getmetatable(newproxy(true)).__gc = function() leaf() end collectgarbage() end)
kind("callback", function()
    C.qsort(ffi.new("int[2]", 2, 1), 2, 4, function()
        leaf()
        return 0
    end)
end)
kind("foreach", function() table.foreach({1}, function() leaf() end) end)
kind("hook", function() debug.sethook(function() debug.sethook(); leaf() end, "l"); local x = 1; return x end)

io.write(#order, "\n")
io.flush()
for _, name in ipairs(order) do
    if C.fork() == 0 then
        local x = kinds[name]()
        os.exit(x and 0)
    end
end
C.wait(nil)
