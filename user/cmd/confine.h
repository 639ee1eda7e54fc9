/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confine: processes a command's inputs in a process that can do nothing else (base/confined.h). It
 * opens the given inputs and writes the checked outputs through this process, which only serves it
 * meanwhile. Of inputs that are parts of stores (cli/store_input.h) it may read the segments that
 * are there when it begins.
 */
#ifndef CMD_CONFINE_H
#define CMD_CONFINE_H

#include "cli/outputs.h"

/* What the work may use. */
struct confine_files {
	struct {
		char *const *paths;
		size_t n;
	} inputs[3];
	const char *store;	      /* a folder whose segments it may read, too; or NULL */
	struct output_files *outputs; /* or NULL */
};

/*
 * @work returns an exit code and prints the reason; it writes outputs by output_files_write().
 * Returns its exit code, or EXIT_FAILED, explained on stderr, if the process died. If a signal that
 * was meant for us killed it (Ctrl-C, a closed pipe), it also ends this process.
 */
int cmd_confine(const struct confine_files *files, int (*work)(void *data), void *data);

#endif
