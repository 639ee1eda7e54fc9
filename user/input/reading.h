/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reading: what the readers of all formats read into, and what they say of a file.
 */
#ifndef INPUT_READING_H
#define INPUT_READING_H

#include <stdio.h>

#include "base/failure.h"
#include "core/profile.h"

struct input_options {
	bool in_order;	/* keep samples in the order of the file: only neighbours are added up */
	bool no_inline; /* leave inlined functions out */
	uint64_t max_bytes; /* of one file, uncompressed; 0: the default, 64 GiB */
	const char
		*sample_type; /* which of a pprof file's values; NULL: its default, or the last */
	const char *event;    /* which one's samples of `perf script`; NULL: the first one's */
};

#define INPUT_EVENT_SIZE 64

/* What was read, beside the profile. */
struct input_stats {
	uint64_t lines, bytes;
	uint64_t skipped;	/* lines that are no stack: comments, empty ones */
	uint64_t rounded;	/* values that had decimals */
	uint64_t first_skipped; /* line number; 0: none */
	uint64_t other_events;	/* samples of events that were not chosen … */
	char event[INPUT_EVENT_SIZE], other_event[INPUT_EVENT_SIZE]; /* … beside this one: the
									first of them */
};

/* Reads several files into one profile, or two where they have two columns of values. */
struct input {
	struct profile *profile; /* owned; the one column, or the second */
	struct profile *base;	 /* owned; the first of two columns; NULL if no file had two */
	struct input_stats stats;
	struct input_options options;
};

/* Errors: -ENOMEM. */
int input_init(struct input *input, const struct input_options *options);
void input_done(struct input *input);

/* What the files before this one hold; NULL: nothing. */
const struct profile *input_earlier(const struct input *input);

/*
 * The file called @name holds values of @mode; time running and time waiting add up.
 * Errors: -EINVAL if those of earlier files don't add up with them, *failure is set.
 */
int input_set_mode(struct input *input, enum profile_mode mode, const char *name,
		   struct failure *failure);

/*
 * The file called @name holds samples of @event; its name 0: of none that was named.
 * Errors: -EINVAL if those of earlier files don't add up with them, *failure is set.
 */
int input_set_event(struct input *input, const struct profile_event *event, const char *name,
		    struct failure *failure);

#endif
