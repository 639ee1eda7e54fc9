/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_names: the mappings, functions and locations of a pprof file, made those of a profile.
 *
 * A location becomes a piece (pieces.h), so that notes such as [truncated] and the frames of wakers
 * are told from code by the same rules as those of folded lines are. Only what has neither mapping
 * nor address can be a note.
 */
#ifndef INPUT_PPROF_NAMES_H
#define INPUT_PPROF_NAMES_H

#include "input/pieces.h"
#include "input/pprof_file.h"

/* For a piece: nothing is left of it but inlined functions, which were not wanted. */
#define PPROF_LEFT_OUT (PPROF_UNSET - 1)

struct pprof_name {
	uint32_t text, file, system_name; /* string ids */
	int64_t start_line;
	bool has_kind; /* the file tells it */
	enum frame_kind kind;
};

struct pprof_names {
	struct pprof_file *file; /* the caller's, as the profile */
	struct profile *profile;
	bool no_inline;
	uint32_t *mappings;	  /* by the file's, those of the profile */
	uint32_t no_mapping;	  /* the profile's for what has none, or PPROF_UNSET */
	struct pprof_name *names; /* by the file's functions */
	uint32_t *pieces;	  /* by number of location_ids, or PPROF_UNSET */
	uint32_t *plain;	  /* by the same: the profile's location, or PPROF_UNSET if it is
				     not known yet that it is code and nothing else */
	/*
	 * As long as all stacks of the profile are plain ones of this file, and each number is
	 * another location, stacks that are different in the file are so in the profile.
	 */
	bool are_distinct;
	uint8_t *is_taken; /* by the profile's locations, whether a number is plain as it */
	size_t n_taken, taken_capacity;
	struct pprof_ids commands; /* pieces, by string id */
	struct pieces all;
	struct profile_frame *frames;
	size_t frames_capacity;
	uint32_t *locations;
	size_t locations_capacity;
};

/*
 * Makes names of what was read; looks whether all that is referred to is there.
 * Errors: -EINVAL, *file->failure is set; -ENOMEM, -E2BIG. pprof_names_done() is fine after a
 * failure.
 */
int pprof_names_init(struct pprof_names *names, struct pprof_file *file, struct profile *profile,
		     bool no_inline);
void pprof_names_done(struct pprof_names *names);

/* The piece of a location, by its number, or PPROF_LEFT_OUT. Errors: as above. */
int pprof_names_piece(struct pprof_names *names, uint32_t number, uint32_t *ret_piece);

/*
 * The stack of code only, for which no rules are needed, of @n locations, by their numbers. Returns
 * whether it is one, *@ret_stack is set then. To be called once for each stack of the file that is
 * one. Errors: as above.
 */
int pprof_names_plain_stack(struct pprof_names *names, const uint32_t *numbers, uint32_t n,
			    uint32_t *ret_stack);

/* The piece of the command @text. Errors: -ENOMEM, -E2BIG. */
int pprof_names_command(struct pprof_names *names, uint32_t text, uint32_t *ret_piece);

/* What the main program is called, as far as the file tells it. Errors: -ENOMEM, -E2BIG. */
int pprof_names_program(struct pprof_names *names, uint32_t *ret_text);

#endif
