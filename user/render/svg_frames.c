/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_frames: the frames of the static picture, a group for each row:
 *
 *	<g class="row">
 *	  <path class="LOOKSHADE" d="…"/> …
 *	  <rect class="LOOKSHADE" …><title>NAME (FIGURES)</title></rect> …
 *	  <path class="line-TONE" d="…"/> …  in a comparison: the change of self weights
 *	  <g class="labels"><text>NAME</text> …</g>
 *	</g>
 *
 * In a large profile most frames are too narrow to point at, and a browser's time goes into
 * elements. So narrow frames share a path per colour, with a piece for each run of them; only wider
 * ones are a rect.
 */
#include "render/picture_texts.h"
#include "render/svg.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"

#define LABEL_PADDING 4
#define RUN_GAP	      0.02
#define STRIPE_HEIGHT 3
#define LEAST_STRIPE  6.0

/* Counting sort by depth; within a row, the tree's order is from left to right. */
int svg_make_rows(struct svg *svg)
{
	const struct tree *tree = &svg->tree;

	svg->n_rows = (size_t)tree->max_depth + 1;
	/* Count two places to the right; then each start moves to its row's end. */
	svg->rows = calloc(svg->n_rows + 2, sizeof *svg->rows);
	svg->row_nodes = calloc(tree->n_nodes, sizeof *svg->row_nodes);
	if (!svg->rows || !svg->row_nodes)
		return -ENOMEM;
	for (size_t i = 0; i < tree->n_nodes; i++)
		svg->rows[tree->nodes[i].depth + 2]++;
	for (size_t d = 2; d < svg->n_rows + 2; d++)
		svg->rows[d] += svg->rows[d - 1];
	for (size_t i = 0; i < tree->n_nodes; i++)
		svg->row_nodes[svg->rows[tree->nodes[i].depth + 1]++] = i;
	return 0;
}

static double frame_x(const struct svg *svg, const struct tree_node *node)
{
	return node->start * svg->scale;
}

static double frame_width(const struct svg *svg, const struct tree_node *node)
{
	return node->width * svg->scale;
}

static unsigned int frame_height(const struct svg *svg)
{
	return svg->row_height - 1;
}

#define CLASS_SIZE 16

static void find_class(const struct svg *svg, size_t i, char class[static CLASS_SIZE])
{
	const struct svg_line *line = svg_line_of(svg, i);

	if (svg->tones && line->look != LOOK_ELIDED)
		snprintf(class, CLASS_SIZE, "t%d", svg->tones[i].total);
	else
		snprintf(class, CLASS_SIZE, "%c%d", look_letter(line->look), line->shade);
}

static void write_frame(const struct svg *svg, size_t i)
{
	const struct tree_node *node = &svg->tree.nodes[i];
	double width = frame_width(svg, node);
	double gap = width < 2 ? 0 : width < 4 ? (width - 2) / 2 : 1;
	char class[CLASS_SIZE];

	find_class(svg, i, class);
	fprintf(svg->out, "<rect class=\"%s\" x=\"", class /* ours */);
	text_fixed(svg->out, frame_x(svg, node));
	fputs("\" width=\"", svg->out);
	text_fixed(svg->out, width - gap);
	fprintf(svg->out, "\" height=\"%u\"%s", frame_height(svg), width < 4 ? "" : " rx=\"2\"");
	svg_write_fill(svg, class);
	fputs("><title>", svg->out);
	svg_write_text(svg, svg->out, tree_name(&svg->tree, node), svg->name_columns);
	fputs(" (", svg->out);
	svg_write_figures(svg, node, svg->tones ? &svg->tones[i] : NULL);
	fputs(")</title></rect>\n", svg->out);
}

/* Paths at one height of a row, one per colour. */
struct run {
	double from, to;
	bool is_open;
};

/* Writes a run of narrow frames: from the left edge of the first to the right edge of the last. */
static void write_run(const struct svg *svg, const struct run *run)
{
	fputc('M', svg->out);
	text_fixed(svg->out, run->from);
	fputs(" 0H", svg->out);
	text_fixed(svg->out, run->to);
	fprintf(svg->out, "v%uH", frame_height(svg));
	text_fixed(svg->out, run->from);
	fputc('z', svg->out);
}

