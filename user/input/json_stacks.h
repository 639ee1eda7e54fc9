/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json_stacks: what files of JSON say of frames, stacks and weights, made samples of a profile.
 *
 * Such files know frames by their names. So a frame becomes a piece (pieces.h), and a stack is read
 * as if it stood in a folded line: what [truncated], [futex] and `--` mean follows from where they
 * are, and what was written from folded lines comes back as them.
 */
#ifndef INPUT_JSON_STACKS_H
#define INPUT_JSON_STACKS_H

#include "core/facts.h"
#include "input/folded_stack.h"
#include "input/reading.h"
#include "input/json_reader.h"

/* For a frame: it was not made a piece yet. */
#define JSON_UNSET UINT32_MAX

/* Of a frame of one of our files; others leave it to the name's suffix, as in folded lines. */
enum json_kind {
	JSON_KIND_BY_NAME,
	JSON_KIND_USER,
	JSON_KIND_KERNEL,
	JSON_KIND_JIT,
	JSON_KIND_NOTE, /* no code */
};

struct json_frame {
	uint32_t name, file, module; /* string ids, 0 when unknown */
	uint32_t line;
	enum json_kind kind;
	bool is_inlined;
};

/* What a profile of a file, or a thread, is called. */
struct json_command {
	uint32_t name;	   /* string id */
	uint32_t piece;	   /* of the name; of `comm-PID/TID`, where it means that, of comm */
	uint32_t pid, tid; /* 0 when unknown */
};

/* A growing array of numbers. */
struct json_column {
	uint32_t *items;
	size_t n, capacity;
};

struct json_stacks {
	struct input *input; /* the caller's, as the others */
	struct json_reader *reader;
	struct profile *profile; /* the input's */
	struct facts facts;	 /* of the file, as far as they were read */
	bool is_ours;		 /* it was written by us: facts and kinds are told */
	bool is_first;		 /* no file before it held anything */
	bool is_bytes;		 /* its values are bytes, and no samples */

	struct pieces pieces;
	struct folded_stack stack;
	uint64_t n_frames; /* of all stacks that were made */
	uint64_t total_count, total_time;
};

/* Errors of all: -ENOMEM, -E2BIG; -EINVAL where it is said, *reader->failure is set then. */
int json_stacks_init(struct json_stacks *stacks, struct input *input, struct json_reader *reader);
void json_stacks_done(struct json_stacks *stacks);

/* Appends the indexes of an array. Errors: those of json_reader_index(). */
int json_column_read(struct json_column *column, struct json_reader *reader);
int json_column_add(struct json_column *column, uint32_t item);

/*
 * The text that comes, a string id, and the number. Where something else comes, null for one, it is
 * gone past, and *@ret is untouched. Errors: those of json_reader_text(), json_reader_number().
 */
int json_stacks_text(struct json_stacks *stacks, uint32_t *ret_text);
int json_stacks_number(struct json_stacks *stacks, struct json_number *ret);

/*
 * The mode of the file's values is known: by the facts, if it is one of ours, else by the unit;
 * what was sampled, by the facts.
 * Nothing is added before. Errors: -EINVAL if other files before it had values of another kind.
 */
int json_stacks_set_mode(struct json_stacks *stacks, bool is_time);

/* Makes a piece of @frame. */
int json_stacks_piece(struct json_stacks *stacks, const struct json_frame *frame,
		      uint32_t *ret_piece);

/* Sets what @command's name means. The facts are known. */
int json_stacks_command(struct json_stacks *stacks, uint32_t name, struct json_command *command);

/*
 * Begins a stack of @command; its pieces are pushed, root first. Sets all of *@ret but its weights.
 * Errors: -EINVAL if all stacks together have more frames than can be meant.
 */
void json_stacks_begin(struct json_stacks *stacks);
int json_stacks_push(struct json_stacks *stacks, uint32_t piece);
int json_stacks_end(struct json_stacks *stacks, const struct json_command *command,
		    struct profile_sample *ret);

/*
 * What a number weighs in the mode's unit: samples, or nanoseconds, of which @unit are one.
 * Errors: -EINVAL if it is negative, or too large.
 */
int json_stacks_weight(struct json_stacks *stacks, const struct json_number *number, uint64_t unit,
		       uint64_t *ret);

/* Adds @sample with that weight. Errors: -EINVAL if the sum is too large. */
int json_stacks_add(struct json_stacks *stacks, struct profile_sample sample, uint64_t weight);

/* The file's end: the profile is told the facts. */
void json_stacks_finish(struct json_stacks *stacks);

/* Tells *failure what is wrong with the file. Returns -EINVAL. */
int json_stacks_fault(const struct json_stacks *stacks, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
