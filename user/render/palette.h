/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * palette: the colours of frames.
 *
 * A palette gives each kind of frame a range of hues, cut into fills, its shades; a hash of the
 * name picks one. So a function has the same colour in every picture of a palette, and nothing
 * needs to be kept between pictures. Palettes of languages and modules have a range for each of
 * these, with shades numbered one range after another. All fills are light enough for PALETTE_INK
 * (contrast of at least 4.5:1).
 */
#ifndef RENDER_PALETTE_H
#define RENDER_PALETTE_H

#include <stdint.h>

#include "core/profile.h"

#define PALETTE_SHADES	    12 /* of a kind, if nothing else is distinguished */
#define PALETTE_MOST_SHADES 96 /* of a kind, in any palette */
#define PALETTE_INK	    "#16181d"

struct palette;

/* What a picture distinguishes by colour, beside the kinds of frames. */
enum palette_part {
	PART_PLAIN,
	PART_RUNNING, /* in PROFILE_WALL, mostly running frames; PART_PLAIN then waits */
	PART_WAKER,   /* after a separator */
	N_PALETTE_PARTS,
};

/*
 * The palette for @part of a picture. @name: the user's choice; NULL: the mode's own. Wakers have
 * theirs whatever the name. Returns NULL if there is no such palette.
 */
const struct palette *palette_find(const char *name, enum profile_mode mode,
				   enum palette_part part);

/* The shade of a frame, below palette_n_shades(). @module: "" when unknown. */
unsigned int palette_shade(const struct palette *palette, enum frame_kind kind, const char *name,
			   const char *module);
unsigned int palette_n_shades(const struct palette *palette, enum frame_kind kind);

/* The legend's text for a shade, if not by kind: "Rust"; else NULL. Equal pointers are one item. */
const char *palette_text(const struct palette *palette, enum frame_kind kind, unsigned int shade);

/* Whether such frames are distinguished by the file they are in; see modules.h for the legend. */
bool palette_is_by_module(const struct palette *palette, enum frame_kind kind);

/* The middle of the range of @shade: for frames too narrow to distinguish names. */
unsigned int palette_middle(const struct palette *palette, enum frame_kind kind,
			    unsigned int shade);
/* The number of shades in a range of code; PALETTE_SHADES for other kinds. */
unsigned int palette_range(const struct palette *palette);

/* The fill of @shade as 0xRRGGBB. */
uint32_t palette_fill(const struct palette *palette, enum frame_kind kind, unsigned int shade);

/* Converts degrees and two parts of 1 to 0xRRGGBB. */
uint32_t palette_hsl(double hue, double saturation, double light);

#endif
