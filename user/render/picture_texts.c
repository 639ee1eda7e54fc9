/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/picture_texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "core/marks.h"

const char *picture_count_name(const struct stacks *stacks, const struct picture_options *options)
{
	if (options->count_name)
		return options->count_name;
	if (!stacks->facts[SIDE_NEW].is_counted || stacks_is_time(stacks))
		return NULL;
	return stacks_unit(stacks);
}

/* How many CPUs were busy, for samples at a rate. */
static double busy_cpus(const struct stacks *stacks)
{
	const struct stacks_facts *facts = &stacks->facts[SIDE_NEW];
	double seconds = facts->duration_ns / 1e9;

	if (facts->mode != PROFILE_ONCPU || facts->is_counted || !(facts->frequency > 0) ||
	    !(seconds > 0))
		return 0;
	return (stacks->totals[0] + stacks->totals[1]) / facts->frequency / seconds;
}

/* "On-CPU · node server.js (11650) · 8.02 s · 0.5 CPUs": still makes sense in a week. */
static const char *title_of_subject(const struct stacks *stacks, const char *subject,
				    char text[static PICTURE_TITLE_SIZE])
{
	static const char *const modes[N_PROFILE_MODES] = {[PROFILE_ONCPU] = "On-CPU",
							   [PROFILE_OFFCPU] = "Off-CPU",
							   [PROFILE_WALL] = "Wall-clock"};
	const struct stacks_facts *facts = &stacks->facts[SIDE_NEW];
	double cpus = busy_cpus(stacks);
	char time[TEXT_FIGURE_SIZE];
	int n;

	text_time(time, facts->duration_ns);
	n = snprintf(text, PICTURE_TITLE_SIZE, "%s \u00b7 %.150s \u00b7 %s",
		     facts->is_counted ? strings_get(&stacks->strings, facts->event)
				       : modes[facts->mode],
		     subject, time);
	if (cpus > 0 && n < PICTURE_TITLE_SIZE)
		snprintf(text + n, PICTURE_TITLE_SIZE - n, " \u00b7 %.*f CPUs",
			 cpus < 0.095 ? 2 : 1, cpus);
	return text;
}

const char *picture_title(const struct stacks *stacks, const struct picture_options *options,
			  char text[static PICTURE_TITLE_SIZE])
{
	static const char *const titles[N_PROFILE_MODES][2] = {
		[PROFILE_ONCPU] = {"On-CPU Flame Graph", "On-CPU Flame Chart"},
		[PROFILE_OFFCPU] = {"Off-CPU Flame Graph", "Off-CPU Flame Chart"},
		[PROFILE_WALL] = {"Wall-Clock Flame Graph", "Wall-Clock Flame Chart"},
	};

	if (options->title)
		return options->title;
	if (stacks->is_comparison)
		return "Differential Flame Graph";
	if (options->subject)
		return title_of_subject(stacks, options->subject, text);
	if (stacks->facts[SIDE_NEW].is_counted) {
		snprintf(text, PICTURE_TITLE_SIZE, "Flame %s of %s",
			 stacks->options.in_order ? "Chart" : "Graph",
			 strings_get(&stacks->strings, stacks->facts[SIDE_NEW].event));
		return text;
	}
	return titles[stacks->facts[SIDE_NEW].mode][stacks->options.in_order];
}

static uint64_t whole_number(double value)
{
	return value < 0x1p63 ? (uint64_t)value : (uint64_t)1 << 63;
}

/* Up to three decimals, which only a factor can cause. */
static void format_number(char *text, size_t size, double value)
{
	char figure[TEXT_FIGURE_SIZE], rest[8];
	double whole = floor(value);
	int n = snprintf(rest, sizeof rest, "%.3f", value - whole);

	if (rest[0] == '1') {
		whole++;
		n = 1;
	}
	text_count(figure, whole_number(whole));
	while (n > 1 && (rest[n - 1] == '0' || rest[n - 1] == '.'))
		n--;
	snprintf(text, size, "%s%.*s", figure, n - 1, rest + 1);
}

void picture_weight(char text[static PICTURE_WEIGHT_SIZE], const struct stacks *stacks,
		    const struct picture_options *options, uint64_t weight)
{
	double factor = options->factor > 0 ? options->factor : 1, value = weight * factor;
	const char *name = picture_count_name(stacks, options);
	char figure[TEXT_FIGURE_SIZE + 8];

	if (!name && stacks_is_time(stacks)) {
		text_time(figure, factor == 1 ? weight : whole_number(value));
		snprintf(text, PICTURE_WEIGHT_SIZE, "%s", figure);
		return;
	}
	format_number(figure, sizeof figure, value);
	snprintf(text, PICTURE_WEIGHT_SIZE, "%s %s", figure,
		 name	      ? name
		 : value == 1 ? "sample"
			      : "samples");
}

struct facts_writer {
	FILE *out;
	const struct stacks *stacks;
	const struct picture_options *options;
};

static void add_fact(const struct facts_writer *writer, const char *before, const char *text,
		     const char *behind)
{
	if (!*text)
		return;
	if (ftell(writer->out))
		fputc('\n', writer->out);
	fputs(before /* escaped later */, writer->out);
	for (; *text; text++)
		fputc(*text == '\n' ? ' ' : *text, writer->out);
	fputs(behind /* escaped later */, writer->out);
}

