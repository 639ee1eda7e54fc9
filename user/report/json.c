/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report_json: writes one object. Weights are samples, events or nanoseconds, given by "unit".
 * Trees are arrays in depth-first order, each node with its depth: some readers can't nest that
 * deep.
 */
#include "base/json.h"

#include "report/call_tree.h"
#include "report/head.h"

#define DECIMALS 3

static void write_facts(struct json *json, const struct report_source *source)
{
	const struct stacks *stacks = source->stacks;
	const struct stacks_facts *facts = &stacks->facts[SIDE_NEW];

	json_text(json, "mode", profile_mode_name(facts->mode));
	json_text(json, "unit", stacks_unit(stacks));
	if (facts->event)
		json_text(json, "event", strings_get(&stacks->strings, facts->event));
	json_text(json, "command_line", strings_get(&stacks->strings, facts->command_line));
	json_text(json, "host", strings_get(&stacks->strings, facts->host));
	json_text(json, "kernel", strings_get(&stacks->strings, facts->kernel));
	json_number(json, "start_unix_seconds", facts->start_realtime_ns / 1e9, 6);
	json_number(json, "duration_seconds", facts->duration_ns / 1e9, 6);
	json_number(json, "frequency_hz", facts->frequency, DECIMALS);
	json_count(json, "total", source->whole);
	if (facts->mode == PROFILE_WALL) {
		json_count(json, "running", stacks->totals[SIDE_RUNNING]);
		json_count(json, "waiting", stacks->totals[SIDE_WAITING]);
	}
	if (stacks->options.unfold.fold_idle)
		json_count(json, "idle", source->idle);
	json_count(json, "distinct_stacks", source->n_distinct);
}

static void write_weights(struct json *json, uint64_t self, uint64_t total, uint64_t whole)
{
	json_count(json, "self", self);
	json_count(json, "total", total);
	json_number(json, "self_percent", head_percent(self, whole), DECIMALS);
	json_number(json, "total_percent", head_percent(total, whole), DECIMALS);
}

static void write_row(struct json *json, const struct report_source *source,
		      const struct ranking_row *row)
{
	json_open(json, NULL, '{');
	json_text(json, "name", row->name);
	json_text(json, "module", row->module);
	json_text(json, "kind", ranking_kind_names[row->kind]);
	if (row->reason) {
		json_text(json, "reason", row->reason);
		json_text(json, "command", row->command);
	}
	write_weights(json, row->self, row->total, source->whole);
	if (source->stacks->facts[SIDE_NEW].mode == PROFILE_WALL) {
		json_count(json, "self_running", row->self_running);
		json_count(json, "total_running", row->total_running);
	}
	json_close(json, '}');
}

static int write_table(struct json *json, const struct report_source *source, enum report_by by,
		       bool by_total, size_t limit)
{
	static const struct {
		const char *rows, *left_out;
	} keys[N_REPORT_BY] = {
		[REPORT_FUNCTIONS] = {"functions", "functions_left_out"},
		[REPORT_WAITS] = {"waits", "waits_left_out"},
		[REPORT_COMMANDS] = {"by_command", "by_command_left_out"},
		[REPORT_MODULES] = {"by_module", "by_module_left_out"},
		[REPORT_THREADS] = {"by_thread", "by_thread_left_out"},
		[REPORT_REASONS] = {"by_reason", "by_reason_left_out"},
	};
	struct ranking ranking;
	struct ranking_rest rest;
	size_t n;
	int r = ranking_make(source, by, by_total, &ranking);

	if (r < 0)
		return r;
	n = ranking.n_rows - ranking.has_idle;
	limit = limit && limit < n ? limit : n;
	json_open(json, keys[by].rows, '[');
	for (size_t i = 0; i < ranking.n_rows; i++)
		if (i < limit || i >= n)
			write_row(json, source, &ranking.rows[i]);
	json_close(json, ']');
	rest = ranking_rest(&ranking, limit);
	json_open(json, keys[by].left_out, '{');
	json_count(json, "rows", rest.n);
	json_count(json, "self", rest.self);
	json_close(json, '}');
	ranking_done(&ranking);
	return 0;
}

