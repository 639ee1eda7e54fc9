/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock_file: one writer at a time in a folder.
 *
 * A folder that others can read is one that they can flock(), for as long as they like. So what is
 * locked is a file that only its owner can open. It is there while somebody writes, and goes when
 * they have written; one that a dead process left is the next one's.
 */
#ifndef STORE_LOCK_FILE_H
#define STORE_LOCK_FILE_H

#include <stdbool.h>

#include "base/place.h"

#define LOCK_FILE ".bpfflame.lock"

/*
 * Locks @place until lock_file_release() or the end of the process. File systems that know no locks
 * are used without. Errors: -EWOULDBLOCK unless @waits, -OUTPUT_EOTHERS for a file of somebody
 * else, -ENOENT where the folder was removed, -errno.
 */
int lock_file_take(const struct place *place, bool waits, int *ret_fd);
/* Fine for -1. */
void lock_file_release(const struct place *place, int fd);

#endif
