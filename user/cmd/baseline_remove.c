/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * baseline_remove: one baseline, or all of a name; damaged ones as well as others.
 */
#include <errno.h>
#include <stdio.h>

#include "base/text.h"
#include "cmd/baseline.h"

static int remove_all(const struct baselines_list *list, const char *folder, const char *name,
		      struct failure *failure)
{
	if (!list->n)
		return failure_set(failure, -ENOENT, "no baseline '%s' in %s", name, folder);
	for (size_t i = 0; i < list->n; i++) {
		int r = baselines_remove(folder, &list->items[i], failure);

		if (r < 0)
			return r;
	}
	return 0;
}

static int remove_one(const struct baselines_list *list, const char *folder,
		      const struct baseline_choice *choice, struct failure *failure)
{
	struct baselines_wanted wanted = {
		.name = choice->name, .which = choice->which, .is_to_go = true};
	const struct baseline *baseline;
	int r = baselines_find(list, &wanted, &baseline, &(size_t){0}, failure);

	if (r < 0)
		return r;
	return baselines_remove(folder, baseline, failure);
}

static int remove_chosen(const char *folder, const struct baseline_choice *choice, size_t *ret_n,
			 struct failure *failure)
{
	struct baselines_list list;
	int r = baselines_list(folder, choice->name, &list, failure);

	if (r < 0)
		return r;
	r = choice->which ? remove_one(&list, folder, choice, failure)
			  : remove_all(&list, folder, choice->name, failure);
	*ret_n = choice->which ? 1 : list.n;
	baselines_list_done(&list);
	return r;
}

int baseline_remove(const struct baseline_options *options)
{
	struct baseline_choice choice;
	struct failure failure = {};
	size_t n;

	if (baseline_parse_choice(options, options->arguments[0], &choice, &failure) < 0)
		return cli_fail(&failure, EXIT_USAGE);
	if (remove_chosen(options->folder, &choice, &n, &failure) < 0)
		return cli_fail(&failure, EXIT_FAILED);
	if (!options->quiet)
		text_print(stderr, "bpfflame: removed %zu baseline%s of '%s'\n", n,
			   n == 1 ? "" : "s", choice.name);
	return EXIT_DONE;
}
