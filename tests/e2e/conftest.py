# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures of the end-to-end tests: what they need, a folder each, and a clean kernel after all."""
import os
import signal
import subprocess

import pytest

import harness


def pytest_collection_modifyitems(items):
    reason = None
    if os.geteuid() != 0:
        reason = "needs root"
    elif not os.path.exists("/sys/kernel/btf/vmlinux"):
        reason = "needs a kernel with BTF"
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def usual_signals():
    """What nohup or a background job has ignored would be ignored by all that is run here."""
    for number in signal.SIGHUP, signal.SIGQUIT:
        signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def clean_kernel():
    """The whole run leaves no BPF program, map or link behind."""
    subprocess.run([harness.BPFFLAME, "--version"], check=True, capture_output=True)
    before = harness.kernel_objects()
    yield
    harness.assert_no_leftover(before)


@pytest.fixture(scope="module")
def module_path(tmp_path_factory):
    return tmp_path_factory.mktemp("module")