static void add_weight(const struct facts_writer *writer, const char *before, uint64_t weight,
		       const char *behind)
{
	char text[PICTURE_WEIGHT_SIZE];

	picture_weight(text, writer->stacks, writer->options, weight);
	add_fact(writer, before, text, behind);
}

static void add_window(const struct facts_writer *writer)
{
	const struct stacks_facts *facts = &writer->stacks->facts[SIDE_NEW];
	time_t start = facts->start_realtime_ns / 1000000000;
	char text[64];
	struct tm tm;

	if (start && localtime_r(&start, &tm) &&
	    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &tm))
		add_fact(writer, "", text, "");
	if (facts->duration_ns) {
		text_time(text, facts->duration_ns);
		add_fact(writer, "", text, "");
	}
	if (facts->mode != PROFILE_OFFCPU && facts->frequency > 0) {
		snprintf(text, sizeof text, "%g Hz", facts->frequency);
		add_fact(writer, "", text, "");
	}
	if (facts->period > 1) {
		text_count(text, facts->period);
		add_fact(writer, "one sample for each ", text, "");
	}
}

static void add_weights(const struct facts_writer *writer)
{
	static const char *const of[N_PROFILE_MODES] = {[PROFILE_ONCPU] = "",
							[PROFILE_OFFCPU] = " off-CPU",
							[PROFILE_WALL] = " of threads"};
	const struct stacks *stacks = writer->stacks;
	enum profile_mode mode = stacks->facts[SIDE_NEW].mode;

	if (stacks->is_comparison) {
		add_weight(writer, "base ", stacks->totals[SIDE_BASE], "");
		add_weight(writer, "new ", stacks->totals[SIDE_NEW], "");
		if (stacks->scale == SCALE_NORMALIZED)
			add_fact(writer, "", "shares compared", "");
		if (stacks->options.per_second)
			add_fact(writer, "", "of a second of each", "");
		return;
	}
	add_weight(writer, "", stacks->totals[0] + stacks->totals[1], of[mode]);
	if (mode == PROFILE_WALL)
		add_weight(writer, "", stacks->totals[SIDE_RUNNING], " of it on-CPU");
}

#define FEW_SAMPLES 100
#define MANY_CUT    0.1

static uint64_t weight_with(const struct stacks *stacks, uint32_t frame)
{
	uint64_t weight = 0;

	for (size_t i = 0; i < stacks->n_entries; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];

		for (uint32_t k = 0; k < entry->n; k++) {
			if (stacks->ids[entry->first + k] == frame) {
				weight += entry->weight;
				break;
			}
		}
	}
	return weight;
}

/* One frame is the mark, as it has no module. */
static uint64_t cut_weight(const struct stacks *stacks)
{
	for (uint32_t frame = 0; frame < stacks->n_frames; frame++)
		if (stacks_is_mark(stacks, frame, MARK_TRUNCATED))
			return weight_with(stacks, frame);
	return 0;
}

/* Warnings to read before trusting the picture. */
static void add_quality(const struct facts_writer *writer)
{
	const struct stacks *stacks = writer->stacks;
	uint64_t weight = stacks->totals[0] + stacks->totals[1], cut;
	char text[64];

	if (stacks->is_comparison)
		return;
	if (!stacks_is_time(stacks) && !picture_count_name(stacks, writer->options) && weight &&
	    weight < FEW_SAMPLES)
		add_fact(writer, "", "few samples: shares are rough", "");
	cut = cut_weight(stacks);
	snprintf(text, sizeof text, "%.0f %%", weight ? 100.0 * cut / weight : 0);
	if (cut > MANY_CUT * weight)
		add_fact(writer, "", text, " of stacks cut off");
}

static void add_choices(const struct facts_writer *writer, const struct tree *tree)
{
	const struct stacks_options *options = &writer->stacks->options;
	char figure[TEXT_FIGURE_SIZE];

	if (options->select.include)
		add_fact(writer, "only stacks with ", options->select.include, "");
	if (options->select.exclude)
		add_fact(writer, "no stacks with ", options->select.exclude, "");
	if (options->base)
		add_fact(writer, "from ", options->base, " on");
	if (writer->stacks->idle)
		add_weight(writer, "", writer->stacks->idle,
			   writer->options->first ? " of idle waits not shown (idle)"
						  : " of idle waits left out (--idle draws them)");
	if (options->reverse)
		add_fact(writer, "", "merged from the leaves", "");
	if (options->in_order)
		add_fact(writer, "", "in the order of the input", "");
	if (tree->n_elided) {
		text_count(figure, tree->n_elided);
		add_fact(writer, "", figure,
			 tree->n_elided == 1 ? " narrow frame elided" : " narrow frames elided");
	}
}

char *picture_facts(const struct tree *tree, const struct picture_options *options)
{
	const struct stacks *stacks = options->first ? options->first : tree->stacks;
	const struct stacks_facts *facts = &stacks->facts[SIDE_NEW];
	struct facts_writer writer = {.stacks = stacks, .options = options};
	char *text = NULL;
	size_t size;

	writer.out = open_memstream(&text, &size);
	if (!writer.out)
		return NULL;
	add_fact(&writer, "", strings_get(&stacks->strings, facts->host), "");
	add_fact(&writer, "", strings_get(&stacks->strings, facts->kernel), "");
	add_window(&writer);
	add_weights(&writer);
	add_quality(&writer);
	add_choices(&writer, tree);
	if (fclose(writer.out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
