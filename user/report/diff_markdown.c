/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_markdown: writes a comparison as a comment for a pull request.
 *
 * Names are in <code>, which disables mentions, issue numbers and emoji. Characters that could be
 * markup are written as character references: these mean nothing to Markdown (CommonMark, "Entity
 * and numeric character references"), and end neither a table's cell nor the tag.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "report/diff_gate.h"
#include "report/shorten.h"

#define NAME_COLUMNS 80
#define N_SHOWN	     10 /* rows of the table that is not collapsed */
#define N_BESIDES    5	/* of it, next to a gate's verdict */
#define MAX_ROWS     90 /* of all tables: a comment has 65,536 bytes */

struct comment {
	const struct diff *diff;
	FILE *stream;
	size_t rows_left;
	uint32_t *codes;
	size_t capacity;
	int error;
};

static bool is_word(uint32_t code)
{
	return code >= 0x80 || isalnum(code);
}

/*
 * Whether the underscores at @i have word characters on both sides, which makes them no emphasis.
 */
static bool is_inside_word(const uint32_t *codes, size_t n, size_t i)
{
	size_t before = i, after = i;

	while (before > 0 && codes[before] == '_')
		before--;
	while (after < n && codes[after] == '_')
		after++;
	return is_word(codes[before]) && after < n && is_word(codes[after]);
}

static bool is_markup(const uint32_t *codes, size_t n, size_t i)
{
	switch (codes[i]) {
	case '_': return !is_inside_word(codes, n, i);
	case ':': return i + 1 < n && codes[i + 1] == '/';
	case '.': return i > 0 && codes[i - 1] == 'w';
	default: return codes[i] < 0x80 && strchr("&<>\"`|*~[]\\!#@$^{}", codes[i]);
	}
}

static void write_codes(const uint32_t *codes, size_t n, FILE *stream)
{
	for (size_t i = 0; i < n; i++) {
		if (is_markup(codes, n, i))
			fprintf(stream, "&#%u;", codes[i]);
		else
			text_put(stream, codes[i]);
	}
}

/*
 * Decodes text as plain characters. Sets comment->codes, cut to @columns, and returns their number.
 */
static size_t decode(struct comment *comment, const char *text, size_t columns)
{
	size_t n = 0;

	for (uint32_t code; (code = text_next(&text));) {
		int r = array_reserve(comment->codes, comment->capacity, n, 1);

		if (r < 0) {
			comment->error = r;
			return 0;
		}
		comment->codes[n++] = code;
	}
	return shorten(comment->codes, n, columns);
}

/* Writes our own words. Escaping would not stop mentions in others' words here. */
static void write_text(struct comment *comment, const char *text)
{
	write_codes(comment->codes, decode(comment, text, SIZE_MAX), comment->stream);
}

static void write_name(struct comment *comment, const char *name, const char *suffix)
{
	fputs("<code>", comment->stream);
	write_codes(comment->codes, decode(comment, name, NAME_COLUMNS), comment->stream);
	write_text(comment, suffix);
	fputs("</code>", comment->stream);
}

static void say(void *sink, const char *text)
{
	write_text(sink, text);
}

static void name(void *sink, const char *name)
{
	write_name(sink, name, "");
}

static void separate(void *sink)
{
	write_text(sink, "; ");
}

static struct words words_markdown(struct comment *comment)
{
	return (struct words){comment, say, name, separate};
}

static void write_cell(struct comment *comment, const char *text)
{
	fputc(' ', comment->stream);
	write_text(comment, text);
	fputs(" |", comment->stream);
}

/* In another producer's profile, the unit is a name of theirs. */
static void write_unit(struct comment *comment)
{
	const struct stacks *stacks = comment->diff->stacks;

	if (!stacks->facts[SIDE_NEW].is_counted || stacks_is_time(stacks)) {
		write_cell(comment, diff_unit(comment->diff));
		return;
	}
	fputc(' ', comment->stream);
	write_name(comment, diff_unit(comment->diff), "");
	fputs(" |", comment->stream);
}

static void write_head(struct comment *comment, const char *what)
{
	size_t n;
	const struct diff_column *columns = diff_columns(comment->diff, &n);

	fputs("\n|", comment->stream);
	for (size_t i = 0; i < n; i++) {
		if (columns[i].heading)
			write_cell(comment, columns[i].heading);
		else
			write_unit(comment);
	}
	write_cell(comment, what);
	fputs("\n|", comment->stream);
	for (size_t i = 0; i < n; i++)
		fputs("---:|", comment->stream);
	fputs(":---|\n", comment->stream);
}

static void write_row(struct comment *comment, const struct diff_row *row, enum diff_weight weight)
{
	size_t n;
	const struct diff_column *columns = diff_columns(comment->diff, &n);

	fputc('|', comment->stream);
	for (size_t i = 0; i < n; i++) {
		char cell[DIFF_CELL_SIZE];

		columns[i].write(comment->diff, row, weight, cell);
		write_cell(comment, cell);
	}
	fputc(' ', comment->stream);
	write_name(comment, row->name, frame_kind_suffix(row->kind));
	fputs(" |\n", comment->stream);
}

/* Writes the rows from @first up to @end, as far as there is room. Returns where it ended. */
static size_t write_rows(struct comment *comment, const struct diff_list *list,
			 enum diff_weight weight, size_t first, size_t end, const char *what)
{
	size_t i = first;

	write_head(comment, what);
	for (; i < end && comment->rows_left; i++, comment->rows_left--)
		write_row(comment, list->rows[i], weight);
	return i;
}

/* How many rows of a list to show. */
static size_t wanted(const struct comment *comment, const struct diff_list *list)
{
	size_t limit = comment->diff->options.limit;

	return limit && limit < list->n ? limit : list->n;
}

static void write_rest(struct comment *comment, const struct diff_list *list, size_t written)
{
	if (written < list->n)
		fprintf(comment->stream, "\nand %zu more\n", list->n - written);
}

static void write_collapsed(struct comment *comment, const struct diff_list *list,
			    enum diff_weight weight, size_t first, const char *title,
			    const char *what)
{
	if (first >= wanted(comment, list))
		return;
	fputs("\n<details><summary>", comment->stream);
	write_text(comment, title);
	fprintf(comment->stream, ": %zu</summary>\n", list->n - first);
	write_rest(comment, list,
		   write_rows(comment, list, weight, first, wanted(comment, list), what));
	fputs("\n</details>\n", comment->stream);
}

/* Show the self table, and collapse the total one, unless it is the only one. */
static void write_functions(struct comment *comment)
{
	const struct diff_list *lists = comment->diff->tables[DIFF_FUNCTIONS].changed;
	const enum diff_weight first = lists[DIFF_SELF].n ? DIFF_SELF : DIFF_TOTAL;
	static const char *const columns[] = {"function (self)", "function (total)"};
	const struct diff_list *list = &lists[first];
	size_t n = wanted(comment, list);

	if (n > (comment->diff->options.gate ? N_BESIDES : N_SHOWN))
		n = comment->diff->options.gate ? N_BESIDES : N_SHOWN;
	if (n) {
		write_rows(comment, list, first, 0, n, columns[first]);
		if (n == wanted(comment, list))
			write_rest(comment, list, n);
	}
	write_collapsed(comment, list, first, n, "More functions", columns[first]);
	if (first == DIFF_SELF)
		write_collapsed(comment, &lists[DIFF_TOTAL], DIFF_TOTAL, 0,
				"Functions with all that they call", columns[DIFF_TOTAL]);
}

static void write_tables(struct comment *comment)
{
	const struct diff_table *tables = comment->diff->tables;

	write_functions(comment);
	write_collapsed(comment, &tables[DIFF_COMMANDS].changed[DIFF_TOTAL], DIFF_TOTAL, 0,
			"Commands", "command");
	write_collapsed(comment, &tables[DIFF_REASONS].changed[DIFF_TOTAL], DIFF_TOTAL, 0,
			"Reasons", "reason");
}

static void write_offender(struct comment *comment, const struct gate_answer *answer)
{
	const struct diff *diff = comment->diff;
	const char *module = diff_gate_module(diff, answer);
	char cell[DIFF_CELL_SIZE];

	fputc('|', comment->stream);
	for (int column = 0; column < N_GATE_COLUMNS; column++) {
		diff_gate_cell(diff, answer, column, cell);
		write_cell(comment, cell);
	}
	fputc(' ', comment->stream);
	write_text(comment, gate_by_names[answer->item->by]);
	fputc(' ', comment->stream);
	if (answer->item->by != GATE_ALL)
		write_name(comment, diff_gate_name(diff, answer), diff_gate_suffix(answer));
	if (*module) {
		fputs(" in ", comment->stream);
		write_name(comment, module, "");
	}
	if (answer->item->by != GATE_ALL) {
		fputs(" (", comment->stream);
		write_text(comment, diff_gate_weight(answer));
		fputc(')', comment->stream);
	}
	fputs(" |\n", comment->stream);
}

static void write_offenders(struct comment *comment)
{
	const struct diff *diff = comment->diff;
	const struct gate *gate = diff->options.gate;
	char cell[DIFF_CELL_SIZE];

	fputs("\n|", comment->stream);
	for (int column = 0; column < N_GATE_COLUMNS; column++) {
		diff_gate_heading(diff, column, cell);
		write_cell(comment, cell);
	}
	fputs(" what |\n|", comment->stream);
	for (int column = 0; column < N_GATE_COLUMNS; column++)
		fputs("---:|", comment->stream);
	fputs(":---|\n", comment->stream);
	for (size_t i = 0; i < gate->n_failed && i < N_SHOWN; i++)
		write_offender(comment, &gate->answers[i]);
	if (gate->n_failed > N_SHOWN)
		fprintf(comment->stream, "\nand %zu more\n", gate->n_failed - N_SHOWN);
}

/* The gate's verdict comes first, if there is one. */
static void write_verdict(struct comment *comment)
{
	const struct diff *diff = comment->diff;
	const struct gate *gate = diff->options.gate;
	struct words words = words_markdown(comment);

	if (gate) {
		bool opens = !gate->n_failed && gate->n_answers;

		fputs(!opens			? "**❌ "
		      : diff_gate_besides(diff) ? "**⚠️ "
						: "**✅ ",
		      comment->stream);
		diff_write_gate(diff, &words);
		fputs("**\n", comment->stream);
		if (gate->n_failed)
			write_offenders(comment);
		fputc('\n', comment->stream);
		diff_write_verdict(diff, &words);
		fputc('\n', comment->stream);
		return;
	}
	fputs("**", comment->stream);
	diff_write_verdict(diff, &words);
	fputs("**\n", comment->stream);
}

/* If the machines differ, changes may come from them. */
static void write_machines(struct comment *comment)
{
	const struct stacks_facts *facts = comment->diff->stacks->facts;
	const struct strings *strings = &comment->diff->stacks->strings;
	const char *const *remarks = comment->diff->options.remarks;

	for (; remarks && *remarks; remarks++) {
		fputs("; ⚠ ", comment->stream);
		write_name(comment, *remarks, "");
	}
	if (comment->diff->options.remarks || !facts[SIDE_BASE].host || !facts[SIDE_NEW].host ||
	    facts[SIDE_BASE].host == facts[SIDE_NEW].host)
		return;
	fputs("; ⚠ recorded on different machines: ", comment->stream);
	write_name(comment, strings_get(strings, facts[SIDE_BASE].host), "");
	fputs(" and ", comment->stream);
	write_name(comment, strings_get(strings, facts[SIDE_NEW].host), "");
}

static void write_method(struct comment *comment)
{
	const struct diff_options *options = &comment->diff->options;
	struct words words = words_markdown(comment);

	fputs("\n<sub>", comment->stream);
	if (options->base_name && options->new_name) {
		write_name(comment, options->base_name, "");
		fputs(" → ", comment->stream);
		write_name(comment, options->new_name, "");
		fputs(": ", comment->stream);
	}
	diff_write_method(comment->diff, &words);
	if (comment->diff->options.gate) {
		fputs("; ", comment->stream);
		diff_write_gate_method(comment->diff, &words);
	}
	write_machines(comment);
	fputs("</sub>\n", comment->stream);
}

int diff_markdown(const struct diff *diff, FILE *stream)
{
	struct comment comment = {.diff = diff, .stream = stream, .rows_left = MAX_ROWS};

	write_verdict(&comment);
	write_tables(&comment);
	write_method(&comment);
	free(comment.codes);
	return comment.error;
}
