/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_stacks: the profiles that the tests of rendering share.
 */
#ifndef UNIT_MADE_STACKS_H
#define UNIT_MADE_STACKS_H

#include "made_profile.h"

#define COUNT(array)	    (sizeof(array) / sizeof *(array))
#define MADE(mode, samples) made_profile(mode, samples, COUNT(samples))
#define MS		    1000000ull

static const struct unfold_options plain;

static const struct made_sample mixed[] = {
    {"sh", "main;read;vfs_read_[k]", 3, .pid = 7, .tid = 7},
    {"sh", "main;read;vfs_read_[k]", 4, .pid = 7, .tid = 8},
    {"sh", "main;inner_[i];run_[j]", 1, .pid = 7, .tid = 7},
    {"sh", "loop", 5, .pid = 7, .tid = 7, .truncated = true},
    {"sh", "", 2, .pid = 7, .tid = 7},
    {"sh", "main;never", 0, .pid = 7, .tid = 7},
    {"", "", 6, .pid = 9, .tid = 9},
};

/* Both halves: who waited, and who woke it. */
static const struct made_sample both[] = {
    {"db", "main;query;scan", 3000 * MS, REASON_ONCPU, 7, 7},
    {"db", "main;query;pread;copy_page_[k]", 2000 * MS, REASON_ONCPU, 7, 7},
    {"db", "main;query;pread;io_schedule_[k]", 1500 * MS, REASON_DISK, 7, 7,
     .wakers = {{"swapper", "irq_[k];nvme_irq_[k]", .is_interrupt = true}}},
    {"db", "main;lock;futex_wait_[k]", 4000 * MS, REASON_FUTEX, 7, 8,
     .wakers = {{"db", "main;unlock;futex_wake_[k]", .tid = 7},
		{"client", "send", .truncated = true}}},
    {"db", "main;lock;futex_wait_[k]", 250 * MS, REASON_RUNQUEUE, 7, 8,
     .wakers = {{"db", "main;unlock;futex_wake_[k]", .tid = 7}}},
    {"db", "main;accept;epoll_wait_[k]", 6000 * MS, REASON_POLL, 7, 9, .is_idle = true},
    {"cron", "main;sleep;nanosleep_[k]", 9000 * MS, REASON_TIMER, 5, 5, .is_idle = true},
};

static inline struct profile *random_profile(uint64_t seed)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	uint64_t random = seed;
	uint32_t locations[16];
	char name[4] = "";

	for (int i = 0; i < 300; i++) {
		struct made_sample sample = {"a", "", made_random(&random) % 50};
		uint32_t n = made_random(&random) % COUNT(locations);

		for (uint32_t k = 0; k < n; k++) {
			for (int c = 0; c < 2; c++)
				name[c] = "a b;z"[made_random(&random) % 5];
			locations[k] =
			    made_location(profile, made_random(&random) % FRAME_NOTE, name);
		}
		made_add_locations(profile, &sample, locations, n);
	}
	return profile;
}

#endif
