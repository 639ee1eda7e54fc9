/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table divides the frames into groups, and functions_count_groups() counts them. Group 0 is the
 * fallback of every stack: the frame that it begins with, its command. Its self weight is what no
 * other group has; its total means nothing.
 */
#include "report/ranking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/functions.h"
#include "core/marks.h"

#define NO_GROUP UINT32_MAX
#define IDLE	 "[idle]"

// clang-format off
const char *const report_by_names[N_REPORT_BY] = {
	[REPORT_FUNCTIONS] = "functions",
	[REPORT_WAITS]     = "waits",
	[REPORT_COMMANDS]  = "commands",
	[REPORT_MODULES]   = "modules",
	[REPORT_THREADS]   = "threads",
	[REPORT_REASONS]   = "reasons",
};

const char *const ranking_kind_names[N_FRAME_KINDS] = {
	[FRAME_USER]      = "user",
	[FRAME_KERNEL]    = "kernel",
	[FRAME_INLINED]   = "inlined",
	[FRAME_JIT]       = "jit",
	[FRAME_INTERPRETED] = "interpreted",
	[FRAME_NOTE]      = "note",
	[FRAME_SEPARATOR] = "separator",
	[FRAME_RUNNING]   = "running",
	[FRAME_RUNNABLE]  = "runnable",
	[FRAME_WAITING]   = "waiting",
};
// clang-format on

static bool is_idle_frame(const struct stacks *stacks, uint32_t frame)
{
	return stacks->frames[frame].kind == FRAME_NOTE &&
	       strcmp(stacks_name(stacks, frame), IDLE) == 0;
}

static bool is_idle(const struct stacks *stacks, const struct stacks_entry *entry)
{
	return stacks->options.unfold.fold_idle && entry->n > 0 &&
	       is_idle_frame(stacks, stacks->ids[entry->first]);
}

static bool is_same_stack(const struct stacks *stacks, const struct stacks_entry *a,
			  const struct stacks_entry *b)
{
	return a->n == b->n && memcmp(stacks->ids + a->first, stacks->ids + b->first,
				      a->n * sizeof *stacks->ids) == 0;
}

/* Separates idle waits from the rest. */
static int set_aside(struct report_source *source)
{
	const struct stacks *stacks = source->stacks;
	size_t n = 0;

	source->entries = malloc((stacks->n_entries + 1) * sizeof *source->entries);
	if (!source->entries)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->n_entries; i++)
		if (!is_idle(stacks, &stacks->entries[i]))
			source->entries[n++] = stacks->entries[i];
	source->active.entries = source->entries;
	source->active.n_entries = n;
	return 0;
}

int report_source_init(struct report_source *source, const struct stacks *stacks)
{
	*source = (struct report_source){.stacks = stacks, .active = *stacks};
	if (stacks->is_comparison)
		return -EINVAL;
	for (size_t i = 0; i < stacks->n_entries; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];

		source->whole += entry->weight;
		source->idle += is_idle(stacks, entry) ? entry->weight : 0;
		source->n_distinct += i == 0 || !is_same_stack(stacks, entry - 1, entry);
	}
	return source->idle ? set_aside(source) : 0;
}

void report_source_done(struct report_source *source)
{
	free(source->entries);
	*source = (struct report_source){0};
}

/* The frames of a table while they are grouped. */
struct ranking_groups {
	const struct stacks *stacks;
	enum report_by by;
	bool *is_root;	  /* by frame: it begins stacks */
	uint32_t *groups; /* by frame */
	size_t n_groups;
	struct strings *names; /* string n is the name of group n; unused for functions */
};

static int find_roots(struct ranking_groups *grouped)
{
	const struct stacks *stacks = grouped->stacks;

	grouped->is_root = calloc(stacks->n_frames + 1, sizeof *grouped->is_root);
	if (!grouped->is_root)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->n_entries; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];
		size_t at = is_idle(stacks, entry);

		if (at < entry->n)
			grouped->is_root[stacks->ids[entry->first + at]] = true;
	}
	return 0;
}

static bool is_reason(enum frame_kind kind)
{
	return kind == FRAME_RUNNING || kind == FRAME_RUNNABLE || kind == FRAME_WAITING;
}

static bool is_code(enum frame_kind kind)
{
	return kind < FRAME_NOTE;
}

/* Files without mappings still allow these distinctions. */
static const char *module_of(const struct stacks *stacks, const struct stacks_frame *frame)
{
	const char *module = strings_get(&stacks->strings, frame->module);

	if (*module)
		return module;
	return frame->kind == FRAME_KERNEL ? "[kernel]"
	       : frame->kind == FRAME_JIT  ? "[jit]"
					   : "[unknown]";
}

