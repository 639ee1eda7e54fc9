/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/ticks.h"

#include "base/system.h"

/* Shares of the mean: the shortest stretch, and how long after a tick it can still be drawn. */
#define LEAST	 0.6
#define PATIENCE 0.4
/* The first stretches are short. */
#define SHORTEST 16

uint64_t ticks_mean(unsigned int frequency)
{
	return BF_TIMERS * NSEC_PER_SEC / frequency;
}

int ticks_periods(unsigned int frequency, uint64_t ret[BF_TIMERS])
{
	double sum = 0, mean = ticks_mean(frequency);
	uint32_t random[BF_TIMERS];
	int r = random_bytes(random, sizeof random);

	if (r < 0)
		return r;
	for (int i = 0; i < BF_TIMERS; i++)
		sum += 1 / (0.75 + random[i] * 0x1p-33);
	for (int i = 0; i < BF_TIMERS; i++)
		ret[i] = mean * (0.75 + random[i] * 0x1p-33) * sum / BF_TIMERS + 0.5;
	return 0;
}

void ticks_begin(struct tick_timer *timer, uint64_t now, uint64_t mean_ns, uint32_t random)
{
	uint64_t least = mean_ns / SHORTEST;

	timer->period = least + (uint64_t)((mean_ns - least) * (random * 0x1p-32));
	timer->at = now + timer->period;
}

bool ticks_draw(struct tick_timer *timer, uint64_t now, uint64_t mean_ns, uint32_t random)
{
	uint64_t stretch = mean_ns * (LEAST + random * 0x1p-32 * 2 * (1 - LEAST)), since;

	if (timer->at > now)
		return false;
	since = now - timer->at;
	/* Late: what is left of the stretch may be a flood of ticks, if the next look is late, too.
	 */
	timer->period = stretch - (since < mean_ns * PATIENCE ? since : 0);
	timer->at = now + timer->period;
	return true;
}

uint64_t ticks_patience(uint64_t mean_ns, uint64_t age)
{
	return mean_ns / (age < mean_ns ? SHORTEST : 4);
}
