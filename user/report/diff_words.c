/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff_words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

#define ARROW " → "
#define SIGMA "σ"

static bool is_count(const struct diff *diff)
{
	return !stacks_is_time(diff->stacks);
}

static bool is_absolute(const struct diff *diff)
{
	return diff->judgement.compare.scale == SCALE_ABSOLUTE;
}

static bool has_runs(const struct diff *diff)
{
	return diff->options.noise && diff->options.noise->has_runs;
}

const char *diff_unit(const struct diff *diff)
{
	return is_count(diff)			    ? stacks_unit(diff->stacks)
	       : diff->stacks->options.per_second ? "time a second"
						    : "time";
}

/* Figures */

static void write_figure(const struct diff *diff, uint64_t weight,
			 char text[static TEXT_FIGURE_SIZE])
{
	if (is_count(diff))
		text_count(text, weight);
	else
		text_time(text, weight);
}

void diff_figure(const struct diff *diff, uint64_t weight, char text[static DIFF_CELL_SIZE])
{
	write_figure(diff, weight, text);
}

static uint64_t weight_of(const struct diff_row *row, enum diff_weight weight,
			  enum stacks_side side)
{
	return weight == DIFF_SELF ? row->sides[side].self : row->sides[side].total;
}

static void write_figures(const struct diff *diff, uint64_t base, uint64_t new_,
			  char text[static DIFF_CELL_SIZE])
{
	char before[TEXT_FIGURE_SIZE], after[TEXT_FIGURE_SIZE];

	write_figure(diff, base, before);
	write_figure(diff, new_, after);
	snprintf(text, DIFF_CELL_SIZE, "%s" ARROW "%s", before, after);
}

static void cell_figures(const struct diff *diff, const struct diff_row *row,
			 enum diff_weight weight, char text[static DIFF_CELL_SIZE])
{
	write_figures(diff, weight_of(row, weight, SIDE_BASE), weight_of(row, weight, SIDE_NEW),
		      text);
}

static void cell_difference(const struct diff *diff, const struct diff_row *row,
			    enum diff_weight weight, char text[static DIFF_CELL_SIZE])
{
	uint64_t base = weight_of(row, weight, SIDE_BASE), new_ = weight_of(row, weight, SIDE_NEW);
	char figure[TEXT_FIGURE_SIZE];

	write_figure(diff, new_ < base ? base - new_ : new_ - base, figure);
	snprintf(text, DIFF_CELL_SIZE, "%s%s", new_ < base ? "-" : "+", figure);
}

static void write_share(double share, char text[static DIFF_CELL_SIZE])
{
	snprintf(text, DIFF_CELL_SIZE, "%.2f %%", share * 100);
}

static void cell_base(const struct diff *diff, const struct diff_row *row, enum diff_weight weight,
		      char text[static DIFF_CELL_SIZE])
{
	write_share(row->changes[weight].base, text);
}

static void cell_new(const struct diff *diff, const struct diff_row *row, enum diff_weight weight,
		     char text[static DIFF_CELL_SIZE])
{
	write_share(row->changes[weight].new_, text);
}

static void cell_points(const struct diff *diff, const struct diff_row *row,
			enum diff_weight weight, char text[static DIFF_CELL_SIZE])
{
	snprintf(text, DIFF_CELL_SIZE, "%+.2f", row->changes[weight].difference * 100);
}

void diff_ratio(const struct change *change, char text[static DIFF_CELL_SIZE])
{
	double percent = change->ratio * 100;

	if (change->kind == CHANGE_NEW || isinf(percent))
		strcpy(text, "new");
	else if (change->kind == CHANGE_GONE)
		strcpy(text, "gone");
	else
		snprintf(text, DIFF_CELL_SIZE, "%+.*f %%", fabs(percent) < 1000 ? 1 : 0, percent);
}

static void cell_ratio(const struct diff *diff, const struct diff_row *row, enum diff_weight weight,
		       char text[static DIFF_CELL_SIZE])
{
	diff_ratio(&row->changes[weight], text);
}

static void write_deviations(double deviations, char text[static DIFF_CELL_SIZE])
{
	snprintf(text, DIFF_CELL_SIZE, "%.*f " SIGMA, fabs(deviations) < 100 ? 1 : 0,
		 fabs(deviations));
}

static void cell_deviations(const struct diff *diff, const struct diff_row *row,
			    enum diff_weight weight, char text[static DIFF_CELL_SIZE])
{
	if (stacks_is_unsampled(diff->stacks))
		strcpy(text, "-");
	else
		write_deviations(row->changes[weight].deviations, text);
}

// clang-format off
static const struct diff_column share_columns[] = {
	{"base",   cell_base},
	{"new",    cell_new},
	{"points", cell_points},
	{"change", cell_ratio},
	{"sure",   cell_deviations},
	{NULL,     cell_figures,    .is_wide = true},
};
// clang-format on

static const struct diff_column absolute_columns[] = {
	{NULL, cell_figures},
	{"difference", cell_difference},
	{"change", cell_ratio},
	{"sure", cell_deviations},
};

