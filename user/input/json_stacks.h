/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json_stacks: turns frames, stacks and weights of JSON files into samples of a profile.
 *
 * Such files know frames by name. Each frame becomes a piece (pieces.h), and each stack is read as
 * a folded line: the places of [truncated], [futex] and `--` decide what they mean, and files made
 * from folded lines give those lines back.
 */
#ifndef INPUT_JSON_STACKS_H
#define INPUT_JSON_STACKS_H

#include "base/json_reader.h"
#include "core/facts.h"
#include "input/folded_stack.h"
#include "input/reading.h"

/* The frame is not a piece yet. */
#define JSON_UNSET UINT32_MAX

/*
 * The kind of a frame in our own files. In others, the name's suffix gives it, as in folded lines.
 */
enum json_kind {
	JSON_KIND_BY_NAME,
	JSON_KIND_USER,
	JSON_KIND_KERNEL,
	JSON_KIND_JIT,
	JSON_KIND_INTERPRETED,
	JSON_KIND_NOTE, /* not code */
};

struct json_frame {
	uint32_t name, file, module; /* string ids, 0 when unknown */
	uint32_t line;
	enum json_kind kind;
	bool is_inlined;
};

/* What the name of a file's profile, or of a thread, means. */
struct json_command {
	uint32_t name;	   /* string id */
	uint32_t piece;	   /* of the name; if that is `comm-PID/TID`, of comm */
	uint32_t pid, tid; /* 0 when unknown */
};

/* A growing array of numbers. */
struct json_column {
	uint32_t *items;
	size_t n, capacity;
};

struct json_stacks {
	struct input *input; /* the caller's, like the next one */
	struct json_reader *reader;
	struct profile *profile; /* the input's */
	struct facts facts;	 /* of the file, as far as read */
	bool is_ours;		 /* we wrote it: it has facts and kinds */
	bool is_first;		 /* no earlier file held anything */
	bool is_bytes;		 /* its values are bytes, not samples */

	struct pieces pieces;
	struct folded_stack stack;
	uint64_t n_frames; /* of all stacks made so far */
	uint64_t total_count, total_time;
};

/* All return -ENOMEM, -E2BIG, and -EINVAL where noted, which sets *reader->failure. */
int json_stacks_init(struct json_stacks *stacks, struct input *input, struct json_reader *reader);
void json_stacks_done(struct json_stacks *stacks);

/* Appends the indexes of an array. Errors: those of json_reader_index(). */
int json_column_read(struct json_column *column, struct json_reader *reader);
int json_column_add(struct json_column *column, uint32_t item);

/*
 * Read a text as a string id, or a number. Anything else, such as null, is skipped and leaves *@ret
 * untouched. Errors: those of json_reader_text(), json_reader_number().
 */
int json_stacks_text(struct json_stacks *stacks, uint32_t *ret_text);
int json_stacks_number(struct json_stacks *stacks, struct json_number *ret);

/*
 * Sets the mode of the file's values: from the facts in our own files, else from the unit. The
 * facts also name the sampled event. Call it before adding anything. Errors: -EINVAL if earlier
 * files had values of another kind.
 */
int json_stacks_set_mode(struct json_stacks *stacks, bool is_time);
/* Whether the facts say that values are times: of a file without values. */
bool json_stacks_is_of_time(const struct json_stacks *stacks);

/* Turns @frame into a piece. */
int json_stacks_piece(struct json_stacks *stacks, const struct json_frame *frame,
		      uint32_t *ret_piece);

/* Sets what @name means as a command's. The facts must be known. */
int json_stacks_command(struct json_stacks *stacks, uint32_t name, struct json_command *command);

/*
 * Begin a stack of @command, then push its pieces, root first. json_stacks_read() sets all of *@ret
 * but its weights. Errors: -EINVAL if all stacks together have implausibly many frames.
 */
void json_stacks_begin(struct json_stacks *stacks);
int json_stacks_push(struct json_stacks *stacks, uint32_t piece);
int json_stacks_end(struct json_stacks *stacks, const struct json_command *command,
		    struct profile_sample *ret);

/*
 * Converts a number to the mode's unit: samples, or nanoseconds, @unit each. Errors: -EINVAL if it
 * is negative, or too large.
 */
int json_stacks_weight(struct json_stacks *stacks, const struct json_number *number, uint64_t unit,
		       uint64_t *ret);

/* Adds @sample with that weight. Errors: -EINVAL if the sum is too large. */
int json_stacks_add(struct json_stacks *stacks, struct profile_sample sample, uint64_t weight);

/* Call at the file's end: hands the facts to the profile. */
void json_stacks_finish(struct json_stacks *stacks);

/* Sets *failure to a fault of the file. Returns -EINVAL. */
int json_stacks_fault(const struct json_stacks *stacks, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