/* Narrow frames have the middle shade of theirs, in a comparison their tone. */
#define N_SHADED (N_LOOKS * PALETTE_MOST_SHADES)
#define N_COLORS (N_SHADED + N_TONES)

static unsigned int narrow_color(const struct svg *svg, size_t i)
{
	const struct svg_line *line = svg_line_of(svg, i);

	if (line->look == LOOK_ELIDED)
		return LOOK_ELIDED * PALETTE_MOST_SHADES;
	if (svg->tones)
		return (unsigned int)N_SHADED + svg->tones[i].total;
	return line->look * PALETTE_MOST_SHADES +
	       palette_middle(svg->palettes[look_part(line->look)], look_kind(line->look),
			      line->shade);
}

static void find_narrow_class(unsigned int color, char class[static CLASS_SIZE])
{
	if (color >= N_SHADED)
		snprintf(class, CLASS_SIZE, "t%u", color - N_SHADED);
	else
		snprintf(class, CLASS_SIZE, "%c%u", look_letter(color / PALETTE_MOST_SHADES),
			 color % PALETTE_MOST_SHADES);
}

static void write_narrow(const struct svg *svg, const uint32_t *nodes, size_t n, unsigned int color)
{
	struct run run = {};
	char class[CLASS_SIZE];

	find_narrow_class(color, class);
	fprintf(svg->out, "<path class=\"%s\" d=\"", class /* ours */);
	for (size_t i = 0; i < n; i++) {
		const struct tree_node *node = &svg->tree.nodes[nodes[i]];
		double x = frame_x(svg, node);

		if (!svg_is_narrow(svg, node) || narrow_color(svg, nodes[i]) != color)
			continue;
		if (run.is_open && x - run.to > RUN_GAP) {
			write_run(svg, &run);
			run.is_open = false;
		}
		if (!run.is_open)
			run.from = x;
		run.is_open = true;
		run.to = x + frame_width(svg, node);
	}
	write_run(svg, &run);
	fputc('"', svg->out);
	svg_write_fill(svg, class);
	fputs("/>\n", svg->out);
}

static void write_all_narrow(const struct svg *svg, const uint32_t *nodes, size_t n)
{
	bool colors[N_COLORS] = {};

	for (size_t i = 0; i < n; i++) {
		unsigned int color;

		if (!svg_is_narrow(svg, &svg->tree.nodes[nodes[i]]))
			continue;
		color = narrow_color(svg, nodes[i]);
		if (!colors[color])
			write_narrow(svg, nodes + i, n - i, color);
		colors[color] = true;
	}
}

/*
 * A stripe shows the change of a node's own weight: below the part without children, after them. If
 * all of the node is such a part, its fill shows it.
 */
static bool has_stripe(const struct svg *svg, size_t i)
{
	const struct tree_node *node = &svg->tree.nodes[i];

	return svg->tones[i].self != TONE_SAME && node->self_width != node->width &&
	       !svg_is_narrow(svg, node);
}

static void write_stripes(const struct svg *svg, const uint32_t *nodes, size_t n, enum tone tone)
{
	bool is_open = false;
	char class[CLASS_SIZE];

	snprintf(class, sizeof class, "s%d", tone);
	for (size_t i = 0; i < n; i++) {
		const struct tree_node *node = &svg->tree.nodes[nodes[i]];
		double width = node->self_width * svg->scale, room = frame_width(svg, node);
		double end = frame_x(svg, node) + room - (room < 4 ? 0 : 1);

		if (svg->tones[nodes[i]].self != tone || !has_stripe(svg, nodes[i]))
			continue;
		if (width < LEAST_STRIPE)
			width = room < LEAST_STRIPE ? room : LEAST_STRIPE;
		if (!is_open)
			fprintf(svg->out, "<path class=\"stripe %s\" d=\"", class /* ours */);
		is_open = true;
		fprintf(svg->out, "M%.2f %uH%.2fv%dH%.2fz", end - width,
			frame_height(svg) - STRIPE_HEIGHT, end, STRIPE_HEIGHT, end - width);
	}
	if (!is_open)
		return;
	fputc('"', svg->out);
	svg_write_fill(svg, class);
	fputs("/>\n", svg->out);
}

