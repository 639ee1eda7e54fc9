/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/diff_sides.h"

#include <errno.h>
#include <string.h>

#include "base/system.h"
#include "cli/inputs.h"
#include "cli/store_input.h"
#include "compare/commands.h"
#include "compare/compact.h"

/* Stacks are merged when there are this many more, and twice as many as after the last time. */
#define COMPACT_ENTRIES 50000

struct sides_reader {
	const struct sides_options *options;
	struct diff_sides *sides;
	bool wants_sums;
	size_t n_compact; /* entries after the last merging */
	/* What all files must hold; set by the first that holds anything. */
	bool has_mode;
	enum profile_mode mode;
	char event[64], first[256];
	struct failure *failure;
};

/* The sampled event, if it was requested by name. */
static const char *event_name(const struct profile *profile)
{
	const struct profile_event *event = profile_event(profile);

	return event && event->is_counted ? strings_get(&profile->strings, event->name) : "";
}

/* Samples and times can't be compared. An empty file matches either. */
static int match_mode(struct sides_reader *reader, struct profile *profile, const char *path)
{
	if (!profile->n_samples) {
		profile->mode = reader->mode;
		return 0;
	}
	if (!reader->has_mode) {
		reader->has_mode = true;
		reader->mode = profile->mode;
		snprintf(reader->first, sizeof reader->first, "%s", path);
		snprintf(reader->event, sizeof reader->event, "%.63s", event_name(profile));
		return 0;
	}
	if (profile->mode != reader->mode)
		return failure_set(reader->failure, -EINVAL,
				   "%s is %s and %s is %s: they can't be compared", reader->first,
				   profile_mode_name(reader->mode), path,
				   profile_mode_name(profile->mode));
	if (strncmp(event_name(profile), reader->event, 63) != 0)
		return failure_set(reader->failure, -EINVAL,
				   "%s counts %s and %s counts %s: they can't be compared",
				   reader->first, *reader->event ? reader->event : "samples", path,
				   *event_name(profile) ? event_name(profile) : "samples");
	return 0;
}

/*
 * Divides the times in @profile by its length in seconds. What rounding leaves is carried on to the
 * next sample: many that are too short for a nanosecond a second add up to what they are.
 */
static int divide_by_length(struct sides_reader *reader, struct profile *profile, const char *path)
{
	double rest = 0;

	if (!profile->duration_ns && store_input_is(path))
		return failure_set(reader->failure, -ENODATA,
				   "nothing was recorded in %s: there is no time to compare", path);
	if (!profile->n_samples)
		return 0;
	if (profile->mode == PROFILE_ONCPU)
		return failure_set(reader->failure, -EINVAL,
				   "--per-second is of times, and %s holds samples", path);
	if (!profile->duration_ns)
		return failure_set(reader->failure, -EINVAL,
				   "--per-second: %s does not say how long it took", path);
	for (size_t i = 0; i < profile->n_samples; i++) {
		uint64_t *time = &profile->samples[i].nanoseconds;
		double exact = (double)*time * NSEC_PER_SEC / profile->duration_ns + rest;

		if (exact >= (double)INT64_MAX)
			return -EOVERFLOW;
		*time = exact + 0.5;
		rest = exact - (double)*time;
	}
	return 0;
}

static int add_sums_of(struct sides_reader *reader, struct profile *profile, enum stacks_side side,
		       struct stacks *run)
{
	struct stacks_options options = reader->options->stacks;
	int r;

	options.reverse = options.in_order = options.merge_modules = false;
	r = stacks_init(run, &options);
	if (r < 0)
		return r;
	r = stacks_add(run, profile, SIDE_NEW);
	if (r < 0)
		return r;
	return gate_sums_add(&reader->sides->sums, run, side);
}

static int add_sums(struct sides_reader *reader, struct profile *profile, enum stacks_side side)
{
	struct stacks run;
	int r = add_sums_of(reader, profile, side, &run);

	stacks_done(&run);
	return r;
}

static int compact(struct sides_reader *reader)
{
	struct stacks *plain = &reader->sides->plain;
	int r;

	if (plain->n_entries < 2 * reader->n_compact + COMPACT_ENTRIES)
		return 0;
	r = stacks_compact(plain);
	if (r < 0)
		return r;
	reader->n_compact = plain->n_entries;
	if (!reader->sides->has_drawn || reader->sides->drawn.options.in_order)
		return 0;
	return stacks_compact(&reader->sides->drawn);
}

static int add_profile(struct sides_reader *reader, struct profile *profile, const char *path,
		       enum stacks_side side)
{
	struct diff_sides *sides = reader->sides;
	int r = match_mode(reader, profile, path);

	if (r < 0)
		return r;
	if (reader->options->stacks.per_second) {
		r = divide_by_length(reader, profile, path);
		if (r < 0)
			return r;
	}
	if (reader->wants_sums) {
		r = add_sums(reader, profile, side);
		if (r < 0)
			return r;
	}
	r = stacks_add(&sides->plain, profile, side);
	if (r < 0)
		return r;
	return sides->has_drawn ? stacks_add(&sides->drawn, profile, side) : 0;
}

