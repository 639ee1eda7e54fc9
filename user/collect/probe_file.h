/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe_file: which file a name in a uprobe or USDT event means. It stays open: a path of another
 * process may lead elsewhere a moment later, and a probe in the midst of an instruction of another
 * file would crash the programs that run it.
 */
#ifndef COLLECT_PROBE_FILE_H
#define COLLECT_PROBE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

/* Both are the caller's. */
struct probe_file {
	int fd;	    /* open for reading: what is read of it is what gets the probe */
	char *path; /* where it was found */
};

/*
 * @name: a path; a library, of which `libc` or `libc.so` will do; or a program found in PATH.
 * @pid: a process that has it mapped, and in whose file system it lies; 0: none in particular.
 * probe_file_done() is due after success. Errors: -ENOENT, -ENOMEM.
 */
int probe_file_find(const char *name, uint32_t pid, struct probe_file *ret);
void probe_file_done(struct probe_file *file);

/* Whether this machine runs such code: not that of another processor, nor x32's. */
bool probe_file_runs_here(int fd);

#endif
