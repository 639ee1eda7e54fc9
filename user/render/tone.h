/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tone: the colours of a comparison. A tone says which way a weight went, and how far.
 */
#ifndef RENDER_TONE_H
#define RENDER_TONE_H

#include "compare/compare.h"

enum tone {
	TONE_SAME, /* or no more than chance */
	TONE_GREW_LITTLE,
	TONE_GREW,
	TONE_GREW_MUCH,
	TONE_SHRANK_LITTLE,
	TONE_SHRANK,
	TONE_SHRANK_MUCH,
	TONE_NEW,
	TONE_GONE,
	N_TONES,
};

/*
 * How much: a change of at least 1 % of the whole, and of at least a fifth of what it is a change
 * of (change_strength()), is much; one below 0.1 % of the whole, or below a twentieth, is little.
 * @whole: in the unit of
 * @change, 1 where shares are compared.
 */
enum tone tone_of(const struct change *change, double whole);

/* What labels begin with, for those who don't see colours; "" of what is the same. */
const char *tone_sign(enum tone tone);

/*
 * 0xRRGGBB, light enough for PALETTE_INK, and the same strong enough for a line. @negate: blue is
 * what grew. TONE_GONE is hatched: its fill's lines are those of tone_hatch().
 */
uint32_t tone_fill(enum tone tone, bool negate);
uint32_t tone_hatch(bool negate);
uint32_t tone_line(enum tone tone, bool negate);

#endif
