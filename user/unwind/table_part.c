/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part's size is known only at its end, so it is collected in three arrays: rows in the order of
 * the file, the directory, and the distinct rules. A hash over the rules finds repeated ones, as
 * nearly all are. The search gives up after some steps and stores the rule again: rules made to
 * collide cost room in their own file's table, but no time.
 */
#include "unwind/table_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS (BF_SEGMENT_WORDS - BF_SEGMENT_FIRST)
/* Always left free: the directory, a row at the start of each page, one for a gap. */
#define RESERVED    (2 * BF_PART_PAGES + 8)
#define MAX_RULES   ((MAX_WORDS - RESERVED) / (BF_RULE_WORDS + 1))
#define MAX_PROBES  32
#define HASH_FACTOR 0x9e3779b97f4a7c15
#define RULE_MASK   ((1u << BF_ROW_RULE_BITS) - 1)

int table_writer_init(struct table_writer *writer, struct unwind_table *table)
{
	*writer = (struct table_writer){.table = table, .n_slots = 1024};
	writer->rows = malloc(MAX_WORDS * sizeof *writer->rows);
	writer->rules = malloc(MAX_RULES * sizeof *writer->rules);
	writer->slots = calloc(writer->n_slots, sizeof *writer->slots);
	if (writer->rows && writer->rules && writer->slots)
		return 0;
	table_writer_done(writer);
	return -ENOMEM;
}

void table_writer_done(struct table_writer *writer)
{
	free(writer->rows);
	free(writer->rules);
	free(writer->slots);
	*writer = (struct table_writer){};
}

static uint32_t hash_rule(const struct bf_rule *rule)
{
	uint64_t halves[2];

	_Static_assert(sizeof halves == sizeof *rule, "a rule has two halves");
	memcpy(halves, rule, sizeof halves);
	return (halves[0] ^ halves[1] * HASH_FACTOR) * HASH_FACTOR >> 32;
}

/* The slot of @rule, or a free one for it; NULL: none near its place. */
static uint32_t *find_slot(const struct table_writer *writer, const struct bf_rule *rule)
{
	uint32_t mask = writer->n_slots - 1, at = hash_rule(rule);

	for (uint32_t i = 0; i < MAX_PROBES; i++, at++) {
		uint32_t *slot = &writer->slots[at & mask];

		if (!*slot || memcmp(&writer->rules[*slot - 1], rule, sizeof *rule) == 0)
			return slot;
	}
	return NULL;
}

static int grow_slots(struct table_writer *writer)
{
	uint32_t *slots = calloc(2 * writer->n_slots, sizeof *slots);

	if (!slots)
		return -ENOMEM;
	free(writer->slots);
	writer->slots = slots;
	writer->n_slots *= 2;
	for (uint32_t i = 0; i < writer->n_rules; i++) {
		uint32_t *slot = find_slot(writer, &writer->rules[i]);

		if (slot)
			*slot = i + 1;
	}
	return 0;
}

/* Gives the number of @rule; adds it if it is new. */
static int number_rule(struct table_writer *writer, const struct bf_rule *rule, uint32_t *ret)
{
	uint32_t *slot = find_slot(writer, rule);

	if (slot && *slot) {
		*ret = *slot;
		return 0;
	}
	if (writer->n_rules == MAX_RULES)
		return -ENOSPC;
	writer->rules[writer->n_rules] = *rule;
	*ret = ++writer->n_rules;
	if (slot)
		*slot = writer->n_rules;
	return writer->n_rules > writer->n_slots / 2 ? grow_slots(writer) : 0;
}

/* Moves to page @page of the part. The pages between get the row that holds through them. */
static void move_to_page(struct table_writer *writer, uint32_t page)
{
	while (writer->page < page) {
		writer->directory[++writer->page] = writer->n_rows;
		if (writer->current)
			writer->rows[writer->n_rows++] = writer->current;
	}
}

static uint32_t part_words(const struct table_writer *writer, uint32_t n_pages)
{
	return 1 + n_pages + 1 + writer->n_rules * BF_RULE_WORDS + writer->n_rows;
}

/* Lays out the part as in bpf/wire.h: indexes become relative to the part's start. */
static void lay_out(const struct table_writer *writer, uint32_t n_pages, uint32_t *words)
{
	uint32_t rules_at = 1 + n_pages + 1;
	uint32_t rows_at = rules_at + writer->n_rules * BF_RULE_WORDS;

	words[0] = n_pages;
	for (uint32_t i = 0; i < n_pages; i++)
		words[1 + i] = rows_at + writer->directory[i];
	words[1 + n_pages] = rows_at + writer->n_rows;
	memcpy(words + rules_at, writer->rules, writer->n_rules * sizeof *writer->rules);
	for (uint32_t i = 0; i < writer->n_rows; i++) {
		uint32_t row = writer->rows[i], number = row & RULE_MASK;

		words[rows_at + i] =
			number ? row - number + rules_at + (number - 1) * BF_RULE_WORDS : row;
	}
}

