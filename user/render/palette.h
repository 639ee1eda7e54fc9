/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * palette: the colours of frames.
 *
 * A palette gives each kind of frame a range of hues, which is cut into fills, its shades; a name's
 * hash picks one. So a function has one colour in every picture of a palette, and nothing needs to
 * be kept from one picture to the next. Palettes of languages and modules have a range for each of
 * these; their shades are numbered one range after the other. All fills are light enough for
 * PALETTE_INK on them (contrast of at least 4.5:1).
 */
#ifndef RENDER_PALETTE_H
#define RENDER_PALETTE_H

#include <stdint.h>

#include "core/profile.h"

#define PALETTE_SHADES	    12 /* of a kind, where nothing else is told apart */
#define PALETTE_MOST_SHADES 96 /* of a kind, in any palette */
#define PALETTE_INK	    "#16181d"

struct palette;

/* What a picture tells apart by its colours, beside the kinds of frames. */
enum palette_part {
	PART_PLAIN,
	PART_RUNNING, /* in PROFILE_WALL, what runs most of its time: the plain part waits */
	PART_WAKER,   /* behind a separator */
	N_PALETTE_PARTS,
};

/*
 * The palette of a @part of a picture. @name: what its user asked for; NULL: the mode's own. Wakers
 * have theirs whatever the name. Returns NULL if there is no such palette.
 */
const struct palette *palette_find(const char *name, enum profile_mode mode,
				   enum palette_part part);

/* The shade of a frame. @module: "" when unknown. Below palette_n_shades(). */
unsigned int palette_shade(const struct palette *palette, enum frame_kind kind, const char *name,
			   const char *module);
unsigned int palette_n_shades(const struct palette *palette, enum frame_kind kind);

/* What a legend calls a shade, if not by its kind: "Rust"; else NULL. Equal pointers: one item. */
const char *palette_text(const struct palette *palette, enum frame_kind kind, unsigned int shade);

/* The one in the middle of the range of @shade: for frames too narrow to tell names apart. */
unsigned int palette_middle(const struct palette *palette, enum frame_kind kind,
			    unsigned int shade);
/* How many shades a range of code has; PALETTE_SHADES for the other kinds. */
unsigned int palette_range(const struct palette *palette);

/* The fill of @shade as 0xRRGGBB. */
uint32_t palette_fill(const struct palette *palette, enum frame_kind kind, unsigned int shade);

/* Degrees, parts of 1 and 1 → 0xRRGGBB. */
uint32_t palette_hsl(double hue, double saturation, double light);

#endif
