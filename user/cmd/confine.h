/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confine: runs what a command does with its inputs in a process that can do nothing else
 * (base/confined.h). It opens the inputs that were named and writes the outputs that were checked,
 * through this process, which does nothing but that meanwhile.
 */
#ifndef CMD_CONFINE_H
#define CMD_CONFINE_H

#include "cli/outputs.h"

/* What the work may have. */
struct confine_files {
	struct {
		char *const *paths;
		size_t n;
	} inputs[3];
	struct output_files *outputs; /* or NULL */
};

/*
 * @work returns an exit code and prints why; it writes outputs by output_files_write(). Returns its
 * exit code, or EXIT_FAILED, said on stderr, if the process died. Where a signal that is meant for
 * us killed it (Ctrl-C, a closed pipe), so it does this process.
 */
int cmd_confine(const struct confine_files *files, int (*work)(void *data), void *data);

#endif
