/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/pprof_values.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define NONE SIZE_MAX

/* Prefixes of the names of time types. */
static const struct {
	const char *name;
	enum profile_mode mode;
	// clang-format off
} time_types[] = {
	{"cpu",   PROFILE_ONCPU},
	{"on",    PROFILE_ONCPU},
	{"wall",  PROFILE_WALL},
	{"off",   PROFILE_OFFCPU},
	{"delay", PROFILE_OFFCPU},
	{"block", PROFILE_OFFCPU},
	{"mutex", PROFILE_OFFCPU},
	{"lock",  PROFILE_OFFCPU},
	{"wait",  PROFILE_OFFCPU},
};
// clang-format on

/* A unit of time in nanoseconds; 0: not a unit of time. */
static uint64_t unit_of(const char *name)
{
	static const struct {
		const char *name;
		uint64_t nanoseconds;
		// clang-format off
	} units[] = {
		{"nanoseconds",  1},
		{"nanosecond",   1},
		{"ns",           1},
		{"microseconds", 1000},
		{"microsecond",  1000},
		{"us",           1000},
		{"milliseconds", 1000000},
		{"millisecond",  1000000},
		{"ms",           1000000},
		{"seconds",      1000000000},
		{"second",       1000000000},
		{"s",            1000000000},
	};
	// clang-format on

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(name, units[i].name) == 0)
			return units[i].nanoseconds;
	return 0;
}

static int text_of(const struct pprof_file *file, int64_t index, const char **ret)
{
	uint32_t text;
	int r = pprof_file_text(file, index, 0, &text);

	if (r < 0)
		return r;
	*ret = strings_get(file->strings, text);
	return 0;
}

/* Finds the type called @wanted; if there is none, lists the file's types. */
static int find_type(const struct pprof_file *file, const char *wanted, size_t *ret)
{
	*ret = NONE;
	for (size_t i = 0; i < file->n_types && *ret == NONE; i++) {
		const char *name;
		int r = text_of(file, file->types[i].type, &name);

		if (r < 0)
			return r;
		if (strcmp(name, wanted) == 0)
			*ret = i;
	}
	return 0;
}

static int fail_type(const struct pprof_file *file, const char *wanted)
{
	char list[160] = "";
	const char *name;

	for (size_t i = 0; i < file->n_types; i++) {
		size_t n = strlen(list);

		if (text_of(file, file->types[i].type, &name) < 0)
			break;
		snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", name);
	}
	failure_set(file->failure, -EINVAL, "%s: has no values of type %.64s", file->stream->name,
		    wanted);
	return failure_fix(file->failure, -EINVAL, "--sample-type: %s", list);
}

/* Chooses the requested type, the default type, or the last. */
static int choose_type(const struct pprof_file *file, const char *wanted, size_t *ret)
{
	const char *name = wanted;
	int r = 0;

	*ret = NONE;
	if (!wanted && file->default_type)
		r = text_of(file, file->default_type, &name);
	if (r < 0)
		return r;
	if (name)
		r = find_type(file, name, ret);
	if (r < 0 || *ret != NONE)
		return r;
	if (wanted)
		return fail_type(file, wanted);
	*ret = file->n_types - 1;
	return 0;
}

/* Whether a type counts samples: `samples`, `cpu-samples`. */
static int is_samples(const struct pprof_file *file, size_t type, const char **ret_name)
{
	const char *unit;
	int r = text_of(file, file->types[type].type, ret_name);

	if (r < 0)
		return r;
	r = text_of(file, file->types[type].unit, &unit);
	if (r < 0)
		return r;
	return strcmp(unit, "count") == 0 && strstr(*ret_name, "sample");
}

