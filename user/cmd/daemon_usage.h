/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_usage: the memory and CPU time of all processes of the daemon, by /proc.
 */
#ifndef CMD_DAEMON_USAGE_H
#define CMD_DAEMON_USAGE_H

#include <stdint.h>
#include <sys/types.h>

struct daemon_board;

struct daemon_usage {
	/*
	 * What several share is counted once. Neither files that are mapped count, which the kernel
	 * can drop, nor BPF maps.
	 */
	uint64_t bytes;
	uint64_t cpu_ns;    /* also of those that have ended and were waited for; in ticks */
	uint64_t broker_ns; /* of that, the broker's: it falls where that is started again */
};

/*
 * Sums up @root and all processes below it. One that can't be read counts as 0, and so do those
 * that talk to clients or read the store for them: who asks much must not have less recorded. The
 * memory of those of each name is put on @board.
 */
struct daemon_usage daemon_usage(pid_t root, struct daemon_board *board);

/* How often the machine has switched threads. */
uint64_t daemon_usage_switches(void);

#endif
