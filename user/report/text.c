/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report_text: tables with aligned columns, so that the eye can go down the page. The sort key
 * comes first, with a bar scaled to the largest row. The name comes last, since it can have any
 * length, and stays on its line.
 */
#include <string.h>

#include "report/head.h"
#include "report/tree_text.h"

/* Up to this width, a table has neither figures nor modules. */
#define NARROW 60

#define LEAST_MODULE 8
#define LEAST_NAME   20

/* Widths of columns; 0: not shown. */
struct columns {
	size_t bar, running, figure, name, module;
};

struct report_table {
	struct page *page;
	const struct report_source *source;
	const struct ranking *ranking;
	enum report_by by;
	bool by_total;
	size_t n_rows; /* rows shown, without the idle one */
	struct columns columns;
};

#define PERCENT_COLUMNS 7

// clang-format off
static const char *const singular[N_REPORT_BY] = {
	[REPORT_FUNCTIONS] = "function",
	[REPORT_WAITS]     = "waits in",
	[REPORT_COMMANDS]  = "command",
	[REPORT_MODULES]   = "module",
	[REPORT_THREADS]   = "thread",
	[REPORT_REASONS]   = "reason",
};
// clang-format on

static bool has_two_weights(enum report_by by)
{
	return by == REPORT_FUNCTIONS || by == REPORT_MODULES;
}

