# SPDX-License-Identifier: GPL-2.0-or-later
"""python_truth.py LEAF [SECONDS]: threads that each stay below a known stack of Python functions.

LEAF is what they do at its end: burn, nap (short sleeps), sleep (one long one), pack (zlib, without
the interpreter's lock). Once they are all there, one line of JSON is printed: {"threads": {TID:
[[module.function, file, line], …]}}, root first, as the interpreter itself has them.
"""
import ctypes
import functools
import json
import os
import re
import sys
import threading
import time
import zlib

BYTES = bytes(1 << 20)
stop = threading.Event()


def burn():
    n = 0
    while n >= 0:
        n = n + 1 & 0xffff


def nap():
    while True:
        time.sleep(0.002)


def sleep():
    time.sleep(600)


def pack():
    while True:
        zlib.compress(BYTES, 1)


leaf = {"burn": burn, "nap": nap, "sleep": sleep, "pack": pack}[sys.argv[1]]


def by_sort():                       # C in between: list.sort with a key function
    sorted([1], key=lambda _: leaf())


def by_sub():                        # C in between: re.sub with a callback
    re.sub("a", lambda match: leaf(), "a")


def by_qsort():                      # foreign C in between: libc's qsort, through ctypes
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    array = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(array, 2, 4, kind(lambda a, b: leaf() or 0))


def generator():
    yield leaf()


def by_generator():
    for _ in generator():
        pass


def by_comprehension():
    return [leaf() for _ in range(1)]


def deep(n=200 if sys.version_info >= (3, 11) else 150):  # before that, each has frames of C, too
    if n:
        deep(n - 1)
    else:
        leaf()


class Kläs:
    def __init__(self, enters=False):
        if enters:
            leaf()

    def método(self):
        leaf()

    def __matmul__(self, _):
        leaf()


def by_method():
    functools.partial(Kläs().método)()


def by_operator():                   # an instruction that compilers put apart from the loop
    Kläs() @ Kläs()


def by_init():
    Kläs(True)


async def coroutine():
    leaf()


def by_coroutine():
    coroutine().send(None)


def by_exec():
    exec(compile("def made():\n    leaf()\nmade()", "<made up>", "exec"), {"leaf": leaf})


KINDS = [by_sort, by_sub, by_qsort, by_generator, by_comprehension, deep, by_method, by_operator, by_init,
         by_coroutine, by_exec]


def module_of(frame):
    name = frame.f_globals.get("__name__", frame.f_code.co_filename)
    return "python_truth" if name == "__main__" else name


def stack_of(frame):
    frames = []
    while frame:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        frames.append([f"{module_of(frame)}.{name}", code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return frames[::-1]


def main():
    threads = [threading.Thread(target=kind, daemon=True) for kind in KINDS]
    sys.setswitchinterval(0.001)
    for thread in threads:
        thread.start()
    time.sleep(1)
    frames = sys._current_frames()
    stacks = {thread.native_id: stack_of(frames[thread.ident]) for thread in threads}
    print(json.dumps({"threads": stacks}), flush=True)
    time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 600)
    os._exit(0)


main()