/* The name of the group that @frame is in; NULL: none; "": group 0. */
static const char *group_name(const struct ranking_groups *grouped, uint32_t frame,
			      size_t *ret_length)
{
	const struct stacks *stacks = grouped->stacks;
	const struct stacks_frame *f = &stacks->frames[frame];
	const char *name = stacks_name(stacks, frame);
	bool is_root = grouped->is_root[frame];
	size_t comm;

	switch (grouped->by) {
	case REPORT_COMMANDS:
	case REPORT_THREADS: name = is_root ? name : NULL; break;
	case REPORT_MODULES:
		name = is_code(f->kind) ? module_of(stacks, f) : is_root ? "" : NULL;
		break;
	case REPORT_REASONS: name = is_reason(f->kind) ? name : is_root ? "" : NULL; break;
	default: break;
	}
	*ret_length = name ? strlen(name) : 0;
	if (name && grouped->by == REPORT_COMMANDS && mark_is_thread(name, &comm))
		*ret_length = comm;
	return name;
}

static int group_frame(struct ranking_groups *grouped, uint32_t frame, uint32_t *ret)
{
	const struct stacks_frame *f = &grouped->stacks->frames[frame];
	const char *name;
	size_t length;

	*ret = NO_GROUP;
	if (f->is_waker)
		return 0;
	if (grouped->by == REPORT_FUNCTIONS) {
		if (is_code(f->kind))
			*ret = frame + 1;
		else if (grouped->is_root[frame])
			*ret = 0;
		return 0;
	}
	name = group_name(grouped, frame, &length);
	return name ? strings_add_bytes(grouped->names, name, length, ret) : 0;
}

static int group_frames(struct ranking_groups *grouped)
{
	size_t n = grouped->stacks->n_frames;
	int r = find_roots(grouped);

	if (r < 0)
		return r;
	grouped->groups = malloc((n + 1) * sizeof *grouped->groups);
	if (!grouped->groups)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		r = group_frame(grouped, i, &grouped->groups[i]);
		if (r < 0)
			return r;
	}
	grouped->n_groups = grouped->by == REPORT_FUNCTIONS ? n + 1 : grouped->names->n_strings;
	return 0;
}

static void grouping_done(struct ranking_groups *grouped)
{
	free(grouped->is_root);
	free(grouped->groups);
}

static void weigh_row(const struct functions *functions, size_t group, bool is_wall,
		      struct ranking_row *row)
{
	const struct tree_side *sides = functions->frames[group];

	row->self = sides[0].self + sides[1].self;
	row->total = sides[0].total + sides[1].total;
	if (is_wall) {
		row->self_running = sides[SIDE_RUNNING].self;
		row->total_running = sides[SIDE_RUNNING].total;
	}
	if (group == 0) {
		row->total = row->self;
		row->total_running = row->self_running;
	}
}

/* Sets the kind of each group's frames; an inlined frame has that of its surrounding function. */
static void set_kinds(const struct ranking_groups *grouped, struct ranking_row *rows)
{
	for (size_t i = 0; i < grouped->stacks->n_frames; i++) {
		uint32_t group = grouped->groups[i];
		enum frame_kind kind = grouped->stacks->frames[i].kind;

		if (group == NO_GROUP || group == 0)
			continue;
		if (kind != FRAME_INLINED || grouped->by == REPORT_FUNCTIONS)
			rows[group].kind = kind;
	}
}

