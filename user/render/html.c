/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html: writes the explorer as one self-contained file, with all the data.
 *
 * The page consists of constant texts, the header in JSON, the data as base64 in an element that
 * browsers do not run, and a static part that shows until the script has started (html_static.c).
 * In the explorer, names are in neither markup nor scripts: the header has no `<`, and base64 has
 * no special characters. A page from elsewhere than a file would fetch these two elements.
 *
 * The content security policy forbids everything except what the file itself holds: whatever a name
 * might do, nothing is loaded or sent.
 */
#include "render/html.h"

#include <errno.h>

#include "base/text.h"
#include "render/picture_texts.h"
#include "render/svg.h"

#define DEFAULT_MAX_FRAMES 2000000

static const char *const scripts[] = {
#include "render/flame.js.h"
	,
#include "render/explorer_data.js.h"
	,
#include "render/explorer_model.js.h"
	,
#include "render/explorer_facets.js.h"
	,
#include "render/explorer_compare.js.h"
	,
#include "render/explorer_state.js.h"
	,
#include "render/explorer_colors.js.h"
	,
#include "render/explorer_graph.js.h"
	,
#include "render/explorer_table.js.h"
	,
#include "render/explorer_figures.js.h"
	,
#include "render/explorer_panel.js.h"
	,
#include "render/explorer_export.js.h"
	,
#include "render/explorer_search.js.h"
	,
#include "render/explorer_overview.js.h"
	,
#include "render/explorer_source.js.h"
	,
#include "render/explorer_drop.js.h"
	,
#include "render/explorer_paper.js.h"
	,
#include "render/explorer_embed.js.h"
	,
#include "render/explorer_input.js.h"
	,
#include "render/explorer.js.h"
	,
};

static const char style[] =
#include "render/explorer.css.h"
	;

static const char body[] =
#include "render/explorer.html.h"
	;

/* Runs before anything is drawn, so that a dark page does not flash. */
static const char theme[] =
	"document.documentElement.dataset.theme="
	"matchMedia(\"(prefers-color-scheme: dark)\").matches?\"dark\":\"light\";";

static void write_head(const struct html *html)
{
	char title[PICTURE_TITLE_SIZE];

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; "
	      "form-action 'none'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"generator\" content=\"bpfflame " BPFFLAME_VERSION "\">\n<title>",
	      html->out);
	text_write(html->out, picture_title(html->stacks, html->options, title), SIZE_MAX);
	fputs("</title>\n<style>\n", html->out);
	fputs(style /* ours */, html->out);
	fprintf(html->out, "</style>\n<script>%s</script>\n</head>\n", theme /* ours */);
}

static int write_page(const struct html *html)
{
	int r;

	write_head(html);
	fputs("<body>\n", html->out);
	r = html_write_static(html);
	if (r < 0)
		return r;
	fprintf(html->out,
		"<div id=\"page\" hidden>\n%s</div>\n"
		"<script type=\"application/json\" id=\"header\">",
		body /* ours */);
	r = html_write_header(html);
	if (r < 0)
		return r;
	fputs("</script>\n<script type=\"application/octet-stream\" id=\"data\">", html->out);
	r = html_write_parts(html);
	if (r < 0)
		return r;
	fputs("</script>\n<script>\n", html->out);
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
		fputs(scripts[i] /* ours */, html->out);
	fputs("explorer.start();\n</script>\n</body>\n</html>\n", html->out);
	return 0;
}

/* The part of 100 % beyond the sum belongs to the root alone: it stays empty. */
static void widen_root(struct html *html)
{
	double total = html->options->total;
	struct tree_node *root = &html->tree.nodes[0];

	if (html->stacks->is_comparison || !(total > html->stacks->width) || total >= 0x1p53)
		return;
	root->sides[0].self += (uint64_t)total - html->stacks->width;
	root->sides[0].total += (uint64_t)total - html->stacks->width;
}

static int make_page(struct html *html)
{
	struct tree_limits limits = {.max_nodes = html->options->max_frames
							  ? html->options->max_frames
							  : DEFAULT_MAX_FRAMES};
	int r = tree_build(html->stacks, &limits, &html->tree);

	if (r < 0)
		return r;
	widen_root(html);
	r = html_make_parts(html);
	if (r < 0)
		return r;
	return write_page(html);
}

int render_html(const struct stacks *stacks, const struct picture_options *options, FILE *stream)
{
	struct html html = {
		.out = stream,
		.stacks = stacks,
		.options = options,
		.mode = stacks->facts[SIDE_NEW].mode,
		.compared = stacks->scale,
	};
	int r;

	html.n_sides = stacks->is_comparison || html_is_wall(&html) ? 2 : 1;
	for (int part = 0; part < N_PALETTE_PARTS; part++)
		html.palettes[part] = palette_find(options->colors, html.mode, part);
	if (!html.palettes[PART_PLAIN] || svg_check_colors(options) < 0)
		return -EINVAL;
	r = make_page(&html);
	html_free_parts(&html);
	tree_done(&html.tree);
	return r;
}
