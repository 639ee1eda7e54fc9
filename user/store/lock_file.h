/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock_file: allows one writer at a time in a folder.
 *
 * Anyone who can read a folder can flock() it for as long as they like. So we lock a file that only
 * its owner can open. It exists only during writing; one left by a dead process is reused.
 */
#ifndef STORE_LOCK_FILE_H
#define STORE_LOCK_FILE_H

#include <stdbool.h>

#include "base/place.h"

#define LOCK_FILE ".bpfflame.lock"

/*
 * Locks @place until lock_file_release() or the end of the process. On file systems without locks
 * it does nothing. Errors: -EWOULDBLOCK unless @waits; -OUTPUT_EOTHERS for a file of somebody else;
 * -ENOENT if the folder was removed; -errno.
 */
int lock_file_take(const struct place *place, bool waits, int *ret_fd);
/* Does nothing for -1. */
void lock_file_release(const struct place *place, int fd);

#endif