static size_t common_prefix(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/*
 * Finds the type that counts the samples of the values called @name: the one whose name shares
 * the longest beginning with it (`cycles_sample` for `cycles_event`), or the only one.
 */
static int find_samples(const struct pprof_file *file, const char *name, size_t *ret)
{
	size_t best = 0;

	*ret = NONE;
	for (size_t i = 0; i < file->n_types; i++) {
		const char *other;
		size_t likeness;
		int r = is_samples(file, i, &other);

		if (r < 0)
			return r;
		if (!r)
			continue;
		likeness = common_prefix(name, other) + (strncmp(other, "sample", 6) == 0);
		if (likeness > best) {
			best = likeness;
			*ret = i;
		}
	}
	return 0;
}

/* The same for waits; any type that counts may be one. */
static int find_waits(const struct pprof_file *file, const char *name, size_t *ret)
{
	const char *unit;
	int r = find_samples(file, name, ret);

	if (r < 0)
		return r;
	for (size_t i = 0; i < file->n_types && *ret == NONE; i++) {
		r = text_of(file, file->types[i].unit, &unit);
		if (r < 0)
			return r;
		if (strcmp(unit, "count") == 0)
			*ret = i;
	}
	return 0;
}

static enum profile_mode mode_of(const char *type)
{
	for (size_t i = 0; i < sizeof time_types / sizeof *time_types; i++)
		if (text_begins(type, time_types[i].name))
			return time_types[i].mode;
	return PROFILE_ONCPU;
}

/* Nanoseconds between two samples; 0: unknown, or something else triggers them. */
static int period_of(const struct pprof_file *file, uint64_t *ret)
{
	const char *unit;
	int r = text_of(file, file->period_type.unit, &unit);

	if (r == 0 && (file->period <= 0 ||
		       __builtin_mul_overflow((uint64_t)file->period, unit_of(unit), ret)))
		*ret = 0;
	return r;
}

/* Reads type @type as values in a unit of their own. */
static void choose_plain(const struct pprof_file *file, size_t type, struct pprof_values *values)
{
	values->is_counted = true;
	values->time = type;
	values->unit = 1;
	values->name = file->types[type].type;
	values->is_unsampled = values->count == NONE && !values->divide;
}

/* Reads type @type, which has a unit of time. */
static int choose_time(const struct pprof_file *file, size_t type, const char *name,
		       uint64_t period, struct pprof_values *values)
{
	uint64_t unit = values->unit;
	int r;

	values->mode = mode_of(name);
	if (values->mode != PROFILE_ONCPU) {
		values->time = type;
		return find_waits(file, name, &values->count);
	}
	r = find_samples(file, name, &values->count);
	if (r < 0 || values->count != NONE)
		return r;
	values->divide = period;
	if (period) {
		values->time = type;
		return 0;
	}
	choose_plain(file, type, values);
	values->unit = unit;
	values->is_time = true;
	return 0;
}

/* The event that a comment names, in our own format. */
static int find_event(const struct pprof_file *file, const char **ret)
{
	*ret = NULL;
	for (size_t i = 0; i < file->n_comments && !*ret; i++) {
		const char *text;
		int r = text_of(file, file->comments[i], &text);

		if (r < 0)
			return r;
		if (text_begins(text, PPROF_EVENT))
			*ret = text + strlen(PPROF_EVENT);
	}
	return 0;
}

/* How many of the values called @name make one sample; 0: unknown. */
static int count_period(const struct pprof_file *file, const char *name, const char *unit,
			uint64_t *ret)
{
	const char *type, *own;
	int r = text_of(file, file->period_type.type, &type);

	if (r < 0)
		return r;
	r = text_of(file, file->period_type.unit, &own);
	if (r < 0)
		return r;
	*ret = 0;
	/* A heap profile's bytes are not multiples of the period. */
	if (file->period > 0 && strcmp(type, name) == 0 && strcmp(own, unit) == 0 &&
	    strcmp(unit, "count") == 0)
		*ret = file->period;
	return 0;
}

/* Reads type @type, which does not have a unit of time. */
static int choose_count(const struct pprof_file *file, size_t type, const char *name,
			const char *unit, struct pprof_values *values)
{
	const char *same;
	int r = is_samples(file, type, &same);

	if (r < 0)
		return r;
	if (r > 0) {
		values->count = type;
		return 0;
	}
	r = find_samples(file, name, &values->count);
	if (r < 0)
		return r;
	r = count_period(file, name, unit, &values->period);
	if (r < 0)
		return r;
	if (values->count == NONE)
		values->divide = values->period;
	choose_plain(file, type, values);
	if (strcmp(unit, "count") != 0)
		values->counts = file->types[type].unit;
	return 0;
}

int pprof_values_choose(const struct pprof_file *file, const char *wanted, struct pprof_values *ret)
{
	struct pprof_values values = {.mode = PROFILE_ONCPU, .count = NONE, .time = NONE};
	const char *name = NULL, *unit = NULL;
	uint64_t period = 0;
	size_t type;
	int r;

	if (file->samples.n && file->samples.n_values != file->n_types)
		return pprof_file_fault(file, file->samples.items[0].at,
					"samples have %zu values, but there are %zu types of them",
					file->samples.n_values, file->n_types);
	if (!file->n_types) {
		*ret = values;
		return 0;
	}
	r = choose_type(file, wanted, &type);
	if (r < 0)
		return r;
	r = text_of(file, file->types[type].type, &name);
	if (r < 0)
		return r;
	r = text_of(file, file->types[type].unit, &unit);
	if (r < 0)
		return r;
	r = period_of(file, &period);
	if (r < 0)
		return r;
	r = find_event(file, &values.event);
	if (r < 0)
		return r;
	values.unit = unit_of(unit);
	if (values.unit)
		r = choose_time(file, type, name, period, &values);
	else
		r = choose_count(file, type, name, unit, &values);
	if (r < 0)
		return r;
	if (values.mode == PROFILE_ONCPU && period)
		values.frequency = 1e9 / period;
	*ret = values;
	return 0;
}

static int get_value(const struct pprof_file *file, size_t sample, size_t value, uint64_t *ret)
{
	uint64_t number = file->samples.values[sample * file->samples.n_values + value];

	if ((int64_t)number < 0)
		return failure_set(file->failure, -EINVAL,
				   "%s: has negative values, like the difference of two profiles",
				   file->stream->name);
	*ret = number;
	return 0;
}

int pprof_values_read(const struct pprof_values *values, const struct pprof_file *file, size_t i,
		      struct profile_sample *sample)
{
	uint64_t count = values->mode != PROFILE_ONCPU, time = 0;
	int r = 0;

	if (values->count != NONE)
		r = get_value(file, i, values->count, &count);
	if (r < 0)
		return r;
	if (values->time != NONE)
		r = get_value(file, i, values->time, &time);
	if (r < 0)
		return r;
	if (__builtin_mul_overflow(time, values->unit, &time))
		return pprof_file_fault(file, file->samples.items[i].at, "a time of 584 years");
	if (values->divide) {
		/* Round, but never down to nothing. */
		count = time / values->divide + (time % values->divide >= values->divide / 2 + 1);
		count += time && !count;
		time = values->is_counted ? time : 0;
	}
	sample->count = count;
	sample->nanoseconds = time;
	return 0;
}
