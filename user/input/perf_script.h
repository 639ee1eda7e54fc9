/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_script: reads the text that `perf script` writes.
 *
 *	comm  PID/TID [CPU] SECONDS.MICROSECONDS:  PERIOD EVENT: payload of a tracepoint
 *		ADDRESS function+0xOFFSET (file)	leaf first; an empty line ends it
 *
 * Each sample weighs 1, whatever its period is.
 */
#ifndef INPUT_PERF_SCRIPT_H
#define INPUT_PERF_SCRIPT_H

#include "base/stream.h"
#include "input/reading.h"

/* Whether the window of @stream looks like such text. */
bool perf_script_is(const struct stream *stream);

/* Errors: as of input_read(). */
int perf_script_read(struct input *input, struct stream *stream, struct failure *failure);

#endif
