/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Windows, back to back: finds the one that contains a moment. Only the moment decides, so nothing
 * has to happen in time at a boundary: the loader may come late and finds everything in its place.
 *
 * Samples use CLOCK_MONOTONIC, with windows of equal length from a base on. The scheduler's clock
 * drifts against that: the loader sets the end of each window while it is open (control.windows),
 * which all use. Only if the loader is late is a boundary extrapolated from the one before.
 *
 * The loader may let the open window end earlier, if that moment is yet to come: it sets its end,
 * and that moment as the new base.
 */
#ifndef BPF_WINDOW_BPF_H
#define BPF_WINDOW_BPF_H

/* The window of a sample taken at @now. */
static __always_inline u32 window_of_sample(u64 now)
{
	const struct bf_base *base;

	if (!config.every)
		return 0;
	base = &control.bases[*(volatile u32 *)&control.base & 1];
	if (now < base->start)
		return base->number - 1 - (base->start - 1 - now) / config.every;
	return base->number + (now - base->start) / config.every;
}

/*
 * All of it is read through this one word, so never half of it is old. It does not change twice in
 * the time that a program takes.
 */
static __always_inline const struct bf_window *open_window(void)
{
	return &control.windows[*(volatile u32 *)&control.window & 1];
}

/* The place of a period that ended at @to: its part after @start is in window @window. */
struct place {
	u64 start; /* 0: all of it, for anything that counts */
	u64 window;
};

static __always_inline void find_place(u64 to, struct place *place)
{
	const struct bf_window *open;
	u64 late;

	*place = (struct place){};
	if (!config.every)
		return;
	open = open_window();
	place->window = open->number;
	if (to > open->end) {
		late = (to - 1 - open->end) / config.every;
		place->start = open->end + late * config.every;
		place->window += 1 + late;
	} else if (to > open->start) {
		place->start = open->start;
	} else {
		/* A program that read its clock before the boundary. */
		place->window--;
	}
}

#endif
