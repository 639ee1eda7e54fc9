/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_margins: the parts above and below the frames. The script refits lines that are too long for
 * the window: each has its whole text as a tooltip.
 */
#include "render/svg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "render/modules.h"
#include "render/picture_texts.h"

#define HEADER_COLUMN 6.4
#define TITLE_COLUMN  10
#define LEGEND_GAP    14
#define LEGEND_BOX    16 /* with the space after it */

static const char *text_of(const struct svg *svg, uint32_t id)
{
	return strings_get(&svg->stacks->strings, id);
}

/* One line, for the caller to free; NULL: no memory. */
static char *make_facts(const struct svg *svg)
{
	char *lines = picture_facts(&svg->tree, svg->options), *rest = lines, *text = NULL;
	size_t size;
	FILE *out = lines ? open_memstream(&text, &size) : NULL;

	if (!out) {
		free(lines);
		return NULL;
	}
	for (char *line; (line = strsep(&rest, "\n"));)
		fprintf(out, "%s%s", line == lines ? "" : " \u00b7 ", line /* escaped later */);
	free(lines);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* The caller frees it; NULL: no memory. */
static char *make_subtitle(const struct svg *svg)
{
	const struct stacks_facts *facts = svg->stacks->facts;
	const char *base = text_of(svg, facts[SIDE_BASE].command_line);
	const char *new_ = text_of(svg, facts[SIDE_NEW].command_line);
	char *text;

	if (svg->options->subtitle)
		return strdup(svg->options->subtitle);
	if (!svg->stacks->is_comparison || !*base || strcmp(base, new_) == 0)
		return strdup(new_);
	return asprintf(&text, "%s \u2192 %s", base, new_) < 0 ? NULL : text;
}

static void write_line(const struct svg *svg, const char *class, int y, const char *text)
{
	fprintf(svg->out, "<text class=\"%s\" x=\"%d\" y=\"%d\"><title>", class /* ours */,
		SVG_MARGIN, y);
	text_write(svg->out, text, SIZE_MAX);
	fputs("</title>", svg->out);
	text_write(svg->out, text, (svg->width - 2 * SVG_MARGIN) / HEADER_COLUMN);
	fputs("</text>\n", svg->out);
}

static void write_title(const struct svg *svg)
{
	char title[PICTURE_TITLE_SIZE];

	fprintf(svg->out, "<text class=\"title\" x=\"%d\" y=\"24\" font-size=\"17\">", SVG_MARGIN);
	text_write(svg->out, picture_title(svg->stacks, svg->options, title),
		   (svg->width - 2 * SVG_MARGIN) / TITLE_COLUMN);
	fputs("</text>\n", svg->out);
}

int svg_write_header(const struct svg *svg)
{
	char *facts = make_facts(svg), *subtitle = make_subtitle(svg);

	if (facts && subtitle) {
		fprintf(svg->out,
			"<g%s><rect class=\"paper\" width=\"100%%\" height=\"%d\" "
			"fill=\"#fff\"/>\n",
			svg->is_part ? "" : " id=\"header\"", SVG_HEADER_HEIGHT - 6);
		/* A page has the title as its heading. */
		if (!svg->is_part)
			write_title(svg);
		write_line(svg, "subtitle", 42, subtitle);
		write_line(svg, "facts", *subtitle ? 58 : 42, facts);
		fputs("</g>\n", svg->out);
	}
	free(facts);
	free(subtitle);
	return facts && subtitle ? 0 : -ENOMEM;
}

/* The legend's items: boxes with a class each, then a text. */
#define MOST_BOXES   3
#define ITEM_COLUMNS 24 /* of a module's name, which may be long */

struct item {
	char classes[MOST_BOXES][8];
	unsigned int n_classes;
	const char *text; /* not escaped */
	bool has_stripe;
};

#define MOST_ITEMS 64

struct legend {
	struct item items[MOST_ITEMS];
	unsigned int n, n_shown; /* the script shows those without room */
	unsigned int width;	 /* of those shown */
};

/* Pixels, in the fonts that viewers have: rather too many than too few. */
static double legend_room(const char *text)
{
	double room = 0;

	for (size_t i = 0; *text && i < ITEM_COLUMNS; text++, i++)
		room += strchr("mwMWCGU_", *text) ? 10.5 : strchr("iljtfr ':.", *text) ? 4.8 : 7.6;
	return room;
}

static unsigned int item_width(const struct item *item)
{
	return (item->n_classes - 1) * 12 + LEGEND_BOX + legend_room(item->text) + LEGEND_GAP;
}

static void add_item(struct legend *legend, const struct item *item)
{
	if (legend->n == MOST_ITEMS)
		return;
	legend->items[legend->n++] = *item;
	legend->width += item_width(item);
}

static struct item *find_item(struct legend *legend, const char *text)
{
	for (unsigned int i = 0; i < legend->n; i++)
		if (strcmp(legend->items[i].text, text) == 0)
			return &legend->items[i];
	return NULL;
}

/* Adds a box to an existing item: running and waiting have separate colours. */
static void add_box(struct legend *legend, struct item *item, const char *class)
{
	if (item->n_classes == MOST_BOXES)
		return;
	legend->width -= item_width(item);
	strcpy(item->classes[item->n_classes++], class);
	legend->width += item_width(item);
}

/*
 * Shades with a text in the palette are listed by it, whatever their look, unless they are those of
 * @modules; all others by their look.
 */
static void add_look(const struct svg *svg, const struct modules *modules, struct legend *legend,
		     unsigned int look)
{
	const struct palette *palette = svg->palettes[look_part(look)];
	const char *text = look_text(look, svg->mode);

	for (unsigned int shade = 0; text && shade < PALETTE_MOST_SHADES; shade++) {
		const char *own;
		struct item item = {.n_classes = 1}, *same;

		if (!svg->drawn[look][shade] ||
		    modules_have(modules, palette, look_kind(look), shade))
			continue;
		own = palette_text(palette, look_kind(look), shade);
		item.text = own ? own : text;
		same = find_item(legend, item.text);
		if (own && same)
			continue;
		snprintf(item.classes[0], sizeof item.classes[0], "%c%u", look_letter(look),
			 palette_middle(palette, look_kind(look), shade));
		if (same)
			add_box(legend, same, item.classes[0]);
		else
			add_item(legend, &item);
		if (!own)
			return;
	}
}

static void add_elided(const struct svg *svg, struct legend *legend)
{
	if (svg->drawn[LOOK_ELIDED][0])
		add_item(legend, &(struct item){{"x0"}, 1, "elided"});
}

static int add_looks(const struct svg *svg, struct legend *legend)
{
	struct modules modules;
	int r = modules_find(&svg->tree, svg->palettes[PART_PLAIN], &modules);

	if (r < 0)
		return r;
	for (unsigned int i = 0; i < modules.n; i++) {
		struct item item = {.n_classes = 1, .text = modules.of[i].name};

		snprintf(item.classes[0], sizeof item.classes[0], "%c%u",
			 look_letter(LOOK(PART_PLAIN, FRAME_USER)), modules.of[i].shade);
		add_item(legend, &item);
	}
	for (unsigned int look = 0; look < LOOK_ELIDED; look++)
		add_look(svg, &modules, legend, look);
	return 0;
}

static int make_legend(const struct svg *svg, struct legend *legend)
{
	static const struct item tones[] = {{{"t4", "t5", "t6"}, 3, "less"},
					    {{"t8"}, 1, "gone"},
					    {{"t1", "t2", "t3"}, 3, "more"},
					    {{"t7"}, 1, "new"},
					    {{"t0"}, 1, "noise"},
					    {{"t0"}, 1, "self", .has_stripe = true}};
	int r = svg->tones ? 0 : add_looks(svg, legend);

	if (r < 0)
		return r;
	for (size_t i = 0; svg->tones && i < sizeof tones / sizeof *tones; i++)
		add_item(legend, &tones[i]);
	add_elided(svg, legend);
	return 0;
}

static void write_item(const struct svg *svg, const struct item *item, unsigned int x,
		       bool is_shown)
{
	fprintf(svg->out, "<g transform=\"translate(%u 0)\"%s>", x,
		is_shown ? "" : " display=\"none\"");
	for (unsigned int i = 0; i < item->n_classes; i++) {
		fprintf(svg->out,
			"<rect class=\"%s\" x=\"%u\" y=\"10\" width=\"11\" height=\"11\""
			" rx=\"2\"",
			item->classes[i] /* ours */, 12 * i);
		svg_write_fill(svg, item->classes[i]);
		fputs("/>", svg->out);
	}
	if (item->has_stripe)
		fprintf(svg->out,
			"<path class=\"stripe s%d\" d=\"M0 18h11v3h-11z\" fill=\"#%06" PRIx32
			"\"/>",
			TONE_GREW_MUCH, tone_line(TONE_GREW_MUCH, svg->options->negate));
	fprintf(svg->out, "<text x=\"%u\" y=\"20\">", 12 * (item->n_classes - 1) + LEGEND_BOX);
	text_write(svg->out, item->text, ITEM_COLUMNS);
	fputs("</text></g>\n", svg->out);
}

/*
 * Right-aligned, as far as notes leave room: these can be any text, while every picture has a
 * legend.
 */
static void write_legend(const struct svg *svg, const struct legend *legend)
{
	unsigned int x = svg->width - SVG_MARGIN + LEGEND_GAP - legend->width;

	fputs("<g class=\"legend\">\n", svg->out);
	for (unsigned int i = 0; i < legend->n; i++) {
		write_item(svg, &legend->items[i], x, i < legend->n_shown);
		x += item_width(&legend->items[i]);
	}
	fputs("</g>\n", svg->out);
}

static void write_notes(const struct svg *svg, const struct legend *legend)
{
	unsigned int room = svg->width - 2 * SVG_MARGIN;

	if (!svg->options->notes)
		return;
	room -= legend->width < room ? legend->width : room;
	/* The script makes room if there is none. */
	text_write(svg->out, svg->options->notes, room / HEADER_COLUMN);
}

int svg_write_footer(const struct svg *svg)
{
	struct legend legend = {};
	int r = make_legend(svg, &legend);

	if (r < 0)
		return r;
	legend.n_shown = legend.n;
	while (legend.n_shown && legend.width > svg->width - 2 * SVG_MARGIN)
		legend.width -= item_width(&legend.items[--legend.n_shown]);
	fprintf(svg->out,
		"<g%s transform=\"translate(0 %u)\">"
		"<rect class=\"paper\" width=\"100%%\" height=\"%d\" fill=\"#fff\"/>\n"
		"<line class=\"line\" x2=\"100%%\" y1=\".5\" y2=\".5\" stroke=\"#dde1e8\"/>\n"
		"<g class=\"details\"><text x=\"%d\" y=\"20\">",
		svg->is_part ? "" : " id=\"footer\"", svg->height - SVG_FOOTER_HEIGHT,
		SVG_FOOTER_HEIGHT, SVG_MARGIN);
	write_notes(svg, &legend);
	fputs("</text></g>\n", svg->out);
	write_legend(svg, &legend);
	fputs("</g>\n", svg->out);
	return 0;
}
