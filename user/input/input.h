/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * input: reads profiles from files. The file's beginning gives the format: folded lines (ours, or
 * from the collapsers for perf, bcc, DTrace …; one or two columns of values), pprof (gzip or not),
 * the text of `perf script`, speedscope's JSON, or the Firefox Profiler's. Any of them may be
 * compressed by gzip, zstd or xz. "-" is standard input.
 *
 * Whatever a file holds, reading it takes bounded memory beside the profile. Messages give the
 * place of a fault: a line or an offset.
 */
#ifndef INPUT_INPUT_H
#define INPUT_INPUT_H

#include "input/reading.h"

/*
 * Adds the file at @path. Mixing modes (on-CPU, off-CPU) between files is an error: sums of samples
 * and times mean nothing.
 * Errors: -EINVAL, with *failure naming the file, the place and the fault; -errno of opening and
 * reading it, named as well; -ENOMEM; -E2BIG.
 */
int input_read(struct input *input, const char *path, struct failure *failure);

#endif
