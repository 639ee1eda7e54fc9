/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/store_input.h"

/* Reports what was read differently from what the file holds. */
static void warn(const struct input_stats *stats)
{
	if (stats->skipped)
		text_print(stderr,
			   "bpfflame: %" PRIu64
			   " line%s no sample and no frame of perf script, the "
			   "first is line %" PRIu64 "\n",
			   stats->skipped, stats->skipped == 1 ? " is" : "s are",
			   stats->first_skipped);
	if (stats->other_events)
		text_print(stderr,
			   "bpfflame: only %s is read; %" PRIu64 " sample%s of other events, the "
			   "first of %s (--event chooses)\n",
			   stats->event, stats->other_events,
			   stats->other_events == 1 ? " is" : "s are", stats->other_event);
	if (stats->rounded)
		text_print(stderr, "bpfflame: %" PRIu64 " value%s rounded to whole numbers\n",
			   stats->rounded, stats->rounded == 1 ? " was" : "s were");
}

int inputs_check(char *const *paths, size_t n, struct failure *failure)
{
	size_t n_stdin = 0;

	for (size_t i = 0; i < n; i++) {
		int r = store_input_check(paths[i], failure);

		if (r < 0)
			return r;
		if (!*paths[i])
			return failure_set(failure, -EINVAL, "'' is not a file to read");
		n_stdin += strcmp(paths[i], "-") == 0;
	}
	if (n_stdin < 2)
		return 0;
	return failure_set(failure, -EINVAL,
			   "standard input can be read only once, but - is given twice");
}

static int read_each(char *const *paths, size_t n, bool quiet, struct input *input,
		     struct failure *failure)
{
	for (size_t i = 0; i < n; i++) {
		int r = store_input_is(paths[i]) ? store_input_read(input, paths[i], quiet, failure)
						 : input_read(input, paths[i], failure);

		if (r == -EISDIR)
			failure_fix(failure, r, "if it is a store, name a part of it: %s@-1h",
				    paths[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Keeps the samples that @options select. */
static int read_selected(char *const *paths, size_t n, const struct stacks_options *options,
			 bool quiet, struct input *input, struct failure *failure)
{
	int r = read_each(paths, n, quiet, input, failure);

	if (r < 0)
		return r;
	r = profile_select(input->profile, &options->unfold, &options->select);
	if (r < 0 || !input->base)
		return r;
	return profile_select(input->base, &options->unfold, &options->select);
}

int inputs_read(char *const *paths, size_t n, const struct stacks_options *options, bool quiet,
		struct input *ret, struct failure *failure)
{
	static char *const standard_input[] = {"-"};
	const struct input_options how = {.in_order = options->in_order,
					  .no_inline = options->unfold.no_inline,
					  .sample_type = options->select.sample_type,
					  .event = options->select.event};
	struct input input;
	int r = input_init(&input, &how);

	if (r < 0)
		return r;
	r = n ? read_selected(paths, n, options, quiet, &input, failure)
	      : read_selected(standard_input, 1, options, quiet, &input, failure);
	if (r < 0) {
		input_done(&input);
		return r;
	}
	if (!quiet)
		warn(&input.stats);
	*ret = input;
	return 0;
}
