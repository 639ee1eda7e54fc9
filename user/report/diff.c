/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each table divides the frames into groups. Frames are numbered in the order of their names, so
 * frames with the same name are neighbours, and a group is a run of them.
 */
#include "report/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

#define NO_GROUP UINT32_MAX

// clang-format off
const char *const diff_by_names[N_DIFF_BY] = {
	[DIFF_FUNCTIONS] = "functions",
	[DIFF_COMMANDS]  = "commands",
	[DIFF_REASONS]   = "reasons",
};
// clang-format on

enum change_kind diff_row_kind(const struct diff_row *row)
{
	enum change_kind total = row->changes[DIFF_TOTAL].kind;

	return total != CHANGE_NONE ? total : row->changes[DIFF_SELF].kind;
}

bool diff_is_empty(const struct diff *diff)
{
	return !diff->stacks->totals[SIDE_BASE] || !diff->stacks->totals[SIDE_NEW];
}

/* The table that a frame belongs to; N_DIFF_BY: none. @is_root: the frame begins stacks. */
static enum diff_by table_of(const struct stacks_frame *frame, bool is_root)
{
	if (frame->is_waker || frame->kind == FRAME_SEPARATOR)
		return N_DIFF_BY;
	if (frame->kind < FRAME_NOTE)
		return DIFF_FUNCTIONS;
	if (frame->kind == FRAME_NOTE)
		return is_root ? DIFF_COMMANDS : N_DIFF_BY;
	return DIFF_REASONS;
}

static bool is_same_row(const struct stacks_frame *a, const struct stacks_frame *b)
{
	return a->name == b->name && (a->kind == FRAME_KERNEL) == (b->kind == FRAME_KERNEL);
}

static void find_roots(const struct stacks *stacks, bool *is_root)
{
	for (size_t i = 0; i < stacks->n_entries; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];
		uint32_t at = 0;

		if (stacks->options.unfold.fold_idle && entry->n &&
		    strcmp(stacks_name(stacks, stacks->ids[entry->first]), "[idle]") == 0)
			at = 1;
		if (at < entry->n)
			is_root[stacks->ids[entry->first + at]] = true;
	}
}

/* The frames of one table as groups, with a row each. */
struct diff_groups {
	uint32_t *groups; /* by frame */
	struct diff_row *rows;
	size_t n;
};

/* A name may have kernel and other frames in turn: both rows of the latest name stay open. */
static void group_frame(const struct stacks *stacks, uint32_t frame, struct diff_groups *grouped)
{
	const struct stacks_frame *this = &stacks->frames[frame];
	struct diff_row *row;

	for (uint32_t other = frame; other-- > 0;) {
		if (stacks->frames[other].name != this->name)
			break;
		if (grouped->groups[other] == NO_GROUP ||
		    !is_same_row(&stacks->frames[other], this))
			continue;
		row = &grouped->rows[grouped->groups[other]];
		grouped->groups[frame] = grouped->groups[other];
		if (row->kind != this->kind)
			row->kind = FRAME_USER; /* inlined here, called there */
		return;
	}
	grouped->groups[frame] = grouped->n;
	grouped->rows[grouped->n++] =
		(struct diff_row){.name = stacks_name(stacks, frame), .kind = this->kind};
}

static void group_frames(const struct stacks *stacks, enum diff_by by, const bool *is_root,
			 struct diff_groups *grouped)
{
	grouped->n = 0;
	for (size_t i = 0; i < stacks->n_frames; i++) {
		grouped->groups[i] = NO_GROUP;
		if (table_of(&stacks->frames[i], is_root[i]) == by)
			group_frame(stacks, i, grouped);
	}
}

/* Drops rows that occur only in stacks that were left out. */
static void drop_empty(struct diff_table *table)
{
	size_t n = 0;

	for (size_t i = 0; i < table->n_rows; i++)
		if (table->rows[i].sides[SIDE_BASE].total || table->rows[i].sides[SIDE_NEW].total)
			table->rows[n++] = table->rows[i];
	table->n_rows = n;
}

/* Counts a table's rows. @groups and @is_root have room for all frames. */
static int make_table(const struct stacks *stacks, enum diff_by by, uint32_t *groups,
		      const bool *is_root, struct diff_table *ret)
{
	struct diff_groups grouped = {.groups = groups};
	struct functions functions;
	int r;

	grouped.rows = calloc(stacks->n_frames + 1, sizeof *grouped.rows);
	if (!grouped.rows)
		return -ENOMEM;
	ret->rows = grouped.rows;
	group_frames(stacks, by, is_root, &grouped);
	ret->n_rows = grouped.n;
	r = functions_count_groups(stacks, groups, grouped.n, &functions);
	if (r < 0)
		return r;
	for (size_t i = 0; i < grouped.n; i++)
		memcpy(ret->rows[i].sides, functions.frames[i], sizeof ret->rows[i].sides);
	functions_done(&functions);
	drop_empty(ret);
	return 0;
}

