/* SPDX-License-Identifier: GPL-2.0-or-later */
/* windows: writes a window of a recording as files: named, described, and for each event. */
#ifndef RECORD_WINDOWS_H
#define RECORD_WINDOWS_H

#include "record/options.h"
#include "record/totals.h"

/* The files of one window: only events[0] if no event was requested by name. */
struct window_files {
	struct output_files events[PROFILE_MAX_EVENTS];
	size_t n;
	/* What drawing them took, in processes of their own. */
	double cpu_seconds;
	uint64_t peak_bytes;
};

/*
 * Plans the files. @stamp: NULL, or the beginning of default names, as in
 * `20261121T130501Z-oncpu.svg`. Creates nothing. Errors: those of outputs_plan(); call
 * window_files_done() in any case.
 */
int window_files_plan(const struct record_options *options, const char *stamp,
		      struct window_files *ret, struct failure *failure);
/* Calls output_files_check() and output_files_put() for all of them. */
int window_files_check(struct window_files *files, struct failure *failure);
int window_files_put(struct window_files *files, const struct place *place,
		     struct failure *failure);
void window_files_done(struct window_files *files);

#define WINDOW_STEM_SIZE 160
/* The default stem of @event's files without stamp and ending: `oncpu`, `page-faults`. */
void window_stem(const struct record_options *options, size_t event,
		 char text[static WINDOW_STEM_SIZE]);

/* Where a window comes from. */
struct window_origin {
	const struct record_options *options;
	int argc;
	char **argv;
	const volatile bool *is_ended; /* as those of symbolize_options, and below */
	void (*begin_file)(const char *path);
	struct names_cache *cache;
	struct names_later *later;
};

/*
 * Finds the names of everything in @window, and drops unwanted samples. Errors: -ENOMEM and others
 * of the system, explained in *failure.
 */
int window_name(struct collect_window *window, const struct window_origin *origin,
		struct symbol_stats *ret_symbols, struct failure *failure);

/*
 * Writes all checked files of a named window; one that fails does not stop the others. Errors: the
 * first one's, named.
 */
int window_write(struct collect_window *window, const struct record_options *options,
		 struct window_files *files, struct failure *failure);

/*
 * Makes the input of report/top.h: the window's stacks, by command, of its first event. Errors:
 * those of stacks_add(), explained in *failure; call stacks_done() in any case.
 */
int window_top(struct collect_window *window, const struct record_options *options,
	       struct stacks *ret, struct failure *failure);

#endif
