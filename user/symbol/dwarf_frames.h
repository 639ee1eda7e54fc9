/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dwarf_frames: DWARF's frames for each address: the functions inlined there, and the lines. */
#ifndef SYMBOL_DWARF_FRAMES_H
#define SYMBOL_DWARF_FRAMES_H

#include "base/strings.h"
#include "symbol/dwarf.h"
#include "symbol/lookups.h"

/* String ids; 0: unknown. */
struct dwarf_frame {
	uint32_t function, file, line;
};

/* The frames of one address are neighbours, innermost first; all but the last are inlined. */
struct dwarf_frames {
	struct dwarf_frame *frames;
	size_t n_frames, frames_capacity;
	uint32_t *first, *n; /* per lookup; n 0: DWARF does not know it */
};

/* Errors: -ENOMEM, -E2BIG. */
int dwarf_frames_add(struct dwarf_frames *frames, struct dwarf_frame frame);

/*
 * Finds the frames of @lookups, with line numbers only if @lines. The last frame of an address, the
 * function that is not inlined, is named only if the lookup has no name yet. *@ret_damaged: part of
 * the file could not be read. Errors: -ENOMEM, -E2BIG.
 */
int dwarf_frames_find(struct dwarf *dwarf, const struct lookups *lookups, bool lines,
		      struct strings *strings, struct dwarf_frames *ret, bool *ret_damaged);
void dwarf_frames_done(struct dwarf_frames *frames);

#endif
