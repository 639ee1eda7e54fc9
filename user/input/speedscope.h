/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope: reads its JSON, https://www.speedscope.app/file-format-schema.json, ours and others'.
 *
 * A file has frames, and profiles whose stacks are their numbers. Either may come first, so all is
 * kept, four bytes a number, until the file ends. Profiles are sampled or evented, with frames that
 * open and close; the time between two events then becomes a sample, and stacks form a tree that
 * grows with the events.
 *
 * Each profile becomes a command of its name.
 */
#ifndef INPUT_SPEEDSCOPE_H
#define INPUT_SPEEDSCOPE_H

#include "input/json_stacks.h"

struct speedscope_profile {
	uint32_t name; /* string id */
	uint64_t unit; /* of time, in nanoseconds; 0: another unit; SPEEDSCOPE_NO_UNIT: none */
	bool is_evented;
	/*
	 * Sampled: all frames, each stack's end in them, and weights. Evented: each event's frame,
	 * whether it opens, and when.
	 */
	struct json_column frames, ends;
	struct json_number *numbers;
	size_t n_numbers, numbers_capacity;
	/* Our files: per stack, the frames that are inlined functions. */
	struct json_column inlined, inlined_ends;
};

#define SPEEDSCOPE_NO_UNIT UINT64_MAX

struct speedscope {
	struct json_stacks *stacks; /* the caller's */
	struct json_frame *frames;
	size_t n_frames, frames_capacity;
	struct speedscope_profile *profiles;
	size_t n_profiles, profiles_capacity;
	bool has_frames, has_profiles;
	uint32_t *pieces[2]; /* by whether it is inlined, by frame; or JSON_UNSET */
};

void speedscope_done(struct speedscope *speedscope);

/*
 * Reads the value of @key, found in the file's object or in its "shared". Returns whether
 * speedscope has such a key; if not, nothing was read. All functions return the errors of
 * input_read().
 */
int speedscope_read(struct speedscope *speedscope, const char *key);
int speedscope_read_shared(struct speedscope *speedscope, const char *key);

/* Call at the file's end: adds its samples to the profile. */
int speedscope_finish(struct speedscope *speedscope);

#endif
