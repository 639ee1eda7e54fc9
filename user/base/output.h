/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * output: a file that appears whole or not at all.
 *
 * First its target is found: the folder is checked (base/place.h) and held from then on, and a
 * symbolic link under the file's name is refused, never followed. Then the file is written without
 * a name, and gets its name when it is complete; a file that is there already is replaced by a
 * rename. Where the file system has no files without names, it is written under another name that
 * nobody can foresee.
 *
 * What is open already, as "-" and /dev/stdout are, is written where it is; so is a target that is
 * not a regular file (/dev/null, a pipe).
 */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/failure.h"
#include "base/place.h"

/* Between the name of a file and random digits, in the name it has while it is written. */
#define OUTPUT_MARK ".bpfflame-"

/* As those of base/place.h. */
#define OUTPUT_ELINK   ENOTNAM /* the file's name is a symbolic link */
#define OUTPUT_EOTHERS EISNAM  /* somebody else has put something there */

/* Where a file is to go. All zero: not found yet. */
struct output_target {
	char *name;	    /* in the folder, owned; NULL: a descriptor, or none */
	struct place place; /* the folder, owned */
	bool is_direct;	    /* there is no regular file: written where it is … */
	dev_t device;
	ino_t inode;	   /* … if it is this one */
	bool is_descriptor; /* is open already … */
	int descriptor;	   /* … as this */
};

struct output {
	FILE *stream;
	const struct output_target *target;
	int unnamed;	 /* the file, without a name; -1: it has one */
	char *temporary; /* its name meanwhile; NULL: none */
};

/* The mode of files that are made from now on, as of chmod(2); 0600 without it. */
void output_set_mode(mode_t mode);
mode_t output_mode(void);

/*
 * The descriptor that @path names: "-" and /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N.
 * -1: it names a file.
 */
int output_descriptor(const char *path);

/*
 * Finds where @path is, creating nothing, and whether it can be written. output_target_done() is
 * due after success. Errors: those of place_open(), -OUTPUT_ELINK, -OUTPUT_EOTHERS, -EISDIR, …
 */
int output_find(const char *path, struct output_target *ret);
/* The same for the file @name in @place, which may be closed afterwards. */
int output_find_in(const struct place *place, const char *name, struct output_target *ret);
/* Fine on a zeroed struct. */
void output_target_done(struct output_target *target);

/*
 * Begins the file; @target must stay until the output is done. Errors: -ENOENT where the folder was
 * removed meanwhile, -errno.
 */
int output_open(const struct output_target *target, struct output *ret);

/*
 * What writing to @stream failed with, or 0. The stream keeps only that a write failed; where
 * flushing what is left succeeds, one more byte (what is there is of no use) asks why.
 */
int output_flush(FILE *stream);

/*
 * Flushes, syncs nothing, gives the file its name. On failure (-ENOSPC, -EIO, …) nothing of it is
 * left and an earlier file of that name is untouched. The output is done either way.
 */
int output_commit(struct output *output);

/*
 * Just before _exit(), in a signal handler, too: removes the temporary name that was last given and
 * is not done.
 */
void output_leave(void);

/* Gives up: nothing of the file is left. Fine after commit and on a zeroed struct. */
void output_abort(struct output *output);

/* strerror() of @error, which is negative, the errors of this module and of base/place.h included. */
const char *output_error(int error);
/* Fills in @failure: "cannot @what @path: …", with what helps. Returns @error. */
int output_fail(struct failure *failure, int error, const char *what, const char *path);

#endif
