/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_opener: opens the debug files of a mapped file, for whoever reads them.
 *
 * A reader has no right to open anything; it asks for what it wants. So paths that come in here may
 * be an attacker's, and what is opened is decided here: a regular file below one of the mapped
 * file's root folders, of a user who may say what its functions are called.
 */
#ifndef SYMBOL_DEBUG_OPENER_H
#define SYMBOL_DEBUG_OPENER_H

#include <limits.h>
#include <stdbool.h>

#include "symbol/debuginfod.h"

/* Folders that debug files are looked for under. */
enum debug_root {
	DEBUG_OURS,
	DEBUG_PROCESS, /* that of the process, if it is not ours */
	DEBUG_SYMFS,   /* that of --symfs */
	N_DEBUG_ROOTS,
};

struct debug_opener {
	/*
	 * Opens @path below @root. *@real becomes its name without links, "" if that is unknown.
	 * Returns a descriptor, the caller's to close. Errors: -EAGAIN somebody holds a lease on
	 * it; -EPERM its owner is not trusted; those of foreign_open().
	 */
	int (*open_file)(void *context, enum debug_root root, const char *path,
			 char real[static PATH_MAX]);
	/* Opens the debug file of @build_id, from a server. Errors: -ENOENT. */
	int (*fetch)(void *context, const char *build_id);
	void *context;
};

/* A mapped file, and where what belongs to it is found. */
struct debug_place {
	int file;		 /* a descriptor; -1: the vDSO */
	const char *path, *real; /* as its process saw it; without links, under our root */
	bool has[N_DEBUG_ROOTS]; /* which of these there are */
	const struct debug_opener *opener;
};

/* The descriptors behind a place; -1: none. */
struct debug_places {
	int file;
	int root;		       /* of the process; -1: ours */
	int symfs;		       /* of --symfs */
	struct debuginfod *debuginfod; /* or NULL: no server is asked */
	struct debug_opener opener;    /* set by debug_place_init() */
};

/*
 * Describes the file that was mapped as @path. *@ret refers to @places, @path and @real, which it
 * sets.
 */
void debug_place_init(struct debug_places *places, const char *path, char real[static PATH_MAX],
		      struct debug_place *ret);

#endif
