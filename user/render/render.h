/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render: stacks → tree → picture. One emitter per kind of picture.
 *
 * Stacks of two sides (a comparison) are drawn as changes, all others as recorded.
 */
#ifndef RENDER_RENDER_H
#define RENDER_RENDER_H

#include <stdio.h>

#include "compare/judgement.h"
#include "core/stacks.h"

/* NULL, 0 and, where noted, negative numbers mean the default. The caller keeps the strings. */
struct picture_options {
	const char *title, *subtitle; /* default: made from the profile */
	const char *subject;	      /* who was recorded, for the default title; NULL: unknown */
	const char *notes;	      /* shown at first in the details line */
	const char *name_type; /* the kind of thing names are: "Function:" before them in details */
	const char *count_name; /* what values count: "samples"; values are then plain numbers */
	double factor;		/* multiplies shown values (1) */
	double total; /* the value of 100 %, if more than the sum: as counted, before factor */
	unsigned int width;	   /* pixels (1200) */
	unsigned int frame_height; /* pixels of a row (18) */
	double min_width;	   /* pixels; narrower frames are elided; < 0: 0.1 */
	double min_percent;	   /* of 100 %; narrower frames are elided, too */
	size_t max_frames;	   /* further ones are elided, narrowest first; SVG: 12 000 */
	const char *font_type;	   /* of labels */
	double font_size;	   /* of labels, pixels (11) */
	double font_width;	   /* of a character, in parts of the font's size (0.6) */
	bool cut_left;		   /* long labels lose their beginning, not their end */
	const char *colors;	   /* a palette's name; by mode */
	const char *background;	   /* a colour #rrggbb, or one of picture_backgrounds[] */
	const char *search_color;  /* #rrggbb */
	bool hash_colors;	   /* no effect: colours always depend on names */
	bool negate;		   /* of a comparison: blue if it grew */
	bool inverted;		   /* icicle: root on top */
	bool no_script;		   /* SVG without a script: only the picture */
	double confidence;	   /* of a comparison, see compare.h */
	const struct judgement *judgement; /* of a comparison: its tables'; NULL: its own */
	/* Of a page: its first view, without idle waits; NULL: all. */
	const struct stacks *first;
};

#define PICTURE_OPTIONS_DEFAULT ((struct picture_options){.min_width = -1, .factor = 1})

/* Names that the options accept, NULL-terminated. */
extern const char *const picture_palettes[];
extern const char *const picture_backgrounds[];

/*
 * @stacks are finished. Both return -ENOMEM; -EINVAL for an unknown palette or background; a failed
 * write shows in ferror(@stream).
 */
int render_svg(const struct stacks *stacks, const struct picture_options *options, FILE *stream);
int render_html(const struct stacks *stacks, const struct picture_options *options, FILE *stream);

#endif
