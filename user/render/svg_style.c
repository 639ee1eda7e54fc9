/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_style: the style sheet. Fills are the same in light and dark, and light enough for dark
 * labels. The surroundings of the frames follow the reader's colour scheme, unless the user set the
 * background to a colour: then the ink is chosen to be readable on it.
 */
#include "render/svg.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Colours around the frames. @up: for frames above the zoomed one. */
struct theme {
	const char *ink, *soft, *faint, *line, *button, *edge, *field, *focus, *up, *up_ink;
	const char *unmatched; /* labels of frames that a search does not match */
	double unmatched_fill; /* their opacity */
};

static const struct theme light = {.ink = "#1f2430",
				   .soft = "#3d4556",
				   .faint = "#596273",
				   .line = "#dde1e8",
				   .button = "#f3f4f7",
				   .edge = "#c3c9d4",
				   .field = "#fff",
				   .focus = "#3343e6",
				   .up = "#e3e6ec",
				   .up_ink = "#4a5262",
				   .unmatched = "#3d4556",
				   .unmatched_fill = 0.35};
static const struct theme dark = {.ink = "#e7e9ee",
				  .soft = "#d5d9e2",
				  .faint = "#a9b1bf",
				  .line = "#333945",
				  .button = "#262b34",
				  .edge = "#4a5263",
				  .field = "#1d2027",
				  .focus = "#aeb8ff",
				  .up = "#343a46",
				  .up_ink = "#c6ccd8",
				  .unmatched = "#f1f2f5",
				  .unmatched_fill = 0.25};

/* From the picture's top to its bottom; names from flamegraph.pl. */
struct sheet {
	const char *name, *top, *end, *dark_top, *dark_end;
};

static const struct sheet plain = {NULL, "#ffffff", "#ffffff", "#15171c", "#15171c"};
static const struct sheet sheets[] = {
	{"yellow", "#eeeeee", "#eeeeb0", "#191917", "#252412"},
	{"blue", "#eeeeee", "#e0e0ff", "#15171c", "#1b1e36"},
	{"green", "#eef2ee", "#e0ffe0", "#151a18", "#132a1b"},
	{"grey", "#f8f8f8", "#e8e8e8", "#1b1c1f", "#292a2e"},
};

const char *const picture_backgrounds[] = {"yellow", "blue", "green", "grey", NULL};

/* Parses #rrggbb; -1: invalid. */
static long parse_color(const char *text)
{
	if (strlen(text) != 7 || text[0] != '#' || strspn(text + 1, "0123456789abcdefABCDEF") != 6)
		return -1;
	return strtol(text + 1, NULL, 16);
}

/* Whether dark ink is readable on it: by its approximate luminance. */
static bool is_light(long color)
{
	double red = (color >> 16) / 255.0, green = (color >> 8 & 255) / 255.0,
	       blue = (color & 255) / 255.0;

	return 0.2126 * red * red + 0.7152 * green * green + 0.0722 * blue * blue > 0.19;
}

static const struct sheet *find_sheet(const char *name)
{
	for (size_t i = 0; name && i < sizeof sheets / sizeof *sheets; i++)
		if (strcmp(sheets[i].name, name) == 0)
			return &sheets[i];
	return name ? NULL : &plain;
}

int svg_check_colors(const struct picture_options *options)
{
	if (options->background && !find_sheet(options->background) &&
	    parse_color(options->background) < 0)
		return -EINVAL;
	if (options->search_color && parse_color(options->search_color) < 0)
		return -EINVAL;
	return 0;
}

static void write_paper(FILE *out, const char *top, const char *end)
{
	fprintf(out,
		"svg{background:%s}\n.paper,.sheet{fill:%s}\n#footer .paper{fill:%s}\n"
		".top{stop-color:%s}.end{stop-color:%s}\n",
		end, top, end, top, end /* ours */);
	if (strcmp(top, end) != 0)
		fputs(".sheet{fill:url(#paper)}\n", out);
}

