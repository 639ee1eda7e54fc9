/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_memory: the memory of all processes of the daemon.
 */
#ifndef CMD_DAEMON_MEMORY_H
#define CMD_DAEMON_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

struct daemon_board;

/*
 * Bytes of @root and of all processes below it; what several share is counted once. Neither files
 * that are mapped count, which the kernel can drop, nor BPF maps. One that can't be read counts as
 * 0. What those of each name use is put on @board.
 */
uint64_t daemon_memory(pid_t root, struct daemon_board *board);

#endif
