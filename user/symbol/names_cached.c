/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/names_cached.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/foreign.h"
#include "base/reader.h"
#include "base/system.h"
#include "symbol/kernel_names.h"
#include "symbol/names_later.h"

/* The addresses that the cache lacks, and where their answers go. */
struct cache_gaps {
	struct lookups lookups;
	size_t *at;
};

static void gaps_done(struct cache_gaps *gaps)
{
	free(gaps->lookups.addresses);
	free(gaps->lookups.names);
	free(gaps->at);
}

static int gaps_init(struct cache_gaps *ret, const struct lookups *lookups, const bool *found)
{
	struct cache_gaps gaps = {
		.lookups.addresses = malloc((lookups->n + 1) * sizeof(uint64_t)),
		.lookups.names = calloc(lookups->n + 1, sizeof(uint32_t)),
		.at = malloc((lookups->n + 1) * sizeof(size_t)),
	};

	if (!gaps.lookups.addresses || !gaps.lookups.names || !gaps.at) {
		gaps_done(&gaps);
		return -ENOMEM;
	}
	for (size_t i = 0; i < lookups->n; i++)
		if (!found[i]) {
			gaps.at[gaps.lookups.n] = i;
			gaps.lookups.addresses[gaps.lookups.n++] = lookups->addresses[i];
		}
	*ret = gaps;
	return 0;
}

/* Adds the answer about what was missing. */
static int merge_names(struct file_names *names, const struct file_names *answer,
		       const struct cache_gaps *gaps)
{
	struct dwarf_frame *frames =
		reallocarray(names->frames, names->n_frames + answer->n_frames + 1, sizeof *frames);

	if (!frames)
		return -ENOMEM;
	names->frames = frames;
	if (answer->n_frames)
		memcpy(frames + names->n_frames, answer->frames, answer->n_frames * sizeof *frames);
	for (size_t i = 0; i < answer->n; i++) {
		struct named_address *item = &names->items[gaps->at[i]];

		*item = answer->items[i];
		item->first += names->n_frames;
	}
	names->n_frames += answer->n_frames;
	names->error = answer->error;
	names->is_unread = answer->is_unread;
	names->damaged = answer->damaged;
	if (answer->id_n) {
		names->id_n = answer->id_n;
		memcpy(names->id, answer->id, sizeof names->id);
	}
	return 0;
}

#define FILE_NS NSEC_PER_SEC	     /* a window waits so long for a file's debug information */
#define LONG_NS (NSEC_PER_SEC / 100) /* of CPU time: too long for each window */
/* After a file was read, a few addresses, less than a part of all, wait so many times as long. */
#define FEW	 8
#define FEW_REST 1000

/* Each window has new addresses of such a file: they are collected, and it is read for several. */
static void rest_if_long(struct names_asker *asker, const struct names_key *key)
{
	const struct symbolize_options *options = asker->options;

	if (options->is_frugal && options->reader && options->reader->call_ns > LONG_NS)
		names_cache_postpone(
			options->cache, key,
			names_later_rest(options, monotonic_ns(), options->reader->call_ns));
}

/* Asks; debug information that takes too long or too much is left for later, or for good. */
static int ask_in_time(struct names_asker *asker, const struct names_source *source,
		       const struct names_key *key, const struct lookups *lookups,
		       const struct debug_place *place, struct file_names *ret)
{
	struct names_cache *cache = asker->options->cache;
	bool at_once = names_cache_effort(cache, key) == NAMES_AT_ONCE, is_final, was_ended;
	int r;

	asker->symbols_only = !at_once;
	asker->file_deadline = at_once ? monotonic_ns() + FILE_NS : 0;
	r = names_ask(asker, source, lookups, place, ret);
	asker->file_deadline = 0;
	was_ended = names_ask_is_ended(asker);
	is_final = at_once && r == 0 && !ret->is_unread;
	if (is_final)
		rest_if_long(asker, key);
	if (r == 0 && at_once && ret->is_unread && !was_ended) {
		if (ret->error == -ETIMEDOUT)
			names_cache_postpone(cache, key, 0);
		else
			names_cache_give_up(cache, key, place->path);
		file_names_done(ret);
		asker->symbols_only = true;
		r = names_ask(asker, source, lookups, place, ret);
	}
	asker->symbols_only = false;
	if (r == 0 && !was_ended && !names_ask_is_ended(asker) && ret->error != -EDQUOT)
		names_cache_write(cache, key, lookups->addresses, ret, asker->strings,
				  is_final || names_cache_effort(cache, key) != NAMES_LATER);
	return r;
}

static int ask_missing(struct names_asker *asker, const struct names_source *source,
		       const struct names_key *key, const struct lookups *lookups,
		       const bool *found, const struct debug_place *place, struct file_names *ret)
{
	const struct symbolize_options *options = asker->options;
	struct file_names answer;
	struct cache_gaps gaps;
	int r = gaps_init(&gaps, lookups, found);

	if (r < 0)
		return r;
	r = ask_in_time(asker, source, key, &gaps.lookups, place, &answer);
	if (options->is_frugal && options->reader)
		names_cache_rest(options->cache, key,
				 monotonic_ns() + FEW_REST * options->reader->call_ns);
	if (r == 0) {
		r = merge_names(ret, &answer, &gaps);
		file_names_done(&answer);
	}
	gaps_done(&gaps);
	return r;
}

