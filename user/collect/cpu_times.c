/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/cpu_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cpu_time {
	uint32_t pid, tid;
	char comm[BF_COMM_LEN];
	uint64_t executable;
	uint64_t nanoseconds;
	uint64_t samples; /* once counted */
};

/* On-CPU samples with the runtime of their thread; or a runtime without samples. */
struct share {
	const struct cpu_time *runtime;
	uint32_t sample;
};

struct shares {
	struct share *items;
	size_t n;
};

void cpu_times_done(struct cpu_times *cpu_times)
{
	free(cpu_times->items);
	table_done(&cpu_times->by_thread);
	*cpu_times = (struct cpu_times){};
}

static bool cpu_time_equal(const void *items, uint32_t position, const void *key)
{
	const struct cpu_time *a = (const struct cpu_time *)items + position, *b = key;

	return a->pid == b->pid && a->tid == b->tid;
}

/* Most threads are a process's first one, whose ids are equal. */
static uint64_t thread_hash(uint32_t pid, uint32_t tid)
{
	return hash_mix(hash_mix(0, pid), tid);
}

static uint32_t find(const struct cpu_times *cpu_times, uint32_t pid, uint32_t tid)
{
	struct cpu_time wanted = {.pid = pid, .tid = tid};

	return table_find(&cpu_times->by_thread, thread_hash(pid, tid), cpu_time_equal,
			  cpu_times->items, &wanted);
}

int cpu_times_add(struct cpu_times *cpu_times, const struct bf_count_key *key, uint64_t executable,
		  uint64_t nanoseconds)
{
	struct cpu_time new = {.pid = key->pid, .tid = key->tid, .executable = executable};
	uint32_t found;
	int r;

	memcpy(new.comm, key->comm, sizeof new.comm);
	r = table_intern(&cpu_times->by_thread, thread_hash(key->pid, key->tid), cpu_time_equal,
			 cpu_times->items, cpu_times->capacity, cpu_times->n, &new, &found);
	if (r < 0)
		return r;
	cpu_times->items[found].nanoseconds += nanoseconds;
	return 0;
}

static void count_samples(struct cpu_times *cpu_times, const struct profile *profile)
{
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		uint32_t found = find(cpu_times, sample->pid, sample->tid);

		if (sample->reason == REASON_ONCPU && found != TABLE_NONE)
			cpu_times->items[found].samples += sample->count;
	}
}

/* Gives each sample its part of its thread's time, and lists it in @shares. */
static void distribute_own(const struct cpu_times *cpu_times, struct profile *profile,
			   struct shares *shares)
{
	for (size_t i = 0; i < profile->n_samples; i++) {
		struct profile_sample *sample = &profile->samples[i];
		uint32_t found = find(cpu_times, sample->pid, sample->tid);
		const struct cpu_time *runtime;

		if (sample->reason != REASON_ONCPU)
			continue;
		if (found == TABLE_NONE) { /* its row was lost */
			sample->nanoseconds = sample->count * 1e9 / profile->frequency;
			continue;
		}
		runtime = &cpu_times->items[found];
		sample->nanoseconds =
			(double)runtime->nanoseconds * sample->count / runtime->samples;
		shares->items[shares->n++] = (struct share){runtime, i};
	}
}

/* By command and executable. */
static int compare_kin(const struct share *a, const struct share *b)
{
	uint64_t x = a->runtime->executable, y = b->runtime->executable;
	int r = memcmp(a->runtime->comm, b->runtime->comm, sizeof a->runtime->comm);

	if (r)
		return r;
	return (x > y) - (x < y);
}

/* Groups of a kind, in the order of the samples or CPU times. */
static int compare_shares(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	int r = compare_kin(x, y);

	if (r)
		return r;
	if (x->sample != y->sample)
		return x->sample > y->sample ? 1 : -1;
	return (x->runtime > y->runtime) - (x->runtime < y->runtime);
}

