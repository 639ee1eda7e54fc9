#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# guest: what the tests of a kernel run in it, as root. Every recording NAME leaves NAME.folded,
# NAME.json (the summary), NAME.err and NAME.status in /out; a workload leaves its truth in
# NAME.truth.
# usage: guest.sh HOOK…	the off-CPU hooks to force, one recording each

# record NAME [OPTION…]
record() {
	name=$1
	shift
	bpfflame --json -o "/out/$name.folded" "$@" >"/out/$name.json" 2>"/out/$name.err"
	echo $? >"/out/$name.status"
}

# Until process $1 waits for events: it records. Or has ended.
wait_until_recording() {
	until grep -q poll "/proc/$1/stack"; do
		kill -0 "$1" || return
		usleep 20000
	done 2>/dev/null
}

# offcpu NAME [OPTION…]: records threads that wait in known ways. Their truth is of a window inside
# the recorded one.
offcpu() {
	./wait /tmp 100 1 >"/out/$1.truth" &
	waiting=$!
	sleep 0.5
	record "$@" --offcpu --threads -p $waiting -d 3 &
	recording=$!
	usleep 100000
	wait_until_recording "$(pidof bpfflame)"
	kill -USR1 $waiting
	sleep 2.7
	kill -USR2 $waiting
	wait $recording
	kill $waiting
	wait $waiting
}

oncpu() {
	burn 100 3 &
	burning=$!
	sleep 0.5
	record oncpu -F 199 -p $burning -d 3
	kill $burning
}

# CPU 1 goes while it is recorded, and comes back: after a while, then at once.
hotplug() {
	cpu1=/sys/devices/system/cpu/cpu1/online
	cp /test/burn /test/before
	cp /test/burn /test/after
	cp /test/burn /test/again
	record hotplug -a -d 10 &
	recording=$!
	usleep 100000
	wait_until_recording "$(pidof bpfflame)"
	taskset 2 before 2 1
	echo 0 >$cpu1
	sleep 2
	echo 1 >$cpu1
	taskset 2 after 2 1
	echo 0 >$cpu1
	echo 1 >$cpu1
	taskset 2 again 2 1
	wait $recording
}

uname -r >/out/kernel
offcpu auto
for hook; do
	offcpu "$hook" --offcpu-hook "$hook"
done
record all --offcpu -a -d 1
oncpu
hotplug
