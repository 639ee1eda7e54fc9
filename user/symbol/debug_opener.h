/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_opener: opens the debug files of a mapped file for its reader.
 *
 * A reader may not open anything; it asks. So the paths here may come from an attacker, and this
 * code decides what to open: a regular file below one of the mapped file's root folders, of a user
 * who may name its functions.
 */
#ifndef SYMBOL_DEBUG_OPENER_H
#define SYMBOL_DEBUG_OPENER_H

#include <limits.h>
#include <stdbool.h>

#include "symbol/debuginfod.h"

/* Folders to search for debug files. */
enum debug_root {
	DEBUG_OURS,
	DEBUG_PROCESS, /* the process's, if it is not ours */
	DEBUG_SYMFS,   /* --symfs */
	N_DEBUG_ROOTS,
};

struct debug_opener {
	/*
	 * Opens @path below @root. *@real becomes its name without links, "" if unknown. Returns a
	 * descriptor for the caller to close. Errors: -EAGAIN somebody holds a lease on it; -EPERM
	 * its owner is not trusted; those of foreign_open().
	 */
	int (*open_file)(void *context, enum debug_root root, const char *path,
			 char real[static PATH_MAX]);
	/* Opens the debug file of @build_id, from a server. Errors: -ENOENT. */
	int (*fetch)(void *context, const char *build_id);
	void *context;
};

/* A mapped file, and where to find its debug files. */
struct debug_place {
	int file;		 /* a descriptor; -1: the vDSO */
	const char *path, *real; /* as its process saw it; without links, under our root */
	bool has[N_DEBUG_ROOTS]; /* the roots that exist */
	const struct debug_opener *opener;
};

/* The descriptors of a place; -1: none. */
struct debug_places {
	int file;
	int root;		       /* of the process; -1: ours */
	int symfs;		       /* of --symfs */
	struct debuginfod *debuginfod; /* or NULL: ask no server */
	struct debug_opener opener;    /* set by debug_place_init() */
};

/*
 * Describes the file that was mapped as @path. *@ret refers to @places, @path and @real, which it
 * sets.
 */
void debug_place_init(struct debug_places *places, const char *path, char real[static PATH_MAX],
		      struct debug_place *ret);

#endif
