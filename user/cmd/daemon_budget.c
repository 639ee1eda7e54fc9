/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_budget.h"

#include "base/system.h"

#define LOOK_NS	   (60 * NSEC_PER_SEC)
#define PEACE_NS   (300 * NSEC_PER_SEC)
#define FREE_LOOKS 2 /* the first one, and that after a minute */

static int judge(struct daemon_budget *budget, uint64_t now_ns)
{
	if (budget->used > budget->share) {
		budget->below_since = 0;
		if (budget->effort + 1 == N_EFFORTS)
			return 0;
		budget->effort++;
		return 1;
	}
	if (!budget->below_since)
		budget->below_since = now_ns - LOOK_NS;
	if (budget->effort == EFFORT_ALL || now_ns - budget->below_since < PEACE_NS)
		return 0;
	budget->effort--;
	budget->below_since = now_ns;
	return -1;
}

int daemon_budget_look(struct daemon_budget *budget, uint64_t now_ns, uint64_t cpu_ns)
{
	uint64_t elapsed = now_ns - budget->looked_at;
	bool is_first = !budget->looked_at;

	if (!is_first && elapsed < LOOK_NS)
		return 0;
	if (!is_first)
		budget->used = (double)(cpu_ns - budget->cpu_ns) / elapsed;
	budget->looked_at = now_ns;
	budget->cpu_ns = cpu_ns;
	return budget->n_looks++ < FREE_LOOKS || budget->share <= 0 ? 0 : judge(budget, now_ns);
}

const char *daemon_effort_text(enum daemon_effort effort)
{
	static const char *const texts[N_EFFORTS] = {
		[EFFORT_ALL] = "nothing is done without",
		[EFFORT_NAMES_LATER] = "names are put off",
		[EFFORT_FEWER_STACKS] = "names are put off, stacks of waits are fewer",
		[EFFORT_FEWEST] = "names are put off, stacks of waits are fewest",
	};

	return texts[effort];
}
