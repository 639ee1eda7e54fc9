/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks once from the newest set to the oldest and counts the kept sets of each series. There are
 * few series, so a linear search finds them.
 */
#include "store/set_rotation.h"

#include <string.h>

/*
 * Further series are not counted separately: their sets stay as long as the number of sets allows.
 */
#define MOST_SERIES 256

struct series {
	const struct set *one;
	uint64_t n;
};

struct walk {
	struct series series[MOST_SERIES];
	size_t n_series;
	uint64_t bytes;
};

static bool is_one_too_many(struct walk *walk, const struct set *set, uint64_t most)
{
	for (size_t i = 0; i < walk->n_series; i++)
		if (set_is_like(walk->series[i].one, set))
			return ++walk->series[i].n > most;
	if (walk->n_series < MOST_SERIES)
		walk->series[walk->n_series++] = (struct series){set, 1};
	return false;
}

static bool is_too_old(const struct set *set, uint64_t now, uint64_t age)
{
	return set_end_ns(set) < now && now - set_end_ns(set) > age;
}

/* Once a set does not fit, no older one does: the kept sets have no gaps. */
static bool is_too_large(struct walk *walk, uint64_t bytes, uint64_t most)
{
	if (__builtin_add_overflow(walk->bytes, bytes, &walk->bytes))
		walk->bytes = UINT64_MAX;
	return walk->bytes > most;
}

size_t sets_rotate(const struct sets *sets, const struct set_limits *limits, size_t n_newest,
		   uint64_t now_realtime_ns, bool *gone)
{
	struct walk walk = {};
	size_t n_gone = 0;

	memset(gone, 0, sets->n * sizeof *gone);
	for (size_t i = sets->n; i-- > 0;) {
		const struct set *set = &sets->items[i];
		bool goes = false;

		goes |= limits->sets && is_one_too_many(&walk, set, limits->sets);
		goes |= limits->age_ns && is_too_old(set, now_realtime_ns, limits->age_ns);
		goes |= limits->bytes && is_too_large(&walk, set_bytes(sets, set), limits->bytes);
		if (!goes || sets->n - i <= n_newest)
			continue;
		gone[i] = true;
		n_gone++;
	}
	return n_gone;
}
