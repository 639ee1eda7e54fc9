/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html_header: everything that the page needs besides the data, as one JSON object: the recording,
 * units, colours, the length of each part of the data.
 */
#include "render/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "compare/split.h"
#include "render/modules.h"
#include "render/picture_texts.h"
#include "render/tone.h"

#define ELIDED_FILL    0xe4e7ec
#define SEARCH_COLOR   "#e879f9"
#define FILL_SIZE      sizeof "#rrggbb"
#define DEFAULT_ROW    18
#define DEFAULT_LETTER 11

static const char *text_of(const struct html *html, uint32_t id)
{
	return strings_get(&html->stacks->strings, id);
}

static void fill_text(char text[static FILL_SIZE], uint32_t fill)
{
	snprintf(text, FILL_SIZE, "#%06" PRIx32, fill & 0xffffff);
}

static void write_fill(struct json *json, const char *key, uint32_t fill)
{
	char text[FILL_SIZE];

	fill_text(text, fill);
	json_text(json, key, text);
}

static const char *help_of(const struct html *html)
{
	static const char *const helps[N_PROFILE_MODES] = {
		[PROFILE_ONCPU] = "Widths are samples of running threads: time on a CPU.",
		[PROFILE_OFFCPU] = "Widths are time that threads did not run. The end of a stack "
				   "says why.",
		[PROFILE_WALL] = "Widths are time of threads, running and waiting. The end of a "
				 "stack says which; warm colours run.",
	};

	if (html->stacks->is_comparison)
		return "Widths are both recordings together. A frame's colour is the change of "
		       "its weight with everything that it calls: red for more, blue for less, "
		       "grey for no more than chance. The bar on its lower edge is the change of "
		       "its own weight. A dashed edge: only one of the recordings has it.";
	if (html->stacks->facts[SIDE_NEW].is_unsampled)
		return "Widths are the values in the file.";
	if (html->stacks->facts[SIDE_NEW].is_counted)
		return "Widths are events, counted where they happened.";
	return helps[html->mode];
}

static int write_facts(const struct html *html, struct json *json)
{
	char *lines = picture_facts(&html->tree, html->options), *rest = lines;

	if (!lines)
		return -ENOMEM;
	json_open(json, "facts", '[');
	for (char *line; (line = strsep(&rest, "\n"));)
		json_text(json, NULL, line);
	json_close(json, ']');
	free(lines);
	return 0;
}

static int write_words(const struct html *html, struct json *json)
{
	const struct picture_options *options = html->options;
	const char *unit = stacks_is_time(html->stacks) ? "ns" : "sample";
	const char *count_name = picture_count_name(html->stacks, options);
	char title[PICTURE_TITLE_SIZE];

	json_text(json, "title", picture_title(html->stacks, html->options, title));
	json_text(json, "subtitle",
		  options->subtitle ? options->subtitle
				    : text_of(html, html->stacks->facts[SIDE_NEW].command_line));
	json_text(json, "notes", options->notes ? options->notes : "");
	json_text(json, "nameType", options->name_type ? options->name_type : "");
	json_text(json, "help", help_of(html));
	json_text(json, "unit", count_name ? count_name : unit);
	json_text(json, "mode", profile_mode_name(html->mode));
	return write_facts(html, json);
}

static void write_palettes(const struct html *html, struct json *json)
{
	json_open(json, "fills", '[');
	for (int part = 0; part < N_PALETTE_PARTS; part++)
		for (int kind = 0; kind < N_FRAME_KINDS; kind++)
			for (unsigned int shade = 0;
			     shade < palette_n_shades(html->palettes[part], kind); shade++)
				write_fill(json, NULL,
					   palette_fill(html->palettes[part], kind, shade));
	json_close(json, ']');
}

