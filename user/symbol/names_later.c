/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/names_later.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/foreign.h"
#include "base/system.h"
#include "symbol/demangle.h"
#include "symbol/names_job.h"

#define LONGEST_NS (10 * NSEC_PER_SEC)
/* So many times what reading took: it costs a percent of a CPU, or a tenth of that. */
#define REST	    100
#define FRUGAL_REST 3000

uint64_t names_later_rest(const struct symbolize_options *options, uint64_t now_ns,
			  uint64_t took_ns)
{
	return now_ns + (options->is_frugal ? FRUGAL_REST : REST) * took_ns;
}

int names_later_add(struct names_later *later, const struct names_key *key,
		    const struct debug_place *place, int root, const uint64_t *addresses, size_t n)
{
	struct later_file file = {.key = *key, .fd = place->file, .root = root, .n = n};
	int r = array_reserve(later->items, later->capacity, later->n, 1);

	if (r < 0)
		return r;
	file.path = strdup(place->path);
	file.addresses = malloc((n + 1) * sizeof *addresses);
	if (!file.path || !file.addresses) {
		free(file.path);
		free(file.addresses);
		return -ENOMEM;
	}
	memcpy(file.addresses, addresses, n * sizeof *addresses);
	later->items[later->n++] = file;
	return 0;
}

void names_later_done(struct names_later *later)
{
	for (size_t i = 0; i < later->n; i++) {
		free(later->items[i].path);
		free(later->items[i].addresses);
	}
	free(later->items);
	*later = (struct names_later){};
}

static bool wait_for_reader(void *context, uint64_t quiet_ns)
{
	const uint64_t *deadline = context;

	return monotonic_ns() < *deadline;
}

/* Leaves those of @file that debug information has not named yet. Returns how many. */
static int leave_missing(struct names_cache *cache, struct later_file *file,
			 struct strings *strings)
{
	const struct names_question question = {.addresses = file->addresses, .n = file->n};
	_cleanup_free_ bool *found = calloc(file->n + 1, sizeof *found);
	struct file_names names;
	size_t n = 0;
	int r = found ? file_names_none(&question, 0, &names) : -ENOMEM;

	if (r < 0)
		return r;
	r = names_cache_read(cache, &file->key, file->addresses, true, strings, &names, found);
	file_names_done(&names);
	if (r < 0)
		return r;
	for (size_t i = 0; i < file->n; i++)
		if (!found[i])
			file->addresses[n++] = file->addresses[i];
	file->n = n;
	return n;
}

static int read_file(const struct later_file *file, const struct symbolize_options *options,
		     struct strings *strings)
{
	struct debuginfod debuginfod = {.is_ended = options->is_ended};
	struct debug_places places = {file->fd,
				      file->root,
				      options->symfs ? foreign_find_typed(options->symfs) : -1,
				      &debuginfod,
				      {}};
	const struct names_question question = {
		.addresses = file->addresses,
		.n = file->n,
		.no_inline = options->no_inline,
		.lines = options->lines,
		.no_demangle = options->no_demangle,
		.spans = true,
	};
	uint64_t begin = monotonic_ns(), deadline = begin + LONGEST_NS;
	char real[PATH_MAX];
	struct debug_place place;
	struct file_names names;
	int r;

	debug_place_init(&places, file->path, real, &place);
	r = names_job_file(options->reader, &question, &place, wait_for_reader, &deadline, strings,
			   &names);
	closep(&places.symfs);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || names.error) {
		names_cache_give_up(options->cache, &file->key, file->path);
	} else {
		names_cache_write(options->cache, &file->key, file->addresses, &names, strings,
				  true);
		names_cache_postpone(
			options->cache, &file->key,
			names_later_rest(options, monotonic_ns(), monotonic_ns() - begin));
	}
	if (r == 0)
		file_names_done(&names);
	return 0;
}

int names_later_learn(const struct names_later *later, const struct symbolize_options *options)
{
	struct strings strings;
	int r = strings_init(&strings);

	if (r < 0)
		return r;
	demangle_leave(options->no_demangle);
	for (size_t i = 0; i < later->n && r >= 0; i++) {
		struct later_file *file = &later->items[i];

		r = leave_missing(options->cache, file, &strings);
		if (r > 0)
			r = read_file(file, options, &strings);
	}
	strings_done(&strings);
	return r < 0 ? r : 0;
}
