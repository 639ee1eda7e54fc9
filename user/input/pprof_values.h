/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pprof_values: chooses which of a pprof file's values to read, and interprets them. */
#ifndef INPUT_PPROF_VALUES_H
#define INPUT_PPROF_VALUES_H

#include "input/pprof_file.h"

struct pprof_values {
	enum profile_mode mode;
	size_t count;	   /* index of the value for profile_sample.count; SIZE_MAX: none */
	size_t time;	   /* the same for nanoseconds, or for events */
	uint64_t unit;	   /* of the time, in nanoseconds; of events 1 */
	uint64_t divide;   /* on-CPU: count = time / divide; 0: read the count */
	double frequency;  /* Hz; 0: unknown */
	const char *event; /* the sampled event, if one of our files names it; else NULL */
	bool is_counted;   /* values have a unit of their own and are not samples */
	int64_t name;	   /* then: their name, in the file's strings … */
	int64_t counts;	   /* … and their unit, if the name does not include it; or … */
	bool is_time;	   /* … nanoseconds */
	bool is_unsampled; /* their number of samples is unknown */
	uint64_t period;   /* values per sample; 0: use the frequency */
};

/* Begins the comment that names the event. */
#define PPROF_EVENT "event: "

/*
 * Chooses the type called @wanted; NULL: the file's default, or the last. Errors: -EINVAL, which
 * sets *file->failure.
 */
int pprof_values_choose(const struct pprof_file *file, const char *wanted,
			struct pprof_values *ret);

/*
 * The count and weight of sample @i. Errors: -EINVAL for a negative or too large value, which sets
 * *file->failure.
 */
int pprof_values_read(const struct pprof_values *values, const struct pprof_file *file, size_t i,
		      struct profile_sample *sample);

#endif
