# SPDX-License-Identifier: GPL-2.0-or-later
"""programs: real programs, as the distribution builds them, kept busy for as long as needed.

Each prepares its input in a folder of its own and is then run by argv. It runs until it is killed,
or must be started again when it ends.
"""
import os
import random
import shutil
import subprocess
from pathlib import Path

WORKLOADS = Path(__file__).resolve().parents[2] / "build" / "workload"

PYTHON = """
import collections, json, re
def fold(depth, data):
    if depth:
        return fold(depth - 1, data)
    return sorted(collections.Counter(re.findall(r"[a-z]+[0-9]", json.dumps(data))).items())
class Node:
    def __init__(self, key): self.key = key
    def __lt__(self, other): return self.key * 7919 % 1009 < other.key * 7919 % 1009
while True:
    data = {f"key{i}": [str(j) + "ab3" for j in range(i % 30)] for i in range(300)}
    fold(15, json.loads(json.dumps(data)))
    sorted(Node(i) for i in range(2000))
"""

NODE = """
const zlib = require('zlib');
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function round(i) {
    const data = Array.from({length: 400}, (_, k) => ({k, s: 'x'.repeat(k % 50), d: [k, k * i]}));
    const text = JSON.stringify(data);
    JSON.parse(text).sort((a, b) => a.d[1] % 101 - b.d[1] % 101);
    text.replace(/x+/g, m => m.length);
    zlib.deflateSync(text);
    return fib(18);
}
let i = 0;
function turn() { for (let n = 0; n < 20; n++) round(i++); setImmediate(turn); }
turn();
"""

PERL = """
my %h; my $n = 0;
sub deeper { my ($d) = @_; return $d ? deeper($d - 1) : step() }
sub step {
    my @w = map { "key" . ($_ * 7919 % 1009) } 1 .. 2000;
    $h{$_}++ for sort { $a cmp $b } @w;
    my $s = join ",", @w;
    $n++ while $s =~ /([a-z]+)(\\d+),\\1(\\d)/g;
    $s =~ s/(\\d+)/sprintf("%x", $1)/ge;
}
deeper(10) while 1;
"""

BASH = """
fold() { local a=("$@"); [ ${#a[@]} -gt 200 ] && return; fold "${a[@]}" "${a[@]}"; }
while :; do
    for i in {1..200}; do x=${x:0:50}$i; y=${x//[0-9]/z}; case $y in *zz*a) ;; esac; done
    fold a b c
    z=$(printf '%s\\n' {1..50})
    [[ $z =~ ([0-9]+)x ]]
done
"""

SQL = """
.bail on
PRAGMA journal_mode = MEMORY;
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
INSERT INTO t SELECT i, 'key' || (i * 7919 % 10007), i * 0.37 FROM n;
CREATE INDEX tb ON t(b, c);
"""
SQL_QUERY = """
SELECT count(*) FROM (SELECT b, sum(c) AS s FROM t GROUP BY b HAVING s > 10 ORDER BY s DESC);
SELECT count(*) FROM t x JOIN t y ON x.b = y.b AND x.a < y.a WHERE x.c + y.c > 100;
SELECT max(length(replace(upper(b), 'K', 'kk'))) FROM t WHERE b LIKE '%9_1%';
UPDATE t SET c = c + 1 WHERE a % 3 = 0;
"""

RUST = """
use std::collections::{BTreeMap, HashMap};
#[inline(never)]
fn collatz(mut n: u64) -> u64 { let mut c = 0; while n != 1 {
    n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 }; c += 1 } c }
#[inline(never)]
fn words(seed: u64) -> HashMap<String, u64> {
    (0..4000u64).map(|i| (format!("key{}", (i * 7919 + seed) % 1009), i)).collect() }
#[inline(never)]
fn ordered(m: &HashMap<String, u64>) -> BTreeMap<&str, u64> {
    let mut v: Vec<_> = m.iter().collect();
    v.sort_by(|a, b| a.1.cmp(b.1).then_with(|| b.0.cmp(a.0)));
    v.into_iter().map(|(k, n)| (k.as_str(), collatz(*n + 1))).collect() }
fn main() {
    let threads: Vec<_> = (0..2).map(|t| std::thread::spawn(move || {
        let mut sum = 0u64;
        for i in 0.. { let m = words(i + t); sum = sum.wrapping_add(ordered(&m).values().sum());
            if sum == 1 { println!("{sum}"); } } })).collect();
    for t in threads { t.join().unwrap(); }
}
"""


