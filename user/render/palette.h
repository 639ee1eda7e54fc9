/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * palette: the colours of frames.
 *
 * A palette gives each kind of frame a range of hues; the range is cut into PALETTE_SHADES fills,
 * and a name's hash picks one: a function has one colour in every picture of a palette. All fills
 * are light enough for PALETTE_INK on them (contrast of at least 4.5:1).
 */
#ifndef RENDER_PALETTE_H
#define RENDER_PALETTE_H

#include <stdint.h>

#include "core/profile.h"

#define PALETTE_SHADES 12
#define PALETTE_INK    "#16181d"

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

unsigned int palette_shade(const char *name);

/* The fill of @shade as 0xRRGGBB. */
uint32_t palette_fill(const struct palette *palette, enum frame_kind kind, unsigned int shade);

#endif
