/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_names: turns the mappings, functions and locations of a pprof file into those of a profile.
 *
 * A location becomes a piece (pieces.h), so the rules of folded lines separate notes such as
 * [truncated], and the frames of wakers, from code. Only a location with neither mapping nor
 * address can be a note.
 */
#ifndef INPUT_PPROF_NAMES_H
#define INPUT_PPROF_NAMES_H

#include "input/pieces.h"
#include "input/pprof_file.h"

/* The piece holds only inlined functions, which the caller does not want. */
#define PPROF_LEFT_OUT (PPROF_UNSET - 1)

struct pprof_name {
	uint32_t text, file, system_name; /* string ids */
	int64_t start_line;
	bool has_kind; /* the file gives it */
	enum frame_kind kind;
};

struct pprof_names {
	struct pprof_file *file; /* the caller's, like the profile */
	struct profile *profile;
	bool no_inline;
	uint32_t *mappings;	  /* the profile's, by the file's */
	uint32_t no_mapping;	  /* the profile's for locations without one, or PPROF_UNSET */
	struct pprof_name *names; /* by the file's functions */
	uint32_t *pieces;	  /* by number of location_ids, or PPROF_UNSET */
	/* By the same: the profile's location, or PPROF_UNSET until it is known to be only code. */
	uint32_t *plain;
	/*
	 * While all stacks of the profile are plain ones of this file and each number is another
	 * location, stacks that differ in the file also differ in the profile.
	 */
	bool are_distinct;
	uint8_t *is_taken; /* by the profile's locations: whether a number is plain as it */
	size_t n_taken, taken_capacity;
	struct pprof_ids commands; /* pieces, by string id */
	struct pieces all;
	struct profile_frame *frames;
	size_t frames_capacity;
	uint32_t *locations;
	size_t locations_capacity;
};

/*
 * Names all locations, and checks that every reference exists. Errors: -EINVAL, which sets
 * *file->failure; -ENOMEM, -E2BIG. pprof_names_done() is fine after a failure.
 */
int pprof_names_init(struct pprof_names *names, struct pprof_file *file, struct profile *profile,
		     bool no_inline);
void pprof_names_done(struct pprof_names *names);

/* The piece of a location, by its number, or PPROF_LEFT_OUT. Errors: as above. */
int pprof_names_piece(struct pprof_names *names, uint32_t number, uint32_t *ret_piece);

/*
 * Makes the stack of @n locations, by their numbers, if they are only code, which needs no rules.
 * Returns whether they are; sets *@ret_stack then. Call it once for each such stack of the file.
 * Errors: as above.
 */
int pprof_names_plain_stack(struct pprof_names *names, const uint32_t *numbers, uint32_t n,
			    uint32_t *ret_stack);

/* The piece of the command @text. Errors: -ENOMEM, -E2BIG. */
int pprof_names_command(struct pprof_names *names, uint32_t text, uint32_t *ret_piece);

/* The main program's name, as far as the file gives it. Errors: -ENOMEM, -E2BIG. */
int pprof_names_program(struct pprof_names *names, uint32_t *ret_text);

#endif
