/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tone: the colours of a comparison. A tone gives the direction of a change and its size. */
#ifndef RENDER_TONE_H
#define RENDER_TONE_H

#include "compare/compare.h"

enum tone {
	TONE_SAME, /* within chance */
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
 * The size: a change is much if it is at least 1 % of the whole and at least a fifth of its own
 * size (change_strength()); it is little below 0.1 % of the whole, or below a twentieth. @whole: in
 * the unit of @change, 1 for shares.
 */
enum tone tone_of(const struct change *change, double whole);

/* The beginning of a label, for people who can't distinguish the colours; "" if unchanged. */
const char *tone_sign(enum tone tone);

/*
 * 0xRRGGBB: a fill light enough for PALETTE_INK, and the same strong enough for a line. @negate:
 * blue if it grew. A hatched tone has lines of tone_hatch() on its fill.
 */
uint32_t tone_fill(enum tone tone, bool negate);
uint32_t tone_hatch(enum tone tone, bool negate);
/* What shrank, or is gone, is hatched, so that it differs from what grew in greyscale, too. */
bool tone_is_hatched(enum tone tone);
uint32_t tone_line(enum tone tone, bool negate);

#endif
