# SPDX-License-Identifier: GPL-2.0-or-later
"""python_burn.py WHAT [SECONDS]: functions that take CPU time; prints how much as one line of JSON.

	three	three equal burners: through list.sort, through re.sub, through recursion
	reuse	5 000 functions made by exec, one after the other, so that their code objects come to lie
		at the same addresses: made_N calls burner_(N % 16), the only one that takes time
	deep	a recursion of DEPTH (900)
	forks	children that burn in a function of their own
	short	imports nothing and burns for a hundredth of a second
"""
import sys

START = None


def spin(seconds):
    end = clock() + seconds
    while clock() < end:
        for _ in range(300):
            pass


def three(seconds):
    import json
    import re
    used = {"by_sort": 0, "by_sub": 0, "by_recursion": 0}

    def burn(name):
        before = clock()
        spin(0.003)
        used[name] += clock() - before

    def by_sort():
        sorted([1], key=lambda _: burn("by_sort") or 0)

    def by_sub():
        re.sub("a", lambda match: burn("by_sub") or "", "a")

    def by_recursion(n=30):
        if n:
            by_recursion(n - 1)
        else:
            burn("by_recursion")

    end = clock() + seconds
    while clock() < end:
        by_sort()
        by_sub()
        by_recursion()
    print(json.dumps(used), flush=True)


def reuse(seconds):
    names = {"spin": spin, "seconds": seconds / 5000}
    for k in range(16):
        exec(f"def burner_{k}():\n    spin(seconds)", names)
    addresses = set()
    for i in range(5000):
        own = {}
        exec(f"def made_{i}(burn):\n    burn()\n    return {i}", own)
        function = own[f"made_{i}"]
        addresses.add(id(function.__code__))
        function(names[f"burner_{i % 16}"])
        del own, function
    print(len(addresses), flush=True)


def deep(seconds, n=900):
    sys.setrecursionlimit(5000)

    def down(n):
        if n:
            down(n - 1)
        else:
            spin(seconds)
    down(n)


def forks(seconds):
    import os
    import time
    end = time.monotonic() + seconds

    def in_child():
        spin(0.02)

    while time.monotonic() < end:
        pid = os.fork()
        if not pid:
            in_child()
            os._exit(0)
        os.waitpid(pid, 0)


def short(seconds):
    spin(0.01)


from time import thread_time as clock  # noqa: E402

globals()[sys.argv[1]](float(sys.argv[2]) if len(sys.argv) > 2 else 3)
