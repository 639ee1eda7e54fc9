/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_values: which of a pprof file's values are read, and what they are.
 */
#ifndef INPUT_PPROF_VALUES_H
#define INPUT_PPROF_VALUES_H

#include "input/pprof_file.h"

struct pprof_values {
	enum profile_mode mode;
	size_t count;	   /* which value is profile_sample.count; SIZE_MAX: none */
	size_t time;	   /* the same, of nanoseconds, or of the events that samples stand for */
	uint64_t unit;	   /* of the time, in nanoseconds; of events 1 */
	uint64_t divide;   /* on-CPU: the count is the time divided by this; 0: it is not */
	double frequency;  /* Hz; 0: not known */
	const char *event; /* what was sampled, where our own files say so; else NULL */
	bool is_counted;   /* values are of a unit of their own, and no samples */
	int64_t name;	   /* then: what they are, in the file's strings … */
	int64_t counts;	   /* … and their unit, if the name does not say it; or … */
	bool is_time;	   /* … nanoseconds */
	bool is_unsampled; /* how many samples they come from is not known */
	uint64_t period;   /* so many of them a sample; 0: by frequency */
};

/* What begins the comment that names the event. */
#define PPROF_EVENT "event: "

/*
 * Chooses the type called @wanted; NULL: the file's default, or the last. Errors: -EINVAL,
 * *file->failure is set.
 */
int pprof_values_choose(const struct pprof_file *file, const char *wanted,
			struct pprof_values *ret);

/*
 * What sample @i counts and weighs. Errors: -EINVAL, *file->failure is set: a negative value, or
 * one that is too large.
 */
int pprof_values_read(const struct pprof_values *values, const struct pprof_file *file, size_t i,
		      struct profile_sample *sample);

#endif
