/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run_files: files and folders of profiles that stand for repeated runs.
 */
#ifndef CLI_RUN_FILES_H
#define CLI_RUN_FILES_H

#include <stddef.h>

#include "base/failure.h"

struct run_files {
	char **paths; /* owned, as are the strings */
	size_t n, capacity;
};

/*
 * Adds @path; of a folder, the profiles in it in the order of their names, and of one that is there
 * in several formats only the one that says most. Errors: -ENOENT of a folder without any; -errno;
 * -ENOMEM. run_files_done() is due either way.
 */
int run_files_add(struct run_files *files, const char *path, struct failure *failure);
void run_files_done(struct run_files *files);

#endif
