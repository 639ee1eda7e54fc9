/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_sides: reads the runs of both sides of a comparison one after another. Of each run it keeps
 * the stacks, merged with those of the side's other runs, and its part of the sums for the gate.
 */
#ifndef CMD_DIFF_SIDES_H
#define CMD_DIFF_SIDES_H

#include "cmd/diff_files.h"
#include "compare/gate_sums.h"
#include "core/stacks.h"

struct sides_options {
	struct stacks_options stacks; /* for pictures; with per_second, times are divided here */
	enum stacks_scale scale;
	bool quiet;
	bool wants_sums; /* else only for several runs */
};

struct diff_sides {
	struct stacks plain;   /* for tables: neither reversed nor in order of time */
	struct stacks drawn;   /* for pictures, if their order differs */
	struct gate_sums sums; /* of no runs, if nobody wants them */
	bool has_drawn;
};

/*
 * Reads all @files. After success, call diff_sides_done(). Errors: those of inputs_read() and
 * stacks_add(); -EINVAL, with *failure set, if samples would be compared with times, or events with
 * other ones, or if per_second gets samples, or a file that does not say how long it took.
 */
int diff_sides_read(const struct diff_files *files, const struct sides_options *options,
		    struct diff_sides *ret, struct failure *failure);
void diff_sides_done(struct diff_sides *sides);

#endif
