/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_memory: the memory of all processes of the daemon.
 */
#ifndef CMD_DAEMON_MEMORY_H
#define CMD_DAEMON_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Bytes of @root and of all processes below it; what several share is counted once. Neither files
 * that are mapped count, which the kernel can drop, nor BPF maps. One that can't be read counts as
 * 0.
 */
uint64_t daemon_memory(pid_t root);

#endif
