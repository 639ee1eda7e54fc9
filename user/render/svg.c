/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg: a flame graph as one file that needs nothing else.
 *
 * What is written is a finished picture, whose tooltips and labels are markup; svg.js, embedded,
 * then makes it fit its window and adds zoom, search and the details line.
 *
 * A row of the tree is one group:
 *
 *	<g class="row" data-r="GAP WEIGHT KINDNAME …">
 *	  <path class="KINDSHADE" d="…"/> …
 *	  <rect class="KINDSHADE" …><title>NAME (FIGURES)</title></rect> …
 *	  <g class="labels"><text>NAME</text> …</g>
 *	</g>
 *
 * A large profile has mostly frames too narrow to point at, and elements are what a browser
 * spends its time on. So those share a path for each kind, a piece for each run of them; only
 * wider ones are a rect. data-r has all: how far a frame begins behind the one before it, its
 * weight, the letter of its kind (a capital if it is a rect) and the number of its name in
 * <metadata>. That list has the names by line, each behind the letter of its shade.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "render/layout.h"
#include "render/palette.h"
#include "render/render.h"
#include "render/text.h"

#define DEFAULT_WIDTH	  1200
#define LEAST_WIDTH	  200
#define DEFAULT_MIN_WIDTH 0.1
#define MARGIN		  10
#define HEADER_HEIGHT	  70
#define FOOTER_HEIGHT	  30
#define ROW_HEIGHT	  18
#define FRAME_HEIGHT	  17
#define LABEL_PADDING	  4
#define LABEL_COLUMN	  6.63 /* of the labels' font; svg.js measures it */
#define HEADER_COLUMN	  6.4
#define LEAST_COLUMNS	  3
#define RUN_GAP		  0.02
#define LEAST_RECT	  1.0 /* pixels; narrower frames are part of a path */

struct svg {
	FILE *out;
	const struct profile *profile;
	const struct svg_options *options;
	const struct palette *palette;
	struct tree tree;
	struct layout layout;
	uint32_t *name_numbers; /* by string id: its line in the list of names, 0 if it is not there
				 */
	unsigned int width, height;
};

static const char svg_js[] =
#include "render/svg.js.h"
	;

/* The letters that begin the classes of frames; svg.js knows them too. */
static const char kind_letters[N_FRAME_KINDS] = {
	[FRAME_USER] = 'u', [FRAME_KERNEL] = 'k', [FRAME_INLINED] = 'i',
	[FRAME_JIT] = 'j',  [FRAME_NOTE] = 'n',
};

static const char style[] =
	"svg{background:#fff;color:#1f2430;"
	"font:12px system-ui,-apple-system,\"Segoe UI\",\"DejaVu Sans\",sans-serif}\n"
	"text{white-space:pre}\n"
	".paper{fill:#fff}\n"
	".title{font-size:17px;font-weight:600;fill:#1f2430}\n"
	".subtitle{fill:#3d4556}\n"
	".facts,.legend text,.matched{fill:#667085}\n"
	".details{fill:#1f2430}\n"
	".line{stroke:#e3e6ec}\n"
	"#frames{cursor:pointer}\n"
	".row rect:hover,.row rect:focus{stroke:#16181d;stroke-width:1.2;outline:none}\n"
	".labels{font:11px \"DejaVu Sans Mono\",Menlo,Consolas,\"Liberation Mono\",monospace;"
	"fill:" PALETTE_INK ";pointer-events:none}\n"
	".up{opacity:.5}\n"
	".searching rect,.searching path{fill-opacity:.4}\n"
	".searching rect.hit,.searching path.hit{fill:#e879f9;fill-opacity:1}\n"
	".button{cursor:pointer}\n"
	".button rect{fill:#f3f4f7;stroke:#cfd4de;rx:5px}\n"
	".button text{fill:#1f2430;text-anchor:middle}\n"
	".button:hover rect,.button:focus rect{stroke:#5b6cff;outline:none}\n"
	".button:focus{outline:none}\n"
	".matched{text-anchor:end}\n"
	"input{box-sizing:border-box;width:100%;height:100%;padding:0 8px;border-radius:5px;"
	"border:1px solid #5b6cff;background:#fff;color:#1f2430;outline:none;"
	"font:12px \"DejaVu Sans Mono\",Menlo,Consolas,monospace}\n"
	"@media (prefers-color-scheme:dark){\n"
	"svg{background:#15171c}\n"
	".paper{fill:#15171c}\n"
	".title,.details,.subtitle,.button text{fill:#e7e9ee}\n"
	".facts,.legend text,.matched{fill:#9aa3b2}\n"
	".line{stroke:#2c313b}\n"
	".row rect:hover,.row rect:focus{stroke:#fff}\n"
	".searching .labels{fill:#f1f2f5}\n"
	".searching .labels .hit{fill:" PALETTE_INK "}\n"
	".button rect{fill:#23272f;stroke:#3a414d}\n"
	"input{background:#1d2027;color:#e7e9ee}\n"
	"}\n";

