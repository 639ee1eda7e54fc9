/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracefs: the kernel's list of tracepoints. If it is not mounted, as in containers, it is mounted
 * for us alone, in no folder: it goes with the descriptor.
 */
#ifndef COLLECT_TRACEFS_H
#define COLLECT_TRACEFS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

/* Opens its `events` folder. Errors: -ENOENT no tracefs in this kernel; -EACCES, -EPERM. */
int tracefs_open(int *ret_fd, bool *ret_is_private);

/* Explains why tracefs_open() has failed, and the fix. Returns @error. */
int tracefs_refuse(int error, struct failure *failure);

/* The number for perf_event_open(). Errors: -ENOENT, -EACCES, -EIO. */
int tracefs_tracepoint(int events_fd, const char *category, const char *name, uint32_t *ret_id);

/* Calls @fn with every tracepoint, in no order, until it returns nonzero. */
typedef int (*tracepoint_fn)(void *context, const char *category, const char *name);
int tracefs_list(int events_fd, tracepoint_fn fn, void *context);

#endif
