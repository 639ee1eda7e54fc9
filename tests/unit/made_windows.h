/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_windows: windows of an invented machine, with every figure known. */
#ifndef TESTS_UNIT_MADE_WINDOWS_H
#define TESTS_UNIT_MADE_WINDOWS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "core/profile.h"
#include "store/ledger_code.h"

#define MADE_PIDS   8
#define MADE_STACKS 50
#define MADE_START  1795500000000000000ULL /* 2026-11-24T06:00:00Z */
#define MADE_BOOT   (100 * NSEC_PER_SEC)

/* Sums over windows in microseconds, by pid. */
struct made_sums {
	uint64_t running[MADE_PIDS + 1], waiting[MADE_PIDS + 1], count;
};

static uint32_t made_string(struct profile *profile, const char *text)
{
	uint32_t id;

	assert_int_equal(strings_add(&profile->strings, text, &id), 0);
	return id;
}

/* Stack @number: 3 to 12 frames, one of them inlined. Some stacks share their first frames. */
static uint32_t made_stack(struct profile *profile, uint32_t mapping, unsigned int number)
{
	uint32_t locations[16], n = 3 + number % 10, stack;

	for (uint32_t i = 0; i < n; i++) {
		struct profile_frame frames[2] = {{.kind = FRAME_USER}, {.kind = FRAME_USER}};
		char name[64];
		uint32_t depth = n - i;

		snprintf(name, sizeof name, "function_%u_%u", depth, depth < 4 ? 0 : number);
		frames[0].function = made_string(profile, name);
		frames[0].line = depth;
		if (i == 0) {
			frames[1] = frames[0];
			frames[0].kind = FRAME_INLINED;
			frames[0].function = made_string(profile, "inlined");
		}
		assert_int_equal(
			profile_add_named(profile, mapping, frames, i == 0 ? 2 : 1, &locations[i]),
			0);
	}
	assert_int_equal(profile_add_stack(profile, locations, n,
					   number % 7 ? STACK_COMPLETE : STACK_DEPTH, &stack),
			 0);
	return stack;
}

/* Makes a window's profile and adds its contents to @sums. */
static struct profile *made_profile(unsigned int seed, struct made_sums *sums)
{
	struct profile_mapping mapping = {.kind = MAPPING_FILE};
	struct profile *profile;
	uint32_t id;

	assert_int_equal(profile_new(PROFILE_WALL, &profile), 0);
	mapping.path = made_string(profile, "/usr/bin/made");
	mapping.build_id = made_string(profile, "feed");
	assert_int_equal(profile_add_mapping(profile, &mapping, &id), 0);
	for (unsigned int i = 0; i < 40; i++) {
		struct profile_sample sample = {
			.pid = 1 + rand_r(&seed) % MADE_PIDS,
			.reason = rand_r(&seed) % 3 ? REASON_FUTEX : REASON_ONCPU,
			.is_idle = i % 5 == 0,
			.count = 1 + rand_r(&seed) % 3,
			.nanoseconds = 1000ULL * (1 + rand_r(&seed) % 100000),
		};
		char comm[16];

		snprintf(comm, sizeof comm, "comm-%u", sample.pid);
		sample.comm = made_string(profile, comm);
		sample.stack = made_stack(profile, id, rand_r(&seed) % MADE_STACKS);
		sample.is_idle &= sample.reason != REASON_ONCPU;
		assert_int_equal(profile_add_sample(profile, &sample), 0);
		*(sample.reason == REASON_ONCPU ? &sums->running[sample.pid]
						: &sums->waiting[sample.pid]) +=
			sample.nanoseconds / 1000;
		sums->count += sample.count;
	}
	return profile;
}

static void made_window(unsigned int seed, struct ledger *ret, struct made_sums *sums)
{
	static const struct ledger_who who[] = {
		{1, NSEC_PER_SEC, "/usr/bin/one", "/system.slice/one.service"},
		{2, 2 * NSEC_PER_SEC, "/usr/bin/two", ""},
		{3, 3 * NSEC_PER_SEC, "", "/user.slice"},
		{8, 90 * NSEC_PER_SEC, "/usr/bin/young", ""},
	};
	struct profile *profile = made_profile(seed, sums);

	assert_int_equal(ledger_init(ret), 0);
	assert_int_equal(ledger_add_profile(ret, profile, who, sizeof who / sizeof *who), 0);
	profile_free(profile);
}

/* Adds the rows of @ledger to @sums, with the pid that each command's name contains. */
static void made_count(const struct ledger *ledger, struct made_sums *sums)
{
	for (size_t i = 0; i < ledger->n_rows; i++) {
		const struct ledger_row *row = &ledger->rows[i];
		const struct ledger_process *process = &ledger->processes[row->process];
		unsigned int pid =
			atoi(strings_get(&ledger->strings, process->comm) + strlen("comm-"));

		assert_in_range(pid, 1, MADE_PIDS);
		assert_true(process->pid == pid || process->pid == 0);
		*(row->reason == REASON_ONCPU ? &sums->running[pid] : &sums->waiting[pid]) +=
			row->microseconds;
		sums->count += row->count;
	}
}

#endif
