/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/windows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"
#include "collect/join.h"

/* Puts the sources' descriptors into the list: the taker owns the sources. Errors: -ENOMEM. */
static int list_fds(struct closed_window *closed)
{
	const struct collect_window *window = &closed->window;
	size_t n = window->profile->n_mappings;

	if (!closed->owns_fds)
		return 0;
	closed->fds = calloc(4 * n + 1, sizeof *closed->fds);
	if (!closed->fds)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct mapping_source *source = &window->sources[i];

		memcpy(closed->fds + 4 * i,
		       (int[]){source->file, source->root, source->perf_map, source->jitdump},
		       4 * sizeof(int));
	}
	closed->n_fds = 4 * n;
	return 0;
}

void closed_window_free(struct closed_window *closed)
{
	if (!closed)
		return;
	if (closed->window.profile && closed->window.sources)
		list_fds(closed);
	for (size_t i = 0; i < closed->n_fds; i++)
		closep(&closed->fds[i]);
	free(closed->fds);
	collect_window_done(&closed->window);
	free(closed);
}

void windows_done(struct windows *windows)
{
	for (size_t i = 0; i < windows->n_waiting; i++)
		closed_window_free(windows->waiting[i]);
	closed_window_free(windows->taken);
	free(windows->later);
	*windows = (struct windows){};
}

uint64_t windows_at(const struct windows *windows, uint64_t moment_ns)
{
	const struct bf_base *base = &windows->base;

	if (!windows->every_ns)
		return 0;
	return moment_ns < base->start
		       ? base->number - 1
		       : base->number + (moment_ns - base->start) / windows->every_ns;
}

uint64_t windows_begin(const struct windows *windows, uint64_t number)
{
	return windows->base.start + (number - windows->base.number) * windows->every_ns;
}

bool windows_is_after(const struct windows *windows, uint8_t window)
{
	return (int8_t)(window - (uint8_t)windows->last) > 0;
}

int windows_set_aside(struct windows *windows, const struct bf_count_key *key,
		      const struct bf_count *count)
{
	return array_add(windows->later, windows->later_capacity, windows->n_later,
			 (struct row){*key, *count});
}

/* Takes the descriptors of @from that @to lacks, source by source. */
static void take_fds(struct mapping_source *to, struct mapping_source *from)
{
	int *theirs[] = {&from->file, &from->root, &from->perf_map, &from->jitdump};
	int *ours[] = {&to->file, &to->root, &to->perf_map, &to->jitdump};

	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
		if (*ours[i] >= 0)
			continue;
		*ours[i] = *theirs[i];
		*theirs[i] = -1;
	}
}

/* The later one of two joined windows has become the second part of the first. */
static int join(struct closed_window *to, struct closed_window *from)
{
	struct collect_window *a = &to->window, *b = &from->window;
	size_t n = a->profile->n_mappings, n_sources = n + b->profile->n_mappings;
	_cleanup_free_ uint32_t *mappings = malloc((b->profile->n_mappings + 1) * sizeof *mappings);
	struct mapping_source *sources = reallocarray(a->sources, n_sources + 1, sizeof *sources);
	int r;

	if (sources)
		a->sources = sources;
	if (!mappings || !sources)
		return -ENOMEM;
	for (size_t i = n; i < n_sources; i++)
		sources[i] = MAPPING_SOURCE_NONE;
	r = profile_join(a->profile, b->profile, mappings);
	if (r < 0)
		return r;
	for (size_t i = 0; i < b->profile->n_mappings; i++)
		take_fds(&sources[mappings[i]], &b->sources[i]);
	a->n += b->n;
	a->end_ns = b->end_ns;
	a->is_last = b->is_last;
	to->end = from->end;
	stats_between(&to->begin, &to->end, a->profile, &a->stats);
	return 0;
}

int windows_add(struct windows *windows, struct closed_window *closed)
{
	size_t n = windows->n_waiting;
	int r;

	if (!n || (closed->window.is_last && n < WINDOWS_WAITING)) {
		windows->waiting[windows->n_waiting++] = closed;
		return 0;
	}
	r = join(windows->waiting[n - 1], closed);
	closed_window_free(closed);
	return r;
}

int windows_take(struct windows *windows, struct collect_window *ret)
{
	int r;

	windows_forget_taken(windows);
	if (!windows->n_waiting)
		return 0;
	r = list_fds(windows->waiting[0]);
	if (r < 0)
		return r;
	windows->taken = windows->waiting[0];
	*ret = windows->taken->window;
	windows->taken->window = (struct collect_window){};
	windows->n_waiting--;
	memmove(windows->waiting, windows->waiting + 1,
		windows->n_waiting * sizeof *windows->waiting);
	return 1;
}

void windows_forget_taken(struct windows *windows)
{
	closed_window_free(windows->taken);
	windows->taken = NULL;
}