static void start_part(struct table_writer *writer, uint32_t part)
{
	writer->part = part;
	writer->page = writer->n_rows = writer->n_rules = writer->current = 0;
	memset(writer->slots, 0, writer->n_slots * sizeof *writer->slots);
}

static int keep_part(struct table_writer *writer)
{
	struct unwind_table *table = writer->table;
	uint32_t n_pages = writer->page + 1, n_words = part_words(writer, n_pages);
	struct unwind_part *parts;
	uint32_t *words;

	if (!writer->n_rows)
		return 0;
	parts = reallocarray(table->parts, writer->part + 1, sizeof *parts);
	if (!parts)
		return -ENOMEM;
	memset(parts + table->n_parts, 0, (writer->part + 1 - table->n_parts) * sizeof *parts);
	table->parts = parts;
	table->n_parts = writer->part + 1;
	words = malloc(n_words * sizeof *words);
	if (!words)
		return -ENOMEM;
	lay_out(writer, n_pages, words);
	parts[writer->part] = (struct unwind_part){words, n_words};
	table->n_rows += writer->n_rows;
	table->n_rules += writer->n_rules;
	return 0;
}

static void count_code(struct table_writer *writer, uint64_t offset, bool known)
{
	if (writer->current && !known)
		writer->table->code_bytes += offset - writer->known_from;
	else if (!writer->current && known)
		writer->known_from = offset;
}

/* Ends the part. A rule that still holds at its end is repeated in the next one. */
static int next_part(struct table_writer *writer, uint64_t offset, uint32_t part)
{
	uint64_t end = (uint64_t)(writer->part + 1) << BF_PART_SHIFT;
	bool known = writer->current, goes_on = known && offset > end;
	struct bf_rule rule = {};
	int r;

	if (known) {
		rule = writer->rules[writer->current - 1];
		move_to_page(writer, BF_PART_PAGES - 1);
	}
	r = keep_part(writer);
	if (r < 0)
		return r;
	if (!goes_on)
		count_code(writer, end, false);
	start_part(writer, goes_on ? writer->part + 1 : part);
	if (!goes_on)
		return 0;
	r = number_rule(writer, &rule, &writer->current);
	if (r < 0)
		return r;
	writer->rows[writer->n_rows++] = writer->current;
	return 0;
}

static int move_to(struct table_writer *writer, uint64_t offset)
{
	uint32_t part = offset >> BF_PART_SHIFT;

	while (writer->part < part) {
		int r = next_part(writer, offset, part);

		if (r < 0)
			return r;
	}
	move_to_page(writer, offset >> BF_PAGE_SHIFT & (BF_PART_PAGES - 1));
	return 0;
}

static void put_row(struct table_writer *writer, uint64_t offset, uint32_t number)
{
	uint32_t page_start = writer->directory[writer->page];
	uint32_t in_page = offset & ((1u << BF_PAGE_SHIFT) - 1);
	uint32_t *last = writer->rows + writer->n_rows - 1;

	if (number == writer->current)
		return;
	writer->current = number;
	if (writer->n_rows > page_start && *last >> BF_ROW_RULE_BITS == in_page)
		*last = in_page << BF_ROW_RULE_BITS | number;
	else
		writer->rows[writer->n_rows++] = in_page << BF_ROW_RULE_BITS | number;
}

int table_writer_gap(struct table_writer *writer, uint64_t offset)
{
	int r = move_to(writer, offset);

	if (r < 0)
		return r;
	count_code(writer, offset, false);
	put_row(writer, offset, 0);
	return 0;
}

int table_writer_row(struct table_writer *writer, uint64_t offset, const struct bf_rule *rule)
{
	uint32_t number;
	int r = move_to(writer, offset);

	if (r < 0)
		return r;
	r = part_words(writer, 0) + BF_RULE_WORDS + 1 + RESERVED > MAX_WORDS
		    ? -ENOSPC
		    : number_rule(writer, rule, &number);
	if (r == -ENOSPC)
		table_writer_gap(writer, offset);
	if (r < 0)
		return r;
	count_code(writer, offset, true);
	put_row(writer, offset, number);
	return 0;
}

int table_writer_finish(struct table_writer *writer)
{
	return keep_part(writer);
}
