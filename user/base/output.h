/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * output: a file that appears whole or not at all.
 *
 * Written to a temporary name in the target's folder, renamed over the target when complete. "-" is
 * standard output. A target that is not a regular file (/dev/null, a pipe) is written directly.
 */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include <stdio.h>

struct output {
	FILE *stream;
	char *path, *temporary; /* temporary: NULL when written directly */
};

/* Says, without creating anything, whether output_open() should succeed. 0 or -errno. */
int output_check(const char *path);

int output_open(const char *path, struct output *ret);

/*
 * Flushes, syncs nothing, renames. On failure (-ENOSPC, -EIO, …) the temporary file is gone and
 * an earlier file of that name is untouched. The output is done either way.
 */
int output_commit(struct output *output);

/* Gives up: removes the temporary file. Fine after commit and on a zeroed struct. */
void output_abort(struct output *output);

#endif
