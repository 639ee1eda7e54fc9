/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_json: a comparison for programs. Keys are stable; values are samples, events or seconds,
 * shares 0 to 1.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "report/diff_gate.h"

static bool is_count(const struct diff *diff)
{
	return !stacks_is_time(diff->stacks);
}

static void write_weight(const struct diff *diff, struct json *json, const char *key,
			 uint64_t weight)
{
	if (is_count(diff))
		json_count(json, key, weight);
	else
		json_number(json, key, weight / 1e9, 9);
}

static double share_of(const struct diff *diff, uint64_t weight, enum stacks_side side)
{
	uint64_t total = diff->stacks->totals[side];

	return total ? (double)weight / total : 0;
}

/* New things have no ratio; values without samples have no deviations. */
static void write_change(const struct diff *diff, struct json *json, const struct change *change)
{
	json_text(json, "change", change_kind_name(change->kind));
	if (isfinite(change->ratio))
		json_number(json, "ratio", change->ratio, 6);
	if (!stacks_is_unsampled(diff->stacks))
		json_number(json, "deviations", change->deviations, 3);
}

static void write_side(const struct diff *diff, struct json *json, const char *key,
		       const char *name, enum stacks_side side)
{
	json_open(json, key, '{');
	if (name)
		json_text(json, "file", name);
	write_weight(diff, json, "total", diff->stacks->totals[side]);
	json_close(json, '}');
}

static void write_weights(const struct diff *diff, struct json *json, const struct diff_row *row,
			  enum diff_weight weight)
{
	const struct tree_side *sides = row->sides;
	uint64_t base = weight == DIFF_SELF ? sides[SIDE_BASE].self : sides[SIDE_BASE].total;
	uint64_t new_ = weight == DIFF_SELF ? sides[SIDE_NEW].self : sides[SIDE_NEW].total;

	json_open(json, weight == DIFF_SELF ? "self" : "total", '{');
	write_weight(diff, json, "base", base);
	write_weight(diff, json, "new", new_);
	json_number(json, "base_share", share_of(diff, base, SIDE_BASE), 9);
	json_number(json, "new_share", share_of(diff, new_, SIDE_NEW), 9);
	write_change(diff, json, &row->changes[weight]);
	json_close(json, '}');
}

static void write_row(const struct diff *diff, struct json *json, const struct diff_row *row)
{
	json_open(json, NULL, '{');
	json_text(json, "name", row->name);
	json_bool(json, "kernel", row->kind == FRAME_KERNEL);
	json_text(json, "change", change_kind_name(diff_row_kind(row)));
	write_weights(diff, json, row, DIFF_SELF);
	write_weights(diff, json, row, DIFF_TOTAL);
	json_close(json, '}');
}

static double largest_change(const struct diff_row *row)
{
	return fmax(fabs(row->changes[DIFF_SELF].difference),
		    fabs(row->changes[DIFF_TOTAL].difference));
}

static int compare_rows(const void *left, const void *right)
{
	const struct diff_row *a = *(const struct diff_row *const *)left;
	const struct diff_row *b = *(const struct diff_row *const *)right;
	double x = largest_change(a), y = largest_change(b);

	if (x != y)
		return x > y ? -1 : 1;
	return a < b ? -1 : a > b; /* by name */
}

static int write_table(const struct diff *diff, struct json *json, enum diff_by by)
{
	const struct diff_table *table = &diff->tables[by];
	const struct diff_row **rows = calloc(table->n_rows + 1, sizeof *rows);
	size_t limit = diff->options.json_limit, n = table->n_rows;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		rows[i] = &table->rows[i];
	if (limit)
		qsort(rows, n, sizeof *rows, compare_rows);
	if (limit && limit < n)
		n = limit;
	json_open(json, diff_by_names[by], '[');
	for (size_t i = 0; i < n; i++)
		write_row(diff, json, rows[i]);
	json_close(json, ']');
	free(rows);
	return 0;
}

static void write_counts(const struct diff *diff, struct json *json)
{
	const size_t *n = diff->tables[DIFF_FUNCTIONS].n_by_kind;

	json_open(json, "counts", '{');
	json_count(json, "grew", n[CHANGE_GREW]);
	json_count(json, "shrank", n[CHANGE_SHRANK]);
	json_count(json, "new", n[CHANGE_NEW]);
	json_count(json, "gone", n[CHANGE_GONE]);
	json_count(json, "within_noise", n[CHANGE_NONE]);
	json_close(json, '}');
}

static void write_ratio(struct json *json, const char *key, double ratio)
{
	if (isfinite(ratio))
		json_number(json, key, ratio, 6);
}

/* A share, or the weight of a run. */
static void write_compared(const struct diff *diff, struct json *json, const char *key,
			   const struct gate_answer *answer, double value)
{
	if (answer->item->by != GATE_ALL && diff->judgement.compare.scale == SCALE_NORMALIZED)
		json_number(json, key, value, 9);
	else
		json_number(json, key, is_count(diff) ? value : value / 1e9,
			    is_count(diff) ? 3 : 9);
}

