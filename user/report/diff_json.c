/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_json: a comparison for programs. Keys stay; values are samples or seconds, shares 0 to 1.
 */
#include <math.h>

#include "base/json.h"
#include "report/diff.h"

static bool is_count(const struct diff *diff)
{
	return diff->stacks->facts[SIDE_NEW].mode == PROFILE_ONCPU;
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

/* What is new has no ratio. */
static void write_change(struct json *json, const struct change *change)
{
	json_text(json, "change", change_kind_name(change->kind));
	if (isfinite(change->ratio))
		json_number(json, "ratio", change->ratio, 6);
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
	write_change(json, &row->changes[weight]);
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

static void write_table(const struct diff *diff, struct json *json, enum diff_by by)
{
	const struct diff_table *table = &diff->tables[by];

	json_open(json, diff_by_names[by], '[');
	for (size_t i = 0; i < table->n_rows; i++)
		write_row(diff, json, &table->rows[i]);
	json_close(json, ']');
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

static void write_offender(struct json *json, const struct diff_offender *offender)
{
	json_open(json, NULL, '{');
	if (offender->row)
		json_text(json, "name", offender->row->name);
	json_bool(json, "all", !offender->row);
	json_text(json, "weight", offender->weight == DIFF_SELF ? "self" : "total");
	write_change(json, &offender->change);
	json_close(json, '}');
}

static void write_gate(const struct diff *diff, struct json *json)
{
	if (diff->options.fail_over < 0)
		return;
	json_open(json, "gate", '{');
	json_number(json, "fail_over_percent", diff->options.fail_over, 6);
	json_bool(json, "failed", diff->n_offenders > 0);
	json_open(json, "offenders", '[');
	for (size_t i = 0; i < diff->n_offenders; i++)
		write_offender(json, &diff->offenders[i]);
	json_close(json, ']');
	json_close(json, '}');
}

int diff_json(const struct diff *diff, FILE *stream)
{
	struct json json = {.stream = stream};

	json_open(&json, NULL, '{');
	json_text(&json, "mode", profile_mode_name(diff->stacks->facts[SIDE_NEW].mode));
	json_text(&json, "unit", is_count(diff) ? "samples" : "seconds");
	json_text(&json, "scale",
		  diff->compare.scale == SCALE_ABSOLUTE ? "absolute" : "normalized");
	json_number(&json, "confidence_percent", diff->compare.confidence, 6);
	json_count(&json, "comparisons", diff->compare.n_compared);
	write_side(diff, &json, "base", diff->options.base_name, SIDE_BASE);
	write_side(diff, &json, "new", diff->options.new_name, SIDE_NEW);
	json_open(&json, "total", '{');
	write_change(&json, &diff->all);
	json_close(&json, '}');
	write_counts(diff, &json);
	write_gate(diff, &json);
	for (int by = 0; by < N_DIFF_BY; by++)
		write_table(diff, &json, by);
	json_close(&json, '}');
	fputc('\n', stream);
	return 0;
}
