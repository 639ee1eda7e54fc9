/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html: shared by the files that write the explorer.
 *
 *	html.c		options → tree → page
 *	html_header.c	facts of the recording, and its look: JSON
 *	html_static.c	the page where scripts are forbidden
 *	html_data.c	frames and nodes, column by column: explorer_data.js defines the coding
 *	explorer*.js	the page
 */
#ifndef RENDER_HTML_H
#define RENDER_HTML_H

#include "core/tree.h"
#include "render/look.h"
#include "render/palette.h"
#include "render/render.h"

/* One column, or list of lines. */
struct html_part {
	const char *name;
	uint8_t *bytes;
	size_t n, capacity;
};

#define HTML_MOST_PARTS 16

struct html {
	FILE *out;
	const struct stacks *stacks;
	const struct picture_options *options;
	const struct palette *palettes[N_PALETTE_PARTS];
	enum profile_mode mode;
	enum stacks_scale compared; /* of a comparison: the meaning of its widths */
	unsigned int n_sides;	    /* 2 in comparisons and where running and waiting are drawn */
	struct tree tree;
	struct html_part parts[HTML_MOST_PARTS];
	size_t n_parts;
	size_t n_names;
	/*
	 * The fills that frames use, and where those of a part and kind begin in the list of all.
	 */
	bool used[N_PALETTE_PARTS][N_FRAME_KINDS][PALETTE_MOST_SHADES];
	unsigned int first_fill[N_PALETTE_PARTS][N_FRAME_KINDS];
};

/* Whether running and waiting are distinguished. */
static inline bool html_is_wall(const struct html *html)
{
	return html->mode == PROFILE_WALL && !html->stacks->is_comparison;
}

/* Whether weights are counts of samples; otherwise they have variances. */
static inline bool html_is_count(const struct html *html)
{
	return html->mode == PROFILE_ONCPU && !html->stacks->facts[SIDE_NEW].is_counted;
}

/* html_data.c: sets @parts, @used and @first_fill. Errors: -ENOMEM; @parts need freeing anyway. */
int html_make_parts(struct html *html);
void html_free_parts(struct html *html);
/* Deflated (RFC 1950), in base64. Errors: -ENOMEM. */
int html_write_parts(const struct html *html);

/* html_static.c. Errors: those of render_svg(). */
int html_write_static(const struct html *html);

/* html_header.c: the JSON that the parts need. Errors: -ENOMEM. */
int html_write_header(const struct html *html);

#endif