static void name_rows(const struct ranking_groups *grouped, struct ranking_row *rows)
{
	const struct stacks *stacks = grouped->stacks;

	rows[0].name = grouped->by == REPORT_REASONS ? "[no reason]" : "[no stack]";
	rows[0].kind = FRAME_NOTE;
	rows[0].module = "";
	for (size_t i = 1; i < grouped->n_groups; i++) {
		bool is_function = grouped->by == REPORT_FUNCTIONS;

		rows[i].name =
			is_function ? stacks_name(stacks, i - 1) : strings_get(grouped->names, i);
		rows[i].module =
			is_function ? strings_get(&stacks->strings, stacks->frames[i - 1].module)
				    : "";
	}
	set_kinds(grouped, rows);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int compare_rows(const void *a, const void *b, void *data)
{
	const struct ranking_row *x = a, *y = b;
	bool by_total = *(const bool *)data;
	int self = compare_numbers(x->self, y->self), total = compare_numbers(x->total, y->total);
	int order = by_total ? total : self;

	if (order == 0)
		order = by_total ? self : total;
	if (order == 0)
		order = strcmp(x->name, y->name);
	if (order == 0)
		order = strcmp(x->module, y->module);
	if (order == 0)
		order = (int)x->kind - (int)y->kind;
	return order;
}

/* Keeps the rows with a weight, sorted. */
static void sort_rows(struct ranking *ranking, bool by_total)
{
	size_t n = 0;

	for (size_t i = 0; i < ranking->n_rows; i++)
		if (ranking->rows[i].total)
			ranking->rows[n++] = ranking->rows[i];
	ranking->n_rows = n;
	if (n > 1)
		qsort_r(ranking->rows, n, sizeof *ranking->rows, compare_rows, &by_total);
}

static bool has_threads(const struct ranking *ranking)
{
	size_t comm;

	for (size_t i = 0; i < ranking->n_rows; i++)
		if (mark_is_thread(ranking->rows[i].name, &comm))
			return true;
	return false;
}

static bool has_reasons(const struct ranking *ranking)
{
	for (size_t i = 0; i < ranking->n_rows; i++)
		if (is_reason(ranking->rows[i].kind))
			return true;
	return false;
}

static int make_rows(const struct report_source *source, const struct ranking_groups *grouped,
		     bool by_total, struct ranking *ranking)
{
	bool is_wall = source->stacks->facts[SIDE_NEW].mode == PROFILE_WALL;
	struct functions functions;
	int r;

	ranking->rows = calloc(grouped->n_groups + 1, sizeof *ranking->rows);
	if (!ranking->rows)
		return -ENOMEM;
	r = functions_count_groups(&source->active, grouped->groups, grouped->n_groups, &functions);
	if (r < 0)
		return r;
	name_rows(grouped, ranking->rows);
	for (size_t i = 0; i < grouped->n_groups; i++)
		weigh_row(&functions, i, is_wall, &ranking->rows[i]);
	ranking->n_rows = grouped->n_groups;
	sort_rows(ranking, by_total);
	functions_done(&functions);
	return 0;
}

static void add_idle(const struct report_source *source, struct ranking *ranking)
{
	if (!source->idle)
		return;
	ranking->has_idle = true;
	ranking->rows[ranking->n_rows++] = (struct ranking_row){.name = IDLE,
								.module = "",
								.kind = FRAME_NOTE,
								.self = source->idle,
								.total = source->idle};
}

static int make_waits(const struct report_source *source, struct ranking *ranking)
{
	const struct leaders *leaders = &ranking->leaders;
	int r = leaders_find(&source->active, LEADERS_WAITING, &ranking->leaders);

	if (r < 0)
		return r;
	ranking->rows = calloc(leaders->n + 1, sizeof *ranking->rows);
	if (!ranking->rows)
		return -ENOMEM;
	for (size_t i = 0; i < leaders->n; i++) {
		const struct leader *row = &leaders->rows[i];

		ranking->rows[ranking->n_rows++] = (struct ranking_row){
			.name = row->function,
			.module = row->module,
			.kind = row->kind,
			.self = row->weight,
			.total = row->weight,
			.reason = row->reason,
			.command = row->command,
		};
	}
	ranking->is_telling = ranking->n_rows > 0;
	return 0;
}

static int make_groups(const struct report_source *source, enum report_by by, bool by_total,
		       struct ranking *ranking)
{
	struct ranking_groups grouped = {
		.stacks = &source->active, .by = by, .names = &ranking->names};
	int r = group_frames(&grouped);

	if (r == 0)
		r = make_rows(source, &grouped, by_total, ranking);
	grouping_done(&grouped);
	if (r < 0)
		return r;
	if ((by == REPORT_THREADS && !has_threads(ranking)) ||
	    (by == REPORT_REASONS && !has_reasons(ranking)))
		ranking->n_rows = 0;
	else
		add_idle(source, ranking);
	ranking->is_telling = by == REPORT_FUNCTIONS || by == REPORT_REASONS ? ranking->n_rows > 0
									     : ranking->n_rows > 1;
	return 0;
}

static int make(const struct report_source *source, enum report_by by, bool by_total,
		struct ranking *ranking)
{
	int r = strings_init(&ranking->names);

	if (r < 0)
		return r;
	return by == REPORT_WAITS ? make_waits(source, ranking)
				  : make_groups(source, by, by_total, ranking);
}

int ranking_make(const struct report_source *source, enum report_by by, bool by_total,
		 struct ranking *ret)
{
	struct ranking ranking = {};
	int r = make(source, by, by_total, &ranking);

	if (r < 0)
		ranking_done(&ranking);
	else
		*ret = ranking;
	return r;
}

void ranking_done(struct ranking *ranking)
{
	strings_done(&ranking->names);
	leaders_done(&ranking->leaders);
	free(ranking->rows);
	*ranking = (struct ranking){};
}

size_t ranking_functions(const struct ranking *ranking)
{
	size_t n = 0;

	if (!ranking->rows)
		return SIZE_MAX;
	for (size_t i = 0; i < ranking->n_rows; i++)
		n += is_code(ranking->rows[i].kind);
	return n;
}

struct ranking_rest ranking_rest(const struct ranking *ranking, size_t first)
{
	struct ranking_rest rest = {};

	for (size_t i = first; i < ranking->n_rows - ranking->has_idle; i++) {
		rest.n++;
		rest.self += ranking->rows[i].self;
	}
	return rest;
}