static int make_tables(struct diff *diff)
{
	const struct stacks *stacks = diff->stacks;
	_cleanup_free_ uint32_t *groups = calloc(stacks->n_frames + 1, sizeof *groups);
	_cleanup_free_ bool *is_root = calloc(stacks->n_frames + 1, sizeof *is_root);

	if (!groups || !is_root)
		return -ENOMEM;
	find_roots(stacks, is_root);
	for (int by = 0; by < N_DIFF_BY; by++) {
		int r = make_table(stacks, by, groups, is_root, &diff->tables[by]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* The whole that a difference is relative to: points are percent of it. */
static double whole(const struct diff *diff)
{
	return diff->judgement.compare.scale == SCALE_NORMALIZED ? 1
								 : diff->stacks->totals[SIDE_BASE];
}

static bool is_listed(const struct diff *diff, const struct change *change)
{
	return change->kind != CHANGE_NONE &&
	       (change->difference > 0 || !diff->options.only_grown) &&
	       fabs(change->difference) * 100 >= diff->options.threshold * whole(diff);
}

static double runs_of(const struct diff *diff, enum stacks_side side)
{
	return diff->options.noise ? diff->options.sums->sides[side].n_runs : 0;
}

static void compare_row(struct diff *diff, enum diff_by by, struct diff_row *row)
{
	const struct judgement *judgement = &diff->judgement;
	const struct gate_item *own = NULL;

	if (by == DIFF_FUNCTIONS)
		own = judgement_function(judgement, row->name, row->kind == FRAME_KERNEL);
	judgement_compare(judgement, diff->stacks, own, row->sides, GATE_SELF,
			  &row->changes[DIFF_SELF]);
	judgement_compare(judgement, diff->stacks, own, row->sides, GATE_TOTAL,
			  &row->changes[DIFF_TOTAL]);
}

static void compare_rows(struct diff *diff)
{
	struct compare_options *compare = &diff->judgement.compare;
	struct compare_family family = {0};

	compare_read_variances(diff->stacks, compare);
	for (int side = 0; side < N_SIDES; side++)
		compare->runs[side] = runs_of(diff, side);
	for (int by = 0; by < N_DIFF_BY; by++)
		for (size_t i = 0; i < diff->tables[by].n_rows; i++)
			compare_family_add(&family, diff->stacks, compare,
					   diff->tables[by].rows[i].sides);
	compare->n_compared = compare_family_size(&family, compare->confidence);
	for (int by = 0; by < N_DIFF_BY; by++)
		for (size_t i = 0; i < diff->tables[by].n_rows; i++)
			compare_row(diff, by, &diff->tables[by].rows[i]);
}

/* The total is one more comparison, tested by itself. */
static void compare_everything(struct diff *diff)
{
	struct compare_options options = {.confidence = diff->judgement.compare.confidence};
	const struct diff_options *from = &diff->options;

	for (int side = 0; side < N_SIDES; side++)
		options.runs[side] = runs_of(diff, side);
	if (from->noise) {
		const struct gate_item *all = &from->sums->items[0];
		struct dispersion dispersion = gate_dispersion(from->sums, from->noise, all, all,
							       GATE_TOTAL, from->judged);

		options.dispersion = dispersion.factor;
		options.freedom = dispersion.freedom;
	}
	compare_all(diff->stacks, &options, &diff->all);
}

static void count_kinds(struct diff_table *table)
{
	for (size_t i = 0; i < table->n_rows; i++) {
		const struct diff_row *row = &table->rows[i];
		enum change_kind kind = diff_row_kind(row);

		if (kind != CHANGE_NONE || row->changes[DIFF_SELF].difference != 0 ||
		    row->changes[DIFF_TOTAL].difference != 0)
			table->n_by_kind[kind]++;
	}
}

static int compare_numbers(double a, double b)
{
	return a > b ? -1 : a < b ? 1 : 0;
}

/* By the change, then by the name; @weight points to an enum diff_weight. */
static int compare_changes(const void *a, const void *b, void *weight)
{
	const struct diff_row *x = *(const struct diff_row *const *)a;
	const struct diff_row *y = *(const struct diff_row *const *)b;
	enum diff_weight by = *(enum diff_weight *)weight;
	int order =
		compare_numbers(fabs(x->changes[by].difference), fabs(y->changes[by].difference));

	if (order == 0)
		order = compare_numbers(fabs(x->changes[by].deviations),
					fabs(y->changes[by].deviations));
	if (order == 0)
		order = strcmp(x->name, y->name);
	if (order == 0)
		order = (int)x->kind - (int)y->kind;
	return order;
}

static int list_changed(struct diff *diff, struct diff_table *table, enum diff_weight weight)
{
	struct diff_list *list = &table->changed[weight];

	list->rows = calloc(table->n_rows + 1, sizeof *list->rows);
	if (!list->rows)
		return -ENOMEM;
	for (size_t i = 0; i < table->n_rows; i++)
		if (is_listed(diff, &table->rows[i].changes[weight]))
			list->rows[list->n++] = &table->rows[i];
	qsort_r(list->rows, list->n, sizeof *list->rows, compare_changes, &weight);
	return 0;
}

static int fill(struct diff *diff)
{
	int r = make_tables(diff);

	if (r < 0)
		return r;
	compare_rows(diff);
	compare_everything(diff);
	for (int by = 0; by < N_DIFF_BY; by++) {
		count_kinds(&diff->tables[by]);
		for (int weight = 0; weight < N_DIFF_WEIGHTS; weight++) {
			r = list_changed(diff, &diff->tables[by], weight);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int diff_make(const struct stacks *stacks, const struct diff_options *options, struct diff *ret)
{
	struct diff diff = {
		.stacks = stacks,
		.options = *options,
		.judgement = {.compare = {.confidence = options->confidence > 0
								? options->confidence
								: COMPARE_CONFIDENCE,
					  .scale = options->scale},
			      .sums = options->sums,
			      .noise = options->noise,
			      .options = options->judged},
	};
	int r = fill(&diff);

	if (r < 0)
		diff_done(&diff);
	else
		*ret = diff;
	return r;
}

void diff_done(struct diff *diff)
{
	for (int by = 0; by < N_DIFF_BY; by++) {
		for (int weight = 0; weight < N_DIFF_WEIGHTS; weight++)
			free(diff->tables[by].changed[weight].rows);
		free(diff->tables[by].rows);
	}
	*diff = (struct diff){};
}
