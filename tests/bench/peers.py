# SPDX-License-Identifier: GPL-2.0-or-later
"""peers: bpfflame and the profilers to compare it with, each as command lines for one job.

A tool that is not installed is left out, with a message.
"""
import functools
import json
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BPFFLAME = str(ROOT / "build" / "bpfflame")
WORKLOADS = ROOT / "build" / "workload"

# Off-CPU time by the stack that blocked, recorded where bpftrace can without kprobes.
BPFTRACE_OFFCPU = """
tracepoint:sched:sched_switch {
    @out[args->prev_pid] = nsecs;
    @kernel[args->prev_pid] = kstack;
    @user[args->prev_pid] = ustack;
    if (@out[args->next_pid]) {
        @time[@kernel[args->next_pid], @user[args->next_pid]] = sum(nsecs - @out[args->next_pid]);
    }
}
END { clear(@out); clear(@kernel); clear(@user); }
"""
BPFTRACE_ONCPU = "profile:hz:99 { @[comm, kstack, ustack] = count(); }"
# Without it bpftrace rereads a program's symbols for every address.
ENVIRONMENT = {**os.environ, "BPFTRACE_CACHE_USER_SYMBOLS": "1"}


@functools.lru_cache(maxsize=None)
def missing(tool):
    """Whether a peer is missing; the first time, with a message."""
    if shutil.which(tool):
        return False
    print(f"SKIPPED: {tool} is not installed", flush=True)
    return True


class Bpfflame:
    name = "bpfflame"

    def __init__(self, options=(), name="bpfflame"):
        self.options, self.name = options, name

    def record(self, scratch, duration):
        return [[BPFFLAME, "-a", *self.options, "-d", f"{duration}s", "--json",
                 "-o", scratch / "x.folded", "-o", scratch / "x.svg"]]


class Perf:
    """Record, then script: everything that it takes to get names."""

    def __init__(self, options=("-F", "99"), name="perf", script=True):
        self.options, self.name, self.script = options, name, script

    def record(self, scratch, duration):
        data = scratch / "perf.data"
        commands = [["perf", "record", "-q", "-a", "-g", *self.options, "-o", data, "--",
                     "sleep", duration]]
        if self.script:
            commands.append(["perf", "script", "-f", "-i", data])
        return commands


class Bpftrace:
    def __init__(self, program=BPFTRACE_ONCPU, name="bpftrace"):
        self.program, self.name = program, name

    def record(self, scratch, duration):
        # Intervals are whole seconds or milliseconds.
        end = f"interval:ms:{int(duration * 1000)} {{ exit(); }}"
        return [["bpftrace", "-q", "-o", scratch / "bpftrace.txt", "-e", self.program + end]]


class Offcputime:
    """The one in libbpf-tools; bcc's has other options."""

    name = "offcputime"

    def record(self, scratch, duration):
        return [["offcputime", "--stack-storage-size", "16384", max(1, int(duration))]]


class Empty:
    """Programs that do nothing, on bpfflame's hooks: the lower bound; +HOOK: that find what they
    have stored of the thread. Ends with its input."""

    def __init__(self, program, hooks):
        self.program, self.hooks = program, hooks
        self.name = "empty: " + ", ".join(hooks)
        self.looks_up = any(hook.startswith("+") for hook in hooks)

    def record(self, scratch, duration):
        return [[self.program, *self.hooks]]


def oncpu():
    tools = [Bpfflame(("-F", "99"))]
    tools += [] if missing("perf") else [Perf()]
    tools += [] if missing("bpftrace") else [Bpftrace()]
    return tools


def offcpu():
    """The other tools that show where threads wait."""
    tools = [] if missing("bpftrace") else [Bpftrace(BPFTRACE_OFFCPU)]
    if not missing("offcputime") and is_libbpf_tool("offcputime"):
        tools.append(Offcputime())
    if missing("perf"):
        return tools
    tools.append(Perf(("-e", "sched:sched_switch"), "perf sched_switch", script=False))
    if perf_has_offcpu():
        tools.append(Perf(("--off-cpu",), "perf --off-cpu", script=False))
    return tools


def is_libbpf_tool(tool):
    usage = subprocess.run([tool, "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           check=False).stdout
    if b"--stack-storage-size=" in usage:
        return True
    print(f"SKIPPED: {tool} is not the one of libbpf-tools", flush=True)
    return False


def perf_has_offcpu():
    """Many distributions' perf knows the option and ignores it."""
    seen = subprocess.run(["perf", "record", "--off-cpu", "-o", "/dev/null", "true"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if seen.returncode == 0 and b"being ignored" not in seen.stderr:
        return True
    print("SKIPPED: this perf cannot record --off-cpu", flush=True)
    return False


def bpfflame_hooks(scratch):
    """What bpfflame attaches to on this kernel, as far as empty programs can: without wakers and
    with them."""
    command = [BPFFLAME, "--offcpu", "-a", "-d", "10ms", "--json", "-o", scratch / "x.folded"]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    hook = json.loads(output)["hook"]
    if hook.startswith("sched_"):
        return [hook], [hook, "sched_waking"]
    print(f"SKIPPED: empty programs cannot be attached to {hook}", flush=True)
    return [], []


FLAMEGRAPH_PL = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"


def renderers(scratch):
    """Folded lines to SVG: name → command for an input, which writes @scratch/NAME.svg."""
    found = {"bpfflame": lambda path: [BPFFLAME, "render", path, "-o", scratch / "bpfflame.svg"]}
    for name, command, ready in [
            ("inferno", "inferno-flamegraph", not missing("inferno-flamegraph")),
            ("flamegraph.pl", f"perl {FLAMEGRAPH_PL}", os.path.exists(FLAMEGRAPH_PL))]:
        if ready:
            found[name] = lambda path, name=name, command=command: [
                "sh", "-c", f"{command} '{path}' >'{scratch}/{name}.svg'"]
        elif name == "flamegraph.pl":
            print("SKIPPED: flamegraph.pl is not installed (Debian: libdevel-nytprof-perl)")
    return found


class Usage:
    """Resources that a tool's commands used, one after another."""

    def __init__(self, usages, summary):
        self.seconds = [usage["wall"] for usage in usages]
        self.wall = sum(self.seconds)
        self.cpu = sum(usage["cpu"] for usage in usages)
        self.peak_rss = max(usage["peak_rss"] for usage in usages)
        self.gave_up = any(usage["gave_up"] for usage in usages)
        self.summary = summary  # bpfflame's


def build(name, scratch, *libraries):
    """Compiles a helper of the bench."""
    program = scratch / name
    source = Path(__file__).with_name(f"{name}.c")
    subprocess.run(["cc", "-O2", "-o", program, source, *libraries], check=True)
    return program


def run(measure, commands, scratch, limit=60):
    """Runs commands in order. Stops if one takes @limit seconds: that tool gave up."""
    usages, summary = [], None
    for command in commands:
        report = scratch / "usage.json"
        done = subprocess.run([measure, report, str(int(limit)), *map(str, command)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=ENVIRONMENT, check=False)
        usage = json.loads(report.read_text())
        if usage["status"] and not usage["gave_up"]:
            text = done.stderr.decode(errors="replace")[-2000:]
            raise RuntimeError(f"{' '.join(map(str, command))}: status {usage['status']}\n{text}")
        usages.append(usage)
        if command[0] == BPFFLAME and "--json" in command:
            summary = json.loads(done.stdout)
    return Usage(usages, summary)
