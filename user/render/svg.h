/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg: shared by the files that write an SVG. svg.c explains how the picture is built.
 *
 *	svg.c		options → tree → file
 *	svg_lines.c	the looks in use, and the data that the script reads
 *	svg_style.c	the style sheet: fills, light and dark
 *	svg_frames.c	the frames, row by row
 *	svg_margins.c	header and footer: title, facts, legend
 *	svg_text.c	figures, names
 *	look.h		kinds of frames in parts of the picture; tone.h: those of a comparison
 *	svg.js		the script, with svg_parts.js and flame.js
 */
#ifndef RENDER_SVG_H
#define RENDER_SVG_H

#include "core/tree.h"
#include "render/look.h"
#include "render/palette.h"
#include "render/render.h"
#include "render/tone.h"

#define SVG_MARGIN	  10
#define SVG_HEADER_HEIGHT 70
#define SVG_FOOTER_HEIGHT 30
#define SVG_LEAST_COLUMNS 3

/* A distinct frame of the picture: a line of the data. */
struct svg_line {
	uint32_t frame; /* a number of the stacks, TREE_ROOT or TREE_ELIDED */
	uint8_t look;
	uint8_t shade;
};

struct svg_tones {
	uint8_t total, self; /* enum tone */
};

struct svg {
	FILE *out;
	const struct stacks *stacks;
	const struct picture_options *options;
	const struct palette *palettes[N_PALETTE_PARTS];
	enum profile_mode mode;
	bool is_part; /* in a page, which has style sheets and ids of its own */
	struct tree tree;
	double scale; /* pixels per unit of a node's width */

	/* Sizes, pixels. */
	unsigned int width, height, row_height;
	double font_size, column; /* column: of a label's character */

	uint32_t *node_lines; /* by node */
	struct svg_line *lines;
	size_t n_lines, lines_capacity;
	bool drawn[N_LOOKS][PALETTE_MOST_SHADES];
	struct svg_tones *tones; /* by node; NULL unless it is a comparison */
	bool tone_drawn[N_TONES];
	enum stacks_scale compared; /* of a comparison: the meaning of its widths */
	size_t name_columns;	    /* names longer than this are cut */

	uint32_t *row_nodes; /* nodes by depth, from left to right: a row is … */
	size_t *rows;	     /* … row_nodes[rows[d] … rows[d + 1]) */
	size_t n_rows;
};

static inline const struct svg_line *svg_line_of(const struct svg *svg, size_t node)
{
	return &svg->lines[svg->node_lines[node]];
}

/* Whether @node is drawn in a path instead of a rect. */
static inline bool svg_is_narrow(const struct svg *svg, const struct tree_node *node)
{
	return node->width * svg->scale < 1;
}

/*
 * svg.c: writes the picture as an element of a page, without scripts, style sheets or ids. @options
 * apply as for render_svg(). Errors: those of render_svg().
 */
int svg_write_part(const struct stacks *stacks, const struct picture_options *options,
		   FILE *stream);

/* svg_lines.c: sets @node_lines, @lines, @drawn, @name_columns. Errors: -ENOMEM. */
int svg_make_lines(struct svg *svg);
void svg_write_data(const struct svg *svg);

/* svg_tones.c: sets @tones, @tone_drawn. Errors: -ENOMEM. */
int svg_make_tones(struct svg *svg);

/* svg_style.c: -EINVAL for an invalid colour. */
int svg_check_colors(const struct picture_options *options);
/* The fill of @class as an attribute, for viewers that refuse style sheets: mail, CI servers. */
void svg_write_fill(const struct svg *svg, const char *class);
void svg_write_style(const struct svg *svg);
void svg_write_definitions(const struct svg *svg);

/* svg_frames.c: sets @rows, @row_nodes, @n_rows. Errors: -ENOMEM. */
int svg_make_rows(struct svg *svg);
void svg_write_frames(const struct svg *svg);

/* svg_margins.c: -ENOMEM. */
int svg_write_header(const struct svg *svg);
int svg_write_footer(const struct svg *svg);

/* svg_text.c */
/* Escapes the text, and cuts it to @columns. */
void svg_write_text(const struct svg *svg, FILE *out, const char *text, size_t columns);
#define SVG_GROWTH_SIZE 24
/* ` +14.4 %`: how much the total of @node grew, of what it was; "" if it did not change beyond
 * chance. */
void svg_growth(const struct svg *svg, const struct tree_node *node, enum tone tone,
		char text[static SVG_GROWTH_SIZE]);
/* `12,345 samples` or `12.3 ms`. */
void svg_write_weight(const struct svg *svg, uint64_t weight);
/* Writes the figures that follow a name in its tooltip, without parentheses. */
void svg_write_figures(const struct svg *svg, const struct tree_node *node,
		       const struct svg_tones *tones);

#endif
