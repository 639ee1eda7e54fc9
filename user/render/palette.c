/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/palette.h"

#include <stddef.h>
#include <string.h>

#include "render/language.h"
#include "render/render.h"

/* Degrees and percentages. Shades run from the first hue to the second. */
struct tint {
	short hue_from, hue_to;
	unsigned char saturation, light_from, light_to;
};

/* What distinguishes code, besides kernel and user. */
enum scheme {
	BY_KIND,
	BY_LANGUAGE,
	BY_FOCUS,  /* one language, its library, C++, all others */
	BY_MODULE, /* the file that contains it */
};

struct palette {
	const char *name;
	struct tint tints[N_FRAME_KINDS];
	enum scheme scheme;
	enum language focus;
};

#define WARM_INLINED [FRAME_INLINED] = {168, 186, 48, 66, 76}
#define WARM_JIT     [FRAME_JIT] = {84, 112, 50, 62, 74}
#define INTERPRETED  [FRAME_INTERPRETED] = {268, 284, 44, 78, 86}
#define WARM_KERNEL  [FRAME_KERNEL] = {24, 32, 85, 64, 70}
/* Frames that are not code have the same colours in all palettes. */
#define NOTES                                                                                      \
	[FRAME_NOTE] = {214, 224, 10, 76, 84}, [FRAME_RUNNING] = {10, 16, 90, 64, 70},             \
	[FRAME_RUNNABLE] = {336, 346, 66, 80, 86}, [FRAME_WAITING] = {210, 222, 24, 70, 78}
#define ONE_HUE(from, to)                                                                          \
	{                                                                                          \
		[FRAME_USER] = {from, to, 70, 64, 80}, [FRAME_KERNEL] = {from, to, 45, 62, 72},    \
		[FRAME_INLINED] = {from, to, 60, 80, 88}, [FRAME_JIT] = {from, to, 85, 66, 76},    \
		[FRAME_INTERPRETED] = {from, to, 80, 74, 84}, NOTES                                \
	}

static const struct palette palettes[] = {
	{"hot",
	 {[FRAME_USER] = {40, 56, 88, 66, 78},
	  [FRAME_KERNEL] = {20, 28, 84, 63, 70},
	  WARM_INLINED,
	  WARM_JIT,
	  INTERPRETED,
	  NOTES}},
	{"io",
	 {[FRAME_USER] = {198, 216, 72, 70, 80},
	  [FRAME_KERNEL] = {228, 248, 58, 74, 82},
	  [FRAME_INLINED] = {168, 182, 44, 70, 80},
	  [FRAME_JIT] = {120, 145, 38, 70, 80},
	  INTERPRETED,
	  NOTES}},
	{"mem",
	 {[FRAME_USER] = {96, 136, 50, 66, 78},
	  [FRAME_KERNEL] = {66, 82, 50, 60, 70},
	  WARM_INLINED,
	  [FRAME_JIT] = {48, 58, 75, 66, 76},
	  INTERPRETED,
	  NOTES}},
	{"kernel",
	 {[FRAME_USER] = {206, 214, 62, 74, 80},
	  [FRAME_KERNEL] = {24, 32, 85, 64, 70},
	  [FRAME_INLINED] = {168, 178, 48, 70, 78},
	  [FRAME_JIT] = {100, 112, 48, 66, 74},
	  INTERPRETED,
	  NOTES}},
	{"red", ONE_HUE(0, 12)},
	{"orange", ONE_HUE(24, 36)},
	{"yellow", ONE_HUE(46, 56)},
	{"green", ONE_HUE(100, 136)},
	{"aqua", ONE_HUE(172, 188)},
	{"blue", ONE_HUE(206, 222)},
	{"purple", ONE_HUE(270, 290)},
	/* From flamegraph.pl: in chain, wakers have another hue, which they always have here. */
	{"wakeup", ONE_HUE(172, 188)},
	{"chain", ONE_HUE(206, 222)},
	{"language", {WARM_KERNEL, NOTES}, BY_LANGUAGE},
	{"module", {WARM_KERNEL, NOTES}, BY_MODULE},
	{"java", {WARM_KERNEL, NOTES}, BY_FOCUS, LANGUAGE_JAVA},
	{"js", {WARM_KERNEL, NOTES}, BY_FOCUS, LANGUAGE_JAVASCRIPT},
	{"perl", {WARM_KERNEL, NOTES}, BY_FOCUS, LANGUAGE_PERL},
	{"python", {WARM_KERNEL, NOTES}, BY_FOCUS, LANGUAGE_PYTHON},
	{"rust", {WARM_KERNEL, NOTES}, BY_FOCUS, LANGUAGE_RUST},
	{"go", {WARM_KERNEL, NOTES}, BY_FOCUS, LANGUAGE_GO},
	/* For parts; users can't choose them. */
	{"running",
	 {[FRAME_USER] = {40, 56, 88, 66, 78},
	  [FRAME_KERNEL] = {20, 28, 84, 63, 70},
	  [FRAME_INLINED] = {50, 58, 62, 80, 86},
	  WARM_JIT,
	  INTERPRETED,
	  NOTES}},
	{"waker",
	 {[FRAME_USER] = {172, 184, 62, 60, 70},
	  [FRAME_KERNEL] = {176, 190, 42, 54, 62},
	  [FRAME_INLINED] = {168, 180, 46, 74, 82},
	  [FRAME_JIT] = {148, 160, 44, 60, 70},
	  [FRAME_INTERPRETED] = {156, 168, 40, 72, 80},
	  [FRAME_SEPARATOR] = {214, 214, 6, 60, 60},
	  [FRAME_NOTE] = {176, 184, 22, 66, 72}}},
};

