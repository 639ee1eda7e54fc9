/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_files: finds the files that are the runs of each side of a comparison:
 *
 *   BASE NEW  BASE… -- NEW…  --base FILE … NEW…
 *
 * Each may be a folder of runs. A folder with recordings of several kinds, by their names
 * (`…-oncpu.pb.gz`), counts with the kind that the other side also has.
 */
#ifndef CMD_DIFF_FILES_H
#define CMD_DIFF_FILES_H

#include <stdbool.h>

#include "cli/run_files.h"
#include "core/stacks.h"

/* The relevant parts of the command line. */
struct diff_words {
	char *const *arguments; /* without the options */
	size_t n;
	size_t n_after;	    /* of these, after `--`; 0: none, or irrelevant */
	char *const *bases; /* from --base */
	size_t n_bases;
	const char *kind; /* from --kind; NULL: not given */
};

struct diff_files {
	struct run_files sides[N_SIDES];
	bool is_single; /* one file holds both sides: sides[SIDE_NEW] */
};

/*
 * Errors: -EINVAL for wrong usage, -ENOENT and -errno of folders, each with *failure set; -ENOMEM.
 * Call diff_files_done() in any case.
 */
int diff_files_find(const struct diff_words *words, struct diff_files *ret,
		    struct failure *failure);
void diff_files_done(struct diff_files *files);

#endif
