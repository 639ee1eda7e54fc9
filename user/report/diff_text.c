/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff_text: writes a comparison for a terminal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/diff_gate.h"
#include "report/page.h"

#define GAP		2  /* between columns */
#define LEAST_NAME	24 /* columns that a name needs before the wide ones are left out */
#define MAX_COLUMNS	8
#define FILE_NAME_LIMIT 200

/* One table while it is written. */
struct grid {
	const struct diff *diff;
	const struct diff_list *list;
	enum diff_weight weight;
	const struct diff_column *columns[MAX_COLUMNS];
	size_t widths[MAX_COLUMNS];
	size_t n_columns, n_rows;
};

/* The same two hues as in pictures. */
static enum page_style style_of(const struct change *change)
{
	return change->difference > 0 ? STYLE_RUNNING : STYLE_WAITING;
}

static const char *heading_of(const struct grid *grid, size_t column)
{
	const char *heading = grid->columns[column]->heading;

	return heading ? heading : diff_unit(grid->diff);
}

static size_t width_of(const struct grid *grid, size_t column)
{
	size_t width = text_columns(heading_of(grid, column));

	for (size_t i = 0; i < grid->n_rows; i++) {
		char cell[DIFF_CELL_SIZE];
		size_t n;

		grid->columns[column]->write(grid->diff, grid->list->rows[i], grid->weight, cell);
		n = text_columns(cell);
		if (n > width)
			width = n;
	}
	return width;
}

/* Chooses columns so that names have room. Returns the width left for names. */
static size_t choose_columns(struct grid *grid, size_t page_columns)
{
	size_t n, used = 0;
	const struct diff_column *columns = diff_columns(grid->diff, &n);

	for (size_t i = 0; i < n; i++) {
		size_t width;

		grid->columns[grid->n_columns] = &columns[i];
		width = width_of(grid, grid->n_columns) + GAP;
		if (columns[i].is_wide && used + width + LEAST_NAME > page_columns)
			continue;
		grid->widths[grid->n_columns++] = width;
		used += width;
	}
	return used + LEAST_NAME / 2 > page_columns ? LEAST_NAME / 2 : page_columns - used;
}

static void write_row(struct page *page, const struct grid *grid, const struct diff_row *row,
		      size_t name_columns)
{
	enum page_style style = style_of(&row->changes[grid->weight]);

	for (size_t i = 0; i < grid->n_columns; i++) {
		char cell[DIFF_CELL_SIZE];

		grid->columns[i]->write(grid->diff, row, grid->weight, cell);
		page_right(page, style, cell, grid->widths[i] - (i == 0 ? GAP : 0));
	}
	page_spaces(page, GAP);
	page_name(page, STYLE_PLAIN, row->name, frame_kind_suffix(row->kind), name_columns);
	page_line(page);
}

static void write_table(struct page *page, const struct diff *diff, enum diff_by by,
			enum diff_weight weight, const char *title, const char *what)
{
	struct grid grid = {
		.diff = diff, .list = &diff->tables[by].changed[weight], .weight = weight};
	size_t limit = diff->options.limit, name_columns;
	char rest[DIFF_CELL_SIZE];

	if (!grid.list->n)
		return;
	grid.n_rows = limit && grid.list->n > limit ? limit : grid.list->n;
	name_columns = choose_columns(&grid, page->columns);
	page_line(page);
	page_text(page, STYLE_STRONG, title);
	page_line(page);
	for (size_t i = 0; i < grid.n_columns; i++)
		page_right(page, STYLE_DIM, heading_of(&grid, i),
			   grid.widths[i] - (i == 0 ? GAP : 0));
	page_spaces(page, GAP);
	page_text(page, STYLE_DIM, what);
	page_line(page);
	for (size_t i = 0; i < grid.n_rows; i++)
		write_row(page, &grid, grid.list->rows[i], name_columns);
	if (grid.n_rows == grid.list->n)
		return;
	snprintf(rest, sizeof rest, "… and %zu more (--limit 0 shows all)",
		 grid.list->n - grid.n_rows);
	page_text(page, STYLE_DIM, rest);
	page_line(page);
}