static void write_theme(FILE *out, const struct theme *theme)
{
	fprintf(out,
		"svg{color:%s}\n"
		".title,.button text,.details{fill:%s}\n"
		".subtitle,.details .more{fill:%s}\n"
		".facts,.legend text,.matched{fill:%s}\n"
		".line{stroke:%s}\n",
		theme->ink, theme->ink, theme->soft, theme->faint, theme->line /* ours */);
	fprintf(out,
		".row rect:hover{stroke:%s;stroke-width:1.2}\n"
		".row rect:focus,.button:focus rect{stroke:%s;stroke-width:2.4;outline:none}\n"
		".row rect.up{fill:%s}\n.labels .up{fill:%s}\n",
		theme->ink, theme->focus, theme->up, theme->up_ink /* ours */);
	fprintf(out,
		".searching rect,.searching path{fill-opacity:%g}\n.searching .labels{fill:%s}\n"
		".button rect{fill:%s;stroke:%s}\n.button:hover rect,.button.on rect{stroke:%s}\n"
		"input{border:1px solid %s;background:%s;color:%s}\n",
		theme->unmatched_fill, theme->unmatched, theme->button, theme->edge, theme->focus,
		theme->focus, theme->field, theme->ink /* ours */);
}

static void write_themes(const struct svg *svg)
{
	const char *background = svg->options->background;
	const struct sheet *sheet = find_sheet(background);

	if (!sheet) {
		write_paper(svg->out, background, background);
		write_theme(svg->out, is_light(parse_color(background)) ? &light : &dark);
		return;
	}
	write_paper(svg->out, sheet->top, sheet->end);
	write_theme(svg->out, &light);
	fputs("@media (prefers-color-scheme:dark){\n", svg->out);
	write_paper(svg->out, sheet->dark_top, sheet->dark_end);
	write_theme(svg->out, &dark);
	fputs("}\n", svg->out);
}

/* Writes only characters of a list of families: letters, digits, commas, … */
static void write_family(FILE *out, const char *text)
{
	for (; *text; text++)
		if (isalnum((unsigned char)*text) || strchr(" ,-_", *text))
			fputc(*text, out);
}

static void write_labels(const struct svg *svg)
{
	fprintf(svg->out, ".labels{font:%gpx ", svg->font_size);
	if (svg->options->font_type) {
		write_family(svg->out, svg->options->font_type);
		fputs(",monospace", svg->out);
	} else {
		fputs("\"DejaVu Sans Mono\",Menlo,Consolas,\"Liberation Mono\",monospace",
		      svg->out);
	}
	fputs(";fill:" PALETTE_INK ";pointer-events:none}\n", svg->out);
}

static void write_search(const struct svg *svg)
{
	const char *color = svg->options->search_color ? svg->options->search_color : "#e879f9";

	fprintf(svg->out,
		".searching .row rect.hit,.searching .row path.hit{fill:%s;fill-opacity:1}\n"
		".searching .labels .hit{fill:%s}\n",
		color /* ours */, is_light(parse_color(color)) ? PALETTE_INK : "#ffffff");
}

void svg_write_fill(const struct svg *svg, const char *class)
{
	unsigned int number = strtoul(class + 1, NULL, 10), look = look_of_letter(*class);
	bool negate = svg->options->negate;
	uint32_t color;

	if (*class == 't' && tone_is_hatched(number)) {
		fprintf(svg->out, " fill=\"url(#hatch%u)\"", number);
		return;
	}
	if (*class == 'x') {
		fputs(" fill=\"url(#elided)\"", svg->out);
		return;
	}
	color = *class == 't' ? tone_fill(number, negate)
		: svg->tones
			? tone_line(number, negate)
			: palette_fill(svg->palettes[look_part(look)], look_kind(look), number);
	fprintf(svg->out, " fill=\"#%06" PRIx32 "\"", color);
}

static void write_fills(const struct svg *svg)
{
	for (unsigned int look = 0; look < LOOK_ELIDED; look++) {
		const struct palette *palette = svg->palettes[look_part(look)];
		bool any = false;

		for (unsigned int shade = 0; shade < PALETTE_MOST_SHADES; shade++) {
			if (!svg->drawn[look][shade])
				continue;
			fprintf(svg->out, ".%c%u{fill:#%06" PRIx32 "}", look_letter(look), shade,
				palette_fill(palette, look_kind(look), shade));
			any = true;
		}
		if (any)
			fputc('\n', svg->out);
	}
}

