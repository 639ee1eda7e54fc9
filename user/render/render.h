/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render: stacks → tree → picture. One emitter per kind of picture.
 *
 * Stacks of two sides (a comparison) are drawn as what changed, all others as what was recorded.
 */
#ifndef RENDER_RENDER_H
#define RENDER_RENDER_H

#include <stdio.h>

#include "compare/judgement.h"
#include "core/stacks.h"

/* NULL, 0 and, where said, a negative number: the default. Strings are the caller's. */
struct picture_options {
	const char *title, *subtitle; /* made from the profile */
	const char *subject;	      /* who was recorded, for a title that is made; not known */
	const char *notes;	      /* for the picture's reader, in its details line at first */
	const char *name_type;	/* what frames are called: "Function:" before names in details */
	const char *count_name; /* what values count: "samples"; then values are plain numbers */
	double factor;		/* values are told times this (1) */
	double total;		/* what 100 % is, if more than the sum: as counted, before factor */
	unsigned int width;	/* pixels (1200) */
	unsigned int frame_height; /* pixels of a row (18) */
	double min_width;	   /* pixels; narrower frames are elided; < 0: 0.1 */
	size_t max_frames;	   /* beyond it the narrowest are elided, too; SVG: 12 000 */
	const char *font_type;	   /* of labels */
	double font_size;	   /* of labels, pixels (11) */
	double font_width;	   /* of a character, in parts of the font's size (0.6) */
	bool cut_left;		   /* labels too long lose their beginning, not their end */
	const char *colors;	   /* a palette's name; by mode */
	const char *background;	   /* a colour #rrggbb, or one of picture_backgrounds[] */
	const char *search_color;  /* #rrggbb */
	bool hash_colors;	   /* changes nothing: colours are by name, always */
	bool negate;		   /* of a comparison: blue for what grew */
	bool inverted;		   /* icicle: root on top */
	bool no_script;		   /* SVG without a script: nothing but the picture */
	double confidence;	   /* of a comparison, see compare.h */
	const struct judgement *judgement; /* of a comparison: that of its tables; NULL: its own */
	/* Of a page: what it shows at first, without what waits for work; NULL: all. */
	const struct stacks *first;
};

#define PICTURE_OPTIONS_DEFAULT ((struct picture_options){.min_width = -1, .factor = 1})

/* Names that the options take, NULL-terminated. */
extern const char *const picture_palettes[];
extern const char *const picture_backgrounds[];

/*
 * @stacks are finished. Errors of both: -ENOMEM; -EINVAL for a palette or background that is not
 * there; a failed write shows in ferror(@stream).
 */
int render_svg(const struct stacks *stacks, const struct picture_options *options, FILE *stream);
int render_html(const struct stacks *stacks, const struct picture_options *options, FILE *stream);

#endif
