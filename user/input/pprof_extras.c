/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/pprof_extras.h"

#include <string.h>

static bool is_text(const struct pprof_file *file, int64_t index, const char *text)
{
	uint32_t string;

	return pprof_file_text(file, index, 0, &string) == 0 &&
	       strcmp(strings_get(file->strings, string), text) == 0;
}

static bool is_type(const struct pprof_file *file, const struct pprof_type *type, const char *name,
		    const char *unit)
{
	return is_text(file, type->type, name) && is_text(file, type->unit, unit);
}

/* Whether each sample's time is its number of samples times the period. */
static bool is_time_of_count(const struct pprof_file *file)
{
	const struct pprof_samples *samples = &file->samples;

	for (size_t i = 0; i < samples->n; i++) {
		uint64_t time;

		if (__builtin_mul_overflow(samples->values[2 * i], (uint64_t)file->period, &time) ||
		    time != samples->values[2 * i + 1])
			return false;
	}
	return true;
}

/* Whether types, period and default are those we would write. */
static bool is_as_ours(const struct pprof_file *file, const struct pprof_values *values)
{
	const struct pprof_type *types = file->types;
	bool has_period = file->period || file->period_type.type || file->period_type.unit;
	const char *time;

	if (values->event)
		return true;
	if (!file->n_types || !is_type(file, &types[0], "samples", "count"))
		return false;
	if (file->n_types == 1)
		return !has_period && is_text(file, file->default_type, "samples");
	time = values->mode == PROFILE_OFFCPU ? "off_cpu"
	       : values->mode == PROFILE_WALL ? "wall"
					      : "cpu";
	if (file->n_types != 2 || !is_type(file, &types[1], time, "nanoseconds") ||
	    !is_text(file, file->default_type, time))
		return false;
	if (values->mode != PROFILE_ONCPU)
		return !has_period;
	return file->period > 0 && file->period < (int64_t)1 << 50 &&
	       is_type(file, &file->period_type, "cpu", "nanoseconds") && is_time_of_count(file);
}

static int read_type(const struct pprof_file *file, const struct pprof_type *from,
		     struct extras_type *to)
{
	int r = pprof_file_text(file, from->type, 0, &to->type);

	if (r < 0)
		return r;
	return pprof_file_text(file, from->unit, 0, &to->unit);
}

static bool are_types_same(const struct extras *a, const struct extras *b)
{
	return a->n_types == b->n_types &&
	       memcmp(a->types, b->types, a->n_types * sizeof *a->types) == 0;
}

int pprof_extras_types(const struct pprof_file *file, const struct pprof_values *values,
		       struct profile *profile, bool is_first, bool *ret_has_rows)
{
	struct extras found = {.n_types = file->n_types, .period = file->period};
	struct extras *extras = &profile->extras;
	int r = 0;

	*ret_has_rows = false;
	if (is_as_ours(file, values) || !file->n_types)
		return 0;
	for (size_t i = 0; i < file->n_types && r == 0; i++)
		r = read_type(file, &file->types[i], &found.types[i]);
	if (r < 0)
		return r;
	r = read_type(file, &file->period_type, &found.period_type);
	if (r < 0)
		return r;
	r = pprof_file_text(file, file->default_type, 0, &found.default_type);
	if (r < 0)
		return r;
	if (is_first) {
		memcpy(extras->types, found.types, sizeof found.types);
		extras->n_types = found.n_types;
		extras->period_type = found.period_type;
		extras->period = found.period;
		extras->default_type = found.default_type;
	}
	*ret_has_rows = are_types_same(extras, &found);
	return 0;
}

int pprof_extras_row(const struct pprof_file *file, struct profile *profile, size_t i,
		     uint32_t *ret_row)
{
	size_t n = file->samples.n_values;
	const uint64_t *values = file->samples.values + i * n;

	*ret_row = 0;
	for (size_t k = 0; k < n; k++)
		if (values[k])
			return extras_add_row(&profile->extras, values, ret_row);
	return 0;
}

int pprof_extras_labels(const struct pprof_file *file, struct profile *profile,
			const struct pprof_label *labels, size_t n, uint64_t at,
			uint32_t *ret_chain)
{
	uint32_t chain = 0;
	int r;

	for (size_t i = n; i-- > 0;) {
		struct extras_label label = {.number = labels[i].number, .next = chain};

		if (!labels[i].is_kept)
			continue;
		r = pprof_file_text(file, labels[i].key, at, &label.key);
		if (r < 0)
			return r;
		r = pprof_file_text(file, labels[i].text, at, &label.text);
		if (r < 0)
			return r;
		r = pprof_file_text(file, labels[i].unit, at, &label.unit);
		if (r < 0)
			return r;
		r = extras_add_label(&profile->extras, &label, &chain);
		if (r < 0)
			return r;
	}
	*ret_chain = chain;
	return 0;
}

int pprof_extras_frames(const struct pprof_file *file, struct profile *profile)
{
	int r = pprof_file_text(file, file->drop_frames, 0, &profile->extras.drop_frames);

	if (r < 0)
		return r;
	return pprof_file_text(file, file->keep_frames, 0, &profile->extras.keep_frames);
}