#define N_PALETTES (sizeof palettes / sizeof *palettes)

const char *const picture_palettes[] = {"hot",	  "mem",   "io",     "kernel", "language", "module",
					"java",	  "js",	   "perl",   "python", "rust",	   "go",
					"wakeup", "chain", "red",    "orange", "yellow",   "green",
					"aqua",	  "blue",  "purple", NULL};

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
static uint32_t hash_text(const char *text, size_t n)
{
	uint32_t hash = 2166136261;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619;
	return hash ^ hash >> 16;
}

/* The ranges of hues for code of one kind, by scheme. */
enum focus_range {
	FOCUS_OWN,
	FOCUS_LIBRARY,
	FOCUS_CPP,
	FOCUS_OTHER,
	N_FOCUS_RANGES,
};

#define MODULE_HUES 24

static const struct {
	unsigned int n_ranges, n_shades; /* n_shades: in each range */
} schemes[] = {
	[BY_KIND] = {1, PALETTE_SHADES},
	[BY_LANGUAGE] = {N_LANGUAGES, 8},
	[BY_FOCUS] = {N_FOCUS_RANGES, PALETTE_SHADES},
	[BY_MODULE] = {MODULE_HUES, 4},
};

// clang-format off
static const struct tint languages[N_LANGUAGES] = {
	[LANGUAGE_C]          = {208, 218, 26, 74, 82},
	[LANGUAGE_CPP]        = {45,  55,  84, 68, 78},
	[LANGUAGE_RUST]       = {2,   12,  78, 73, 80},
	[LANGUAGE_GO]         = {180, 190, 56, 64, 75},
	[LANGUAGE_JAVA]       = {112, 136, 44, 66, 77},
	[LANGUAGE_JAVASCRIPT] = {66,  78,  58, 62, 73},
	[LANGUAGE_PYTHON]     = {216, 232, 76, 74, 82},
	[LANGUAGE_PERL]       = {274, 290, 52, 76, 84},
	[LANGUAGE_RUBY]       = {340, 352, 62, 76, 84},
	[LANGUAGE_PHP]        = {244, 258, 46, 76, 84},
	[LANGUAGE_ERLANG]     = {306, 320, 46, 76, 84},
};
// clang-format on

static const struct tint focus[N_FOCUS_RANGES] = {
	[FOCUS_OWN] = {98, 130, 50, 64, 76},
	[FOCUS_LIBRARY] = {172, 188, 52, 66, 78},
	[FOCUS_CPP] = {46, 55, 84, 68, 77},
	[FOCUS_OTHER] = {0, 10, 72, 74, 82},
};

static bool is_code(enum frame_kind kind)
{
	return kind < FRAME_NOTE && kind != FRAME_KERNEL;
}

