/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/palette.h"

#include <stddef.h>
#include <string.h>

#include "render/render.h"

/*
 * Degrees and percents. Shades run from the first hue to the second; @other_hue, if not 0, is what
 * every fourth shade has instead.
 */
struct tint {
	short hue_from, hue_to;
	unsigned char saturation, light_from, light_to;
	short other_hue;
};

struct palette {
	const char *name;
	struct tint tints[N_FRAME_KINDS];
};

#define WARM_INLINED [FRAME_INLINED] = {168, 186, 48, 66, 76}
#define WARM_JIT     [FRAME_JIT] = {84, 112, 50, 62, 74}
/* What is no code has the same colours in all palettes. */
#define NOTES                                                                                      \
	[FRAME_NOTE] = {214, 224, 10, 76, 84}, [FRAME_RUNNING] = {10, 16, 90, 64, 70},             \
	[FRAME_RUNNABLE] = {336, 346, 66, 80, 86}, [FRAME_WAITING] = {210, 222, 24, 70, 78}
#define ONE_HUE(from, to)                                                                          \
	{                                                                                          \
		[FRAME_USER] = {from, to, 70, 64, 80}, [FRAME_KERNEL] = {from, to, 45, 62, 72},    \
		[FRAME_INLINED] = {from, to, 60, 80, 88}, [FRAME_JIT] = {from, to, 85, 66, 76},    \
		NOTES                                                                              \
	}

static const struct palette palettes[] = {
	{"hot",
	 {[FRAME_USER] = {40, 54, 88, 67, 75, 10},
	  [FRAME_KERNEL] = {20, 28, 84, 63, 70},
	  WARM_INLINED,
	  WARM_JIT,
	  NOTES}},
	{"io",
	 {[FRAME_USER] = {198, 216, 72, 70, 80},
	  [FRAME_KERNEL] = {228, 248, 58, 74, 82},
	  [FRAME_INLINED] = {168, 182, 44, 70, 80},
	  [FRAME_JIT] = {120, 145, 38, 70, 80},
	  NOTES}},
	{"mem",
	 {[FRAME_USER] = {96, 136, 50, 66, 78},
	  [FRAME_KERNEL] = {66, 82, 50, 60, 70},
	  WARM_INLINED,
	  [FRAME_JIT] = {48, 58, 75, 66, 76},
	  NOTES}},
	{"kernel",
	 {[FRAME_USER] = {206, 214, 62, 74, 80},
	  [FRAME_KERNEL] = {24, 32, 85, 64, 70},
	  [FRAME_INLINED] = {168, 178, 48, 70, 78},
	  [FRAME_JIT] = {100, 112, 48, 66, 74},
	  NOTES}},
	{"red", ONE_HUE(0, 12)},
	{"orange", ONE_HUE(24, 36)},
	{"yellow", ONE_HUE(46, 56)},
	{"green", ONE_HUE(100, 136)},
	{"aqua", ONE_HUE(172, 188)},
	{"blue", ONE_HUE(206, 222)},
	{"purple", ONE_HUE(270, 290)},
	/* Of parts: not for users to name. */
	{"running",
	 {[FRAME_USER] = {40, 54, 88, 67, 75, 10},
	  [FRAME_KERNEL] = {20, 28, 84, 63, 70},
	  [FRAME_INLINED] = {50, 58, 62, 80, 86},
	  WARM_JIT,
	  NOTES}},
	{"waker",
	 {[FRAME_USER] = {172, 184, 62, 60, 70},
	  [FRAME_KERNEL] = {176, 190, 42, 54, 62},
	  [FRAME_INLINED] = {168, 180, 46, 74, 82},
	  [FRAME_JIT] = {148, 160, 44, 60, 70},
	  [FRAME_SEPARATOR] = {214, 214, 6, 60, 60},
	  [FRAME_NOTE] = {176, 184, 22, 66, 72}}},
};

#define N_PALETTES (sizeof palettes / sizeof *palettes)

const char *const svg_palettes[] = {"hot",    "io",    "mem",  "kernel", "red",	   "orange",
				    "yellow", "green", "aqua", "blue",	 "purple", NULL};

static const char *palette_of_mode(enum profile_mode mode, enum palette_part part)
{
	if (mode == PROFILE_ONCPU)
		return "hot";
	return part == PART_RUNNING ? "running" : "io";
}

const struct palette *palette_find(const char *name, enum profile_mode mode, enum palette_part part)
{
	if (part == PART_WAKER)
		name = "waker";
	else if (!name)
		name = palette_of_mode(mode, part);
	for (size_t i = 0; i < N_PALETTES; i++)
		if (strcmp(palettes[i].name, name) == 0)
			return &palettes[i];
	return NULL;
}

/* FNV-1a, its halves folded: pictures of different versions and machines must agree. */
unsigned int palette_shade(const char *name)
{
	uint32_t hash = 2166136261;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619;
	return (hash ^ hash >> 16) % PALETTE_SHADES;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* One channel of HSL → RGB, https://www.w3.org/TR/css-color-4/#hsl-to-rgb */
static uint32_t channel(double hue, double saturation, double light, int n)
{
	double k = n + hue / 30 < 12 ? n + hue / 30 : n + hue / 30 - 12;
	double slope = least(least(k - 3, 9 - k), 1);

	if (slope < -1)
		slope = -1;
	return 255 * (light - saturation * least(light, 1 - light) * slope) + 0.5;
}

uint32_t palette_fill(const struct palette *palette, enum frame_kind kind, unsigned int shade)
{
	const struct tint *tint = &palette->tints[kind];
	double hue = tint->hue_from +
		     (tint->hue_to - tint->hue_from) * (double)shade / (PALETTE_SHADES - 1);
	/* Neighbours in hue differ in lightness. */
	double light = tint->light_from + (tint->light_to - tint->light_from) *
						  (double)(shade * 5 % PALETTE_SHADES) /
						  (PALETTE_SHADES - 1);
	double s = tint->saturation / 100.0, l = light / 100;

	if (tint->other_hue && shade % 4 == 3)
		hue = tint->other_hue;
	return channel(hue, s, l, 0) << 16 | channel(hue, s, l, 8) << 8 | channel(hue, s, l, 4);
}
