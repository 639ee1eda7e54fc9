/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * set_rotation: which sets of a list are to go. Nothing is touched here.
 */
#ifndef STORE_SET_ROTATION_H
#define STORE_SET_ROTATION_H

#include "core/sets.h"

/* What is kept; 0: no such limit. A set goes if any of them says so. */
struct set_limits {
	uint64_t sets;	 /* of each series (mode and event), the newest ones */
	uint64_t age_ns; /* since the set's end */
	uint64_t bytes;	 /* of the files of all sets together */
};

/*
 * Sets @gone[i] for each set that goes. The order of the list is that of age: a clock that was set
 * back makes nothing older than it is. The last @n_newest sets always stay. Returns how many go.
 */
size_t sets_rotate(const struct sets *sets, const struct set_limits *limits, size_t n_newest,
		   uint64_t now_realtime_ns, bool *gone);

#endif
