/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_clock.h"

#include <stdlib.h>
#include <time.h>

#include "base/system.h"

#define STEP_NS ((int64_t)NSEC_PER_SEC / 2) /* a clock that is slewed is off by less */

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

void daemon_moment_now(struct daemon_moment *ret)
{
	*ret = (struct daemon_moment){read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_BOOTTIME),
				      read_clock(CLOCK_REALTIME)};
}

void daemon_clock_stamp(struct daemon_clock *clock, const struct daemon_moment *now,
			uint64_t end_ns, uint64_t length, enum store_gap gap,
			struct store_window *ret)
{
	uint64_t end = now->real - (now->monotonic - end_ns), start = end - length;
	int64_t boot_offset = now->boot - now->monotonic;

	if (gap == GAP_NONE && boot_offset - clock->boot_offset > STEP_NS)
		gap = GAP_SUSPENDED;
	else if (gap == GAP_NONE && llabs((int64_t)(start - clock->end)) > STEP_NS)
		gap = GAP_CLOCK;
	/* A clock that is only slewed leaves no gap, and no overlap. */
	if (gap == GAP_NONE)
		start = clock->end;
	ret->start = start;
	ret->span = end - start;
	ret->covered = length < ret->span ? length : ret->span;
	ret->boot = end_ns + boot_offset;
	ret->gap = gap;
	*clock = (struct daemon_clock){end, boot_offset};
}