static size_t most(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Where names begin. */
static size_t indent_of(const struct columns *columns)
{
	return 2 * PERCENT_COLUMNS + columns->bar + 4 + columns->running +
	       (columns->figure ? columns->figure + 2 : 0);
}

static size_t figure_columns(const struct report_source *source)
{
	char text[TEXT_FIGURE_SIZE];

	head_figure(text, source->stacks, source->whole);
	return most(text_columns(text), strlen("samples"));
}

/* The heading after the names of a table; NULL: none. */
static const char *aside_header(enum report_by by)
{
	return by == REPORT_FUNCTIONS ? "module" : by == REPORT_WAITS ? "cause, command" : NULL;
}

#define ASIDE_SIZE 512

static const char *aside(const struct ranking_row *row, char text[static ASIDE_SIZE])
{
	if (!row->reason)
		return row->module;
	snprintf(text, ASIDE_SIZE, "%s%s%s", row->reason, *row->reason ? " " : "", row->command);
	return text;
}

static bool names_functions(enum report_by by)
{
	return by == REPORT_FUNCTIONS || by == REPORT_WAITS;
}

/* The widths that names and modules of the shown rows want. */
static void measure(const struct report_table *table, size_t *ret_name, size_t *ret_module)
{
	char text[ASIDE_SIZE];

	*ret_name = *ret_module = 0;
	for (size_t i = 0; i < table->n_rows; i++) {
		const struct ranking_row *row = &table->ranking->rows[i];
		size_t suffix =
			names_functions(table->by) ? text_columns(frame_kind_suffix(row->kind)) : 0;

		*ret_name = most(*ret_name, text_columns(row->name) + suffix);
		*ret_module = most(*ret_module, text_columns(aside(row, text)));
	}
}

/* Names get the remaining width; modules shrink for them, down to a fifth of the page. */
static void set_columns(struct report_table *table)
{
	size_t width = table->page->columns, name, module, left;
	bool is_wall = table->source->stacks->facts[SIDE_NEW].mode == PROFILE_WALL;
	struct columns *columns = &table->columns;

	columns->bar = width < NARROW ? 4 : width < 100 ? 8 : 12;
	columns->running = width >= NARROW && is_wall ? PERCENT_COLUMNS : 0;
	left = width - indent_of(columns);
	columns->figure = figure_columns(table->source);
	if (width < NARROW || left < columns->figure + LEAST_NAME)
		columns->figure = 0;
	left = width - indent_of(columns);
	measure(table, &name, &module);
	module = least(module, most(width / (table->by == REPORT_WAITS ? 3 : 5), LEAST_MODULE));
	if (width < NARROW || !aside_header(table->by) || left < module + LEAST_NAME)
		module = 0;
	columns->module = module;
	columns->name =
		module ? least(most(name, strlen(singular[table->by])), left - module - 2) : left;
}

/* Whether to show the on-CPU part of each row; reasons show it themselves. */
static bool has_running(const struct report_table *table)
{
	return table->columns.running && table->by != REPORT_REASONS && table->by != REPORT_WAITS;
}

static void print_header(const struct report_table *table)
{
	const struct columns *columns = &table->columns;
	struct page *page = table->page;
	bool two = has_two_weights(table->by);
	const char *sorted_by = !two ? "share %" : table->by_total ? "total %" : "self %";
	const char *other = !two ? "" : table->by_total ? "self %" : "total %";

	page_line(page);
	page_right(page, STYLE_STRONG, sorted_by, PERCENT_COLUMNS);
	page_spaces(page, 2 + columns->bar);
	page_right(page, STYLE_STRONG, other, PERCENT_COLUMNS);
	page_right(page, STYLE_STRONG, has_running(table) ? "cpu %" : "", columns->running);
	page_spaces(page, 2);
	if (columns->figure) {
		page_right(page, STYLE_STRONG, head_unit(table->source->stacks), columns->figure);
		page_spaces(page, 2);
	}
	page_text(page, STYLE_STRONG, singular[table->by]);
	if (columns->module) {
		page_spaces(page, columns->name - strlen(singular[table->by]) + 2);
		page_text(page, STYLE_STRONG, aside_header(table->by));
	}
	page_line(page);
}

static void print_name(const struct report_table *table, const struct ranking_row *row)
{
	const struct columns *columns = &table->columns;
	const char *suffix = names_functions(table->by) ? frame_kind_suffix(row->kind) : "";
	struct page *page = table->page;
	char text[ASIDE_SIZE];
	size_t n = page_name(page, page_style_of_kind(row->kind), row->name, suffix, columns->name);

	if (columns->module && *aside(row, text)) {
		page_spaces(page, columns->name - n + 2);
		page_name(page, STYLE_DIM, aside(row, text), "", columns->module);
	}
	page_line(page);
}

static void print_row(const struct report_table *table, const struct ranking_row *row,
		      uint64_t largest)
{
	const struct columns *columns = &table->columns;
	uint64_t whole = table->source->whole;
	uint64_t weight = table->by_total ? row->total : row->self;
	uint64_t other = table->by_total ? row->self : row->total;
	struct page *page = table->page;
	char figure[TEXT_FIGURE_SIZE];

	page_percent(page, head_percent(weight, whole), PERCENT_COLUMNS);
	page_spaces(page, 1);
	/* Other rows are not compared with the idle one. */
	page_bar(page, largest ? (double)least(weight, largest) / largest : 0, columns->bar);
	page_spaces(page, 1);
	if (has_two_weights(table->by))
		page_percent(page, head_percent(other, whole), PERCENT_COLUMNS);
	else
		page_spaces(page, PERCENT_COLUMNS);
	if (has_running(table))
		page_percent(page, head_percent(row->total_running, whole), columns->running);
	else
		page_spaces(page, columns->running);
	page_spaces(page, 2);
	if (columns->figure) {
		if (weight)
			head_figure(figure, table->source->stacks, weight);
		else
			strcpy(figure, "0");
		page_right(page, weight ? STYLE_PLAIN : STYLE_DIM, figure, columns->figure);
		page_spaces(page, 2);
	}
	print_name(table, row);
}

static void print_rest(const struct report_table *table)
{
	struct ranking_rest rest = ranking_rest(table->ranking, table->n_rows);
	const struct columns *columns = &table->columns;
	char figure[TEXT_FIGURE_SIZE], text[128];
	struct page *page = table->page;
	size_t indent = indent_of(columns);
	int n;

	if (!rest.n)
		return;
	text_count(figure, rest.n);
	n = snprintf(text, sizeof text, "… %s more %s", figure,
		     rest.n == 1 && table->by != REPORT_WAITS ? singular[table->by]
							      : report_by_names[table->by]);
	/* Totals don't add up. */
	if (!table->by_total)
		snprintf(text + n, sizeof text - n, ", %.1f %%%s",
			 head_percent(rest.self, table->source->whole),
			 has_two_weights(table->by) ? " self" : "");
	page_spaces(page, indent);
	page_name(page, STYLE_DIM, text, "", page->columns - indent);
	page_line(page);
}

static void print_table(struct report_table *table, size_t limit)
{
	const struct ranking *ranking = table->ranking;
	size_t n = ranking->n_rows - ranking->has_idle;
	uint64_t largest;

	table->n_rows = limit && limit < n ? limit : n;
	set_columns(table);
	print_header(table);
	largest = n == 0 ? 0 : table->by_total ? ranking->rows[0].total : ranking->rows[0].self;
	for (size_t i = 0; i < table->n_rows; i++)
		print_row(table, &ranking->rows[i], largest);
	print_rest(table);
	if (ranking->has_idle)
		print_row(table, &ranking->rows[n], largest);
}

/* A requested table without rows says why. */
static void print_nothing(struct page *page, enum report_by by)
{
	page_line(page);
	page_text(page, STYLE_DIM,
		  by == REPORT_THREADS ? "No threads in it: --threads shows them."
		  : by == REPORT_WAITS ? "No waits in it: it has no off-CPU time."
				       : "No reasons in it: it has no off-CPU time.");
	page_line(page);
}

static int print_rankings(struct page *page, const struct report_source *source,
			  const struct report_options *options,
			  struct ranking rankings[static N_REPORT_BY])
{
	bool any = false;

	for (int by = 0; by < N_REPORT_BY; by++)
		any |= options->by[by];
	for (int by = 0; by < N_REPORT_BY; by++) {
		int r;

		if (any && !options->by[by])
			continue;
		r = ranking_make(source, by, options->by_total, &rankings[by]);
		if (r < 0)
			return r;
	}
	head_print(page, source, ranking_functions(&rankings[REPORT_FUNCTIONS]),
		   rankings[REPORT_THREADS].n_rows);
	for (int by = 0; by < N_REPORT_BY && source->whole; by++) {
		struct report_table table = {page, source, &rankings[by], by,
					     options->by_total && has_two_weights(by)};

		if (any ? options->by[by] && rankings[by].n_rows : rankings[by].is_telling)
			print_table(&table,
				    by == REPORT_FUNCTIONS ? options->limit : options->group_limit);
		else if (options->by[by])
			print_nothing(page, by);
	}
	return 0;
}

static int print_tables(struct page *page, const struct report_source *source,
			const struct report_options *options)
{
	struct ranking rankings[N_REPORT_BY] = {};
	int r = print_rankings(page, source, options, rankings);

	for (int by = 0; by < N_REPORT_BY; by++)
		ranking_done(&rankings[by]);
	return r;
}

int report_text(const struct stacks *stacks, const struct report_options *options, FILE *stream)
{
	struct report_source source;
	struct page page;
	int r = report_source_init(&source, stacks);

	if (r < 0)
		return r;
	page_init(&page, stream, options->colour, options->columns);
	if (options->callers)
		r = tree_text_callers(&page, &source, options->callers, options->tree_percent);
	else if (options->tree)
		r = tree_text(&page, &source, options->tree_percent);
	else
		r = print_tables(&page, &source, options);
	if (r == 0)
		r = page.error;
	page_done(&page);
	report_source_done(&source);
	return r;
}
