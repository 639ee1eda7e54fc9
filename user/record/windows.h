/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * windows: a window of a recording as files: named, described, and of each event those that were
 * asked for.
 */
#ifndef RECORD_WINDOWS_H
#define RECORD_WINDOWS_H

#include "record/options.h"
#include "record/totals.h"

/* The files of one window: events[0] alone where no event was asked for by name. */
struct window_files {
	struct output_files events[PROFILE_MAX_EVENTS];
	size_t n;
};

/*
 * Which files. @stamp: NULL, or what the default names begin with, as in
 * `20261121T130501Z-oncpu.svg`. Nothing is created. Errors: those of outputs_plan();
 * window_files_done() is due either way.
 */
int window_files_plan(const struct record_options *options, const char *stamp,
		      struct window_files *ret, struct failure *failure);
/* output_files_check() and output_files_put() of all of them. */
int window_files_check(struct window_files *files, struct failure *failure);
int window_files_put(struct window_files *files, const struct place *place,
		     struct failure *failure);
void window_files_done(struct window_files *files);

#define WINDOW_STEM_SIZE 160
/* What the default names of @event's files are without stamp and ending: `oncpu`, `page-faults`. */
void window_stem(const struct record_options *options, size_t event,
		 char text[static WINDOW_STEM_SIZE]);

/* How the recording was called. */
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
 * Finds the names of all that is in @window, and drops the samples that were not wanted.
 * Errors: -ENOMEM and others of the system, told in *failure.
 */
int window_name(struct collect_window *window, const struct window_origin *origin,
		struct symbol_stats *ret_symbols, struct failure *failure);

/*
 * Writes all files of a window that has names, which were checked; one that fails does not keep the
 * others back. Errors: the first one's, named.
 */
int window_write(struct collect_window *window, const struct record_options *options,
		 struct window_files *files, struct failure *failure);

/*
 * Makes what report/top.h tells of: the window's stacks, by command, of its first event.
 * Errors: those of stacks_add(), told in *failure; stacks_done() is due either way.
 */
int window_top(struct collect_window *window, const struct record_options *options,
	       struct stacks *ret, struct failure *failure);

#endif
