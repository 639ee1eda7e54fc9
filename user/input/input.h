/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * input: profiles that are read from files. What the file is, its beginning tells: folded lines
 * (ours, those of perf, bcc, DTrace … collapsers; with one or two columns of values), pprof (gzip
 * or not), the text of `perf script`, speedscope's JSON, the Firefox Profiler's; each may be
 * compressed by gzip. "-" is standard input.
 *
 * Whatever is in a file, reading it takes bounded memory beside what the profile keeps, and a fault
 * says where: a line, or an offset.
 */
#ifndef INPUT_INPUT_H
#define INPUT_INPUT_H

#include "input/reading.h"

/*
 * Adds what the file at @path holds. A file of another mode than those before it (on-CPU, off-CPU)
 * is an error, as sums of samples and times mean nothing.
 * Errors: -EINVAL with *failure naming the file, the line or offset, and what is wrong there;
 * -errno of opening and reading it, named as well; -ENOMEM; -E2BIG.
 */
int input_read(struct input *input, const char *path, struct failure *failure);

#endif