static void write_answer(const struct diff *diff, struct json *json,
			 const struct gate_answer *answer)
{
	json_open(json, NULL, '{');
	json_text(json, "by", gate_by_names[answer->item->by]);
	if (answer->item->by != GATE_ALL)
		json_text(json, "name", diff_gate_name(diff, answer));
	json_bool(json, "all", answer->item->by == GATE_ALL);
	if (answer->item->by == GATE_FUNCTION) {
		json_bool(json, "kernel", answer->item->is_kernel);
		if (*diff_gate_module(diff, answer))
			json_text(json, "module", diff_gate_module(diff, answer));
	}
	json_text(json, "weight", diff_gate_weight(answer));
	json_text(json, "change",
		  change_kind_name(isinf(answer->growth) ? CHANGE_NEW : CHANGE_GREW));
	write_compared(diff, json, "base", answer, answer->base);
	write_compared(diff, json, "new", answer, answer->new_);
	write_ratio(json, "ratio", answer->growth);
	write_ratio(json, "ratio_low", answer->low);
	write_ratio(json, "ratio_high", answer->high);
	json_number(json, "sure_percent", (1 - answer->doubt) * 100, 6);
	json_number(json, "fail_over_percent", answer->rule->fail_over, 6);
	if (answer->rule->line)
		json_count(json, "rule_line", answer->rule->line);
	json_close(json, '}');
}

static void write_answers(const struct diff *diff, struct json *json, const char *key, size_t from,
			  size_t n)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < n; i++)
		write_answer(diff, json, &diff->options.gate->answers[from + i]);
	json_close(json, ']');
}

static void write_remarks(const struct diff *diff, struct json *json)
{
	const char *const *remarks = diff->options.remarks;

	if (!remarks)
		return;
	json_open(json, "remarks", '[');
	while (*remarks)
		json_text(json, NULL, *remarks++);
	json_close(json, ']');
}

static void write_runs(const struct diff *diff, struct json *json)
{
	const struct gate_sums *sums = diff->options.sums;

	if (!sums)
		return;
	json_open(json, "runs", '{');
	json_count(json, "base", sums->sides[SIDE_BASE].n_runs);
	json_count(json, "new", sums->sides[SIDE_NEW].n_runs);
	json_close(json, '}');
}

static void write_gate(const struct diff *diff, struct json *json)
{
	const struct gate *gate = diff->options.gate;
	const char *verdict;

	if (!gate)
		return;
	verdict = gate->n_failed ? "failed" : gate->n_answers ? "passed" : "nothing to judge";
	json_open(json, "gate", '{');
	json_text(json, "verdict", verdict);
	json_bool(json, "failed", gate->n_failed > 0);
	json_number(json, "confidence_percent", gate->confidence, 9);
	json_count(json, "checked", gate->n_answers);
	json_number(json, "noise_percent", sqrt(gate->noise[GATE_FUNCTION].square) * 100, 3);
	json_bool(json, "noise_is_learned", gate->has_runs);
	write_answers(diff, json, "offenders", 0, gate->n_failed);
	write_answers(diff, json, "unsure", gate->n_failed, gate->n_unsure);
	json_close(json, '}');
}

static void write_head(const struct diff *diff, struct json *json)
{
	const struct compare_options *compare = &diff->judgement.compare;

	json_text(json, "mode", profile_mode_name(diff->stacks->facts[SIDE_NEW].mode));
	json_text(json, "unit", is_count(diff) ? stacks_unit(diff->stacks) : "seconds");
	json_text(json, "scale",
		  diff->stacks->options.per_second   ? "per-second"
		  : compare->scale == SCALE_ABSOLUTE ? "absolute"
						     : "normalized");
	json_number(json, "confidence_percent", compare->confidence, 6);
	json_count(json, "comparisons", compare->n_compared);
	write_side(diff, json, "base", diff->options.base_name, SIDE_BASE);
	write_side(diff, json, "new", diff->options.new_name, SIDE_NEW);
	write_remarks(diff, json);
	write_runs(diff, json);
	json_open(json, "total", '{');
	write_change(diff, json, &diff->all);
	json_close(json, '}');
	write_counts(diff, json);
	write_gate(diff, json);
}

/* Only what grew */

/* Of a run: a side's weights are those of all its runs. */
static void write_grown(const struct diff *diff, struct json *json, enum diff_weight weight)
{
	const struct diff_list *list = &diff->tables[DIFF_FUNCTIONS].changed[weight];
	size_t limit = diff->options.json_limit ? diff->options.json_limit : list->n;
	double unit = is_count(diff) ? 1 : 1e9;

	json_open(json, weight == DIFF_SELF ? "self" : "with_calls", '[');
	for (size_t i = 0; i < list->n && i < limit; i++) {
		const struct change *change = &list->rows[i]->changes[weight];

		json_open(json, NULL, '{');
		json_text(json, "name", list->rows[i]->name);
		json_bool(json, "kernel", list->rows[i]->kind == FRAME_KERNEL);
		json_number(json, "base", change->base / unit, 9);
		json_number(json, "new", change->new_ / unit, 9);
		json_number(json, "difference", change->difference / unit, 9);
		write_change(diff, json, change);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_count(json, weight == DIFF_SELF ? "self_left_out" : "with_calls_left_out",
		   list->n > limit ? list->n - limit : 0);
}

int diff_json(const struct diff *diff, FILE *stream)
{
	bool only_grown = diff->options.only_grown;
	struct json json = {.stream = stream};

	json_open(&json, NULL, '{');
	write_head(diff, &json);
	for (int weight = 0; weight < N_DIFF_WEIGHTS && only_grown; weight++)
		write_grown(diff, &json, weight);
	for (int by = 0; by < N_DIFF_BY && !only_grown; by++) {
		int r = write_table(diff, &json, by);

		if (r < 0)
			return r;
	}
	json_close(&json, '}');
	fputc('\n', stream);
	return 0;
}