static const char *frame_name(const struct svg *svg, const struct tree_node *node)
{
	const char *name = strings_get(&svg->profile->strings, node->name);

	if (node->parent == TREE_NONE)
		return "all";
	return *name ? name : "[unknown]";
}

static const char *title(const struct svg *svg)
{
	if (svg->options->title)
		return svg->options->title;
	return svg->profile->mode == PROFILE_ONCPU ? "On-CPU Flame Graph" : "Off-CPU Flame Graph";
}

/* `12,345 samples` or `12.3 ms`. */
static void format_weight(const struct svg *svg, uint64_t weight, char *text, size_t size)
{
	char figure[TEXT_FIGURE_SIZE];

	if (svg->profile->mode == PROFILE_ONCPU) {
		text_count(figure, weight);
		snprintf(text, size, "%s sample%s", figure, weight == 1 ? "" : "s");
	} else {
		text_time(figure, weight);
		snprintf(text, size, "%s", figure);
	}
}

static void add_fact(FILE *facts, const char *text)
{
	if (*text)
		fprintf(facts, "%s%s", ftell(facts) ? " · " : "", text);
}

static void add_window(FILE *facts, const struct profile *profile)
{
	time_t start = profile->start_realtime_ns / 1000000000;
	char text[64];
	struct tm tm;

	if (start && localtime_r(&start, &tm) &&
	    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &tm))
		add_fact(facts, text);
	if (profile->duration_ns) {
		text_time(text, profile->duration_ns);
		add_fact(facts, text);
	}
	if (profile->mode == PROFILE_ONCPU && profile->frequency > 0) {
		snprintf(text, sizeof text, "%g Hz", profile->frequency);
		add_fact(facts, text);
	}
}

