/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/window.h"

#include <unistd.h>

#define CALIBRATING_NAPS 20
#define NAP_US		 50
#define AHEAD_NS	 2000000  /* how far in advance the ends of the window are set */
#define NEAR_NS		 10000000 /* an end this near stays as it is */

/*
 * The minimum over a few switches, some caused by our own naps, is off by the time that a program
 * needs to begin: less than a microsecond.
 */
void window_calibrate(struct bf_control *control)
{
	control->least_offset = INT64_MAX;
	__atomic_fetch_or(&control->at_switches, BF_SWITCHES_CALIBRATE, __ATOMIC_SEQ_CST);
	for (int i = 0; i < CALIBRATING_NAPS; i++)
		usleep(NAP_US);
	__atomic_fetch_and(&control->at_switches, ~BF_SWITCHES_CALIBRATE, __ATOMIC_SEQ_CST);
	if (control->least_offset != INT64_MAX)
		control->clock_offset = control->least_offset;
}

/* We run where others do: they are switched out for us and in again. */
void window_visit_cpus(const struct cpu_list *online)
{
	struct cpu_list ours;

	if (cpu_list_of_us(&ours) < 0)
		return;
	for_each_cpu (cpu, online)
		if (cpu_run_on(cpu) == 0)
			usleep(NAP_US);
	cpu_list_run_on(&ours);
}

/* Writes the words that the programs do not read, then the one that selects these. */
static void set_open(struct bf_control *control, struct bf_window window)
{
	uint32_t other = control->window + 1;

	control->windows[other & 1] = window;
	__atomic_store_n(&control->window, other, __ATOMIC_SEQ_CST);
}

static const struct bf_window *open_window(const struct bf_control *control)
{
	return &control->windows[control->window & 1];
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The same, cut off at the end of the recording. */
static void set_open_until(struct bf_control *control, uint64_t start, uint64_t end,
			   uint64_t number)
{
	set_open(control, (struct bf_window){start, earlier(end, control->switch_end), number});
}

static void set_base(struct bf_control *control, uint64_t start, uint64_t number)
{
	uint32_t other = control->base + 1;

	control->bases[other & 1] = (struct bf_base){start, number};
	__atomic_store_n(&control->base, other, __ATOMIC_SEQ_CST);
}

/* Reads both for the same moment. */
static void set_both(const struct bf_control *control, __u64 *for_samples, __u64 *for_switches,
		     uint64_t moment)
{
	__atomic_store_n(for_samples, moment, __ATOMIC_SEQ_CST);
	__atomic_store_n(for_switches, moment - control->clock_offset, __ATOMIC_SEQ_CST);
}

/*
 * Each end is set to a future moment, and waited for. If it were set to the present, a preemption
 * in between would put it into the past for the programs.
 */
void window_open(struct bf_control *control, uint64_t duration_ns, uint64_t every_ns)
{
	uint64_t moment, start;

	do {
		moment = monotonic_ns() + AHEAD_NS;
		start = moment - control->clock_offset;
		if (every_ns)
			set_open(control, (struct bf_window){start, start + every_ns, 0});
		set_base(control, moment, 0);
		set_both(control, &control->window_start, &control->switch_start, moment);
	} while (monotonic_ns() >= moment);
	if (duration_ns) {
		control->switch_end = start + duration_ns;
		control->window_end = moment + duration_ns;
		if (every_ns > duration_ns)
			set_open_until(control, start, start + every_ns, 0);
	}
	sleep_until_ns(moment);
}

void window_advance(struct bf_control *control, uint64_t number, uint64_t every_ns)
{
	const struct bf_window *before = open_window(control);
	/* As programs that came before us have computed it. */
	uint64_t start = before->end + (number - before->number - 1) * every_ns;

	set_open_until(control, start, start + every_ns, number);
	control->close_at = start;
	control->close_window = number - 1;
}

void window_adjust(struct bf_control *control, uint64_t end)
{
	struct bf_window open = *open_window(control);
	uint64_t near;

	window_calibrate(control);
	near = monotonic_ns() + NEAR_NS;
	if (control->window_end != UINT64_MAX && control->window_end > near)
		control->switch_end = control->window_end - control->clock_offset;
	if (end > near)
		set_open_until(control, open.start, end - control->clock_offset, open.number);
}

void window_cut(struct bf_control *control, uint64_t moment)
{
	struct bf_window open = *open_window(control);

	set_open_until(control, open.start, moment - control->clock_offset, open.number);
	set_base(control, moment, open.number + 1);
}

void window_close(struct bf_control *control, bool calibrate)
{
	struct bf_window open = *open_window(control);
	uint64_t moment, latest = control->window_end;

	if (monotonic_ns() >= latest)
		return;
	if (calibrate)
		window_calibrate(control);
	do {
		moment = monotonic_ns() + AHEAD_NS;
		if (moment >= latest)
			break;
		set_both(control, &control->window_end, &control->switch_end, moment);
		set_open_until(control, open.start, open.end, open.number);
	} while (monotonic_ns() >= moment);
	sleep_until_ns(control->window_end);
}

void window_close_last(struct bf_control *control, uint64_t number)
{
	control->close_at = control->switch_end;
	control->close_window = number;
}