static int write_tables(struct json *json, const struct report_source *source,
			const struct report_options *options)
{
	bool any = false;

	for (int by = 0; by < N_REPORT_BY; by++)
		any |= options->by[by];
	for (int by = 0; by < N_REPORT_BY; by++) {
		int r;

		if (any && !options->by[by])
			continue;
		r = write_table(json, source, by, options->by_total,
				by == REPORT_FUNCTIONS ? options->limit : options->group_limit);
		if (r < 0)
			return r;
	}
	return 0;
}

static void write_node(struct json *json, const struct report_source *source,
		       const struct tree *tree, uint32_t i)
{
	const struct tree_node *node = &tree->nodes[i];
	uint32_t module = node->frame == TREE_ELIDED ? 0 : tree->stacks->frames[node->frame].module;

	json_open(json, NULL, '{');
	json_count(json, "depth", node->depth - 1);
	json_text(json, "name", tree_name(tree, node));
	json_text(json, "module", strings_get(&tree->stacks->strings, module));
	json_text(json, "kind",
		  node->frame == TREE_ELIDED ? "elided"
					     : ranking_kind_names[tree_kind(tree, node)]);
	if (node->frame == TREE_ELIDED)
		json_count(json, "elided", node->n_elided);
	write_weights(json, tree_self(node), tree_total(node), source->whole);
	if (source->stacks->facts[SIDE_NEW].mode == PROFILE_WALL) {
		json_count(json, "self_running", node->sides[SIDE_RUNNING].self);
		json_count(json, "total_running", node->sides[SIDE_RUNNING].total);
	}
	json_close(json, '}');
}

static void write_tree(struct json *json, const char *key, const struct report_source *source,
		       const struct call_tree *tree)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < tree->n_lines; i++) {
		write_node(json, source, &tree->tree, tree->lines[i].node);
		if (tree->lines[i].elided != TREE_NONE)
			write_node(json, source, &tree->tree, tree->lines[i].elided);
	}
	json_close(json, ']');
}

struct trees {
	struct call_tree calls, callers;
};

static int make_trees(const struct report_source *source, const struct report_options *options,
		      struct trees *trees)
{
	int r = 0;

	if (options->tree)
		r = call_tree_make(source, options->tree_percent, &trees->calls);
	if (r < 0 || !options->callers)
		return r;
	return call_tree_make_callers(source, options->callers, options->tree_percent,
				      &trees->callers);
}

static void write_trees(struct json *json, const struct report_source *source,
			const struct report_options *options, const struct trees *trees)
{
	if (options->tree)
		write_tree(json, "tree", source, &trees->calls);
	if (options->callers) {
		json_count(json, "callers_total", tree_total(&trees->callers.tree.nodes[0]));
		write_tree(json, "callers", source, &trees->callers);
	}
}

static int write_all(struct json *json, const struct report_source *source,
		     const struct report_options *options, struct trees *trees)
{
	/* First do what the user's options can make fail, so that nothing is written then. */
	int r = make_trees(source, options, trees);

	if (r < 0)
		return r;
	json_open(json, NULL, '{');
	write_facts(json, source);
	r = write_tables(json, source, options);
	if (r < 0)
		return r;
	write_trees(json, source, options, trees);
	json_close(json, '}');
	fputc('\n', json->stream);
	return 0;
}

int report_json(const struct stacks *stacks, const struct report_options *options, FILE *stream)
{
	struct json json = {.stream = stream};
	struct report_source source;
	struct trees trees = {};
	int r = report_source_init(&source, stacks);

	if (r < 0)
		return r;
	r = write_all(&json, &source, options, &trees);
	call_tree_done(&trees.calls);
	call_tree_done(&trees.callers);
	report_source_done(&source);
	return r;
}
