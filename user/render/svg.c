/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg: a flame graph as one file that needs nothing else.
 *
 * What is written is a finished picture, whose tooltips and labels are markup; svg.js, embedded,
 * then makes it fit its window and adds zoom, search and the details line.
 *
 * A row of the tree is one group:
 *
 *	<g class="row" data-r="GAP WEIGHT LOOKNAME …">
 *	  <path class="LOOKSHADE" d="…"/> …
 *	  <rect class="LOOKSHADE" …><title>NAME (FIGURES)</title></rect> …
 *	  <g class="labels"><text>NAME</text> …</g>
 *	</g>
 *
 * A large profile has mostly frames too narrow to point at, and elements are what a browser
 * spends its time on. So those share a path for each look, a piece for each run of them; only
 * wider ones are a rect. data-r has all: how far a frame begins behind the one before it, its
 * weight, the letter of its look (a capital if it is a rect) and the number of its name in
 * <metadata>. That list has the names by line, each behind the letter of its shade.
 *
 * A look is what the colours tell: the kind of frame, and the part of the picture. Where both
 * running and waiting is drawn (PROFILE_WALL), a frame belongs to what most of its time is.
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

/*
 * A look is one of a kind of frame in a part of the picture. The letters begin the classes of
 * frames; svg.js knows them too. @text: in the legend, where it takes @width pixels.
 */
#define LOOK(part, kind) ((part)*N_FRAME_KINDS + (kind))
#define N_LOOKS		 LOOK(N_PALETTE_PARTS, 0)

static const struct look {
	char letter; /* 0: there is no such look */
	const char *text;
	int width;
} looks[N_LOOKS] = {
	[LOOK(PART_RUNNING, FRAME_USER)] = {'a', "running", 74},
	[LOOK(PART_RUNNING, FRAME_KERNEL)] = {'b', "in the kernel", 102},
	[LOOK(PART_RUNNING, FRAME_INLINED)] = {'c', "inlined", 71},
	[LOOK(PART_RUNNING, FRAME_JIT)] = {'d', "JIT", 47},
	[LOOK(PART_PLAIN, FRAME_USER)] = {'u', "user", 57},
	[LOOK(PART_PLAIN, FRAME_KERNEL)] = {'k', "kernel", 67},
	[LOOK(PART_PLAIN, FRAME_INLINED)] = {'i', "inlined", 71},
	[LOOK(PART_PLAIN, FRAME_JIT)] = {'j', "JIT", 47},
	[LOOK(PART_PLAIN, FRAME_NOTE)] = {'n'},
	[LOOK(PART_PLAIN, FRAME_RUNNING)] = {'r'},
	[LOOK(PART_PLAIN, FRAME_RUNNABLE)] = {'q'},
	[LOOK(PART_PLAIN, FRAME_WAITING)] = {'w'},
	[LOOK(PART_WAKER, FRAME_SEPARATOR)] = {'s'},
	[LOOK(PART_WAKER, FRAME_USER)] = {'e', "waker", 66},
	[LOOK(PART_WAKER, FRAME_KERNEL)] = {'f', "its kernel", 84},
	[LOOK(PART_WAKER, FRAME_INLINED)] = {'g'},
	[LOOK(PART_WAKER, FRAME_JIT)] = {'h'},
	[LOOK(PART_WAKER, FRAME_NOTE)] = {'m'},
};

/* Where both is drawn, running and waiting, the plain looks are those of waiting. */
static const struct look waiting_user = {'u', "waiting", 73},
			 waiting_kernel = {'k', "in the kernel", 102};

struct svg {
	FILE *out;
	const struct profile *profile;
	const struct svg_options *options;
	const struct palette *palettes[N_PALETTE_PARTS];
	struct tree tree;
	struct layout layout;
	uint32_t *name_numbers; /* by string id: its line in the list of names, 0 if it is not there
				 */
	unsigned int width, height;
	bool drawn[N_LOOKS];
};

static const char svg_js[] =
#include "render/svg.js.h"
	;

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
	static const char *const titles[N_PROFILE_MODES] = {
		[PROFILE_ONCPU] = "On-CPU Flame Graph",
		[PROFILE_OFFCPU] = "Off-CPU Flame Graph",
		[PROFILE_WALL] = "Wall-Clock Flame Graph",
	};

	if (svg->options->title)
		return svg->options->title;
	return titles[svg->profile->mode];
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
	if (profile->mode != PROFILE_OFFCPU && profile->frequency > 0) {
		snprintf(text, sizeof text, "%g Hz", profile->frequency);
		add_fact(facts, text);
	}
}

