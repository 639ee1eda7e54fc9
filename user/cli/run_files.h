/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_files: files and folders of profiles that are repeated runs. */
#ifndef CLI_RUN_FILES_H
#define CLI_RUN_FILES_H

#include <stddef.h>

#include "base/failure.h"

struct run_files {
	char **paths; /* owned, as are the strings */
	size_t n, capacity;
};

/*
 * Adds @path; for a folder, its profiles in the order of their names, and of one in several formats
 * only the one with most detail. Errors: -ENOENT for a folder without any; -errno; -ENOMEM. Call
 * run_files_done() in any case.
 */
int run_files_add(struct run_files *files, const char *path, struct failure *failure);
void run_files_done(struct run_files *files);

#endif
