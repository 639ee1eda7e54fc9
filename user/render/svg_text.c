/* SPDX-License-Identifier: GPL-2.0-or-later */
/* svg_text: names and figures of the static picture. svg.js words them alike. */
#include "render/svg.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "render/picture_texts.h"

#define ELLIPSIS "\u2026"
#define ARROW	 " \u2192 "
#define MINUS	 "\u2212"

/* The longest end of @text that fits in @columns. */
static const char *last_columns(const char *text, size_t columns)
{
	size_t left = text_columns(text);

	while (left > columns)
		left -= text_code_columns(text_next(&text));
	return text;
}

void svg_write_text(const struct svg *svg, FILE *out, const char *text, size_t columns)
{
	/* Text never has more columns than bytes. */
	if (columns == SIZE_MAX || strlen(text) <= columns) {
		text_write(out, text, SIZE_MAX);
	} else if (svg->options->cut_left && columns && text_columns(text) > columns) {
		fputs(ELLIPSIS, out);
		text_write(out, last_columns(text, columns - 1), SIZE_MAX);
	} else {
		text_write(out, text, columns);
	}
}

void svg_write_weight(const struct svg *svg, uint64_t weight)
{
	char text[PICTURE_WEIGHT_SIZE];

	picture_weight(text, svg->stacks, svg->options, weight);
	text_write(svg->out, text, SIZE_MAX);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static const char *sign(double change)
{
	return change < 0 ? MINUS : "+";
}

void svg_growth(const struct svg *svg, const struct tree_node *node, enum tone tone,
		char text[static SVG_GROWTH_SIZE])
{
	double from = node->sides[SIDE_BASE].total, to = node->sides[SIDE_NEW].total, change;

	*text = '\0';
	if (svg->compared == SCALE_NORMALIZED) {
		from = percent(node->sides[SIDE_BASE].total, svg->stacks->totals[SIDE_BASE]);
		to = percent(node->sides[SIDE_NEW].total, svg->stacks->totals[SIDE_NEW]);
	}
	if (tone == TONE_SAME || tone >= TONE_NEW || !(from > 0))
		return;
	change = fabs(to - from) / from * 100;
	snprintf(text, SVG_GROWTH_SIZE, " %s%.*f %%", sign(to - from), change < 100, change);
}

/* The words for @tone beside its figures. */
static const char *verdict(enum tone tone)
{
	switch (tone) {
	case TONE_SAME: return ", within noise";
	case TONE_NEW: return ", new";
	case TONE_GONE: return ", gone";
	default: return "";
	}
}

/* The caller has written the beginning of the change. */
static void write_ratio(FILE *out, double base, double new_, enum tone tone)
{
	if (base > 0)
		fprintf(out, ", %s%.1f%%", sign(new_ - base) /* ours */,
			fabs(new_ - base) / base * 100);
	fputs(verdict(tone) /* ours */, out);
	fputc(')', out);
}

/* `12.30% → 14.50% (+2.20 points, +17.9%), 1,234 samples → 1,450 samples` */
static void write_shares(const struct svg *svg, uint64_t base, uint64_t new_, enum tone tone)
{
	double from = percent(base, svg->stacks->totals[SIDE_BASE]);
	double to = percent(new_, svg->stacks->totals[SIDE_NEW]);

	fprintf(svg->out, "%.2f%%" ARROW "%.2f%% (", from, to);
	if (from == to) {
		fputs("unchanged)", svg->out);
	} else {
		fprintf(svg->out, "%s%.2f points", sign(to - from) /* ours */, fabs(to - from));
		write_ratio(svg->out, from, to, tone);
	}
	fputs(", ", svg->out);
	svg_write_weight(svg, base);
	fputs(ARROW, svg->out);
	svg_write_weight(svg, new_);
}

/* `1,234 samples → 1,450 samples (+216 samples, +17.5%)` */
static void write_weights(const struct svg *svg, uint64_t base, uint64_t new_, enum tone tone)
{
	svg_write_weight(svg, base);
	fputs(ARROW, svg->out);
	svg_write_weight(svg, new_);
	if (base == new_) {
		fputs(" (unchanged)", svg->out);
		return;
	}
	fprintf(svg->out, " (%s", new_ < base ? MINUS : "+");
	svg_write_weight(svg, new_ < base ? base - new_ : new_ - base);
	write_ratio(svg->out, base, new_, tone);
}

static void write_change(const struct svg *svg, uint64_t base, uint64_t new_, enum tone tone)
{
	if (base == 0 && new_ == 0)
		fputs("none", svg->out);
	else if (svg->compared == SCALE_NORMALIZED)
		write_shares(svg, base, new_, tone);
	else
		write_weights(svg, base, new_, tone);
}

static void write_elided(const struct svg *svg, const struct tree_node *node)
{
	char figure[TEXT_FIGURE_SIZE];

	text_count(figure, node->n_elided);
	fprintf(svg->out, "%s frame%s, ", figure /* ours */, node->n_elided == 1 ? "" : "s");
}

void svg_write_figures(const struct svg *svg, const struct tree_node *node,
		       const struct svg_tones *tones)
{
	const struct tree_side *base = &node->sides[SIDE_BASE], *new_ = &node->sides[SIDE_NEW];

	if (node->frame == TREE_ELIDED)
		write_elided(svg, node);
	if (tones) {
		fputs("total ", svg->out);
		write_change(svg, base->total, new_->total, tones->total);
		if (node->frame == TREE_ELIDED)
			return;
		fputs("; self ", svg->out);
		if (base->self == base->total && new_->self == new_->total)
			fputs("all of it", svg->out);
		else
			write_change(svg, base->self, new_->self, tones->self);
	} else {
		svg_write_weight(svg, tree_total(node));
		fprintf(svg->out, ", %.2f%%",
			percent(tree_total(node), tree_total(&svg->tree.nodes[0])));
	}
}