/* @tone: TONE_SAME if it is no tone of a comparison. */
static void write_legend_tone(const struct html *html, struct json *json, const char *text,
			      uint32_t fill, enum tone tone)
{
	json_open(json, NULL, '[');
	json_text(json, NULL, text);
	write_fill(json, NULL, fill);
	if (tone_is_hatched(tone))
		write_fill(json, NULL, tone_hatch(tone, html->options->negate));
	json_close(json, ']');
}

static void write_legend_item(const struct html *html, struct json *json, const char *text,
			      uint32_t fill)
{
	write_legend_tone(html, json, text, fill, TONE_SAME);
}

/* Whether an earlier look has the same words: running and waiting have a colour each. */
static bool is_repeated(const struct html *html, enum palette_part part, enum frame_kind kind,
			const char *text)
{
	for (int p = 0; p < (int)part; p++) {
		const char *other = look_text(LOOK(p, kind), html->mode);
		bool is_drawn = false;

		for (unsigned int shade = 0; shade < PALETTE_MOST_SHADES; shade++)
			is_drawn |= html->used[p][kind][shade];
		if (is_drawn && other && strcmp(other, text) == 0)
			return true;
	}
	return false;
}

/* The legend's texts for the used fills of one part and kind, without those of @modules. */
static void write_looks(const struct html *html, const struct modules *modules, struct json *json,
			enum palette_part part, enum frame_kind kind)
{
	const struct palette *palette = html->palettes[part];
	const char *text = look_text(LOOK(part, kind), html->mode), *before = NULL;

	for (unsigned int shade = 0; shade < palette_n_shades(palette, kind); shade++) {
		const char *own = palette_text(palette, kind, shade);
		const char *shown = own ? own : text;

		if (!html->used[part][kind][shade] || !shown || shown == before ||
		    modules_have(modules, palette, kind, shade) ||
		    is_repeated(html, part, kind, shown))
			continue;
		before = shown;
		write_legend_item(html, json, shown,
				  palette_fill(palette, kind, own ? shade : PALETTE_SHADES / 2));
	}
}

static void write_tones_legend(const struct html *html, struct json *json)
{
	static const struct {
		enum tone tone;
		const char *text;
	} items[] = {{TONE_GREW_MUCH, "more"},
		     {TONE_SHRANK_MUCH, "less"},
		     {TONE_NEW, "new"},
		     {TONE_GONE, "gone"},
		     {TONE_SAME, "within noise"}};

	for (size_t i = 0; i < sizeof items / sizeof *items; i++)
		write_legend_tone(html, json, items[i].text,
				  tone_fill(items[i].tone, html->options->negate), items[i].tone);
}

static int write_all_looks(const struct html *html, struct json *json)
{
	const struct palette *palette = html->palettes[PART_PLAIN];
	struct modules modules;
	int r = modules_find(&html->tree, palette, &modules);

	if (r < 0)
		return r;
	for (unsigned int i = 0; i < modules.n; i++)
		write_legend_item(html, json, modules.of[i].name,
				  palette_fill(palette, FRAME_USER, modules.of[i].shade));
	for (int part = 0; part < N_PALETTE_PARTS; part++)
		for (int kind = 0; kind < N_FRAME_KINDS; kind++)
			write_looks(html, &modules, json, part, kind);
	return 0;
}

static int write_legend(const struct html *html, struct json *json)
{
	int r = 0;

	json_open(json, "legend", '[');
	if (html->stacks->is_comparison)
		write_tones_legend(html, json);
	else
		r = write_all_looks(html, json);
	if (r < 0)
		return r;
	if (html->tree.n_elided)
		write_legend_item(html, json, "elided", ELIDED_FILL);
	json_close(json, ']');
	return 0;
}

