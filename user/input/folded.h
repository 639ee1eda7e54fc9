/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folded: reads `comm;root;…;leaf VALUE` lines, the inverse of unfolder_next(). Our own lines come
 * back as the samples they were written from; others become stacks of names, the first of which is
 * the command.
 *
 * Values are samples, or microseconds if any stack of the file ends in a reason for waiting.
 */
#ifndef INPUT_FOLDED_H
#define INPUT_FOLDED_H

#include "base/stream.h"
#include "input/reading.h"

/*
 * Reads @stream, whose window holds the first lines. If each of those has two values, all lines
 * must. Errors: as of input_read().
 */
int folded_read(struct input *input, struct stream *stream, struct failure *failure);

#endif
