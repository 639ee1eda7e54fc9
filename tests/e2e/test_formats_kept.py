# SPDX-License-Identifier: GPL-2.0-or-later
"""pprof files of other producers: the file that render makes of one keeps everything in it.
"""
import glob
import os
import subprocess

import pprof_file
from test_formats import decode, go_pprof, need, render


def expect_kept(path, folder):
    """Our copy of another producer's file has everything in it, and a copy of the copy is
    identical."""
    again, twice = folder / "again.pb.gz", folder / "twice.pb.gz"
    render(path, again)
    assert pprof_file.Meaning(path).differences(pprof_file.Meaning(again)) == []
    render(again, twice)
    assert twice.read_bytes() == again.read_bytes()
    assert decode(again).stderr == b""


# Labels with a meaning for bpfflame, and without; values of several types.
STRANGE = {
    "sample_type": [{"type": "alloc_space", "unit": "bytes"}, {"type": "inuse", "unit": "count"},
                    {"type": "wait", "unit": "milliseconds"}],
    "sample": [
        {"location_id": [3, 900, 7], "value": [4096, -0, 3], "label": [
            {"key": "bytes", "num": 4096, "num_unit": "bytes"}, {"key": "pid", "num": 77},
            {"key": "tid", "num": 1 << 40}, {"key": "reason", "str": "because"},
            {"key": "thread_comm", "str": "worker"}, {"key": "comm", "str": "server"}]},
        {"location_id": [900], "value": [0, 5, 0], "label": [
            {"key": "pid", "str": "text"}, {"key": "comm", "str": "a"},
            {"key": "comm", "str": "b"}, {"key": "request", "str": "x", "num": -3}]},
        {"location_id": [7, 7], "value": [1, 1, 1]},
        {"location_id": [11], "value": [0, 0, 8], "label": [{"key": "comm", "str": "a"}]}],
    "mapping": [
        {"id": 5, "memory_start": 0x400000, "memory_limit": 0x500000, "filename": "/bin/main",
         "build_id": "abcd", "has_functions": 1},
        {"id": 2, "memory_start": 0x7f0000000000, "memory_limit": 0x7f0000100000,
         "file_offset": 0x1000, "filename": "/lib/libx.so", "has_functions": 1,
         "has_filenames": 1, "has_inline_frames": 1},
        {"id": 9, "memory_start": 0xffffffff80000000 - (1 << 64), "memory_limit": -1,
         "filename": "[kernel.kallsyms]_text"}],
    "location": [
        {"id": 3, "mapping_id": 2, "address": 0x7f0000000123, "is_folded": 1, "line": [
            {"function_id": 8, "line": 12}, {"function_id": 4, "line": 99}]},
        {"id": 7, "mapping_id": 2, "address": 0x7f0000000456},
        {"id": 900, "mapping_id": 9, "address": 0xffffffff80000100 - (1 << 64),
         "line": [{"function_id": 6}]},
        {"id": 11, "line": [{"function_id": 8, "line": 1}]}],
    "function": [
        {"id": 4, "name": "outer()", "system_name": "_Z5outerv", "filename": "o.cc",
         "start_line": 90},
        {"id": 8, "name": "inner", "system_name": "inner", "filename": "o.cc", "start_line": 10},
        {"id": 6, "name": "vfs_read", "system_name": "vfs_read"}],
    "drop_frames": "drop.*", "keep_frames": "keep", "time_nanos": 1795317544377186647,
    "duration_nanos": 5, "period_type": {"type": "space", "unit": "bytes"}, "period": 524288,
    "comment": ["a comment", "host: h", "another"], "default_sample_type": "wait"}


def test_profile_by_hand(tmp_path):
    path = tmp_path / "strange.pb"
    path.write_bytes(pprof_file.Writer().file(STRANGE))
    expect_kept(path, tmp_path)
    again = go_pprof("-raw", tmp_path / "again.pb.gz")
    assert "alloc_space/bytes inuse/count wait/milliseconds[dflt]" in again


PROGRAM = """
package main
import ("context"; "os"; "runtime"; "runtime/pprof"; "sync"; "time")
var kept [][]byte
func burn(t time.Duration) (n int) { for s := time.Now(); time.Since(s) < t; { n++ }; return }
func main() {
	runtime.SetBlockProfileRate(1)
	runtime.MemProfileRate = 4096
	file, _ := os.Create(os.Args[1] + "/cpu.pb.gz")
	pprof.StartCPUProfile(file)
	pprof.Do(context.Background(), pprof.Labels("worker", "a b", "comm", "mine"),
		func(context.Context) { burn(500 * time.Millisecond) })
	pprof.StopCPUProfile()
	file.Close()
	for i := 0; i < 2000; i++ { kept = append(kept, make([]byte, 1000+i)); _ = make([]byte, 50000) }
	var mutex sync.Mutex
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() { mutex.Lock(); time.Sleep(time.Millisecond); mutex.Unlock(); group.Done() }()
	}
	group.Wait()
	for _, name := range []string{"heap", "allocs", "block", "goroutine"} {
		file, _ := os.Create(os.Args[1] + "/" + name + ".pb.gz")
		pprof.Lookup(name).WriteTo(file, 0)
		file.Close()
	}
}
"""


def test_profiles_by_a_go_program(tmp_path):
    found = sorted(glob.glob("/usr/lib/go-*/bin/go"))
    program = need(found[-1] if found else None, "Go")
    (tmp_path / "main.go").write_text(PROGRAM)
    subprocess.run([program, "build", "-o", "program", "main.go"], cwd=tmp_path, check=True,
                   env={**os.environ, "GO111MODULE": "off", "GOCACHE": str(tmp_path / "cache")})
    subprocess.run([tmp_path / "program", tmp_path], check=True)
    for name in "cpu", "heap", "allocs", "block", "goroutine":
        folder = tmp_path / f"of {name}"
        folder.mkdir()
        expect_kept(tmp_path / f"{name}.pb.gz", folder)
