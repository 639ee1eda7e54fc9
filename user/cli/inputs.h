/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inputs: reads the files of a command. */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include "core/stacks.h"
#include "input/input.h"

/* For the help of commands that read them. */
#define INPUTS_HELP                                                                                \
	"Inputs are folded lines, pprof, text of `perf script`, JSON of speedscope and the "       \
	"Firefox\n"                                                                                \
	"Profiler, packed by gzip, zstd, xz or not; - is standard input; STORE@-1h or "            \
	"STORE@FROM..TO is\n"                                                                      \
	"a part of what bpfflame daemon recorded.\n"

/*
 * Whether the names of @n files make sense: standard input only once, ranges of time of stores.
 * Errors: -EINVAL, explained; -ENOMEM.
 */
int inputs_check(char *const *paths, size_t n, struct failure *failure);

/*
 * Reads @n files, which add up; none: standard input. Keeps only what @options selects. After
 * success, call input_done(). @quiet: without warnings. Errors: those of input_read() and
 * profile_select().
 */
int inputs_read(char *const *paths, size_t n, const struct stacks_options *options, bool quiet,
		struct input *ret, struct failure *failure);

#endif