static void write_heading(struct page *page, const struct diff *diff)
{
	const char *const *remarks = diff->options.remarks;
	struct words words = words_terminal(page->stream);
	const char *names[N_SIDES] = {
		[SIDE_BASE] = diff->options.base_name, [SIDE_NEW] = diff->options.new_name};

	diff_write_verdict(diff, &words);
	page_line(page);
	if (names[SIDE_BASE] && names[SIDE_NEW]) {
		page_text(page, STYLE_DIM, "base: ");
		page_name(page, STYLE_PLAIN, names[SIDE_BASE], "", FILE_NAME_LIMIT);
		page_text(page, STYLE_DIM, ", new: ");
		page_name(page, STYLE_PLAIN, names[SIDE_NEW], "", FILE_NAME_LIMIT);
		page_line(page);
	}
	diff_write_method(diff, &words);
	page_line(page);
	for (; remarks && *remarks; remarks++) {
		page_name(page, STYLE_RUNNABLE, *remarks, "", FILE_NAME_LIMIT);
		page_line(page);
	}
}

/* Columns of figures for the failures, as wide as necessary. */
static void write_failed(struct page *page, const struct diff *diff)
{
	const struct gate *gate = diff->options.gate;
	size_t limit = diff->options.limit, n = gate->n_failed;
	size_t widths[N_GATE_COLUMNS];
	char cell[DIFF_CELL_SIZE];

	if (limit && n > limit)
		n = limit;
	for (int column = 0; column < N_GATE_COLUMNS; column++) {
		diff_gate_heading(diff, column, cell);
		widths[column] = text_columns(cell);
		for (size_t i = 0; i < n; i++) {
			diff_gate_cell(diff, &gate->answers[i], column, cell);
			if (text_columns(cell) > widths[column])
				widths[column] = text_columns(cell);
		}
		diff_gate_heading(diff, column, cell);
		page_right(page, STYLE_DIM, cell, widths[column] + (column ? GAP : 0));
	}
	page_line(page);
	for (size_t i = 0; i < n; i++) {
		const struct gate_answer *answer = &gate->answers[i];

		for (int column = 0; column < N_GATE_COLUMNS; column++) {
			diff_gate_cell(diff, answer, column, cell);
			page_right(page, STYLE_RUNNING, cell, widths[column] + (column ? GAP : 0));
		}
		page_spaces(page, GAP);
		page_text(page, STYLE_DIM, gate_by_names[answer->item->by]);
		page_spaces(page, 1);
		page_name(page, STYLE_PLAIN, diff_gate_name(diff, answer), diff_gate_suffix(answer),
			  LEAST_NAME);
		page_line(page);
	}
}

static void write_gate(struct page *page, const struct diff *diff)
{
	struct words words = words_terminal(page->stream);

	page_line(page);
	diff_write_gate(diff, &words);
	page_line(page);
	if (diff->options.gate->n_failed)
		write_failed(page, diff);
	diff_write_gate_method(diff, &words);
	page_line(page);
}

int diff_text(const struct diff *diff, FILE *stream)
{
	struct page page;
	int r;

	page_init(&page, stream, diff->options.colour, diff->options.columns);
	write_heading(&page, diff);
	write_table(&page, diff, DIFF_FUNCTIONS, DIFF_SELF, "Self: the function's own code",
		    "function");
	write_table(&page, diff, DIFF_FUNCTIONS, DIFF_TOTAL,
		    "Total: the function and all that it calls", "function");
	write_table(&page, diff, DIFF_COMMANDS, DIFF_TOTAL, "By command", "command");
	write_table(&page, diff, DIFF_REASONS, DIFF_TOTAL, "By reason", "reason");
	if (diff->options.gate)
		write_gate(&page, diff);
	r = page.error;
	page_done(&page);
	return r;
}