/* Where, when, how much: one line, the caller's to free; NULL: no memory. */
static char *make_facts(const struct svg *svg)
{
	const struct profile *profile = svg->profile;
	char weight[64], *text = NULL;
	size_t size;
	FILE *facts = open_memstream(&text, &size);

	if (!facts)
		return NULL;
	add_fact(facts, strings_get(&profile->strings, profile->host));
	add_fact(facts, strings_get(&profile->strings, profile->kernel));
	add_window(facts, profile);
	format_weight(svg, svg->tree.nodes[0].total, weight, sizeof weight);
	add_fact(facts, weight);
	if (profile->mode != PROFILE_ONCPU)
		fputs(" off-CPU", facts);
	if (svg->options->reverse)
		add_fact(facts, "merged from the leaves");
	if (fclose(facts) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static void write_fills(const struct svg *svg)
{
	for (int kind = 0; kind < N_FRAME_KINDS; kind++)
		for (unsigned int shade = 0; shade < PALETTE_SHADES; shade++)
			fprintf(svg->out, ".%c%u{fill:#%06" PRIx32 "}%s", kind_letters[kind], shade,
				palette_fill(svg->palette, kind, shade),
				shade == PALETTE_SHADES - 1 ? "\n" : "");
}

static void write_head(const struct svg *svg)
{
	fprintf(svg->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\""
		" viewBox=\"0 0 %u %u\" font-family=\"sans-serif\" font-size=\"12\"%s>\n<title>",
		svg->width, svg->height, svg->width, svg->height,
		svg->options->inverted ? " data-inverted=\"1\"" : "");
	text_write(svg->out, title(svg), SIZE_MAX);
	fputs("</title>\n<style>\n", svg->out);
	fputs(style, svg->out);
	write_fills(svg);
	fputs("</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", svg->out);
}

static void write_line(const struct svg *svg, const char *class, int y, const char *text)
{
	fprintf(svg->out, "<text class=\"%s\" x=\"%d\" y=\"%d\"><title>", class, MARGIN, y);
	text_write(svg->out, text, SIZE_MAX);
	fputs("</title>", svg->out);
	text_write(svg->out, text, (svg->width - 2 * MARGIN) / HEADER_COLUMN);
	fputs("</text>\n", svg->out);
}

static int write_header(const struct svg *svg)
{
	const struct profile *profile = svg->profile;
	const char *subtitle = svg->options->subtitle;
	char *facts = make_facts(svg);

	if (!facts)
		return -ENOMEM;
	if (!subtitle)
		subtitle = strings_get(&profile->strings, profile->command_line);
	fprintf(svg->out,
		"<g id=\"header\"><rect class=\"paper\" width=\"100%%\" height=\"%d\"/>\n",
		HEADER_HEIGHT - 6);
	fprintf(svg->out, "<text class=\"title\" x=\"%d\" y=\"24\" font-size=\"17\">", MARGIN);
	text_write(svg->out, title(svg), SIZE_MAX);
	fputs("</text>\n", svg->out);
	write_line(svg, "subtitle", 42, subtitle);
	write_line(svg, "facts", 58, facts);
	fputs("</g>\n", svg->out);
	free(facts);
	return 0;
}

static double frame_x(const struct svg *svg, const struct tree_node *node)
{
	return node->start * svg->layout.scale;
}

static double frame_width(const struct svg *svg, const struct tree_node *node)
{
	return node->total * svg->layout.scale;
}

static bool is_narrow(const struct svg *svg, const struct tree_node *node)
{
	return frame_width(svg, node) < LEAST_RECT;
}

static void write_frame(const struct svg *svg, const struct tree_node *node)
{
	double width = frame_width(svg, node);
	double gap = width < 2 ? 0 : width < 4 ? (width - 2) / 2 : 1;
	const char *name = frame_name(svg, node);
	char weight[64];

	fprintf(svg->out, "<rect class=\"%c%u\" x=\"%.2f\" width=\"%.2f\" height=\"%d\"%s><title>",
		kind_letters[node->kind], palette_shade(name), frame_x(svg, node), width - gap,
		FRAME_HEIGHT, width < 4 ? "" : " rx=\"2\"");
	text_write(svg->out, name, SIZE_MAX);
	format_weight(svg, node->total, weight, sizeof weight);
	fprintf(svg->out, " (%s, %.2f%%)</title></rect>\n", weight,
		100.0 * node->total / svg->tree.nodes[0].total);
}

/* Of a run of narrow frames: from the left edge of the first to the right edge of the last. */
static void write_run(const struct svg *svg, double from, double to)
{
	fprintf(svg->out, "M%.2f 0h%.2fv%dH%.2fz", from, to - from, FRAME_HEIGHT, from);
}

static void write_narrow(const struct svg *svg, const uint32_t *nodes, size_t n,
			 enum frame_kind kind)
{
	double from = 0, to = -1;

	for (size_t i = 0; i < n; i++) {
		const struct tree_node *node = &svg->tree.nodes[nodes[i]];
		double x = frame_x(svg, node);

		if (node->kind != kind || !is_narrow(svg, node))
			continue;
		if (x - to > RUN_GAP || to < 0) {
			if (to < 0)
				fprintf(svg->out, "<path class=\"%c%d\" d=\"", kind_letters[kind],
					PALETTE_SHADES / 2);
			else
				write_run(svg, from, to);
			from = x;
		}
		to = x + frame_width(svg, node);
	}
	if (to < 0)
		return;
	write_run(svg, from, to);
	fputs("\"/>\n", svg->out);
}

static void write_label(const struct svg *svg, const struct tree_node *node)
{
	double room = (frame_width(svg, node) - 2 * LABEL_PADDING) / LABEL_COLUMN;
	const char *name = frame_name(svg, node);

	if (room < 1 || (room < LEAST_COLUMNS && text_columns(name) > room))
		return;
	fprintf(svg->out, "<text x=\"%.1f\">", frame_x(svg, node) + LABEL_PADDING);
	text_write(svg->out, name, room);
	fputs("</text>\n", svg->out);
}

static void write_data(const struct svg *svg, const uint32_t *nodes, size_t n)
{
	uint64_t end = 0;

	fputs(" data-r=\"", svg->out);
	for (size_t i = 0; i < n; i++) {
		const struct tree_node *node = &svg->tree.nodes[nodes[i]];
		char letter = kind_letters[node->kind];
		uint32_t name = nodes[i] == 0 ? 0 : svg->name_numbers[node->name];

		if (!is_narrow(svg, node))
			letter += 'A' - 'a';
		fprintf(svg->out, "%s%" PRIu64 " %" PRIu64 " %c%" PRIu32, i ? " " : "",
			node->start - end, node->total, letter, name);
		end = node->start + node->total;
	}
	fputc('"', svg->out);
}

/* Line 0 is the root's. */
static void write_names(struct svg *svg)
{
	uint32_t n = 0;

	fprintf(svg->out, "<metadata id=\"names\">%call", 'a' + palette_shade("all"));
	for (size_t i = 1; i < svg->layout.rows[svg->layout.n_rows]; i++) {
		const struct tree_node *node = &svg->tree.nodes[svg->layout.nodes[i]];
		const char *name = frame_name(svg, node);

		if (svg->name_numbers[node->name])
			continue;
		svg->name_numbers[node->name] = ++n;
		fprintf(svg->out, "\n%c", 'a' + palette_shade(name));
		text_write(svg->out, name, SIZE_MAX);
	}
	fputs("</metadata>\n", svg->out);
}

static void write_row(const struct svg *svg, size_t depth)
{
	const uint32_t *nodes = svg->layout.nodes + svg->layout.rows[depth];
	size_t n = svg->layout.rows[depth + 1] - svg->layout.rows[depth];
	size_t from_top = svg->options->inverted ? depth : svg->layout.n_rows - 1 - depth;

	fprintf(svg->out, "<g class=\"row\" transform=\"translate(%d %zu)\"", MARGIN,
		HEADER_HEIGHT + from_top * ROW_HEIGHT);
	write_data(svg, nodes, n);
	fputs(">\n", svg->out);
	for (int kind = 0; kind < N_FRAME_KINDS; kind++)
		write_narrow(svg, nodes, n, kind);
	for (size_t i = 0; i < n; i++)
		if (!is_narrow(svg, &svg->tree.nodes[nodes[i]]))
			write_frame(svg, &svg->tree.nodes[nodes[i]]);
	fputs("<g class=\"labels\" transform=\"translate(0 12.5)\" font-family=\"monospace\""
	      " font-size=\"11\">\n",
	      svg->out);
	for (size_t i = 0; i < n; i++)
		write_label(svg, &svg->tree.nodes[nodes[i]]);
	fputs("</g></g>\n", svg->out);
}

static void write_frames(struct svg *svg)
{
	if (!svg->tree.nodes[0].total) {
		fprintf(svg->out,
			"<text class=\"empty facts\" x=\"%d\" y=\"%d\">Nothing was "
			"recorded.</text>\n",
			MARGIN, HEADER_HEIGHT + 13);
		return;
	}
	write_names(svg);
	fprintf(svg->out, "<g id=\"frames\" data-unit=\"%s\">\n",
		svg->profile->mode == PROFILE_ONCPU ? "sample" : "ns");
	for (size_t depth = 0; depth < svg->layout.n_rows; depth++)
		write_row(svg, depth);
	fputs("</g>\n", svg->out);
}

static void find_kinds(const struct svg *svg, bool drawn[static N_FRAME_KINDS])
{
	for (size_t i = 0; i < svg->layout.rows[svg->layout.n_rows]; i++)
		drawn[svg->tree.nodes[svg->layout.nodes[i]].kind] = true;
}

static void write_legend(const struct svg *svg)
{
	static const struct {
		const char *text;
		int width;
	} items[N_FRAME_KINDS] = {
		[FRAME_USER] = {"user", 57},
		[FRAME_KERNEL] = {"kernel", 67},
		[FRAME_INLINED] = {"inlined", 71},
		[FRAME_JIT] = {"JIT", 47},
	};
	bool drawn[N_FRAME_KINDS] = {false};
	int width = -14, x = 0; /* no gap behind the last one */

	find_kinds(svg, drawn);
	for (int kind = 0; kind < N_FRAME_KINDS; kind++)
		if (drawn[kind])
			width += items[kind].width;
	fprintf(svg->out, "<g class=\"legend\" data-width=\"%d\" transform=\"translate(%d 0)\">\n",
		width, (int)svg->width - MARGIN - width);
	for (int kind = 0; kind < N_FRAME_KINDS; kind++) {
		if (!drawn[kind] || !items[kind].text)
			continue;
		fprintf(svg->out,
			"<rect class=\"%c%d\" x=\"%d\" y=\"10\" width=\"11\" height=\"11\" "
			"rx=\"2\"/>"
			"<text x=\"%d\" y=\"20\">%s</text>\n",
			kind_letters[kind], PALETTE_SHADES / 2, x, x + 16, items[kind].text);
		x += items[kind].width;
	}
	fputs("</g>\n", svg->out);
}

static void write_footer(const struct svg *svg)
{
	fprintf(svg->out,
		"<g id=\"footer\" data-height=\"%d\" transform=\"translate(0 %u)\">"
		"<rect class=\"paper\" width=\"100%%\" height=\"%d\"/>\n"
		"<line class=\"line\" x2=\"100%%\" y1=\".5\" y2=\".5\"/>\n"
		"<text class=\"details\" x=\"%d\" y=\"20\"/>\n",
		FOOTER_HEIGHT, svg->height - FOOTER_HEIGHT, FOOTER_HEIGHT, MARGIN);
	write_legend(svg);
	fputs("</g>\n<script><![CDATA[\n", svg->out);
	fputs(svg_js, svg->out);
	fputs("]]></script>\n</svg>\n", svg->out);
}

static int write_svg(struct svg *svg)
{
	int r;

	svg->height = HEADER_HEIGHT + svg->layout.n_rows * ROW_HEIGHT + 8 + FOOTER_HEIGHT;
	write_head(svg);
	write_frames(svg);
	r = write_header(svg);
	if (r < 0)
		return r;
	write_footer(svg);
	return 0;
}

int render_svg(struct profile *profile, const struct unfold_options *unfold,
	       const struct svg_options *options, FILE *stream)
{
	double min_width = options->min_width < 0 ? DEFAULT_MIN_WIDTH : options->min_width;
	struct svg svg = {.out = stream, .profile = profile, .options = options};
	int r;

	svg.width = options->width ? options->width : DEFAULT_WIDTH;
	if (svg.width < LEAST_WIDTH)
		svg.width = LEAST_WIDTH;
	svg.palette = palette_find(options->colors, profile->mode);
	if (!svg.palette)
		return -EINVAL;
	r = tree_build(profile, unfold, options->reverse, &svg.tree);
	if (r < 0)
		return r;
	r = layout_make(&svg.tree, svg.width - 2 * MARGIN, min_width, &svg.layout);
	svg.name_numbers = calloc(profile->strings.n_strings, sizeof *svg.name_numbers);
	if (r == 0)
		r = svg.name_numbers ? write_svg(&svg) : -ENOMEM;
	free(svg.name_numbers);
	layout_done(&svg.layout);
	tree_done(&svg.tree);
	return r;
}
