/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options: the command line of a recording.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/failure.h"
#include "collect/collect.h"
#include "core/source.h"
#include "render/render.h"

#define MAX_OUTPUTS 16

enum output_format { FORMAT_NONE, FORMAT_SVG, FORMAT_FOLDED, N_FORMATS };

struct option_row;

struct record_options {
	struct collect_options collect;
	unsigned int modes;			/* that were asked for: a bit for each */
	const struct option_row *offcpu_option; /* the first that is for off-CPU time, or NULL */
	struct cpu_list cpus;
	uint32_t *pids, *tids; /* owned; collect points at them */
	bool all;
	char **command;	      /* NULL-terminated, or NULL */
	uint64_t duration_ns; /* 0: until stopped */

	const char *outputs[MAX_OUTPUTS];
	size_t n_outputs;
	enum output_format formats[MAX_OUTPUTS];
	size_t n_formats;
	const char *out_dir;

	struct symbolize_options symbolize;
	struct unfold_options unfold;
	struct svg_options svg;
	bool quiet, json;
	int verbose;
	double max_loss; /* percent */
};

/*
 * Returns 0, or -EINVAL with *failure naming the option, or 1 when there is nothing left to do
 * (help was asked for).
 */
int options_parse(int argc, char **argv, struct record_options *ret, struct failure *failure);
void options_done(struct record_options *options);

void options_print_help(FILE *stream);

/* The format a file's name asks for, or FORMAT_NONE. */
enum output_format format_of_name(const char *path);
const char *format_extension(enum output_format format);

#endif
