/* SPDX-License-Identifier: GPL-2.0-or-later */
/* set_rotation: decides which sets of a list to remove. It changes nothing. */
#ifndef STORE_SET_ROTATION_H
#define STORE_SET_ROTATION_H

#include "core/sets.h"

/* What to keep; 0: no limit. A set goes if any limit says so. */
struct set_limits {
	uint64_t sets;	 /* newest ones of each series (mode and event) */
	uint64_t age_ns; /* since the set's end */
	uint64_t bytes;	 /* of the files of all sets */
};

/*
 * Sets @gone[i] for each set to remove. The list's order is that of age: a clock that was set back
 * makes nothing older. The last @n_newest sets always stay. Returns the number to remove.
 */
size_t sets_rotate(const struct sets *sets, const struct set_limits *limits, size_t n_newest,
		   uint64_t now_realtime_ns, bool *gone);

#endif
