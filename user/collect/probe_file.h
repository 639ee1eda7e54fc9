/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe_file: finds the file for the name in a uprobe or USDT event. It stays open: another
 * process's path may lead elsewhere a moment later, and a probe in the middle of an instruction of
 * another file would crash the programs that run it.
 */
#ifndef COLLECT_PROBE_FILE_H
#define COLLECT_PROBE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

/* Both are the caller's. */
struct probe_file {
	int fd;	    /* open for reading: the file read is the file probed */
	char *path; /* where it was found */
};

/*
 * @name: a path; a library, also as `libc` or `libc.so`; or a program found in PATH. @pid: a
 * process that has it mapped, and whose file system it is in; 0: none. After success, call
 * probe_file_done(). Errors: -ENOENT, -ENOMEM.
 */
int probe_file_find(const char *name, uint32_t pid, struct probe_file *ret);
void probe_file_done(struct probe_file *file);

/* Whether this machine runs such code: not another processor's, nor x32's. */
bool probe_file_runs_here(int fd);

#endif