/*
 * Whether a file is to be read for the @missing ones of @n addresses. Each window has new places of
 * code that has long been known: these wait until they cost little.
 */
static bool is_worth_asking(const struct names_asker *asker, const struct names_key *key,
			    size_t missing, size_t n)
{
	const struct symbolize_options *options = asker->options;

	return missing && !options->put_off &&
	       (!options->is_frugal || missing * FEW >= n ||
		!names_cache_is_resting(options->cache, key));
}

static int find_names(struct names_asker *asker, const struct names_source *source,
		      const struct names_key *key, const struct lookups *lookups,
		      const struct debug_place *place, bool *found, struct file_names *ret)
{
	const struct symbolize_options *options = asker->options;
	int r = names_cache_read(options->cache, key, lookups->addresses, false, asker->strings,
				 ret, found);

	if (r < 0)
		return r;
	if (is_worth_asking(asker, key, lookups->n - r, lookups->n)) {
		r = ask_missing(asker, source, key, lookups, found, place, ret);
		if (r < 0)
			return r;
	}
	if (!options->later || options->put_off || !names_cache_is_due(options->cache, key))
		return 0;
	return names_later_add(options->later, key, place, source->root, lookups->addresses,
			       lookups->n);
}

int names_cached_ask(struct names_asker *asker, const struct names_source *source,
		     const struct names_key *key, const struct lookups *lookups,
		     const struct debug_place *place, struct file_names *ret)
{
	struct names_question question = names_ask_question(asker, lookups);
	_cleanup_free_ bool *found = calloc(lookups->n + 1, sizeof *found);
	int r = found ? file_names_none(&question, 0, ret) : -ENOMEM;

	if (r < 0)
		return r;
	r = find_names(asker, source, key, lookups, place, found, ret);
	if (r < 0)
		file_names_done(ret);
	return r;
}

static uint64_t time_ns(const struct timespec *time)
{
	return time->tv_sec * NSEC_PER_SEC + time->tv_nsec;
}

bool names_cached_key(const struct names_asker *asker, const struct names_source *source, int fd,
		      struct names_key *ret)
{
	struct stat st, root;

	if (!asker->options->cache || asker->options->addresses)
		return false;
	*ret = (struct names_key){.kind = source->kind};
	if (fd < 0)
		return source->kind == MAPPING_VDSO;
	if (foreign_status(fd, &st) < 0)
		return false;
	ret->device = st.st_dev;
	ret->inode = st.st_ino;
	ret->size = st.st_size;
	ret->mtime_ns = time_ns(&st.st_mtim);
	ret->ctime_ns = time_ns(&st.st_ctim);
	if (source->root >= 0) {
		if (foreign_status(source->root, &root) < 0)
			return false;
		ret->root_device = root.st_dev;
		ret->root_inode = root.st_ino;
	}
	return true;
}

static const struct names_key kernel_key = {.kind = MAPPING_KERNEL};

/* Takes the names of what was missing, and caches the @lasting ones; @items is room for them. */
static void take_kernel_names(struct names_asker *asker, const struct cache_gaps *gaps,
			      const bool *lasting, struct named_address *items,
			      struct lookups *lookups)
{
	const struct lookups *asked = &gaps->lookups;
	struct file_names kept = {.items = items};

	for (size_t i = 0; i < asked->n; i++) {
		lookups->names[gaps->at[i]] = asked->names[i];
		if (!lasting[i] || !asked->names[i])
			continue;
		/* Moved together. */
		asked->addresses[kept.n] = asked->addresses[i];
		items[kept.n++] =
			(struct named_address){asked->addresses[i], asked->names[i], 0, 0};
	}
	if (kept.n)
		names_cache_write(asker->options->cache, &kernel_key, asked->addresses, &kept,
				  asker->strings, true);
}

/* Asks for the addresses that were not @found, which then says of each whether its name lasts. */
static int ask_kernel(struct names_asker *asker, bool *found, struct named_address *items,
		      struct lookups *lookups, int *ret_refused)
{
	struct cache_gaps gaps;
	int r = gaps_init(&gaps, lookups, found);

	if (r < 0)
		return r;
	r = kernel_names_find(&gaps.lookups, found, asker->strings, ret_refused);
	if (r == 0)
		take_kernel_names(asker, &gaps, found, items, lookups);
	gaps_done(&gaps);
	return r;
}

int names_cached_kernel(struct names_asker *asker, struct lookups *lookups, int *ret_refused)
{
	const struct names_question question = {.addresses = lookups->addresses, .n = lookups->n};
	_cleanup_free_ bool *found = calloc(lookups->n + 1, sizeof *found);
	struct file_names names;
	int r = found ? file_names_none(&question, 0, &names) : -ENOMEM;

	if (r < 0)
		return r;
	r = names_cache_read(asker->options->cache, &kernel_key, lookups->addresses, false,
			     asker->strings, &names, found);
	for (size_t i = 0; i < names.n && r >= 0; i++)
		lookups->names[i] = names.items[i].name;
	if (r >= 0 && (size_t)r < lookups->n)
		r = ask_kernel(asker, found, names.items, lookups, ret_refused);
	file_names_done(&names);
	return r < 0 ? r : 0;
}
