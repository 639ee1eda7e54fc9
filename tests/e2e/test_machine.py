# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine that runs frame programs: in BPF it does what it does on the host."""
import os
import subprocess

from harness import ROOT

# `make check-runtimes` runs 100 000.
N = int(os.environ.get("TEXTS", "3000"))


def test_random_texts_give_the_same_in_bpf_and_on_the_host():
    result = subprocess.run([ROOT / "build" / "same_machine", str(N)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    word, n, *ends = result.stdout.split()
    assert (word, int(n)) == ("same", N)
    # They ended well, for lack of memory, by their budget, and by an unknown operation.
    assert all(int(end) > 0 for end in ends[1:5]), ends