static void write_states(const struct html *html, struct json *json)
{
	static const struct {
		enum frame_kind kind;
		const char *name;
	} states[] = {{FRAME_RUNNING, "running"},
		      {FRAME_RUNNABLE, "runnable"},
		      {FRAME_WAITING, "waiting"}};

	json_open(json, "stateFills", '{');
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		write_fill(json, states[i].name,
			   palette_fill(html->palettes[PART_PLAIN], states[i].kind,
					PALETTE_SHADES / 2));
	write_fill(json, "idle", ELIDED_FILL);
	json_close(json, '}');
}

static int write_looks_of_all(const struct html *html, struct json *json)
{
	const struct picture_options *options = html->options;
	const struct palette *plain = html->palettes[PART_PLAIN];
	int r;

	write_palettes(html, json);
	r = write_legend(html, json);
	if (r < 0)
		return r;
	write_states(html, json);
	write_fill(json, "rootFill",
		   palette_fill(plain, FRAME_NOTE, palette_shade(plain, FRAME_NOTE, "all", "")));
	write_fill(json, "elidedFill", ELIDED_FILL);
	json_text(json, "searchColor",
		  options->search_color ? options->search_color : SEARCH_COLOR);
	json_count(json, "rowHeight", options->frame_height ? options->frame_height : DEFAULT_ROW);
	json_number(json, "fontSize", options->font_size > 0 ? options->font_size : DEFAULT_LETTER,
		    2);
	json_text(json, "fontType", options->font_type ? options->font_type : "");
	json_bool(json, "cutLeft", options->cut_left);
	json_bool(json, "inverted", options->inverted);
	return 0;
}

static void write_tones(const struct html *html, struct json *json)
{
	json_open(json, "toneFills", '[');
	for (int tone = 0; tone < N_TONES; tone++)
		write_fill(json, NULL, tone_fill(tone, html->options->negate));
	json_close(json, ']');
	/* "": it is not hatched. */
	json_open(json, "toneHatches", '[');
	for (int tone = 0; tone < N_TONES; tone++)
		if (tone_is_hatched(tone))
			write_fill(json, NULL, tone_hatch(tone, html->options->negate));
		else
			json_text(json, NULL, "");
	json_close(json, ']');
	json_open(json, "toneLines", '[');
	for (int tone = 0; tone < N_TONES; tone++)
		write_fill(json, NULL, tone_line(tone, html->options->negate));
	json_close(json, ']');
}

static void write_exactly(struct json *json, const char *key, double value)
{
	fprintf(json->stream, ",\"%s\":%.9g", key /* ours */, value);
}

static void write_noise(struct json *json, const char *key, const struct noise *noise, double slope)
{
	json_open(json, key, '{');
	json_number(json, "clumping", noise->clumping, 9);
	write_exactly(json, "square", noise->square);
	write_exactly(json, "slope", slope);
	json_close(json, '}');
}

/*
 * The spread of each frame's own runs, by frame: degrees of freedom, dispersion, slope; null: none.
 */
static void write_own_runs(const struct html *html, const struct judgement *judgement,
			   struct json *json, enum gate_weight weight)
{
	json_open(json, weight == GATE_SELF ? "self" : "total", '[');
	for (size_t i = 0; i < html->stacks->n_frames; i++) {
		const struct gate_item *own = judgement_frame(judgement, html->stacks, i);
		struct noise_point point = {};

		if (own)
			point = gate_runs(judgement->sums, own, weight, judgement->options);
		fputs(i ? "," : "", json->stream);
		if (point.freedom > 0 && point.events >= SPLIT_LEAST_EVENTS)
			fprintf(json->stream, "[%.4g,%.6g,%.6g]", point.freedom,
				point.statistic / point.freedom, point.slope);
		else
			fputs("null", json->stream);
	}
	json_close(json, ']');
}

/* The inputs of gate_dispersion(), for weights that filters make. */
static void write_model(const struct html *html, const struct judgement *judgement,
			struct json *json)
{
	struct gate_model model;

