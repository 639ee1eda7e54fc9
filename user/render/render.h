/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render: profile → tree → layout → file. One emitter per format.
 */
#ifndef RENDER_RENDER_H
#define RENDER_RENDER_H

#include <stdio.h>

#include "core/profile.h"

struct svg_options {
	const char *title, *subtitle; /* NULL: made from the profile */
	unsigned int width;	      /* pixels; 0: the default, 1200 */
	double min_width;   /* pixels; narrower frames are left out; <0: the default 0.1 */
	const char *colors; /* palette's name; NULL: by mode */
	bool inverted;	    /* icicle: root on top */
	bool reverse;	    /* merge from the leaves */
};

/* Names accepted for svg_options.colors, NULL-terminated. */
extern const char *const svg_palettes[];

/*
 * Folded lines, sorted bytewise, as the contract has them.
 * Errors: -ENOMEM; a failed write shows in ferror(@stream).
 */
int render_folded(struct profile *profile, const struct unfold_options *unfold, FILE *stream);

int render_svg(struct profile *profile, const struct unfold_options *unfold,
	       const struct svg_options *svg, FILE *stream);

#endif
