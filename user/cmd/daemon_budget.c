/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_budget.h"

#include "base/system.h"

#define PEACE_LOOKS 5
#define FREE_LOOKS  2	/* the first one, and that after a minute */
#define FAR_ABOVE   1.5 /* times a budget */

static bool is_above(const struct daemon_budget *budget, double times)
{
	return (budget->share > 0 && budget->used > times * budget->share) ||
	       (budget->most_bytes && budget->bytes > times * budget->most_bytes);
}

static int judge(struct daemon_budget *budget, uint64_t now_ns)
{
	if (is_above(budget, 1)) {
		budget->below_since = 0;
		if (budget->effort + 1 == N_EFFORTS)
			return 0;
		budget->effort++;
		budget->effort += budget->effort + 1 < N_EFFORTS && is_above(budget, FAR_ABOVE);
		return 1;
	}
	if (!budget->below_since)
		budget->below_since = now_ns - budget->look_ns;
	if (budget->effort == EFFORT_ALL ||
	    now_ns - budget->below_since < PEACE_LOOKS * budget->look_ns)
		return 0;
	budget->effort--;
	budget->below_since = now_ns;
	return -1;
}

bool daemon_budget_is_due(const struct daemon_budget *budget, uint64_t now_ns)
{
	return !budget->looked_at || now_ns - budget->looked_at >= budget->look_ns;
}

int daemon_budget_look(struct daemon_budget *budget, uint64_t now_ns, uint64_t cpu_ns,
		       uint64_t bytes)
{
	if (!daemon_budget_is_due(budget, now_ns))
		return 0;
	if (budget->looked_at)
		budget->used = (double)(cpu_ns - budget->cpu_ns) / (now_ns - budget->looked_at);
	budget->looked_at = now_ns;
	budget->cpu_ns = cpu_ns;
	budget->bytes = bytes;
	return budget->n_looks++ < FREE_LOOKS ? 0 : judge(budget, now_ns);
}

const char *daemon_effort_text(enum daemon_effort effort)
{
	static const char *const texts[N_EFFORTS] = {
		[EFFORT_ALL] = "nothing is done without",
		[EFFORT_NAMES_LATER] = "names are put off",
		[EFFORT_FEWER_STACKS] = "names are put off, stacks of waits are fewer",
		[EFFORT_FEWEST] = "names are put off, stacks of waits are fewest",
		[EFFORT_HALF_RATE] = "names are put off, stacks of waits are fewest, the rate is "
				     "half",
	};

	return texts[effort];
}
