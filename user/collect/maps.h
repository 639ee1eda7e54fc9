/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maps: what /proc/PID/maps says, line by line or of one address.
 */
#ifndef COLLECT_MAPS_H
#define COLLECT_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Kernel's name of what is mapped. Inode 0: no file; then the path says what ("[vdso]", "//anon").
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
 * The thread by whose id /proc shows the mappings, files and root of process @pid: its first, or,
 * once that has ended and others have not (pthread_exit), one of these.
 */
uint32_t maps_thread(uint32_t pid);

/*
 * Finds the mapping of @pid that holds @address, by one query where the kernel (6.11) can. @path
 * holds its path then. Returns 1; 0: nothing is mapped there; or -errno.
 */
int maps_find(uint32_t pid, uint64_t address, struct maps_entry *ret, char path[static PATH_MAX]);

#endif
