/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff: the command, for commands that call it and know more than its command line. */
#ifndef CMD_DIFF_H
#define CMD_DIFF_H

#include <stdio.h>

#include "base/failure.h"
#include "core/stacks.h"

struct diff_caller {
	void *data;
	const char *base_name; /* its name for the base; NULL: the files' names */
	/*
	 * Called once both sides are read, with the comparison. *ret_remarks: reasons against it, a
	 * line each, NULL at the end; they appear wherever the comparison does, instead of the
	 * profiles' own facts about their machines, and must stay until diff_run() returns. Errors:
	 * *failure set; nothing is written then.
	 */
	int (*remark)(void *data, const struct stacks *stacks, const char *const **ret_remarks,
		      struct failure *failure);
};

/* Runs `bpfflame diff`. @caller: NULL: none. Returns an exit code. */
int diff_run(int argc, char **argv, const struct diff_caller *caller);

/* Checks the options alone: EXIT_DONE, or what diff_run() would return, having said why. */
int diff_check(int argc, char **argv);

/*
 * The same without files: writes the first format of -f, or else JSON (--json) or text, to @stream.
 * For a confined process that may read the inputs. Errors: -EINVAL wrong usage; those of reading.
 */
int diff_answer(int argc, char **argv, FILE *stream, struct failure *failure);

#endif