static enum scheme scheme_of(const struct palette *palette, enum frame_kind kind)
{
	return is_code(kind) ? palette->scheme : BY_KIND;
}

static enum focus_range focus_range(enum language focus, enum frame_kind kind, const char *name,
				    const char *module)
{
	enum language language = language_of(kind, name, module);

	if (language == focus)
		return language_has(language, name) ? FOCUS_LIBRARY : FOCUS_OWN;
	return language == LANGUAGE_CPP ? FOCUS_CPP : FOCUS_OTHER;
}

/* libc.so.6 and libc.so.7 are one: a module is identified without its version. */
static unsigned int module_range(const char *module)
{
	const char *end = strstr(module, ".so");

	return hash_text(module, end ? (size_t)(end - module) : strlen(module)) % MODULE_HUES;
}

static unsigned int range_of(const struct palette *palette, enum frame_kind kind, const char *name,
			     const char *module)
{
	switch (scheme_of(palette, kind)) {
	case BY_LANGUAGE: return language_of(kind, name, module);
	case BY_FOCUS: return focus_range(palette->focus, kind, name, module);
	case BY_MODULE: return module_range(module);
	default: return 0;
	}
}

unsigned int palette_shade(const struct palette *palette, enum frame_kind kind, const char *name,
			   const char *module)
{
	unsigned int n = schemes[scheme_of(palette, kind)].n_shades;

	return range_of(palette, kind, name, module) * n + hash_text(name, strlen(name)) % n;
}

unsigned int palette_n_shades(const struct palette *palette, enum frame_kind kind)
{
	enum scheme scheme = scheme_of(palette, kind);

	return schemes[scheme].n_ranges * schemes[scheme].n_shades;
}

unsigned int palette_middle(const struct palette *palette, enum frame_kind kind, unsigned int shade)
{
	unsigned int n = schemes[scheme_of(palette, kind)].n_shades;

	return shade / n * n + n / 2;
}

unsigned int palette_range(const struct palette *palette)
{
	return schemes[palette->scheme].n_shades;
}

bool palette_is_by_module(const struct palette *palette, enum frame_kind kind)
{
	return scheme_of(palette, kind) == BY_MODULE;
}

const char *palette_text(const struct palette *palette, enum frame_kind kind, unsigned int shade)
{
	enum scheme scheme = scheme_of(palette, kind);
	unsigned int range = shade / schemes[scheme].n_shades;

	if (scheme == BY_LANGUAGE)
		return language_text(range);
	if (scheme == BY_MODULE)
		return "other modules";
	if (scheme != BY_FOCUS)
		return NULL;
	if (range == FOCUS_OWN)
		return language_text(palette->focus);
	return range == FOCUS_LIBRARY ? "its library" : range == FOCUS_CPP ? "C++" : "other";
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

uint32_t palette_hsl(double hue, double saturation, double light)
{
	return channel(hue, saturation, light, 0) << 16 | channel(hue, saturation, light, 8) << 8 |
	       channel(hue, saturation, light, 4);
}

static struct tint tint_of(const struct palette *palette, enum frame_kind kind, unsigned int range)
{
	/* Neighbouring hues also differ in strength. */
	short hue = range * 360 / MODULE_HUES;
	unsigned char strength = range % 2 ? 66 : 44;

	switch (scheme_of(palette, kind)) {
	case BY_LANGUAGE: return languages[range];
	case BY_FOCUS: return focus[range];
	case BY_MODULE: return (struct tint){hue, hue + 6, strength, 70, 80};
	default: return palette->tints[kind];
	}
}

uint32_t palette_fill(const struct palette *palette, enum frame_kind kind, unsigned int shade)
{
	unsigned int n = schemes[scheme_of(palette, kind)].n_shades;
	struct tint tint = tint_of(palette, kind, shade / n);
	double hue = tint.hue_from + (tint.hue_to - tint.hue_from) * (double)(shade % n) / (n - 1);
	/* Neighbours in hue differ in lightness. */
	double light = tint.light_from +
		       (tint.light_to - tint.light_from) * (double)(shade % n * 5 % n) / (n - 1);

	return palette_hsl(hue, tint.saturation / 100.0, light / 100);
}
