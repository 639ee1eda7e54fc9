/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff: the command, for commands that call it and know more than a command line can tell.
 */
#ifndef CMD_DIFF_H
#define CMD_DIFF_H

#include "base/failure.h"
#include "core/stacks.h"

struct diff_caller {
	void *data;
	const char *base_name; /* what to call the base; NULL: as its files are called */
	/*
	 * Called once both sides are read, with the comparison. *ret_remarks: what speaks against
	 * it, a line each, NULL behind the last; they are told wherever the comparison is, in place
	 * of what the profiles themselves say of their machines, and must stay until diff_run()
	 * returns. Errors: *failure set; nothing is written then.
	 */
	int (*remark)(void *data, const struct stacks *stacks, const char *const **ret_remarks,
		      struct failure *failure);
};

/* As `bpfflame diff`. @caller: NULL: nobody. Returns an exit code. */
int diff_run(int argc, char **argv, const struct diff_caller *caller);

#endif
