/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_budget.h"

#include "base/system.h"

#define PEACE_LOOKS 5
#define FREE_LOOKS  2	/* the first one, and that after a minute */
#define FAR_ABOVE   1.5 /* times a budget */
#define ABOVE	    1.25
#define MUCH	    0.75
#define MOST_WRONG  4 /* each doubles the peace */

static bool takes_time(const struct daemon_budget *budget, double times)
{
	return budget->share > 0 && budget->used > times * budget->share;
}

static bool takes_memory(const struct daemon_budget *budget, double times)
{
	return budget->most_bytes && budget->had.bytes > times * budget->most_bytes;
}

/*
 * Whether only the last step can save enough: without names it is still too much. In the minute
 * after the start all files are new, so what programs take has to say it.
 */
static bool wants_last(const struct daemon_budget *budget)
{
	if (budget->n_looks <= FREE_LOOKS)
		return takes_time(budget, 1) && budget->programs > MUCH * budget->share;
	return budget->share > 0 && budget->used - budget->names > ABOVE * budget->share;
}

/* How many steps to take; the last one saves no memory. */
static int steps_to_take(const struct daemon_budget *budget)
{
	bool takes_much = takes_time(budget, FAR_ABOVE) || takes_memory(budget, FAR_ABOVE);
	int most = takes_time(budget, 1) ? budget->most : EFFORT_HALF_RATE;
	int rest = most - (int)budget->effort;

	if (wants_last(budget))
		return rest;
	if (budget->n_looks <= FREE_LOOKS || !(takes_time(budget, 1) || takes_memory(budget, 1)))
		return 0;
	return takes_much && rest > 1 ? 2 : rest > 0;
}

/* Whether programs at each switch would fit into the budget again. */
static bool has_room_for_programs(const struct daemon_budget *budget)
{
	double each = budget->programs_before / budget->switches_before;

	return !(budget->used - budget->names + each * budget->switches > budget->share);
}

static void take(struct daemon_budget *budget, int steps)
{
	budget->effort += steps;
	if (budget->effort < EFFORT_LOOKS)
		return;
	budget->programs_before = budget->programs;
	budget->switches_before = budget->switches;
}

static int judge(struct daemon_budget *budget, uint64_t now_ns)
{
	uint64_t peace = PEACE_LOOKS * budget->look_ns << budget->n_wrong;
	int steps = steps_to_take(budget);

	if (steps > 0) {
		bool was_wrong = budget->back_at && now_ns - budget->back_at < 2 * budget->look_ns;

		take(budget, steps);
		budget->below_since = 0;
		budget->n_wrong += was_wrong && budget->n_wrong < MOST_WRONG;
		return 1;
	}
	if (takes_time(budget, 1) || takes_memory(budget, 1)) {
		budget->below_since = 0;
		return 0;
	}
	if (!budget->below_since)
		budget->below_since = now_ns - budget->look_ns;
	if (budget->effort == EFFORT_ALL || now_ns - budget->below_since < peace ||
	    (budget->effort == EFFORT_LOOKS && !has_room_for_programs(budget)))
		return 0;
	if (budget->effort < EFFORT_HALF_RATE)
		budget->n_wrong = 0;
	budget->effort--;
	budget->below_since = budget->back_at = now_ns;
	return -1;
}

bool daemon_budget_is_due(const struct daemon_budget *budget, uint64_t now_ns)
{
	return !budget->looked_at || now_ns - budget->looked_at >= budget->look_ns;
}

int daemon_budget_look(struct daemon_budget *budget, uint64_t now_ns, const struct daemon_use *use)
{
	double passed = now_ns - budget->looked_at;
	const struct daemon_use *had = &budget->had;

	if (!daemon_budget_is_due(budget, now_ns))
		return 0;
	if (budget->looked_at) {
		budget->used = (use->cpu_ns - had->cpu_ns) / passed;
		budget->names = (use->names_ns - had->names_ns) / passed;
		budget->programs = (use->programs_ns - had->programs_ns) / passed;
		budget->switches = (use->switches - had->switches) / passed;
	}
	budget->looked_at = now_ns;
	budget->had = *use;
	return budget->n_looks++ ? judge(budget, now_ns) : 0;
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
		[EFFORT_LOOKS] = "names are put off, the rate is half, threads are looked at once "
				 "a second and not at each switch",
	};

	return texts[effort];
}
