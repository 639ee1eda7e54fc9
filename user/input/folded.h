/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folded: reading `comm;root;…;leaf VALUE` lines: the inverse of unfolder_next(). Ours, as the
 * contract has them, come back as the samples they were written from; those of others as stacks of
 * names whose first one is the command.
 *
 * Values are samples, or microseconds if any stack of the file ends in a reason for waiting.
 */
#ifndef INPUT_FOLDED_H
#define INPUT_FOLDED_H

#include "input/reading.h"
#include "input/stream.h"

/*
 * Reads @stream, whose first lines its window holds: if each of them has two values, so must all.
 * Errors: as of input_read().
 */
int folded_read(struct input *input, struct stream *stream, struct failure *failure);

#endif
