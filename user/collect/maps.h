/* SPDX-License-Identifier: GPL-2.0-or-later */
/* maps: reads /proc/PID/maps, line by line or for one address. */
#ifndef COLLECT_MAPS_H
#define COLLECT_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The kernel's name for what is mapped. Inode 0: no file; the path then says what ("[vdso]",
 * "//anon").
 */
struct file_name {
	uint32_t device_major, device_minor;
	uint64_t inode;
	const char *path; /* as the process sees it; the caller's */
};

struct maps_entry {
	uint64_t start, end, offset; /* [start, end) */
	bool is_executable;
	struct file_name name;
};

/* Parses `00400000-0048a000 r-xp 00001000 fd:01 123  /path`. The path points into @line. */
bool maps_parse(const char *line, struct maps_entry *ret);

/*
 * The thread whose id makes /proc show the mappings, files and root of process @pid: its first, or
 * one of the others after that has ended (pthread_exit).
 */
uint32_t maps_thread(uint32_t pid);

/*
 * Finds the mapping of @pid that contains @address, by one query if the kernel (6.11) can. @path
 * then holds its path. Returns 1; 0: nothing is mapped there; or -errno.
 */
int maps_find(uint32_t pid, uint64_t address, struct maps_entry *ret, char path[static PATH_MAX]);

#endif