static int add_run(struct sides_reader *reader, struct profile *profile, const char *path,
		   enum stacks_side side)
{
	int r = add_profile(reader, profile, path, side);

	if (r == -EOVERFLOW)
		return failure_set(reader->failure, r,
				   "%s: the values are too large to be added up", path);
	if (r < 0)
		return r;
	return compact(reader);
}

static int read_run(struct sides_reader *reader, char *path, enum stacks_side side)
{
	struct input input;
	int r = inputs_read(&path, 1, &reader->options->stacks, reader->options->quiet, &input,
			    reader->failure);

	if (r < 0)
		return r;
	if (input.base) {
		r = failure_set(reader->failure, -EINVAL,
				"%s has two columns of values: it is a comparison by itself", path);
		failure_fix(reader->failure, r, "name it alone");
	} else {
		r = add_run(reader, input.profile, path, side);
	}
	input_done(&input);
	return r;
}

/* Reads one file with two columns. */
static int read_single(struct sides_reader *reader, char *path)
{
	struct input input;
	int r = inputs_read(&path, 1, &reader->options->stacks, reader->options->quiet, &input,
			    reader->failure);

	if (r < 0)
		return r;
	if (!input.base) {
		r = failure_set(reader->failure, -EINVAL,
				"%s has one column of values: nothing to compare with", path);
		failure_fix(reader->failure, r, "name BASE and NEW");
	} else {
		r = add_run(reader, input.base, path, SIDE_BASE);
		if (r == 0)
			r = add_run(reader, input.profile, path, SIDE_NEW);
	}
	input_done(&input);
	return r;
}

static int read_sides(struct sides_reader *reader, const struct diff_files *files)
{
	/* The base comes first: its presence makes it a comparison. */
	const enum stacks_side order[] = {SIDE_BASE, SIDE_NEW};

	if (files->is_single) {
		if (files->sides[SIDE_NEW].n != 1)
			return failure_set(reader->failure, -EINVAL, "nothing to compare with");
		return read_single(reader, files->sides[SIDE_NEW].paths[0]);
	}
	for (int i = 0; i < N_SIDES; i++) {
		const struct run_files *side = &files->sides[order[i]];

		for (size_t k = 0; k < side->n; k++) {
			int r = read_run(reader, side->paths[k], order[i]);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int finish_stacks(struct stacks *stacks, enum stacks_scale scale)
{
	int r = commands_align(stacks);

	if (r < 0)
		return r;
	return stacks_finish(stacks, scale);
}

static int finish(struct sides_reader *reader)
{
	struct diff_sides *sides = reader->sides;
	enum stacks_scale scale = reader->options->scale;
	int r = finish_stacks(&sides->plain, scale);

	if (r < 0)
		return r;
	if (sides->has_drawn) {
		r = finish_stacks(&sides->drawn, scale);
		if (r < 0)
			return r;
	}
	/* An empty side gets the other one's kind. */
	for (int side = 0; side < N_SIDES; side++) {
		sides->plain.facts[side].mode = reader->mode;
		if (sides->has_drawn)
			sides->drawn.facts[side].mode = reader->mode;
	}
	sides->sums.mode = reader->mode;
	return 0;
}

static int read_all(struct sides_reader *reader, const struct diff_files *files)
{
	struct diff_sides *sides = reader->sides;
	struct stacks_options plain = reader->options->stacks;
	int r;

	plain.reverse = plain.in_order = false;
	r = stacks_init(&sides->plain, &plain);
	if (r < 0)
		return r;
	if (sides->has_drawn) {
		r = stacks_init(&sides->drawn, &reader->options->stacks);
		if (r < 0)
			return r;
	}
	r = gate_sums_init(&sides->sums);
	if (r < 0)
		return r;
	r = read_sides(reader, files);
	if (r < 0)
		return r;
	return finish(reader);
}

int diff_sides_read(const struct diff_files *files, const struct sides_options *options,
		    struct diff_sides *ret, struct failure *failure)
{
	struct diff_sides sides = {.has_drawn =
					   options->stacks.reverse || options->stacks.in_order};
	struct sides_reader reader = {
		.options = options,
		.sides = &sides,
		.wants_sums = options->wants_sums || files->sides[SIDE_BASE].n > 1 ||
			      files->sides[SIDE_NEW].n > 1,
		.failure = failure,
	};
	int r = read_all(&reader, files);

	if (r < 0)
		diff_sides_done(&sides);
	else
		*ret = sides;
	return r;
}

void diff_sides_done(struct diff_sides *sides)
{
	stacks_done(&sides->plain);
	if (sides->has_drawn)
		stacks_done(&sides->drawn);
	gate_sums_done(&sides->sums);
}
