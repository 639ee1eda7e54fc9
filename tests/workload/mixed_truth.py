# SPDX-License-Identifier: GPL-2.0-or-later
"""mixed_truth.py LEAF PATH…: processes that each stay below a known stack of functions of Python
and of the languages whose libraries it has loaded.

PATH says which languages call each other, root first: l Perl, r Ruby, j LuaJIT, v Java (class Mixed
in the folder CLASSES of the environment); LIBPERL, LIBRUBY and LIBJVM say where the libraries are.
Python calls each of them, and each calls Python but the last one, which does LEAF: burn or nap (short
sleeps). With a y at the end Python does that. LuaJIT compiles if there is Java, too. Each process
prints one line of JSON first:
{"pid": PID, "path": PATH, "stack": [name, …]}, root first. Names of Python and Perl are what these say
of themselves, those of the others as they were called."""
import ctypes
import functools
import json
import os
import sys
import time

VOID = ctypes.c_void_p
kept = []  # what C refers to
calls = {}  # functions of another language that a frame of Python has called
started = {}
left = ""


def library(name, *returning_pointers):
    found = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    for function in returning_pointers:
        getattr(found, function).restype = VOID
    return found


def callback(result, arguments, function):
    kept.append(ctypes.CFUNCTYPE(result, *[VOID] * arguments)(function))
    return kept[-1]


class Perl:
    TEXT = """
        sub calls { again(3) }
        sub again { my $n = shift; $n ? again($n - 1) : python() }
        sub burn { report(); my $n = 0; while (1) { $n = $n + 1 & 0xffff } }
        sub nap { report(); while (1) { select undef, undef, undef, 0.002 } }
        sub report {
            my ($i, @names) = (1);
            while (my @frame = caller $i++) { unshift @names, $frame[3] }
            our $names = join ' ', @names;
            said();
        }"""
    CALLED = {"calls": ["main::calls", *["main::again"] * 4], "burn": ["main::burn"], "nap": ["main::nap"]}
    G_SCALAR = 2

    def __init__(self):
        self.lib = library(os.environ["LIBPERL"], "perl_alloc", "Perl_get_sv", "Perl_sv_2pv_flags")
        self.perl = VOID(self.lib.perl_alloc())
        self.lib.perl_construct(self.perl)
        arguments = (ctypes.c_char_p * 4)(b"perl", b"-e", self.TEXT.encode(), None)
        kept.append(arguments)
        self.lib.perl_parse(self.perl, None, 3, arguments, None)
        self.lib.perl_run(self.perl)
        for name, function in ("python", proceed), ("said", self.said):
            self.lib.Perl_newXS(self.perl, name.encode(), callback(None, 2, function), b"mixed")

    def call(self, name):
        self.lib.Perl_call_pv(self.perl, name.encode(), self.G_SCALAR)

    def said(self, *_):
        names = VOID(self.lib.Perl_get_sv(self.perl, b"names", 0))
        text = ctypes.string_at(self.lib.Perl_sv_2pv_flags(self.perl, names, None, 0)).decode()
        say([name for name in text.split() if name != "(eval)"])


class Ruby:
    TEXT = """
        def calls = [1].each { |_| again(3) }
        def again(n) = n > 0 ? again(n - 1) : python
        def burn() = (said; n = 0; while true do n = n + 1 & 0xffff end)
        def nap() = (said; while true do sleep 0.002 end)"""
    CALLED = {"calls": ["Object#calls", "Array#each", "block in calls", *["Object#again"] * 4, "Kernel#python"],
              "burn": ["Object#burn"], "nap": ["Object#nap", "Kernel#sleep"]}

    def __init__(self):
        self.lib = library(os.environ["LIBRUBY"], "rb_eval_string", "rb_intern")
        place = ctypes.c_long()
        kept.append(place)
        self.lib.ruby_init_stack(ctypes.byref(place))
        self.lib.ruby_init()
        self.lib.rb_eval_string(self.TEXT.encode())
        self.main = VOID(self.lib.rb_eval_string(b"self"))
        for name, function in ("python", proceed), ("said", report):
            self.lib.rb_define_global_function(name.encode(), callback(VOID, 1, function), 0)

    def call(self, name):
        self.lib.rb_funcallv(self.main, VOID(self.lib.rb_intern(name.encode())), 0, None)


