/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/record_share.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/system.h"

#define UNKNOWN (BUDGETS_UNLIMITED - 1)

void record_share_done(struct record_share *share)
{
	free(share->users);
	*share = (struct record_share){};
}

static bool take(struct record_bucket *bucket, size_t bytes, uint64_t now)
{
	double filled = now > bucket->at_ns
				? (double)(now - bucket->at_ns) / NSEC_PER_SEC * RECORD_SHARE_BYTES
				: 0;
	uint64_t taken = filled < bucket->taken ? bucket->taken - filled : 0;

	if (taken + bytes > RECORD_SHARE_BYTES)
		return false;
	bucket->taken = taken + bytes;
	bucket->at_ns = now;
	return true;
}

/* Whether one more process may be looked up. */
static bool may_look(struct record_share *share, uint64_t now)
{
	if (now - share->looks_since_ns >= NSEC_PER_SEC) {
		share->looks_since_ns = now;
		share->n_looks = 0;
	}
	return share->n_looks++ < RECORD_SHARE_LOOKS;
}

/* BUDGETS_UNLIMITED: root's; UNKNOWN: it has ended, or we can't look. */
static uint32_t budget_of(struct record_share *share, struct budgets *budgets, uint32_t pid,
			  uint64_t now)
{
	struct record_process *process = &share->processes[pid % RECORD_SHARE_PROCESSES];
	bool is_there;

	if (process->pid == pid && now < process->until_ns)
		return process->budget;
	if (!may_look(share, now))
		return UNKNOWN;
	*process = (struct record_process){pid, UNKNOWN, now + NSEC_PER_SEC};
	if (budgets_find_living(budgets, pid, &process->budget, &is_there) < 0 || !is_there)
		process->budget = UNKNOWN;
	return process->budget;
}

static struct record_bucket *bucket_of(struct record_share *share, uint32_t budget)
{
	if (budget == UNKNOWN ||
	    (budget >= share->n &&
	     array_reserve(share->users, share->capacity, share->n, budget + 1 - share->n) < 0))
		return &share->unknown;
	while (share->n <= budget)
		share->users[share->n++] = (struct record_bucket){};
	return &share->users[budget];
}

bool record_share_take(struct record_share *share, struct budgets *budgets, uint32_t pid,
		       size_t bytes, uint64_t now)
{
	uint32_t budget;

	if (take(&share->anybody, bytes, now))
		return true;
	budget = budget_of(share, budgets, pid, now);
	if (budget == BUDGETS_UNLIMITED || take(bucket_of(share, budget), bytes, now))
		return true;
	if (budget == UNKNOWN)
		share->n_refused++;
	else
		budgets_refuse(budgets, budget);
	return false;
}

bool record_share_take_all(struct record_share *share, struct budgets *budgets, uint32_t pid,
			   uint64_t now)
{
	uint32_t budget = budget_of(share, budgets, pid, now);

	return budget == BUDGETS_UNLIMITED ||
	       take(bucket_of(share, budget), RECORD_SHARE_BYTES, now);
}
