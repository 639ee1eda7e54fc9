/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/pprof_values.h"

#include <errno.h>
#include <string.h>

#define NONE SIZE_MAX

/* What begins the names of types of time. */
static const struct {
	const char *name;
	enum profile_mode mode;
} time_types[] = {
	{"cpu", PROFILE_ONCPU},	   {"on", PROFILE_ONCPU},     {"wall", PROFILE_WALL},
	{"off", PROFILE_OFFCPU},   {"delay", PROFILE_OFFCPU}, {"block", PROFILE_OFFCPU},
	{"mutex", PROFILE_OFFCPU}, {"lock", PROFILE_OFFCPU},  {"wait", PROFILE_OFFCPU},
};

/* A unit of time in nanoseconds; 0: of something else. */
static uint64_t unit_of(const char *name)
{
	static const struct {
		const char *name;
		uint64_t nanoseconds;
	} units[] = {{"nanoseconds", 1},	{"nanosecond", 1},	  {"ns", 1},
		     {"microseconds", 1000},	{"microsecond", 1000},	  {"us", 1000},
		     {"milliseconds", 1000000}, {"millisecond", 1000000}, {"ms", 1000000},
		     {"seconds", 1000000000},	{"second", 1000000000},	  {"s", 1000000000}};

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(name, units[i].name) == 0)
			return units[i].nanoseconds;
	return 0;
}

static int text_of(const struct pprof_file *file, int64_t index, const char **ret)
{
	uint32_t text;
	int r = pprof_file_text(file, index, 0, &text);

	if (r == 0)
		*ret = strings_get(file->strings, text);
	return r;
}

/* The default type, or the last. */
static int choose_type(const struct pprof_file *file, size_t *ret)
{
	const char *wanted, *name;
	int r = file->default_type ? text_of(file, file->default_type, &wanted) : 0;

	*ret = file->n_types - 1;
	for (size_t i = 0; file->default_type && i < file->n_types && r == 0; i++) {
		r = text_of(file, file->types[i].type, &name);
		if (r == 0 && strcmp(name, wanted) == 0) {
			*ret = i;
			break;
		}
	}
	return r;
}

/* The first type that counts. */
static int find_count(const struct pprof_file *file, size_t *ret)
{
	const char *unit;
	int r = 0;

	*ret = NONE;
	for (size_t i = 0; i < file->n_types && *ret == NONE && r == 0; i++) {
		r = text_of(file, file->types[i].unit, &unit);
		if (r == 0 && strcmp(unit, "count") == 0)
			*ret = i;
	}
	return r;
}

static enum profile_mode mode_of(const char *type)
{
	for (size_t i = 0; i < sizeof time_types / sizeof *time_types; i++)
		if (strncmp(type, time_types[i].name, strlen(time_types[i].name)) == 0)
			return time_types[i].mode;
	return PROFILE_ONCPU;
}

/* Nanoseconds between two samples; 0: they are taken by something else, or not known. */
static int period_of(const struct pprof_file *file, uint64_t *ret)
{
	const char *unit;
	int r = text_of(file, file->period_type.unit, &unit);

	if (r == 0 && (file->period <= 0 ||
		       __builtin_mul_overflow((uint64_t)file->period, unit_of(unit), ret)))
		*ret = 0;
	return r;
}

/* Of type @type, whose unit is one of time. */
static int choose_time(const struct pprof_file *file, size_t type, const char *name,
		       uint64_t period, struct pprof_values *values)
{
	size_t count;
	int r = find_count(file, &count);

	if (r < 0)
		return r;
	values->mode = mode_of(name);
	if (values->mode != PROFILE_ONCPU) {
		values->time = type;
		values->count = count;
	} else if (count != NONE) {
		values->count = count;
	} else {
		values->time = type;
		values->divide = period ? period : 1;
	}
	return 0;
}

/* The event that a comment names, as we write it. */
static int find_event(const struct pprof_file *file, const char **ret)
{
	const char *text;
	int r = 0;

	*ret = NULL;
	for (size_t i = 0; i < file->n_comments && r == 0 && !*ret; i++) {
		r = text_of(file, file->comments[i], &text);
		if (r == 0 && strncmp(text, PPROF_EVENT, strlen(PPROF_EVENT)) == 0)
			*ret = text + strlen(PPROF_EVENT);
	}
	return r;
}

/* Of type @type, which counts. */
static int choose_count(const struct pprof_file *file, size_t type, const char *name,
			struct pprof_values *values)
{
	size_t samples;
	int r = find_count(file, &samples);

	values->count = type;
	if (r < 0 || !values->event || strcmp(values->event, name) != 0 || samples == type)
		return r;
	values->is_counted = true;
	values->count = samples;
	values->time = type;
	values->unit = 1;
	values->period = file->period > 0 ? file->period : 0;
	return 0;
}

int pprof_values_choose(const struct pprof_file *file, struct pprof_values *ret)
{
	struct pprof_values values = {.mode = PROFILE_ONCPU, .count = NONE, .time = NONE};
	const char *name = NULL, *unit = NULL;
	uint64_t period = 0;
	size_t type;
	int r;

	if (file->samples.n && file->samples.n_values != file->n_types)
		return pprof_file_fault(file, file->samples.items[0].at,
					"samples have %zu values, and there are %zu types of them",
					file->samples.n_values, file->n_types);
	if (!file->n_types) {
		*ret = values;
		return 0;
	}
	r = choose_type(file, &type);
	r = r < 0 ? r : text_of(file, file->types[type].type, &name);
	r = r < 0 ? r : text_of(file, file->types[type].unit, &unit);
	r = r < 0 ? r : period_of(file, &period);
	r = r < 0 ? r : find_event(file, &values.event);
	if (r < 0)
		return r;
	values.unit = unit_of(unit);
	if (values.unit)
		r = choose_time(file, type, name, period, &values);
	else
		r = choose_count(file, type, name, &values);
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
				   "%s: has negative values, as a difference of two profiles does",
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
	if (r == 0 && values->time != NONE)
		r = get_value(file, i, values->time, &time);
	if (r < 0)
		return r;
	if (__builtin_mul_overflow(time, values->unit, &time))
		return pprof_file_fault(file, file->samples.items[i].at, "a time of 584 years");
	if (values->divide) {
		/* Rounded, but what was seen is not nothing. */
		count = time / values->divide + (time % values->divide >= values->divide / 2 + 1);
		count += time && !count;
		time = 0;
	}
	sample->count = count;
	sample->nanoseconds = time;
	return 0;
}