const struct diff_column *diff_columns(const struct diff *diff, size_t *ret_n)
{
	*ret_n = is_absolute(diff) ? sizeof absolute_columns / sizeof *absolute_columns
				   : sizeof share_columns / sizeof *share_columns;
	return is_absolute(diff) ? absolute_columns : share_columns;
}

/* Sentences */

static void write_total(const struct diff *diff, const struct words *words)
{
	static const char *const subjects[N_PROFILE_MODES] = {[PROFILE_ONCPU] = "on-CPU samples",
							      [PROFILE_OFFCPU] = "off-CPU time",
							      [PROFILE_WALL] =
								      "time of all threads"};
	const struct stacks_facts *facts = &diff->stacks->facts[SIDE_NEW];
	const char *event = strings_get(&diff->stacks->strings, facts->event);
	const uint64_t *totals = diff->stacks->totals;
	char figures[DIFF_CELL_SIZE];

	/* Of one run, if there are several. */
	write_figures(diff, diff->all.base + 0.5, diff->all.new_ + 0.5, figures);
	words_say(words, "total ");
	if (facts->is_counted)
		words_name(words, event);
	else
		words_say(words, "%s", subjects[facts->mode]);
	words_say(words, "%s%s %s", diff->stacks->options.per_second ? " a second" : "",
		  has_runs(diff) ? " of a run" : "", figures);
	if (totals[SIDE_BASE])
		words_say(words, " (%+.1f %%)", diff->all.ratio * 100);
}

static void write_kinds(const struct diff *diff, const struct words *words)
{
	static const struct {
		const char *first, *first_one, *later;
	} forms[N_CHANGE_KINDS] = {
		[CHANGE_GREW] = {"grew", "grew", "grew"},
		[CHANGE_SHRANK] = {"shrank", "shrank", "shrank"},
		[CHANGE_NEW] = {"are new", "is new", "new"},
		[CHANGE_GONE] = {"are gone", "is gone", "gone"},
	};
	const size_t *n = diff->tables[DIFF_FUNCTIONS].n_by_kind;
	bool is_first = true;

	for (int kind = CHANGE_NONE + 1; kind < N_CHANGE_KINDS; kind++) {
		if (!n[kind])
			continue;
		if (is_first)
			words_say(words, "%zu function%s %s", n[kind], n[kind] == 1 ? "" : "s",
				  n[kind] == 1 ? forms[kind].first_one : forms[kind].first);
		else
			words_say(words, ", %zu %s", n[kind], forms[kind].later);
		is_first = false;
	}
	if (is_first)
		words_say(words, "no function changed");
}

void diff_write_verdict(const struct diff *diff, const struct words *words)
{
	size_t noise = diff->tables[DIFF_FUNCTIONS].n_by_kind[CHANGE_NONE];

	write_total(diff, words);
	words_say(words, "; ");
	if (!is_absolute(diff) && diff_is_empty(diff)) {
		words_say(words, "nothing to compare");
		return;
	}
	write_kinds(diff, words);
	if (noise)
		words_say(words, "; %zu change%s within noise", noise,
			  noise == 1 ? " is" : "s are");
}

/* Whether the weights are times in an unknown number of periods. */
static bool is_unknown_periods(const struct diff *diff)
{
	const struct stacks *stacks = diff->stacks;

	for (size_t i = 0; i < stacks->n_entries; i++) {
		double weight = stacks->entries[i].weight;

		if (stacks->entries[i].variance < 0.999 * weight * weight)
			return false;
	}
	return !is_count(diff) && stacks->n_entries > 0;
}

void diff_write_unsampled(const struct diff *diff, const struct words *words)
{
	const struct stacks_facts *facts = &diff->stacks->facts[SIDE_NEW];

	words_say(words, "changes have no confidence: values are ");
	words_name(words, strings_get(&diff->stacks->strings, facts->event));
	words_say(words, ", and the number of samples is unknown");
}

void diff_write_method(const struct diff *diff, const struct words *words)
{
	size_t n = diff->judgement.compare.n_compared;

	if (stacks_is_unsampled(diff->stacks)) {
		words_say(words, "%s compared; ", is_absolute(diff) ? "values" : "shares");
		diff_write_unsampled(diff, words);
		return;
	}
	words_say(words, "%s compared; at %.10g %% confidence",
		  !is_absolute(diff)		       ? "shares of each side's total"
		  : diff->stacks->options.per_second ? "times a second of each side"
		  : has_runs(diff)		       ? "values of a run"
						       : "values as they are",
		  diff->judgement.compare.confidence);
	if (n > 1)
		words_say(words, " for all %zu comparisons together", n);
	words_say(words, ", less is noise");
	if (has_runs(diff)) {
		const struct gate_side *sides = diff->options.sums->sides;

		words_separate(words);
		words_say(words, "the spread of %zu run%s against %zu is included",
			  sides[SIDE_BASE].n_runs, sides[SIDE_BASE].n_runs == 1 ? "" : "s",
			  sides[SIDE_NEW].n_runs);
	}
	if (is_unknown_periods(diff)) {
		words_separate(words);
		words_say(words,
			  "every stack's time counts as one wait, since the files do not say "
			  "how many there were: pprof files do");
	}
	if (diff->options.threshold > 0) {
		words_separate(words);
		words_say(words, "changes of less than %.10g points are not listed",
			  diff->options.threshold);
	}
}
