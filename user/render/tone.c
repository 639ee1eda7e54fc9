/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/tone.h"

#include <math.h>

#include "render/palette.h"

#define MUCH_SHARE	0.01
#define MUCH_STRENGTH	0.2
#define LITTLE_SHARE	0.001
#define LITTLE_STRENGTH 0.05

#define RED  5
#define BLUE 214
#define GREY 220

/* 0: little, 1, 2: much. */
static int size_of(const struct change *change, double whole)
{
	double share = whole > 0 ? fabs(change->difference) / whole : 0;
	double strength = change_strength(change);

	if (share >= MUCH_SHARE && strength >= MUCH_STRENGTH)
		return 2;
	return share >= LITTLE_SHARE && strength >= LITTLE_STRENGTH;
}

enum tone tone_of(const struct change *change, double whole)
{
	switch (change->kind) {
	case CHANGE_GREW: return TONE_GREW_LITTLE + size_of(change, whole);
	case CHANGE_SHRANK: return TONE_SHRANK_LITTLE + size_of(change, whole);
	case CHANGE_NEW: return TONE_NEW;
	case CHANGE_GONE: return TONE_GONE;
	default: return TONE_SAME;
	}
}

struct strength {
	double saturation, light;
};

// clang-format off
static const struct strength fills[N_TONES] = {
	[TONE_SAME]          = {0.1,  0.88},
	[TONE_GREW_LITTLE]   = {0.85, 0.89},
	[TONE_GREW]          = {0.88, 0.81},
	[TONE_GREW_MUCH]     = {0.9,  0.73},
	[TONE_SHRANK_LITTLE] = {0.7,  0.88},
	[TONE_SHRANK]        = {0.72, 0.78},
	[TONE_SHRANK_MUCH]   = {0.74, 0.68},
	[TONE_NEW]           = {0.95, 0.66},
	[TONE_GONE]          = {0.72, 0.92},
};
// clang-format on

// clang-format off
static const struct strength lines[N_TONES] = {
	[TONE_SAME]          = {0.06, 0.6},
	[TONE_GREW_LITTLE]   = {0.75, 0.66},
	[TONE_GREW]          = {0.75, 0.52},
	[TONE_GREW_MUCH]     = {0.95, 0.35},
	[TONE_SHRANK_LITTLE] = {0.65, 0.66},
	[TONE_SHRANK]        = {0.7,  0.5},
	[TONE_SHRANK_MUCH]   = {0.9,  0.32},
	[TONE_NEW]           = {1,    0.3},
	[TONE_GONE]          = {0.85, 0.35},
};
// clang-format on

static double hue_of(enum tone tone, bool negate)
{
	bool grew = tone <= TONE_GREW_MUCH || tone == TONE_NEW;

	if (tone == TONE_SAME)
		return GREY;
	return grew != negate ? RED : BLUE;
}

static uint32_t color(enum tone tone, bool negate, const struct strength *strength)
{
	return palette_hsl(hue_of(tone, negate), strength->saturation, strength->light);
}

const char *tone_sign(enum tone tone)
{
	switch (tone) {
	case TONE_SAME: return "";
	case TONE_GREW_LITTLE:
	case TONE_GREW:
	case TONE_GREW_MUCH: return "\u25b2 ";
	case TONE_NEW: return "+ ";
	case TONE_GONE: return "\u2212 ";
	default: return "\u25bc ";
	}
}

uint32_t tone_fill(enum tone tone, bool negate)
{
	return color(tone, negate, &fills[tone]);
}

bool tone_is_hatched(enum tone tone)
{
	return tone == TONE_GONE || (tone >= TONE_SHRANK_LITTLE && tone <= TONE_SHRANK_MUCH);
}

uint32_t tone_hatch(enum tone tone, bool negate)
{
	struct strength strength = fills[tone];

	/* Lighter where labels are on it: these must stay legible. */
	strength.light += tone == TONE_GONE ? -0.13 : 0.12;
	return color(tone, negate, &strength);
}

uint32_t tone_line(enum tone tone, bool negate)
{
	return color(tone, negate, &lines[tone]);
}