class Lua:
    TEXT = f"""
        local ffi = require 'ffi'
        jit.{'on' if 'v' in ''.join(sys.argv[2:]) else 'off'}()
        function again(n) local m = n > 0 and again(n - 1) or python() return m end
        function calls() local n = again(3) return n end
        function burn() said() local n = 0 while true do n = (n + 1) % 65536 end end
        ffi.cdef 'int poll(void *, unsigned long, int);'
        function nap() said() while true do ffi.C.poll(nil, 0, 2) end end"""
    CALLED = {"calls": ["mixed:5", *["mixed:4"] * 4], "burn": ["mixed:6"], "nap": ["mixed:8"]}
    GLOBALS = -10002

    def __init__(self):
        self.lib = library("libluajit-5.1.so.2", "luaL_newstate")
        self.state = VOID(self.lib.luaL_newstate())
        self.lib.luaL_openlibs(self.state)
        self.lib.luaL_loadbuffer(self.state, self.TEXT.encode(), ctypes.c_size_t(len(self.TEXT)), b"=mixed")
        self.lib.lua_call(self.state, 0, 0)
        for name, function in ("python", proceed), ("said", report):
            self.lib.lua_pushcclosure(self.state, callback(ctypes.c_int, 1, function), 0)
            self.lib.lua_setfield(self.state, self.GLOBALS, name.encode())

    def call(self, name):
        self.lib.lua_getfield(self.state, self.GLOBALS, name.encode())
        self.lib.lua_call(self.state, 0, 0)


class Java:
    CALLED = {"calls": ["Mixed.calls", *["Mixed.again"] * 4, "Mixed.python"], "burn": ["Mixed.burn"],
              "nap": ["Mixed.nap", "java.lang.Thread.sleep"]}
    VERSION = 0x10008
    # Places in a table of functions: JNI.
    FIND_CLASS, STATIC_METHOD, CALL_STATIC, REGISTER = 6, 113, 141, 215

    def __init__(self):
        self.lib = library(os.environ["LIBJVM"])
        option = (VOID * 2)(ctypes.cast(self.keep(b"-Djava.class.path=" + os.environ["CLASSES"].encode()), VOID), 0)
        arguments = (VOID * 3)(self.VERSION | 1 << 32, ctypes.addressof(option), 0)
        machine, self.environment = VOID(), VOID()
        self.lib.JNI_CreateJavaVM(ctypes.byref(machine), ctypes.byref(self.environment), arguments)
        self.mixed = VOID(self.jni(self.FIND_CLASS)(b"Mixed"))
        natives = [ctypes.cast(part, VOID) for name, function in (("python", proceed), ("said", report))
                   for part in (self.keep(name.encode()), self.keep(b"()V"), callback(None, 2, function))]
        self.jni(self.REGISTER)(self.mixed, (VOID * 6)(*natives), 2)
        find, self.call_static = self.jni(self.STATIC_METHOD), self.jni(self.CALL_STATIC)
        self.methods = {name: VOID(find(self.mixed, name.encode(), b"()V")) for name in self.CALLED}

    @staticmethod
    def keep(text):
        kept.append(ctypes.create_string_buffer(text))
        return kept[-1]

    def jni(self, place):
        table = ctypes.cast(self.environment, ctypes.POINTER(ctypes.POINTER(VOID)))[0]
        return functools.partial(ctypes.CFUNCTYPE(VOID, VOID)(table[place]), self.environment)

    def call(self, name):
        self.call_static(self.mixed, self.methods[name])


def burn():
    say()
    n = 0
    while True:
        n = n + 1 & 0xffff


def nap():
    say()
    while True:
        time.sleep(0.002)


LANGUAGES = {"l": Perl, "r": Ruby, "j": Lua, "v": Java}


def proceed(*_):
    global left
    letter, left = left[0], left[1:]
    if letter == "y":
        globals()[LEAF]()
    if letter not in started:
        started[letter] = LANGUAGES[letter]()
    name = "calls" if left else LEAF
    calls[sys._getframe()] = started[letter].CALLED[name]
    started[letter].call(name)


def say(of_perl=None):
    """What other languages call is said without functions of Python that only say it."""
    stack, frame = [], sys._getframe(1)
    leaf = PATH[-1] == "y"
    while frame:
        name = [f"mixed_truth.{frame.f_code.co_qualname}"]
        leaf = leaf or frame.f_code.co_name == "call"
        stack = (name if leaf else []) + stack
        if frame in calls:  # they are called by call(), which is called by it
            stack[2:2] = calls[frame]
        frame = frame.f_back
    if of_perl is not None and of_perl != [name for name in stack if name.startswith("main::")]:
        raise SystemExit("Perl says otherwise")
    os.write(1, json.dumps({"pid": os.getpid(), "path": PATH, "stack": stack}).encode() + b"\n")


def report(*_):
    say()
    return 0


LEAF = sys.argv[1]
PATH = ""
for PATH in sys.argv[2:]:
    if os.fork() == 0:
        left = PATH
        proceed()
while True:
    time.sleep(1000)
