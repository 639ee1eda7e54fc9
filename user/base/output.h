/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * output: a file that appears whole or not at all.
 *
 * First the target is found: the folder is checked (base/place.h) and held open from then on, and a
 * symbolic link at the file's name is refused, never followed. Then the file is written without a
 * name, and gets its name when it is complete; a rename replaces an existing file. On file systems
 * without nameless files, it is written under an unpredictable name.
 *
 * Open descriptors, such as "-" and /dev/stdout, are written to directly; so are targets that are
 * not regular files (/dev/null, a pipe).
 */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/failure.h"
#include "base/place.h"

/* Separates a file's name from random digits in its temporary name. */
#define OUTPUT_MARK ".bpfflame-"

/* Further errors like those of base/place.h. */
#define OUTPUT_ELINK   ENOTNAM /* the file's name is a symbolic link */
#define OUTPUT_EOTHERS EISNAM  /* the existing file belongs to somebody else */
#define OUTPUT_EUNREAD ENXIO   /* nobody reads the FIFO */

/* Where a file goes. All zero: not found yet. */
struct output_target {
	char *name;	    /* in the folder, owned; NULL: a descriptor, or none */
	struct place place; /* the folder, owned */
	bool is_direct;	    /* not a regular file: written in place … */
	bool is_fifo;
	dev_t device;
	ino_t inode;	    /* … if it is still this one */
	bool is_descriptor; /* it is open already … */
	int descriptor;	    /* … as this one */
};

struct output {
	FILE *stream;
	const struct output_target *target;
	int unnamed;	 /* the nameless file; -1: it has a name */
	char *temporary; /* its temporary name; NULL: none */
};

/* Sets the mode of files made from now on, as in chmod(2); by default 0600. */
void output_set_mode(mode_t mode);
mode_t output_mode(void);

/*
 * The end was asked for: from now on, a FIFO that nobody reads is waited for 2 s at most, and
 * forever otherwise. Async-signal-safe.
 */
void output_hurry(void);

/*
 * The descriptor meant by @path: "-" and /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N. -1:
 * it is a file.
 */
int output_descriptor(const char *path);

/*
 * Finds @path without creating anything, and checks whether it can be written. After success, call
 * output_target_done(). Errors: those of place_open(), -OUTPUT_ELINK, -OUTPUT_EOTHERS, -EISDIR, …
 */
int output_find(const char *path, struct output_target *ret);
/* The same for the file @name in @place, which may be closed afterwards. */
int output_find_in(const struct place *place, const char *name, struct output_target *ret);
/* Fine on a zeroed struct. */
void output_target_done(struct output_target *target);

/*
 * Begins the file; @target must stay until the output is done. Errors: -ENOENT if the folder was
 * removed meanwhile, -OUTPUT_EUNREAD, -errno.
 */
int output_open(const struct output_target *target, struct output *ret);

/*
 * The error of writing to @stream, or 0. The stream only remembers that a write failed; if flushing
 * the rest succeeds, writing one more byte (the file is useless anyway) gives the reason.
 */
int output_flush(FILE *stream);

/*
 * Flushes without syncing, and gives the file its name. After a failure (-ENOSPC, -EIO, …) nothing
 * of it is left, and an earlier file of that name is untouched. The output is done either way.
 */
int output_commit(struct output *output);

/* Writes a whole file by @write, which returns 0 or an error. Errors: its, and those of
 * output_open() and output_commit(). */
typedef int (*output_write_fn)(void *data, FILE *stream);
int output_write(const struct output_target *target, output_write_fn write, void *data);

/* Call just before _exit(), also in a signal handler: removes the current temporary name. */
void output_leave(void);

/* Gives up: nothing of the file is left. Fine after commit and on a zeroed struct. */
void output_abort(struct output *output);

/*
 * Like strerror() for @error, which is negative, with the errors of this module and of
 * base/place.h.
 */
const char *output_error(int error);
/* Fills in @failure: "cannot @what @path: …", with a hint. Returns @error. */
int output_fail(struct failure *failure, int error, const char *what, const char *path);

#endif
