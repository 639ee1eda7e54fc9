/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reading: what all readers fill in, and the messages they share. */
#ifndef INPUT_READING_H
#define INPUT_READING_H

#include <stdio.h>

#include "base/failure.h"
#include "core/profile.h"

struct input_options {
	bool in_order;		 /* keep the file's order: add up neighbours only */
	bool no_inline;		 /* drop inlined functions */
	uint64_t max_bytes;	 /* limit per file, uncompressed; 0: the default, 64 GiB */
	const char *sample_type; /* of a pprof file; NULL: its default, or the last */
	const char *event;	 /* of `perf script`; NULL: the first one */
};

#define INPUT_EVENT_SIZE 64

/* Statistics of the files read. */
struct input_stats {
	uint64_t lines, bytes;
	uint64_t skipped;	/* lines of no known form: neither samples nor frames nor comments */
	uint64_t comments;	/* and empty lines, of folded files */
	uint64_t rounded;	/* values with decimals that are not 0 */
	uint64_t first_skipped; /* line number; 0: none */
	uint64_t other_events;	/* samples of events that were not chosen */
	char event[INPUT_EVENT_SIZE], other_event[INPUT_EVENT_SIZE]; /* chosen; first other */
};

/* Reads several files into one profile, or two if they have two columns of values. */
struct input {
	struct profile *profile; /* owned; the only column, or the second */
	struct profile *base;	 /* owned; the first of two columns; NULL if no file had two */
	struct input_stats stats;
	struct input_options options;
};

/* Errors: -ENOMEM. */
int input_init(struct input *input, const struct input_options *options);
void input_done(struct input *input);

/* The profile that earlier files filled; NULL: they held nothing. */
const struct profile *input_earlier(const struct input *input);

/*
 * Declares that the file called @name holds values of @mode. Time running and time waiting add up.
 * Errors: -EINVAL if they don't add up with those of earlier files, which sets *failure.
 */
int input_set_mode(struct input *input, enum profile_mode mode, const char *name,
		   struct failure *failure);

/*
 * Declares that the file called @name holds samples of @event, or of an unnamed event if its name
 * is 0. Errors: -EINVAL if they don't add up with those of earlier files, which sets *failure.
 */
int input_set_event(struct input *input, const struct profile_event *event, const char *name,
		    struct failure *failure);

#endif