static void write_tones(const struct svg *svg)
{
	bool negate = svg->options->negate;

	for (enum tone tone = 0; tone < N_TONES; tone++)
		if (tone_is_hatched(tone))
			fprintf(svg->out, ".t%d{fill:url(#hatch%d)}", tone, tone);
		else
			fprintf(svg->out, ".t%d{fill:#%06" PRIx32 "}", tone,
				tone_fill(tone, negate));
	fputc('\n', svg->out);
	for (enum tone tone = TONE_SAME + 1; tone < N_TONES; tone++)
		fprintf(svg->out, ".s%d{fill:#%06" PRIx32 "}", tone, tone_line(tone, negate));
	fprintf(svg->out,
		"\nrect.t%d{stroke:#%06" PRIx32 "}rect.t%d{stroke:#%06" PRIx32
		";stroke-dasharray:4 "
		"2}\n.stripe{stroke:#fff;stroke-width:.6;pointer-events:none}\n",
		TONE_NEW, tone_line(TONE_NEW, negate), TONE_GONE, tone_line(TONE_GONE, negate));
}

#define ELIDED_GROUND 0xe6e8ec
#define ELIDED_LINE   0xc9cdd6

static void write_hatch(FILE *out, const char *id, uint32_t ground, uint32_t line, int angle,
			int width)
{
	fprintf(out,
		"<pattern id=\"%s\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\""
		" patternTransform=\"rotate(%d)\"><rect width=\"7\" height=\"7\" fill=\"#%06" PRIx32
		"\"/><rect width=\"%d\" height=\"7\" fill=\"#%06" PRIx32 "\"/></pattern>\n",
		id /* ours */, angle, ground, width, line);
}

/* Thin lines the other way for what shrank, wide ones for what is gone. */
static void write_tone_hatch(const struct svg *svg, enum tone tone)
{
	bool negate = svg->options->negate;
	char id[16];

	snprintf(id, sizeof id, "hatch%d", tone);
	write_hatch(svg->out, id, tone_fill(tone, negate), tone_hatch(tone, negate),
		    tone == TONE_GONE ? 45 : -45, tone == TONE_GONE ? 3 : 1);
}

void svg_write_definitions(const struct svg *svg)
{
	/* Header and footer stay in place when the picture scrolls: each has one colour. */
	fprintf(svg->out,
		"<defs>\n<linearGradient id=\"paper\" x2=\"0\" y2=\"1\"><stop class=\"top\" "
		"offset=\"%.3f\"/><stop class=\"end\" offset=\"%.3f\"/></linearGradient>\n",
		(double)SVG_HEADER_HEIGHT / svg->height,
		1 - (double)SVG_FOOTER_HEIGHT / svg->height);
	if (svg->drawn[LOOK_ELIDED][0])
		write_hatch(svg->out, "elided", ELIDED_GROUND, ELIDED_LINE, 45, 3);
	for (enum tone tone = 0; svg->tones && tone < N_TONES; tone++)
		if (tone_is_hatched(tone))
			write_tone_hatch(svg, tone);
	fputs("</defs>\n", svg->out);
}

void svg_write_style(const struct svg *svg)
{
	fputs("<style>\n"
	      "svg{font:12px system-ui,-apple-system,\"Segoe UI\",\"DejaVu Sans\",sans-serif}\n"
	      "text{white-space:pre}\n"
	      ".title{font-size:17px;font-weight:600}\n"
	      "#rows,.button{cursor:pointer}\n"
	      ".button rect{rx:5px}\n.button:focus{outline:none}\n"
	      ".button text{text-anchor:middle}\n"
	      ".matched{text-anchor:end}\n"
	      "input{box-sizing:border-box;width:100%;height:100%;margin:0;padding:0 8px;"
	      "border-radius:5px;outline:none;"
	      "font:12px \"DejaVu Sans Mono\",Menlo,Consolas,monospace}\n"
	      "@media print{.button,.field{display:none}svg:root{width:100%;height:100vh}}\n",
	      svg->out);
	write_labels(svg);
	if (svg->tones)
		write_tones(svg);
	else
		write_fills(svg);
	if (svg->drawn[LOOK_ELIDED][0])
		fputs(".x0{fill:url(#elided)}\n", svg->out);
	write_themes(svg);
	write_search(svg);
	fputs("</style>\n", svg->out);
}