	if (!judgement->noise)
		return;
	model = gate_model(judgement->sums, judgement->noise, judgement->options);
	write_noise(json, "noise", &model.noise, model.slope);
	if (model.has_least)
		write_noise(json, "leastNoise", &model.least, model.least_slope);
	if (!judgement->noise->has_runs)
		return;
	json_open(json, "ownRuns", '{');
	write_own_runs(html, judgement, json, GATE_SELF);
	write_own_runs(html, judgement, json, GATE_TOTAL);
	json_close(json, '}');
}

static void write_judgement(const struct html *html, const struct judgement *judgement,
			    struct json *json)
{
	const struct compare_options *compare = &judgement->compare;

	json_bool(json, "isCount", html_is_count(html));
	json_bool(json, "unsampled", stacks_is_unsampled(html->stacks));
	json_number(json, "confidence", compare->confidence, 9);
	json_count(json, "compared", compare->n_compared);
	json_open(json, "variances", '[');
	for (int side = 0; side < N_SIDES; side++)
		json_number(json, NULL, compare->variances[side], 0);
	json_close(json, ']');
	json_open(json, "runs", '[');
	for (int side = 0; side < N_SIDES; side++)
		json_count(json, NULL, compare->runs[side] ? compare->runs[side] : 1);
	json_close(json, ']');
	write_model(html, judgement, json);
}

static void write_comparison(const struct html *html, struct json *json)
{
	const struct judgement *judgement = html->options->judgement;
	struct judgement own;

	json_bool(json, "normalized", html->compared == SCALE_NORMALIZED);
	if (!judgement) {
		judgement_of_tree(&html->tree, html->options->confidence, &own);
		judgement = &own;
	}
	write_judgement(html, judgement, json);
	write_tones(html, json);
}

static void write_sides(const struct html *html, struct json *json)
{
	const uint64_t *totals = html->stacks->totals;
	bool is_comparison = html->stacks->is_comparison;

	json_count(json, "sides", html->n_sides);
	json_bool(json, "comparison", is_comparison);
	json_open(json, "totals", '[');
	for (unsigned int side = 0; side < html->n_sides; side++)
		json_count(json, NULL, totals[side]);
	json_close(json, ']');
	/* The factors of weights for drawing. */
	json_open(json, "scales", '[');
	for (unsigned int side = 0; side < html->n_sides; side++)
		fprintf(json->stream, "%s%.17g", side ? "," : "",
			is_comparison && html->compared == SCALE_NORMALIZED && totals[side]
				? 1.0 / totals[side]
				: 1.0);
	json_close(json, ']');
	if (is_comparison)
		write_comparison(html, json);
}

static void write_sizes(const struct html *html, struct json *json)
{
	json_count(json, "frames", html->stacks->n_frames);
	json_count(json, "nodes", html->tree.n_nodes);
	json_open(json, "parts", '[');
	for (size_t i = 0; i < html->n_parts; i++) {
		json_open(json, NULL, '[');
		json_text(json, NULL, html->parts[i].name);
		json_count(json, NULL, html->parts[i].n);
		json_close(json, ']');
	}
	json_close(json, ']');
}

int html_write_header(const struct html *html)
{
	const struct stacks_options *options = &html->stacks->options;
	struct json json = {.stream = html->out, .is_in_page = true};
	int r;

	json_open(&json, NULL, '{');
	r = write_words(html, &json);
	if (r < 0)
		return r;
	fprintf(html->out, ",\"factor\":%.17g",
		html->options->factor > 0 ? html->options->factor : 1.0);
	json_bool(&json, "hidesIdle", html->options->first != NULL);
	json_bool(&json, "reverse", options->reverse);
	json_bool(&json, "inOrder", options->in_order);
	json_bool(&json, "threads", html->stacks->facts[SIDE_NEW].by_thread);
	write_sides(html, &json);
	r = write_looks_of_all(html, &json);
	if (r < 0)
		return r;
	write_sizes(html, &json);
	json_close(&json, '}');
	return 0;
}
