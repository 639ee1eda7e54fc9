/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * output: a file that appears whole or not at all.
 *
 * Written to a temporary name in the target's folder, renamed over the target when complete. What
 * is open already, as "-" and /dev/stdout are, is written where it is; so is a target that is not a
 * regular file (/dev/null, a pipe).
 */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct output {
	FILE *stream;
	bool as_owner; /* made with the owner's rights; renamed and removed with them, too */
	char *path, *temporary; /* temporary: NULL when written directly */
};

/*
 * For root: from now on, files are written with this user's rights and belong to them, so that no
 * link they have put in the way leads where they may not write themselves. Where they may not
 * write, in a folder that root alone can change, from / on down, files are root's. @groups must
 * stay.
 */
int output_set_owner(uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups);

/*
 * What is opened or made between these two is so with the owner's rights, and theirs; without an
 * owner nothing changes. Errors: -errno, nothing to be left then.
 */
int output_enter_owner(void);
void output_leave_owner(void);

/*
 * The descriptor that @path names: "-" and /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N.
 * -1: it names a file.
 */
int output_descriptor(const char *path);

/* Says, without creating anything, whether output_open() should succeed. 0 or -errno. */
int output_check(const char *path);

int output_open(const char *path, struct output *ret);

/*
 * What writing to @stream failed with, or 0. The stream keeps only that a write failed; where
 * flushing what is left succeeds, one more byte (what is there is of no use) asks why.
 */
int output_flush(FILE *stream);

/*
 * Flushes, syncs nothing, renames. On failure (-ENOSPC, -EIO, …) the temporary file is gone and
 * an earlier file of that name is untouched. The output is done either way.
 */
int output_commit(struct output *output);

/*
 * Just before _exit(), in a signal handler, too: removes the temporary file that was last begun and
 * is not done.
 */
void output_leave(void);

/* Gives up: removes the temporary file. Fine after commit and on a zeroed struct. */
void output_abort(struct output *output);

#endif
