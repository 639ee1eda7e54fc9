/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/time_table.h"

#include <stdlib.h>

#include "base/text.h"

/* A row's key in JSON, and what it is called. */
static const struct {
	const char *key, *label;
} names[N_OFF_REASONS] = {
	[TIME_RUNNING_USER] = {"running_user", "running user"},
	[TIME_RUNNING_KERNEL] = {"running_kernel", "running kernel"},
	[REASON_RUNQUEUE] = {"runqueue", "run queue"},
	[REASON_PREEMPTED] = {"preempted", "preempted"},
	[REASON_THROTTLED] = {"throttled", "throttled"},
	[REASON_SLEEP] = {"sleep", "sleep"},
	[REASON_DISK] = {"disk", "disk"},
	[REASON_STOPPED] = {"stopped", "stopped"},
	[REASON_FUTEX] = {"futex", "futex"},
	[REASON_POLL] = {"poll", "poll"},
	[REASON_TIMER] = {"timer", "timer"},
	[REASON_NETWORK] = {"network", "network"},
	[REASON_PIPE] = {"pipe", "pipe"},
	[REASON_PAGE_FAULT] = {"page_fault", "page fault"},
	[REASON_CHILD] = {"child", "child"},
	[REASON_LOCK] = {"lock", "kernel lock"},
	[REASON_SIGNAL] = {"signal", "signal"},
};

static bool is_running(enum off_reason row)
{
	return row == TIME_RUNNING_USER || row == TIME_RUNNING_KERNEL;
}

static bool is_in_kernel(const struct profile *profile, const struct profile_stack *stack)
{
	const uint32_t *ids = profile->stack_locations + stack->first;

	for (uint32_t i = 0; i < stack->n; i++) {
		const struct profile_location *location = &profile->locations[ids[i]];

		if (profile->mappings[location->mapping].kind == MAPPING_KERNEL)
			return true;
	}
	return false;
}

static enum off_reason row_of(const struct profile *profile, const struct profile_sample *sample)
{
	if (sample->reason != REASON_ONCPU && sample->reason != REASON_NONE)
		return sample->reason;
	return is_in_kernel(profile, &profile->stacks[sample->stack]) ? TIME_RUNNING_KERNEL
								      : TIME_RUNNING_USER;
}

void time_table_make(const struct profile *profile, struct time_table *ret)
{
	*ret = (struct time_table){};
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		enum off_reason row = row_of(profile, sample);

		ret->ns[row] += sample->nanoseconds;
		if (sample->is_idle)
			ret->idle_ns[row] += sample->nanoseconds;
	}
}

uint64_t time_table_running_ns(const struct time_table *table)
{
	return table->ns[TIME_RUNNING_USER] + table->ns[TIME_RUNNING_KERNEL];
}

uint64_t time_table_waiting_ns(const struct time_table *table)
{
	uint64_t sum = 0;

	for (int row = 0; row < N_OFF_REASONS; row++)
		sum += is_running(row) ? 0 : table->ns[row];
	return sum;
}

uint64_t time_table_idle_ns(const struct time_table *table)
{
	uint64_t sum = 0;

	for (int row = 0; row < N_OFF_REASONS; row++)
		sum += table->idle_ns[row];
	return sum;
}

struct unit {
	const char *name;
	double ns;
};

static struct unit unit_of(uint64_t nanoseconds)
{
	if (nanoseconds >= 1000000000)
		return (struct unit){"s", 1e9};
	if (nanoseconds >= 1000000)
		return (struct unit){"ms", 1e6};
	return (struct unit){"us", 1e3};
}

const char *time_text(char text[static TIME_TEXT_SIZE], uint64_t nanoseconds)
{
	struct unit unit = unit_of(nanoseconds);

	snprintf(text, TIME_TEXT_SIZE, "%.*f %s", nanoseconds % (uint64_t)unit.ns ? 3 : 0,
		 nanoseconds / unit.ns, unit.name);
	return text;
}

/* In the unit of the whole table, so that rows can be compared. */
static void print_row(const char *head, const char *label, uint64_t ns, uint64_t whole,
		      FILE *stream)
{
	struct unit unit = unit_of(whole);

	text_print(stream, "  %-10s%-14s %12.3f %s %5.1f %%", head, label, ns / unit.ns, unit.name,
		   100.0 * ns / whole);
}

static int compare_rows(const void *a, const void *b, void *table)
{
	const uint64_t *ns = ((const struct time_table *)table)->ns;
	uint64_t first = ns[*(const enum off_reason *)a], second = ns[*(const enum off_reason *)b];

	return first > second ? -1 : first < second;
}

void time_table_print(const struct time_table *table, bool no_idle, FILE *stream)
{
	uint64_t whole = time_table_running_ns(table) + time_table_waiting_ns(table);
	uint64_t idle = time_table_idle_ns(table);
	struct unit unit = unit_of(whole);
	enum off_reason order[N_OFF_REASONS];

	for (int row = 0; row < N_OFF_REASONS; row++)
		order[row] = row;
	qsort_r(order, N_OFF_REASONS, sizeof *order, compare_rows, (void *)table);
	for (int i = 0; i < N_OFF_REASONS && table->ns[order[i]]; i++) {
		enum off_reason row = order[i];

		print_row(i ? "" : "time", names[row].label, table->ns[row], whole, stream);
		if (table->idle_ns[row] == table->ns[row])
			fputs("  all idle", stream);
		else if (table->idle_ns[row])
			text_print(stream, "  idle %.3f %s", table->idle_ns[row] / unit.ns,
				   unit.name);
		fputc('\n', stream);
	}
	if (idle) {
		print_row("", "of it idle", idle, whole, stream);
		fprintf(stream, "  waits for work; %s\n",
			no_idle ? "not drawn, --idle draws them" : "--no-idle leaves them out");
	}
}

void time_table_json(const struct time_table *table, bool has_running, struct json *json)
{
	json_open(json, "time_seconds", '{');
	for (int row = 0; row < N_OFF_REASONS; row++)
		if (has_running || !is_running(row))
			json_number(json, names[row].key, table->ns[row] / 1e9, 6);
	json_close(json, '}');
	json_number(json, "idle_seconds", time_table_idle_ns(table) / 1e9, 6);
}