class Missing(Exception):
    """A program that is not installed; names it."""


def find(program):
    path = shutil.which(program, path="/usr/bin:/bin:/usr/sbin:/sbin:" + os.environ["PATH"])
    if not path:
        raise Missing(program)
    return path


def made_c(path, functions=1500, seed=1, prefix="f"):
    """A C file that keeps a compiler busy for a while."""
    choose = random.Random(seed)
    with open(path, "w") as file:
        print("typedef unsigned long u; extern u out[];", file=file)
        for i in range(functions):
            a, b, c = (choose.randrange(1, 9999) for _ in range(3))
            callee = f"{prefix}{choose.randrange(i)}(x % {a}, p)" if i else "x"
            print(f"u {prefix}{i}(u x, u *p) {{ u s = {b}; for (u i = 0; i < x % 64; i++) {{"
                  f" switch (p[i] % 7) {{ case 0: s += p[i] * {a}; break; case 1: s ^= x << 3;"
                  f" break; case 3: s -= {callee}; break; default: s = s * {c} + i; }}"
                  f" if (s > {c * a}) p[i % 8] = s / (x + 1); }} return s + out[{i % 100}]; }}",
                  file=file)


def python3(folder):
    return [find("/usr/bin/python3"), "-c", PYTHON]


def node(folder):
    return [find("node"), "-e", NODE]


def perl(folder):
    return [find("perl"), "-e", PERL]


def cc1(folder):
    path = subprocess.run([find("gcc"), "-print-prog-name=cc1"], capture_output=True,
                          text=True, check=True).stdout.strip()
    made_c(folder / "big.c")
    return [path, "-quiet", "-O2", folder / "big.c", "-o", "/dev/null"]


def openssl(*arguments):
    return lambda folder: [find("openssl"), "speed", "-seconds", "60", *arguments]


def made_data(path, megabytes=8):
    choose = random.Random(2)
    words = [choose.randbytes(choose.randrange(2, 12)) for _ in range(3000)]
    path.write_bytes(b"".join(choose.choices(words, k=megabytes * 150000)))
    return path


def xz(folder):
    return [find("xz"), "-9", "-k", "-c", "-T2", made_data(folder / "data")]


def sqlite3(folder):
    program = find("sqlite3")
    (folder / "work.sql").write_text(SQL + SQL_QUERY * 200)
    return [program, ":memory:", f".read {folder / 'work.sql'}"]


def made_repository(folder, commits=25):
    git = [find("git"), "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b",
           "-c", "gc.auto=0"]
    subprocess.run([find("git"), "init", "-q", folder], check=True)
    choose = random.Random(3)
    lines = {name: [f"{name} {i}" for i in range(2000)] for name in "abcdefgh"}
    for commit in range(commits):
        for name, text in lines.items():
            for _ in range(20):
                text[choose.randrange(len(text))] = f"{name} {choose.random()}"
            (folder / name).write_text("\n".join(text))
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", f"change {commit}"], check=True)


def git(folder):
    repository = folder / "repository"
    made_repository(repository)
    return [find("sh"), "-c", f"cd '{repository}' && while :; do git log -p --stat -M HEAD; "
            "git gc -q --aggressive --prune=now; git grep -n -E '0\\.[0-9]*77' ; "
            "git blame a; done >/dev/null 2>&1"]


def bash(folder):
    return [find("bash"), "-c", BASH]


def gdb(folder):
    made_c(folder / "small.c", functions=300)
    subprocess.run([find("gcc"), "-g3", "-c", folder / "small.c", "-o", folder / "small.o"],
                   check=True)
    (folder / "work.gdb").write_text("info types .\ninfo scope f7\ninfo line f9\n"
                                     "disassemble /s f3\nmaint expand-symtabs\n" * 200)
    return [find("gdb"), "-q", "-nx", "-batch", "-x", folder / "work.gdb", folder / "small.o"]


