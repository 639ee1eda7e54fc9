/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_files: which files are the runs of which side of a comparison.
 *
 *	BASE NEW		BASE… -- NEW…		--base FILE … NEW…
 *
 * Each may be a folder of runs. One that holds recordings of several kinds, as their names tell
 * (`…-oncpu.pb.gz`), counts with the kind that the other side has as well.
 */
#ifndef CMD_DIFF_FILES_H
#define CMD_DIFF_FILES_H

#include <stdbool.h>

#include "cli/run_files.h"
#include "core/stacks.h"

/* What the command line says. */
struct diff_words {
	char *const *arguments; /* all but the options */
	size_t n;
	size_t n_behind;    /* of these, stood behind `--`; 0: there was none that matters */
	char *const *bases; /* those of --base */
	size_t n_bases;
	const char *kind; /* of --kind; NULL: not told */
};

struct diff_files {
	struct run_files sides[N_SIDES];
	bool is_single; /* one file that is both sides: sides[SIDE_NEW] */
};

/*
 * Errors: -EINVAL for wrong usage, -ENOENT and -errno of folders, each with *failure set; -ENOMEM.
 * diff_files_done() is due either way.
 */
int diff_files_find(const struct diff_words *words, struct diff_files *ret,
		    struct failure *failure);
void diff_files_done(struct diff_files *files);

#endif
