/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * export: writes a profile as a file of another tool. One emitter per format.
 *
 * All return -ENOMEM when memory runs out; a failed write shows in ferror(@stream).
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdio.h>

#include "core/stacks.h"

/*
 * Writes folded lines, sorted bytewise as scripts rely on. @options: all apply except their
 * order. With options->header, comments come first, which tools that read folded lines skip or
 * take for stacks:
 *
 *	# bpfflame command<TAB>COMMAND LINE	also host, seconds, hz
 *	# bpfflame module<TAB>NAME<TAB>function;function;…
 */
int export_folded(struct profile *profile, const struct stacks_options *options, FILE *stream);

/*
 * pprof's profile.proto, gzip: https://github.com/google/pprof/blob/main/proto/profile.proto
 * Sample types samples/count and cpu/nanoseconds; off-CPU samples/count and off_cpu/nanoseconds.
 * -EOVERFLOW: a value is above INT64_MAX, the most that the format holds.
 */
int export_pprof(struct profile *profile, const struct unfold_options *unfold, FILE *stream);

/* https://www.speedscope.app/file-format-schema.json: one sampled profile per thread or command. */
int export_speedscope(struct profile *profile, const struct unfold_options *unfold, FILE *stream);

/* The Firefox Profiler's processed format, version 47. */
int export_firefox(struct profile *profile, const struct unfold_options *unfold, FILE *stream);

#endif
