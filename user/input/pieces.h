/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pieces: the distinct texts between the `;` of folded lines, and what each one is.
 *
 * Reading folded lines means looking up pieces, 45 million times in a file of a million stacks. A
 * slot of the table takes 8 bytes, so the slots for a large program fit in a CPU's caches.
 */
#ifndef INPUT_PIECES_H
#define INPUT_PIECES_H

#include "core/marks.h"
#include "input/cut.h"

#define PIECE_UNSET UINT32_MAX
#define PIECE_SIDES 2

struct piece {
	uint64_t text; /* of its name, within the first profile's strings */
	uint32_t n;    /* bytes of its name, without the kind's suffix */
	uint8_t kind;  /* enum frame_kind */
	uint8_t mark;  /* enum mark: its meaning in a place where a mark may be */
	uint8_t reason;
	bool is_thread;			 /* it is `comm-PID/TID`; set once it was a command */
	uint32_t locations[PIECE_SIDES]; /* in each profile, or PIECE_UNSET */
	uint32_t module;		 /* string id of the first profile; 0: nothing said it */
	uint32_t commands[PIECE_SIDES];	 /* string ids of the whole piece */
};

struct piece_slot {
	uint32_t hash, piece; /* PIECE_UNSET: free */
};

struct pieces {
	struct profile *profiles[PIECE_SIDES]; /* the caller's; the second may be NULL */
	struct piece *items;
	size_t n_items, capacity;
	struct piece_slot *slots;
	size_t n_slots; /* a power of two */
};

/* Errors: -ENOMEM. pieces_done() is fine after a failure, and on a zeroed struct. */
int pieces_init(struct pieces *pieces, struct profile *first, struct profile *second);
void pieces_done(struct pieces *pieces);

/*
 * Look up a line's pieces together, so that a CPU waits for its caches once a line and not once a
 * piece: prefetch for each, then expect for each, then find.
 */
static inline void pieces_prefetch(const struct pieces *pieces, uint32_t hash)
{
	__builtin_prefetch(&pieces->slots[hash & (pieces->n_slots - 1)]);
}

/* A guess at the piece with this hash, or PIECE_UNSET if there is none. */
static inline uint32_t pieces_expect(const struct pieces *pieces, uint32_t hash)
{
	for (size_t i = hash & (pieces->n_slots - 1);; i = (i + 1) & (pieces->n_slots - 1)) {
		struct piece_slot slot = pieces->slots[i];

		if (slot.piece == PIECE_UNSET)
			return PIECE_UNSET;
		if (slot.hash == hash) {
			__builtin_prefetch(&pieces->items[slot.piece]);
			return slot.piece;
		}
	}
}

/* Prefetch an expected piece's text a few pieces before finding it. */
static inline void pieces_prefetch_text(const struct pieces *pieces, uint32_t piece)
{
	if (piece != PIECE_UNSET)
		__builtin_prefetch(pieces->profiles[0]->strings.bytes + pieces->items[piece].text);
}

/*
 * Finds the piece that @cut cut off at @text. @expected: the result of pieces_expect(), or
 * PIECE_UNSET. Errors: -EINVAL for a piece that holds a NUL; -ENOMEM; -E2BIG.
 */
int pieces_find(struct pieces *pieces, const char *text, struct cut cut, uint32_t expected,
		uint32_t *ret_piece);

/*
 * Says that the function of the piece that @cut cut off at @text is in @module, of @n bytes; what
 * is known already stays. Errors: those of pieces_find().
 */
int pieces_set_module(struct pieces *pieces, const char *text, struct cut cut, const char *module,
		      size_t n);

/* For pieces_locate(): makes the piece's location on that side. Errors: -ENOMEM, -E2BIG. */
int pieces_make_location(struct pieces *pieces, uint32_t piece, int side);

/* Sets the possible meaning of the @n bytes at @text, which are @piece's text with its suffix. */
void piece_set_mark(struct piece *piece, const char *text, size_t n);

/* The piece as a frame of a stack. Errors: -ENOMEM, -E2BIG. */
static inline int pieces_locate(struct pieces *pieces, uint32_t piece, int side,
				uint32_t *ret_location)
{
	int r = 0;

	if (pieces->items[piece].locations[side] == PIECE_UNSET)
		r = pieces_make_location(pieces, piece, side);
	if (r == 0)
		*ret_location = pieces->items[piece].locations[side];
	return r;
}

/* The piece with its suffix as the name of a command, a string id. Errors: -ENOMEM, -E2BIG. */
int pieces_command(struct pieces *pieces, uint32_t piece, int side, uint32_t *ret_string);

/*
 * Split `comm-TID` and `comm-PID/TID`, as unfolder_next() writes them, into the length of the
 * command's name, at least 1, and the numbers. Return false for texts that would not be written the
 * same again.
 */
bool piece_split_waker(const char *text, size_t n, size_t *ret_n, uint32_t *ret_tid);
bool piece_split_thread(const char *text, size_t n, size_t *ret_n, uint32_t *ret_pid,
			uint32_t *ret_tid);

#endif
