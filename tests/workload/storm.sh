#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# storm.sh [SECONDS]: short-lived processes in sequence: shells that count, small programs. Prints
# their number as its truth.

seconds=${1:-5}
end=$(($(date +%s) + seconds))
n=0

while [ "$(date +%s)" -lt "$end" ]; do
	i=0
	while [ $i -lt 10 ]; do
		sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done'
		ls -lR /usr/share/doc/libc6 /proc/sys/kernel >/dev/null 2>&1
		sort /etc/services >/dev/null 2>&1
		i=$((i + 1))
	done
	n=$((n + 10 * 3 + 1))
done
printf '{"threads": [], "processes": %d}\n' "$n"
