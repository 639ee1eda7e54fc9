/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/top.h"

#include <errno.h>
#include <string.h>

#include "core/leaders.h"
#include "report/head.h"

#define LABEL_COLUMNS	12 /* as in the summary */
#define PERCENT_COLUMNS 5
#define LEAST_PERCENT	0.05 /* rows of 0.0 % say nothing */
#define LEAST_NAME	20
#define MOST_COMMAND	24

static const char *const labels[N_LEADERS_OF] = {
	[LEADERS_RUNNING] = "hottest", [LEADERS_WAITING] = "waits in"};
static const char *const keys[N_LEADERS_OF] = {
	[LEADERS_RUNNING] = "hottest", [LEADERS_WAITING] = "waits"};

static uint64_t whole_of(const struct stacks *stacks)
{
	uint64_t whole = 0;

	for (size_t i = 0; i < stacks->n_entries; i++)
		whole += stacks->entries[i].weight;
	return whole;
}

struct widths {
	size_t name, reason;
};

static size_t most(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Names are as wide as the widest, if that leaves room for reasons and commands. */
static struct widths measure(const struct leaders *leaders, size_t limit, size_t columns)
{
	struct widths widths = {};
	size_t rest, command = 0;

	for (size_t i = 0; i < leaders->n && i < limit; i++) {
		const struct leader *row = &leaders->rows[i];

		widths.name = most(widths.name, text_columns(row->function) +
							text_columns(frame_kind_suffix(row->kind)));
		widths.reason = most(widths.reason, text_columns(row->reason));
		command = most(command, text_columns(row->command));
	}
	rest = LABEL_COLUMNS + PERCENT_COLUMNS + 4 + least(command, MOST_COMMAND) + 2 +
	       (widths.reason ? widths.reason + 2 : 0);
	widths.name = least(widths.name, columns > rest + LEAST_NAME ? columns - rest : LEAST_NAME);
	return widths;
}

static void print_row(struct page *page, const char *label, const struct leader *row,
		      const struct widths *widths, uint64_t whole)
{
	size_t n;

	page_spaces(page, 2);
	page_text(page, STYLE_PLAIN, label);
	page_spaces(page, LABEL_COLUMNS - 2 - strlen(label));
	page_percent(page, head_percent(row->weight, whole), PERCENT_COLUMNS);
	page_text(page, STYLE_PLAIN, " %  ");
	n = page_name(page, STYLE_PLAIN, row->function, frame_kind_suffix(row->kind), widths->name);
	page_spaces(page, widths->name - n + 2);
	if (widths->reason) {
		n = page_name(page, STYLE_PLAIN, row->reason, "", widths->reason);
		page_spaces(page, widths->reason - n + 2);
	}
	page_name(page, STYLE_PLAIN, row->command, "", MOST_COMMAND);
	page_line(page);
}

static int print_leaders(struct page *page, const struct stacks *stacks, enum leaders_of of,
			 size_t limit, uint64_t whole)
{
	struct leaders leaders;
	struct widths widths;
	int r = leaders_find(stacks, of, &leaders);

	if (r < 0)
		return r;
	widths = measure(&leaders, limit, page->columns);
	for (size_t i = 0; i < leaders.n && i < limit; i++)
		if (!i || head_percent(leaders.rows[i].weight, whole) >= LEAST_PERCENT)
			print_row(page, i ? "" : labels[of], &leaders.rows[i], &widths, whole);
	leaders_done(&leaders);
	return 0;
}

int top_text(const struct stacks *stacks, size_t limit, unsigned int columns, FILE *stream)
{
	uint64_t whole = whole_of(stacks);
	struct page page;
	int r = 0;

	if (stacks->is_comparison)
		return -EINVAL;
	page_init(&page, stream, false, columns);
	for (enum leaders_of of = 0; of < N_LEADERS_OF; of++) {
		r = print_leaders(&page, stacks, of, limit, whole);
		if (r < 0)
			break;
	}
	if (r == 0)
		r = page.error;
	page_done(&page);
	return r;
}

static int json_leaders(struct json *json, const struct stacks *stacks, enum leaders_of of,
			size_t limit, uint64_t whole)
{
	struct leaders leaders;
	int r = leaders_find(stacks, of, &leaders);

	if (r < 0)
		return r;
	json_open(json, keys[of], '[');
	for (size_t i = 0; i < leaders.n && i < limit; i++) {
		const struct leader *row = &leaders.rows[i];

		json_open(json, NULL, '{');
		json_text(json, "function", row->function);
		json_text(json, "module", row->module);
		json_text(json, "command", row->command);
		if (of == LEADERS_WAITING)
			json_text(json, "reason", row->reason);
		json_count(json, stacks_is_time(stacks) ? "nanoseconds" : "count", row->weight);
		json_number(json, "percent", head_percent(row->weight, whole), 3);
		json_close(json, '}');
	}
	json_close(json, ']');
	leaders_done(&leaders);
	return 0;
}

int top_json(const struct stacks *stacks, size_t limit, struct json *json)
{
	uint64_t whole = whole_of(stacks);

	if (stacks->is_comparison)
		return -EINVAL;
	for (enum leaders_of of = 0; of < N_LEADERS_OF; of++) {
		int r = json_leaders(json, stacks, of, limit, whole);

		if (r < 0)
			return r;
	}
	return 0;
}
