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

# Waits until this many bpfflames record, that is, wait for events by ppoll() (while they load, some
# wait by poll()); not for long, because one may fail.
wait_for_recordings() {
	tries=0
	until [ "$(recordings | wc -l)" -ge "$1" ] || [ $((tries += 1)) -ge 1000 ]; do
		usleep 20000
	done
}

recordings() {
	for process in $(pidof bpfflame); do
		grep -q ppoll "/proc/$process/stack" && echo "$process"
	done 2>/dev/null
}

# waiting NAME [OPTION…]: records threads that wait in known ways. Their readings, ten a second, begin
# before the recording and end after it.
waiting() {
	./wait /tmp 1000 1 100 >"/out/$1.readings" &
	waiting=$!
	sleep 0.5
	record "$@" --threads --offcpu-period 0 -p $waiting -d 3
	sleep 0.5
	kill $waiting
	wait $waiting
}

# together HOOK…: all hooks see the same life of the same threads, from its first instruction on.
together() {
	sh -c 'until [ -e /tmp/go ]; do usleep 20000; done; exec ./wait /tmp 4 1' \
		>/out/together.truth &
	waiting=$!
	for hook; do
		record "together-$hook" --offcpu --threads --offcpu-period 0 --offcpu-hook "$hook" \
			-p $waiting &
	done
	wait_for_recordings $#
	touch /tmp/go
	wait
}

wakers() {
	ifconfig lo up
	./wakers 100 >/dev/null &
	waking=$!
	sleep 0.5
	for tid in "/proc/$waking/task/"*; do
		echo "$(cat "$tid/comm") ${tid##*/}"
	done >/out/wakers.threads
	record wakers --offcpu --threads --offcpu-period 0 --wakers --waker-depth 2 -p $waking -d 3
	kill $waking
	wait $waking
}

oncpu() {
	burn 100 3 &
	burning=$!
	sleep 0.5
	record oncpu -F 199 -p $burning -d 3
	kill $burning
}

# CPU 1 goes offline during the recording and comes back: after a while, then at once.
hotplug() {
	cpu1=/sys/devices/system/cpu/cpu1/online
	cp /test/burn /test/before
	cp /test/burn /test/after
	cp /test/burn /test/again
	record hotplug -a -d 25 &
	recording=$!
	wait_for_recordings 1
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

# One file for each: events.page-faults.folded … Here nobody has mounted tracefs.
events() {
	probes=/test/probes
	record events -e page-faults -e sched:sched_process_fork -e uprobe:$probes:called_often \
		-e uretprobe:$probes:calls_twice -e usdt:$probes:watched -e kprobe:__x64_sys_write \
		-e kretprobe:__x64_sys_write -- sh -c "$probes 200 100 50 >/out/events.truth"
	bpfflame events --json >/out/events.list
}

uname -r >/out/kernel
waiting wall --wall
for hook; do
	waiting "$hook" --offcpu --offcpu-hook "$hook"
done
together "$@"
wakers
record all --offcpu -a -d 1
oncpu
events
hotplug