/* Where, when, how much: one line, the caller's to free; NULL: no memory. */
static char *make_facts(const struct svg *svg)
{
	const struct profile *profile = svg->profile;
	const struct tree_node *root = &svg->tree.nodes[0];
	char weight[64], *text = NULL;
	size_t size;
	FILE *facts = open_memstream(&text, &size);

	if (!facts)
		return NULL;
	add_fact(facts, strings_get(&profile->strings, profile->host));
	add_fact(facts, strings_get(&profile->strings, profile->kernel));
	add_window(facts, profile);
	format_weight(svg, root->total, weight, sizeof weight);
	add_fact(facts, weight);
	if (profile->mode == PROFILE_OFFCPU)
		fputs(" off-CPU", facts);
	if (profile->mode == PROFILE_WALL) {
		format_weight(svg, root->running, weight, sizeof weight);
		fprintf(facts, " of threads, %s of it on-CPU", weight);
	}
	if (svg->options->reverse)
		add_fact(facts, "merged from the leaves");
	if (fclose(facts) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static enum palette_part part_of(const struct svg *svg, const struct tree_node *node)
{
	if (node->is_waker)
		return PART_WAKER;
	return svg->profile->mode == PROFILE_WALL && node->kind < FRAME_NOTE &&
			       node->running > node->total - node->running
		       ? PART_RUNNING
		       : PART_PLAIN;
}

static unsigned int look_of(const struct svg *svg, const struct tree_node *node)
{
	return LOOK(part_of(svg, node), node->kind);
}

static char letter_of(const struct svg *svg, const struct tree_node *node)
{
	return looks[look_of(svg, node)].letter;
}

static void find_looks(struct svg *svg)
{
	for (size_t i = 0; i < svg->layout.rows[svg->layout.n_rows]; i++)
		svg->drawn[look_of(svg, &svg->tree.nodes[svg->layout.nodes[i]])] = true;
}

static void write_fills(const struct svg *svg)
{
	for (unsigned int i = 0; i < N_LOOKS; i++)
		for (unsigned int shade = 0; svg->drawn[i] && shade < PALETTE_SHADES; shade++)
			fprintf(svg->out, ".%c%u{fill:#%06" PRIx32 "}%s", looks[i].letter, shade,
				palette_fill(svg->palettes[i / N_FRAME_KINDS], i % N_FRAME_KINDS,
					     shade),
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
		letter_of(svg, node), palette_shade(name), frame_x(svg, node), width - gap,
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

static void write_narrow(const struct svg *svg, const uint32_t *nodes, size_t n, unsigned int look)
{
	double from = 0, to = -1;

	for (size_t i = 0; i < n; i++) {
		const struct tree_node *node = &svg->tree.nodes[nodes[i]];
		double x = frame_x(svg, node);

		if (!is_narrow(svg, node) || look_of(svg, node) != look)
			continue;
		if (x - to > RUN_GAP || to < 0) {
			if (to < 0)
				fprintf(svg->out, "<path class=\"%c%d\" d=\"", looks[look].letter,
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
		char letter = letter_of(svg, node);
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
	for (unsigned int look = 0; look < N_LOOKS; look++)
		if (svg->drawn[look])
			write_narrow(svg, nodes, n, look);
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

static const struct look *legend_item(const struct svg *svg, unsigned int look)
{
	if (svg->profile->mode == PROFILE_WALL && look == LOOK(PART_PLAIN, FRAME_USER))
		return &waiting_user;
	if (svg->profile->mode == PROFILE_WALL && look == LOOK(PART_PLAIN, FRAME_KERNEL))
		return &waiting_kernel;
	return &looks[look];
}

static void write_legend(const struct svg *svg)
{
	int width = -14, x = 0; /* no gap behind the last one */

	for (unsigned int i = 0; i < N_LOOKS; i++)
		if (svg->drawn[i])
			width += legend_item(svg, i)->width;
	fprintf(svg->out, "<g class=\"legend\" data-width=\"%d\" transform=\"translate(%d 0)\">\n",
		width, (int)svg->width - MARGIN - width);
	for (unsigned int i = 0; i < N_LOOKS; i++) {
		const struct look *item = legend_item(svg, i);

		if (!svg->drawn[i] || !item->text)
			continue;
		fprintf(svg->out,
			"<rect class=\"%c%d\" x=\"%d\" y=\"10\" width=\"11\" height=\"11\" "
			"rx=\"2\"/>"
			"<text x=\"%d\" y=\"20\">%s</text>\n",
			item->letter, PALETTE_SHADES / 2, x, x + 16, item->text);
		x += item->width;
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
	find_looks(svg);
	write_head(svg);
	write_frames(svg);
	r = write_header(svg);
	if (r < 0)
		return r;
	write_footer(svg);
	return 0;
}

/* Returns false if there is no palette of the name that was asked for. */
static bool find_palettes(struct svg *svg)
{
	for (int part = 0; part < N_PALETTE_PARTS; part++)
		svg->palettes[part] = palette_find(svg->options->colors, svg->profile->mode, part);
	return svg->palettes[PART_PLAIN] != NULL;
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
	if (!find_palettes(&svg))
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
