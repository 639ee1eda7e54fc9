/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * baseline_remove: one baseline, or all of a name; damaged ones as well as others.
 */
#include <errno.h>
#include <stdio.h>

#include "base/text.h"
#include "cmd/baseline.h"

static int remove_all(const struct baseline_options *options, const struct baseline_choice *choice,
		      size_t *ret_n, struct failure *failure)
{
	struct baselines_list list = {};
	int r = baselines_list(options->folder, choice->name, &list, failure);

	if (r == 0 && !list.n)
		r = failure_set(failure, -ENOENT, "no baseline '%s' in %s", choice->name,
				options->folder);
	for (size_t i = 0; i < list.n && r == 0; i++) {
		r = baselines_remove(options->folder, &list.items[i], failure);
		*ret_n += r == 0;
	}
	baselines_list_done(&list);
	return r;
}

static int remove_one(const struct baseline_options *options, const struct baseline_choice *choice,
		      size_t *ret_n, struct failure *failure)
{
	struct baselines_wanted wanted = {
		.name = choice->name, .which = choice->which, .is_to_go = true};
	const struct baseline *baseline;
	struct baselines_list list = {};
	int r = baselines_list(options->folder, choice->name, &list, failure);

	r = r < 0 ? r : baselines_find(&list, &wanted, &baseline, &(size_t){0}, failure);
	r = r < 0 ? r : baselines_remove(options->folder, baseline, failure);
	*ret_n += r == 0;
	baselines_list_done(&list);
	return r;
}

int baseline_remove(const struct baseline_options *options)
{
	struct baseline_choice choice;
	struct failure failure = {};
	size_t n = 0;
	int r = baseline_parse_choice(options, options->arguments[0], &choice, &failure);

	if (r < 0)
		return cli_fail(&failure, EXIT_USAGE);
	r = choice.which ? remove_one(options, &choice, &n, &failure)
			 : remove_all(options, &choice, &n, &failure);
	if (r == 0 && !options->quiet)
		text_print(stderr, "bpfflame: removed %zu baseline%s of '%s'\n", n,
			   n == 1 ? "" : "s", choice.name);
	return r < 0 ? cli_fail(&failure, EXIT_FAILED) : EXIT_DONE;
}