static int add_unsampled(const struct cpu_time *runtime, uint32_t stack, struct profile *profile)
{
	struct profile_sample sample = {
		.stack = stack,
		.pid = runtime->pid,
		.tid = runtime->tid,
		.reason = REASON_ONCPU,
		.nanoseconds = runtime->nanoseconds,
	};
	int r = strings_add_bytes(&profile->strings, runtime->comm,
				  strnlen(runtime->comm, sizeof runtime->comm), &sample.comm);

	if (r < 0)
		return r;
	return profile_add_sample(profile, &sample);
}

/* How many of the first @n are of the kind of @one. */
static size_t n_kin(const struct share *one, const struct share *shares, size_t n)
{
	size_t i = 0;

	while (i < n && compare_kin(one, &shares[i]) == 0)
		i++;
	return i;
}

/*
 * Lays the times of @n threads end to end, next to the samples of their kind scaled to the same
 * length: each thread gets the stack at its middle.
 */
static int lend_stacks(const struct share *threads, size_t n, const struct share *lenders,
		       size_t n_lenders, struct profile *profile)
{
	double time = 0, samples = 0, at = 0, lent = 0;
	size_t lender = 0;

	for (size_t i = 0; i < n; i++)
		time += threads[i].runtime->nanoseconds;
	for (size_t i = 0; i < n_lenders; i++)
		samples += profile->samples[lenders[i].sample].count;
	for (size_t i = 0; i < n; i++) {
		double half = threads[i].runtime->nanoseconds / 2.0 / time * samples;
		int r;

		at += half;
		while (lender + 1 < n_lenders &&
		       lent + profile->samples[lenders[lender].sample].count <= at)
			lent += profile->samples[lenders[lender++].sample].count;
		r = add_unsampled(threads[i].runtime,
				  profile->samples[lenders[lender].sample].stack, profile);
		if (r < 0)
			return r;
		at += half;
	}
	return 0;
}

static int add_bare(const struct share *threads, size_t n, struct profile *profile)
{
	uint32_t no_location = 0, stack;
	int r = profile_add_stack(profile, &no_location, 0, STACK_UNSAMPLED, &stack);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		r = add_unsampled(threads[i].runtime, stack, profile);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Gives @threads, which were never sampled, stacks of their kin among @lenders. Both are sorted. */
static int distribute_rest(const struct shares *threads, const struct shares *lenders,
			   struct profile *profile)
{
	size_t i = 0, k = 0, n, n_lenders;
	int r;

	for (; i < threads->n; i += n) {
		const struct share *thread = &threads->items[i];

		while (k < lenders->n && compare_kin(&lenders->items[k], thread) < 0)
			k++;
		n = n_kin(thread, thread, threads->n - i);
		n_lenders = n_kin(thread, &lenders->items[k], lenders->n - k);
		r = n_lenders ? lend_stacks(thread, n, &lenders->items[k], n_lenders, profile)
			      : add_bare(thread, n, profile);
		if (r < 0)
			return r;
	}
	return 0;
}

int cpu_times_distribute(struct cpu_times *cpu_times, struct profile *profile)
{
	struct shares threads = {calloc(cpu_times->n + 1, sizeof *threads.items), 0};
	struct shares lenders = {calloc(profile->n_samples + 1, sizeof *lenders.items), 0};
	int r = -ENOMEM;

	if (threads.items && lenders.items) {
		count_samples(cpu_times, profile);
		distribute_own(cpu_times, profile, &lenders);
		for (size_t i = 0; i < cpu_times->n; i++)
			if (!cpu_times->items[i].samples)
				threads.items[threads.n++] =
					(struct share){&cpu_times->items[i], 0};
		qsort(threads.items, threads.n, sizeof *threads.items, compare_shares);
		qsort(lenders.items, lenders.n, sizeof *lenders.items, compare_shares);
		r = distribute_rest(&threads, &lenders, profile);
	}
	free(threads.items);
	free(lenders.items);
	return r;
}
