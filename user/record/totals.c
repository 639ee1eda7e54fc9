/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/totals.h"

#include <math.h>
#include <string.h>

#include "collect/stats.h"
#include "record/unnamed.h"

static void add_frames(const struct profile *profile, const struct profile_sample *sample,
		       struct sample_totals *totals)
{
	const struct profile_stack *stack = &profile->stacks[sample->stack];

	for (uint32_t k = 0; k < stack->n; k++) {
		const struct profile_location *location =
			&profile->locations[profile->stack_locations[stack->first + k]];

		totals->frames += sample->count;
		totals->unnamed_frames += unnamed_location(profile, location) ? sample->count : 0;
	}
}

/* The samples that @profile shows. */
static void add_samples(const struct profile *profile, struct sample_totals *totals)
{
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		uint64_t weight = profile_sample_weight(profile, sample);

		if (sample->reason == REASON_NONE || sample->reason == REASON_ONCPU)
			totals->running += sample->count;
		else
			totals->waiting += sample->count;
		totals->weight += weight;
		totals->ends[profile->stacks[sample->stack].end] += weight;
		add_frames(profile, sample, totals);
	}
}

static void add_totals(struct sample_totals *totals, const struct sample_totals *other)
{
	totals->running += other->running;
	totals->waiting += other->waiting;
	totals->weight += other->weight;
	for (int end = 0; end < N_STACK_ENDS; end++)
		totals->ends[end] += other->ends[end];
	totals->frames += other->frames;
	totals->unnamed_frames += other->unnamed_frames;
}

void totals_begin(const struct collect_window *window, struct totals *ret)
{
	*ret = (struct totals){
		.windows = window->n,
		.joined = window->n - 1,
		.start_realtime_ns = window->profile->start_realtime_ns,
		.duration_ns = window->profile->duration_ns,
		.stats = window->stats,
	};
}

void totals_of_window(const struct collect_window *window, const struct symbol_stats *symbols,
		      struct totals *ret)
{
	struct profile *profile = window->profile;
	uint32_t n_events = profile->n_events ? profile->n_events : 1;

	totals_begin(window, ret);
	ret->symbols = *symbols;
	if (profile->mode != PROFILE_ONCPU)
		time_table_make(profile, &ret->times);
	for (uint32_t event = 0; event < n_events; event++) {
		if (profile->n_events)
			profile_show_event(profile, event);
		add_samples(profile, &ret->events[event]);
		add_totals(&ret->samples, &ret->events[event]);
	}
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void add_times(struct time_table *times, const struct time_table *window)
{
	for (int row = 0; row < N_OFF_REASONS; row++) {
		times->ns[row] += window->ns[row];
		times->idle_ns[row] += window->idle_ns[row];
	}
}

/* Estimates of different windows err independently. */
static void add_stats(struct collect_stats *stats, const struct collect_stats *window)
{
	stats_add(stats, window);
	stats->offcpu_interval_ns =
		llround(hypot(stats->offcpu_interval_ns, window->offcpu_interval_ns));
	stats->offcpu_period_ns = window->offcpu_period_ns;
	stats->unopened_files = larger(stats->unopened_files, window->unopened_files);
	stats->refused_files = larger(stats->refused_files, window->refused_files);
	stats->unread = window->unread;
	stats->runtimes_unknown = window->runtimes_unknown;
	stats->runtime_problem = window->runtime_problem;
	stats->refused = window->refused;
	stats->threads = larger(stats->threads, window->threads);
	stats->kernel_bytes = larger(stats->kernel_bytes, window->kernel_bytes);
	stats->distinct_stacks = larger(stats->distinct_stacks, window->distinct_stacks);
	stats->processes = larger(stats->processes, window->processes);
	stats->unwind_bytes = larger(stats->unwind_bytes, window->unwind_bytes);
}

static void add_symbols(struct symbol_stats *symbols, const struct symbol_stats *window)
{
	symbols->locations = larger(symbols->locations, window->locations);
	symbols->unnamed = larger(symbols->unnamed, window->unnamed);
	symbols->files = larger(symbols->files, window->files);
	symbols->unreadable_files = larger(symbols->unreadable_files, window->unreadable_files);
	symbols->unsearched_files = larger(symbols->unsearched_files, window->unsearched_files);
	symbols->damaged_files = larger(symbols->damaged_files, window->damaged_files);
	symbols->unread_files = larger(symbols->unread_files, window->unread_files);
	if (window->refused.n > symbols->refused.n)
		symbols->refused = window->refused;
	if (!*symbols->unread)
		memcpy(symbols->unread, window->unread, sizeof symbols->unread);
	if (!symbols->kernel_refused)
		symbols->kernel_refused = window->kernel_refused;
}

void totals_add(struct totals *totals, const struct totals *window)
{
	if (!totals->windows) {
		*totals = *window;
		return;
	}
	totals->windows += window->windows;
	totals->joined += window->joined;
	totals->duration_ns += window->duration_ns;
	add_totals(&totals->samples, &window->samples);
	for (int event = 0; event < PROFILE_MAX_EVENTS; event++)
		add_totals(&totals->events[event], &window->events[event]);
	add_times(&totals->times, &window->times);
	add_stats(&totals->stats, &window->stats);
	add_symbols(&totals->symbols, &window->symbols);
}
