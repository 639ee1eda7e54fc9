/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg: writes a flame graph as one self-contained file.
 *
 * First comes a finished picture, with tooltips and labels as markup, for viewers without scripts;
 * then the tree as numbers, and the script. The script drops the frames it finds and draws its own
 * from the tree: it fits them to the window and adds zoom, search and the details line.
 *
 * A picture has a bounded size, however large the profile: tree_build() elides frames that are too
 * narrow to see or beyond DEFAULT_MAX_FRAMES, and the frames' names share a budget (svg_lines.c).
 */
#include "render/svg.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "render/picture_texts.h"

#define DEFAULT_WIDTH	   1200
#define LEAST_WIDTH	   200
#define MOST_WIDTH	   100000
#define DEFAULT_ROW	   18
#define LEAST_ROW	   6
#define MOST_ROW	   200
#define DEFAULT_FONT	   11
#define DEFAULT_COLUMN	   0.6027 /* of DejaVu Sans Mono; the script measures */
#define DEFAULT_MIN_WIDTH  0.1
#define DEFAULT_MAX_FRAMES 12000

static const char flame_js[] =
#include "render/flame.js.h"
	;
static const char svg_parts_js[] =
#include "render/svg_parts.js.h"
	;
static const char svg_js[] =
#include "render/svg.js.h"
	;

static unsigned int clamp(unsigned int value, unsigned int least, unsigned int most)
{
	return value < least ? least : value > most ? most : value;
}

static void set_sizes(struct svg *svg)
{
	const struct picture_options *options = svg->options;

	svg->width =
		clamp(options->width ? options->width : DEFAULT_WIDTH, LEAST_WIDTH, MOST_WIDTH);
	svg->row_height = clamp(options->frame_height ? options->frame_height : DEFAULT_ROW,
				LEAST_ROW, MOST_ROW);
	svg->font_size = options->font_size > 0 ? options->font_size : DEFAULT_FONT;
	svg->column =
		svg->font_size * (options->font_width > 0 ? options->font_width : DEFAULT_COLUMN);
}

/* Returns false if there is no palette of the requested name. */
static bool find_palettes(struct svg *svg)
{
	for (int part = 0; part < N_PALETTE_PARTS; part++)
		svg->palettes[part] = palette_find(svg->options->colors, svg->mode, part);
	return svg->palettes[PART_PLAIN] != NULL;
}

/* The part of 100 % beyond the sum belongs to the root alone: it stays empty. */
static uint64_t beyond_sum(const struct svg *svg)
{
	double total = svg->options->total;

	if (svg->stacks->is_comparison || !(total > svg->stacks->width) || total >= 0x1p62)
		return 0;
	return (uint64_t)total - svg->stacks->width;
}

static int make_tree(struct svg *svg)
{
	const struct picture_options *options = svg->options;
	double least = options->min_width < 0 ? DEFAULT_MIN_WIDTH : options->min_width;
	uint64_t rest = beyond_sum(svg), width = svg->stacks->width + rest;
	double room = svg->width - 2 * SVG_MARGIN;
	struct tree_limits limits = {
		.least_width =
			fmin(ceil(fmax(least / room, options->min_percent / 100) * width), 0x1p63),
		.max_nodes = options->max_frames ? options->max_frames : DEFAULT_MAX_FRAMES,
	};
	struct tree_node *root;
	int r = tree_build(svg->stacks, &limits, &svg->tree);

	if (r < 0)
		return r;
	root = &svg->tree.nodes[0];
	root->width += rest;
	root->self_width += rest;
	root->sides[0].total += rest;
	root->sides[0].self += rest;
	svg->scale = width ? room / width : 0;
	return 0;
}

static void write_head(const struct svg *svg)
{
	char title[PICTURE_TITLE_SIZE];

	if (!svg->is_part)
		fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", svg->out);
	fprintf(svg->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\""
		" viewBox=\"0 0 %u %u\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\""
		"%s aria-label=\"",
		svg->width, svg->height, svg->width, svg->height,
		svg->options->inverted ? " data-inverted=\"1\"" : "");
	text_write(svg->out, picture_title(svg->stacks, svg->options, title), SIZE_MAX);
	fputs("\">\n<title>", svg->out);
	text_write(svg->out, picture_title(svg->stacks, svg->options, title), SIZE_MAX);
	fputs("</title>\n", svg->out);
	if (svg->options->notes) {
		fputs("<desc>", svg->out);
		text_write(svg->out, svg->options->notes, SIZE_MAX);
		fputs("</desc>\n", svg->out);
	}
	if (!svg->is_part)
		svg_write_style(svg);
	svg_write_definitions(svg);
	fputs("<rect class=\"sheet\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", svg->out);
}

static void write_script(const struct svg *svg)
{
	/* In a block: pages may hold several pictures. */
	fputs("<script><![CDATA[\n{\n", svg->out);
	fputs(flame_js /* ours */, svg->out);
	fputs(svg_parts_js /* ours */, svg->out);
	fputs(svg_js /* ours */, svg->out);
	fputs("}\n]]></script>\n", svg->out);
}

static int write_svg(const struct svg *svg)
{
	bool is_empty = svg->stacks->width == 0;
	int r;

	write_head(svg);
	if (is_empty)
		fprintf(svg->out,
			"<text class=\"empty facts\" x=\"%d\" y=\"%d\">Nothing was "
			"recorded.</text>\n",
			SVG_MARGIN, SVG_HEADER_HEIGHT + 13);
	else
		svg_write_frames(svg);
	r = svg_write_header(svg);
	if (r < 0)
		return r;
	r = svg_write_footer(svg);
	if (r < 0)
		return r;
	if (!svg->options->no_script) {
		if (!is_empty)
			svg_write_data(svg);
		write_script(svg);
	}
	fputs("</svg>\n", svg->out);
	return 0;
}

static int make_svg(struct svg *svg)
{
	int r = make_tree(svg);

	if (r < 0)
		return r;
	r = svg_make_lines(svg);
	if (r < 0)
		return r;
	r = svg->stacks->is_comparison ? svg_make_tones(svg) : 0;
	if (r < 0)
		return r;
	r = svg_make_rows(svg);
	if (r < 0)
		return r;
	svg->height = SVG_HEADER_HEIGHT + svg->n_rows * svg->row_height + 8 + SVG_FOOTER_HEIGHT;
	return write_svg(svg);
}

static int render(const struct stacks *stacks, const struct picture_options *options, bool is_part,
		  FILE *stream)
{
	struct svg svg = {
		.is_part = is_part,
		.out = stream,
		.stacks = stacks,
		.options = options,
		.mode = stacks->facts[SIDE_NEW].mode,
		.compared = stacks->scale,
	};
	int r = svg_check_colors(options);

	if (r < 0 || !find_palettes(&svg))
		return -EINVAL;
	set_sizes(&svg);
	r = make_svg(&svg);
	free(svg.node_lines);
	free(svg.lines);
	free(svg.tones);
	free(svg.row_nodes);
	free(svg.rows);
	tree_done(&svg.tree);
	return r;
}

int render_svg(const struct stacks *stacks, const struct picture_options *options, FILE *stream)
{
	return render(stacks, options, false, stream);
}

int svg_write_part(const struct stacks *stacks, const struct picture_options *options, FILE *stream)
{
	struct picture_options part = *options;

	part.no_script = true;
	return render(stacks, &part, true, stream);
}