def ld(folder):
    objects = []
    for i in range(6):
        made_c(folder / f"o{i}.c", functions=300, seed=i, prefix=f"o{i}f")
        objects.append(folder / f"o{i}.o")
        subprocess.run([find("gcc"), "-g", "-O0", "-ffunction-sections", "-w", "-c",
                        folder / f"o{i}.c", "-o", objects[-1]], check=True)
    return [find("ld"), "-r", "--unique", *objects, "-o", "/dev/null"]


def rust(folder):
    """A Rust program, -O."""
    compiler = find("rustc")
    (folder / "made.rs").write_text(RUST)
    subprocess.run([compiler, "-O", "-o", folder / "made-rust", folder / "made.rs"], check=True,
                   cwd=folder)
    return [folder / "made-rust"]


def rustc(folder):
    compiler = find("rustc")
    real = subprocess.run([compiler, "--print", "sysroot"], capture_output=True, text=True,
                          check=True).stdout.strip()
    (folder / "made.rs").write_text(RUST)
    return [Path(real) / "bin" / "rustc", "-O", "-o", folder / "out", folder / "made.rs"]


def clang(folder):
    made_c(folder / "big.c", functions=800)
    return [find("clang"), "-O2", "-w", "-c", folder / "big.c", "-o", "/dev/null"]


def java(folder):
    program = find("java")
    (folder / "Busy.java").write_text(
        "import java.util.*; public class Busy { static int f(int n) { return n < 2 ? n :"
        " f(n - 1) + f(n - 2); } public static void main(String[] a) { for (;;) {"
        " Map<String, Integer> m = new TreeMap<>(); for (int i = 0; i < 5000; i++)"
        " m.merge(\"k\" + i * 7919 % 1009, f(i % 12), Integer::sum); } } }")
    return [program, folder / "Busy.java"]


NOFP_SHAPES = ["recursion", "sort", "signal", "altstack", "fault", "alloca", "array", "aligned",
               "vdso", "threads", "plugin", "fork", "exec", "handmade", "generated"]


def nofp(folder):
    """Every shape of tests/workload/nofp.c in turn, two at a time: one busy, one waiting; and one
    deeper than the stacks that are kept."""
    program = WORKLOADS / "nofp"
    return [find("bash"), "-c", f"while :; do '{program}' recursion burn 0.1 300; for shape in "
            f"{' '.join(NOFP_SHAPES)}; do '{program}' $shape burn 0.1 & '{program}' $shape poll "
            "0.1; wait; done; done"]


# Name: (function that makes its argv, its Debian package).
PROGRAMS = {
    "python3": (python3, "python3"),
    "node": (node, "nodejs"),
    "perl": (perl, "perl"),
    "cc1": (cc1, "gcc"),
    "openssl rsa2048": (openssl("rsa2048"), "openssl"),
    "openssl ecdsap384": (openssl("ecdsap384"), "openssl"),
    "openssl aes-256-gcm": (openssl("-bytes", "16384", "-evp", "aes-256-gcm"), "openssl"),
    "openssl sha256": (openssl("sha256"), "openssl"),
    "xz": (xz, "xz-utils"),
    "sqlite3": (sqlite3, "sqlite3"),
    "git": (git, "git"),
    "bash": (bash, "bash"),
    "gdb": (gdb, "gdb"),
    "ld": (ld, "binutils"),
    "rust -O": (rust, "rustc"),
    "rustc": (rustc, "rustc"),
    "clang": (clang, "clang"),
    "java": (java, "default-jre-headless"),
    "nofp": (nofp, None),
}


def prepare(name, folder):
    """The argv of a program, ready to run. Raises Missing."""
    folder = Path(folder) / name.replace(" ", "_")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return [str(argument) for argument in PROGRAMS[name][0](folder)]
    except Missing as missing:
        package = PROGRAMS[name][1]
        raise Missing(f"{missing} is not installed (Debian: apt install {package})") from None
