// SPDX-License-Identifier: GPL-2.0-or-later

// A Go program whose stacks are known: two goroutines do the same work, and first print where they
// are.
//
//	stacks calls|hash|nap|read SECONDS
//
// Prints the truth as JSON, one line per goroutine: the callers from the entry on, as [function,
// file:line].
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

var sink uint64

type adder[T any] struct{ step T }

// Small functions are inlined: twice into mixed, and both into their callers.
func mixed(x uint64) uint64 { return x ^ x>>7 }
func twice(x uint64) uint64 { return mixed(x)*2 + 1 }

//go:noinline
func (a *adder[T]) add(x uint64, until time.Time) uint64 {
	tell()
	for time.Now().Before(until) {
		for i := 0; i < 1000000; i++ {
			x = twice(x)
		}
	}
	return x
}

// Prints the stack of its caller.
//
//go:noinline
func tell() {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var stack [][2]string
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		name := frame.Function
		if from, to := strings.Index(name, "["), strings.LastIndex(name, "]"); from >= 0 && to > from {
			name = name[:from] + "[...]" + name[to+1:]
		}
		where := filepath.Base(frame.File) + ":" + strconv.Itoa(frame.Line)
		stack = append([][2]string{{name, where}}, stack...)
	}
	text, _ := json.Marshal(stack)
	fmt.Println(string(text))
}

//go:noinline
func calls(until time.Time) {
	func() {
		sink += (&adder[int]{3}).add(sink, until)
	}()
	sink++
}

// hash spends its time in assembly that keeps no frame pointer.
//
//go:noinline
func hash(until time.Time) {
	block := make([]byte, 1<<12)
	tell()
	for time.Now().Before(until) {
		sum := sha256.Sum256(block)
		sink += uint64(sum[0])
	}
}

//go:noinline
func nap(until time.Time) {
	tell()
	for time.Now().Before(until) {
		time.Sleep(20 * time.Millisecond)
	}
}

// read waits in a system call: the poller does not watch descriptors that another process made.
//
//go:noinline
func read(until time.Time) {
	ready := os.NewFile(0, "ready")
	tell()
	for one := make([]byte, 1); time.Now().Before(until); {
		if n, _ := ready.Read(one); n == 0 {
			return
		}
	}
}

func main() {
	work := map[string]func(time.Time){
		"calls": calls, "hash": hash, "nap": nap, "read": read,
	}[os.Args[1]]
	seconds, err := strconv.ParseFloat(os.Args[2], 64)
	if work == nil || err != nil {
		fmt.Fprintln(os.Stderr, "usage: stacks calls|hash|nap|read SECONDS")
		os.Exit(2)
	}
	until := time.Now().Add(time.Duration(seconds * 1e9))
	done := make(chan bool)
	go func() {
		work(until)
		done <- true
	}()
	work(until)
	<-done
}
