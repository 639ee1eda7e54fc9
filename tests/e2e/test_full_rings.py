# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks on their way to the loader when both rings are full."""
import subprocess

from harness import ROOT


def test_a_stack_that_found_no_room_is_sent_by_its_next_sample():
    result = subprocess.run([ROOT / "build" / "full_rings"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.split() == ["0", "1", "0"]
