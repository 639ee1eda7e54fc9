/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_sides: the runs of both sides of a comparison, read one after the other. Of a run there
 * stay its stacks, merged with those of the other runs of its side, and what it adds to the sums
 * that the gate judges by.
 */
#ifndef CMD_DIFF_SIDES_H
#define CMD_DIFF_SIDES_H

#include "cmd/diff_files.h"
#include "compare/gate_sums.h"
#include "core/stacks.h"

struct diff_reading {
	struct stacks_options stacks; /* as pictures want them */
	enum stacks_scale scale;
	bool quiet;
	bool wants_sums; /* else only if there are several runs */
};

struct diff_sides {
	struct stacks plain;   /* neither reversed nor in the order of time: what tables want */
	struct stacks drawn;   /* as pictures want them, if that is another order */
	struct gate_sums sums; /* of no runs, if nobody wants them */
	bool has_drawn;
};

/*
 * Reads all @files. *@ret is to be given to diff_sides_done() after success. Errors: those of
 * inputs_read() and stacks_add(); -EINVAL, *failure set, if samples were to be compared with times,
 * or events with other ones.
 */
int diff_sides_read(const struct diff_files *files, const struct diff_reading *reading,
		    struct diff_sides *ret, struct failure *failure);
void diff_sides_done(struct diff_sides *sides);

#endif