/*
 * A sign shows the direction to people who can't distinguish the colours; where there is room, a
 * figure shows how much.
 */
static void write_label(const struct svg *svg, size_t i)
{
	const struct tree_node *node = &svg->tree.nodes[i];
	double room = (frame_width(svg, node) - 2 * LABEL_PADDING) / svg->column;
	const char *name = tree_name(&svg->tree, node);
	const char *sign = svg->tones ? tone_sign(svg->tones[i].total) : "";
	char growth[SVG_GROWTH_SIZE] = "";

	room -= text_columns(sign);
	if (svg->tones)
		svg_growth(svg, node, svg->tones[i].total, growth);
	if (text_columns(name) + text_columns(growth) > room)
		*growth = '\0';
	if (room < 1 || (room < SVG_LEAST_COLUMNS && text_columns(name) > room))
		return;
	fprintf(svg->out, "<text x=\"%.1f\">%s", frame_x(svg, node) + LABEL_PADDING,
		sign /* ours */);
	svg_write_text(svg, svg->out, name, room);
	fprintf(svg->out, "%s</text>\n", growth /* ours */);
}

static void write_row(const struct svg *svg, size_t depth)
{
	const uint32_t *nodes = svg->row_nodes + svg->rows[depth];
	size_t n = svg->rows[depth + 1] - svg->rows[depth];
	size_t from_top = svg->options->inverted ? depth : svg->n_rows - 1 - depth;

	fprintf(svg->out, "<g class=\"row\" transform=\"translate(%d %zu)\">\n", SVG_MARGIN,
		SVG_HEADER_HEIGHT + from_top * svg->row_height);
	write_all_narrow(svg, nodes, n);
	for (size_t i = 0; i < n; i++)
		if (!svg_is_narrow(svg, &svg->tree.nodes[nodes[i]]))
			write_frame(svg, nodes[i]);
	for (enum tone tone = TONE_SAME + 1; svg->tones && tone < N_TONES; tone++)
		write_stripes(svg, nodes, n, tone);
	fprintf(svg->out,
		"<g class=\"labels\" transform=\"translate(0 %.1f)\" font-family=\"monospace\""
		" font-size=\"%g\">\n",
		frame_height(svg) / 2.0 + svg->font_size * 0.36, svg->font_size);
	for (size_t i = 0; i < n; i++)
		write_label(svg, nodes[i]);
	fputs("</g></g>\n", svg->out);
}

void svg_write_frames(const struct svg *svg)
{
	const struct picture_options *options = svg->options;
	const char *count_name = picture_count_name(svg->stacks, options);

	fprintf(svg->out,
		"<g%s data-row=\"%u\" data-font=\"%g\" data-unit=\"%s\""
		" data-factor=\"%.17g\"",
		svg->is_part ? "" : " id=\"rows\"", svg->row_height, svg->font_size,
		stacks_is_time(svg->stacks) && !count_name ? "ns" : "sample",
		options->factor > 0 ? options->factor : 1);
	if (palette_range(svg->palettes[PART_PLAIN]) != PALETTE_SHADES)
		fprintf(svg->out, " data-shades=\"%u\"", palette_range(svg->palettes[PART_PLAIN]));
	if (svg->tones)
		fprintf(svg->out, " data-compared=\"%s\"",
			svg->compared == SCALE_NORMALIZED ? "shares" : "weights");
	if (count_name) {
		fputs(" data-count=\"", svg->out);
		text_write(svg->out, count_name, SIZE_MAX);
		fputc('"', svg->out);
	}
	if (options->name_type) {
		fputs(" data-type=\"", svg->out);
		text_write(svg->out, options->name_type, SIZE_MAX);
		fputc('"', svg->out);
	}
	if (options->cut_left)
		fputs(" data-cut=\"left\"", svg->out);
	if (options->font_width > 0)
		fprintf(svg->out, " data-column=\"%g\"", svg->column);
	fputs(">\n", svg->out);
	for (size_t depth = 0; depth < svg->n_rows; depth++)
		write_row(svg, depth);
	fputs("</g>\n", svg->out);
}
