#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""churn: the memory of a recording that runs for hours on a machine where everything comes and
goes.

    churn.py [MINUTES]

Records the whole machine in windows of 5 s while there is a stream of processes, roots with a
filesystem of their own, JITs with maps, and libraries and programs that are overwritten. Prints the
memory that bpfflame holds, the median of the first quarter next to that of the last. Needs root.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BPFFLAME = ROOT / "build" / "bpfflame"
WORKLOADS = ROOT / "build" / "workload"

LIBRARY = ("static volatile long sink; void work(void) "
           "{ for (int i = 0; i < 1000000 * NUMBER; i++) sink += i; }")

SCRIPTS = {
    "processes": "for i in $(seq 50); do ls -R /usr/share/doc/libc6; sort /etc/services; done",
    "roots": """unshare -m sh -c 'mkdir -p root && mount -t tmpfs tmpfs root && cp spin root/spin &&
        chroot root /spin'""",
    "jits": f"{WORKLOADS}/jit 0.2 map; {WORKLOADS}/jit 0.2 dump; rm -f jit-*.dump /tmp/perf-*.map",
    "libraries": f"{WORKLOADS}/mappings libraries 50 3 ./lib1.so ./lib2.so",
    "replaced": "cp spin app; ./app; cp other app; ./app",
}


def make_programs(folder):
    for number in 1, 2:
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o",
                        folder / f"lib{number}.so"],
                       input=LIBRARY.replace("NUMBER", str(number)), text=True, check=True)
    for name, loops in ("spin", 50), ("other", 70):
        subprocess.run(["gcc", "-O2", "-static", "-x", "c", "-", "-o", folder / name],
                       input=f"int main(void) {{ for (volatile int i = 0; i < {loops} * 1000000; "
                             "i++); }", text=True, check=True)


def keep_going(script, folder, until):
    folder.mkdir()
    for file in "lib1.so", "lib2.so", "spin", "other":
        os.link(folder.parent / file, folder / file)
    while time.monotonic() < until:
        subprocess.run(["sh", "-c", script], cwd=folder, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def kernel_bytes(pid):
    """Memory of its BPF maps, each counted once."""
    maps = {}
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            text = Path(f"/proc/{pid}/fdinfo/{name}").read_text()
        except OSError:
            continue
        fields = dict(re.findall(r"^(map_id|memlock):\s*(\d+)", text, re.M))
        if "map_id" in fields:
            maps[fields["map_id"]] = int(fields["memlock"])
    return sum(maps.values())


def held_by(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return {"descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "RSS, KB": int(re.search(r"VmRSS:\s*(\d+)", status)[1]),
            "maps, KB": kernel_bytes(pid) // 1024}


def main():
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    seen = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make_programs(folder)
        until = time.monotonic() + 60 * minutes
        for name, script in SCRIPTS.items():
            threading.Thread(target=keep_going, args=(script, folder / name, until)).start()
        with subprocess.Popen([BPFFLAME, "-q", "--wall", "-a", "--every", "5", "--keep", "3",
                               "--out-dir", folder / "out", "-d", str(60 * minutes)]) as recording:
            time.sleep(15)
            while time.monotonic() < until - 5 and recording.poll() is None:
                seen.append(held_by(recording.pid))
                time.sleep(1)
            recording.wait()
        while threading.active_count() > 1:
            time.sleep(0.5)
    quarter = len(seen) // 4
    for what in seen[0]:
        first, last = (statistics.median(one[what] for one in part)
                       for part in (seen[:quarter], seen[-quarter:]))
        print(f"{what:12} first quarter {first:.0f}, last {last:.0f}: {last / first - 1:+.1%}, "
              f"at most {max(one[what] for one in seen)}")


if __name__ == "__main__":
    main()
