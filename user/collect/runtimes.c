/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/runtimes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct runtime {
	uint32_t pid, tid;
	char comm[BF_COMM_LEN];
	uint64_t nanoseconds;
};

void runtimes_done(struct runtimes *runtimes)
{
	free(runtimes->items);
	table_done(&runtimes->by_thread);
	*runtimes = (struct runtimes){};
}

static bool runtime_equal(const void *items, uint32_t position, const void *key)
{
	const struct runtime *a = (const struct runtime *)items + position, *b = key;

	return a->pid == b->pid && a->tid == b->tid;
}

static uint32_t find(const struct runtimes *runtimes, uint32_t pid, uint32_t tid)
{
	struct runtime wanted = {.pid = pid, .tid = tid};

	return table_find(&runtimes->by_thread, hash_mix(pid, tid), runtime_equal, runtimes->items,
			  &wanted);
}

int runtimes_add(struct runtimes *runtimes, const struct bf_count_key *key, uint64_t nanoseconds)
{
	uint32_t found = find(runtimes, key->pid, key->tid);
	struct runtime new = {.pid = key->pid, .tid = key->tid};
	int r;

	if (found == TABLE_NONE) {
		memcpy(new.comm, key->comm, sizeof new.comm);
		found = runtimes->n;
		r = array_reserve(runtimes->items, runtimes->capacity, runtimes->n, 1);
		r = r < 0 ? r
			  : table_add(&runtimes->by_thread, hash_mix(key->pid, key->tid), found);
		if (r < 0)
			return r;
		runtimes->items[runtimes->n++] = new;
	}
	runtimes->items[found].nanoseconds += nanoseconds;
	return 0;
}

static int add_unsampled(const struct runtime *runtime, struct profile *profile)
{
	struct profile_sample sample = {
		.pid = runtime->pid,
		.tid = runtime->tid,
		.reason = REASON_ONCPU,
		.nanoseconds = runtime->nanoseconds,
	};
	uint32_t no_location = 0;
	int r = profile_add_stack(profile, &no_location, 0, STACK_COMPLETE, &sample.stack);

	r = r < 0 ? r
		  : strings_add_bytes(&profile->strings, runtime->comm,
				      strnlen(runtime->comm, sizeof runtime->comm), &sample.comm);
	return r < 0 ? r : profile_add_sample(profile, &sample);
}

int runtimes_distribute(const struct runtimes *runtimes, struct profile *profile)
{
	uint64_t *samples = calloc(runtimes->n + 1, sizeof *samples);
	int r = 0;

	if (!samples)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		uint32_t found = find(runtimes, sample->pid, sample->tid);

		if (sample->reason == REASON_ONCPU && found != TABLE_NONE)
			samples[found] += sample->count;
	}
	for (size_t i = 0; i < profile->n_samples; i++) {
		struct profile_sample *sample = &profile->samples[i];
		uint32_t found = find(runtimes, sample->pid, sample->tid);

		if (sample->reason != REASON_ONCPU)
			continue;
		if (found == TABLE_NONE) /* its row was lost */
			sample->nanoseconds = sample->count * 1e9 / profile->frequency;
		else
			sample->nanoseconds = (double)runtimes->items[found].nanoseconds *
					      sample->count / samples[found];
	}
	for (size_t i = 0; r >= 0 && i < runtimes->n; i++)
		if (!samples[i])
			r = add_unsampled(&runtimes->items[i], profile);
	free(samples);
	return r < 0 ? r : 0;
}
