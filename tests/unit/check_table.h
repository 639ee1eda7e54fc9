/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_table: what is true of every unwind table, whatever it was made from. The BPF programs rely
 * on it without checking.
 */
#ifndef TESTS_CHECK_TABLE_H
#define TESTS_CHECK_TABLE_H

#include "unwind/table.h"

#define CHECK_ROW_RULE(row) ((row) & ((1u << BF_ROW_RULE_BITS) - 1))

static inline const char *check_rule(const struct bf_rule *rule)
{
	if (rule->cfa <= BF_CFA_NONE || rule->cfa >= N_BF_CFAS)
		return "an unknown kind of CFA";
	if (rule->fp >= N_BF_SAVEDS || rule->ra >= N_BF_SAVEDS || rule->bx >= N_BF_SAVEDS)
		return "an unknown place of a register";
	if (rule->fp == BF_SAVED_LEAF || rule->bx == BF_SAVED_LEAF ||
	    (rule->ra == BF_SAVED_LEAF && (rule->ra_offset < 0 || rule->ra_offset >= 16)))
		return "a place that only a return address has";
	if (rule->pad)
		return "rules that differ in nothing";
	if (rule->cfa == BF_CFA_REGISTER && rule->reg >= 16)
		return "a register that is not captured";
	if (rule->ra == BF_SAVED_LOST)
		return "a lost return address that is no reason to stop";
	return NULL;
}

static inline const char *check_page(const struct unwind_part *part, uint32_t from, uint32_t to,
				     uint32_t rules_end)
{
	uint32_t rules_at = part->words[0] + 2;
	const char *error = NULL;

	for (uint32_t i = from; i < to && !error; i++) {
		uint32_t rule = CHECK_ROW_RULE(part->words[i]);

		if (i > from &&
		    part->words[i] >> BF_ROW_RULE_BITS <= part->words[i - 1] >> BF_ROW_RULE_BITS)
			return "rows that do not ascend";
		if (!rule)
			continue;
		if (rule < rules_at || rule >= rules_end || (rule - rules_at) % BF_RULE_WORDS)
			return "a row whose rule is none";
		error = check_rule((const struct bf_rule *)(part->words + rule));
	}
	return error;
}

/* The fault in @part, or NULL. */
static inline const char *check_part(const struct unwind_part *part)
{
	uint32_t n_pages, last;
	const char *error = NULL;

	if (!part->words)
		return part->n_words ? "words that are not there" : NULL;
	if (part->n_words < 3 || part->n_words > BF_SEGMENT_WORDS - BF_SEGMENT_FIRST)
		return "a part of a wrong size";
	n_pages = part->words[0];
	if (n_pages < 1 || n_pages > BF_PART_PAGES || n_pages + 2 > part->n_words)
		return "a directory of a wrong size";
	last = n_pages + 2;
	for (uint32_t i = 0; i <= n_pages; i++) {
		if (part->words[1 + i] < last || part->words[1 + i] > part->n_words)
			return "a directory out of order";
		last = part->words[1 + i];
	}
	if (last != part->n_words)
		return "words after the last row";
	for (uint32_t i = 0; i < n_pages && !error; i++)
		error = check_page(part, part->words[1 + i], part->words[2 + i], part->words[1]);
	return error;
}

static inline const char *check_table(const struct unwind_table *table)
{
	const char *error = NULL;

	for (uint32_t i = 0; i < table->n_parts && !error; i++)
		error = check_part(&table->parts[i]);
	return error;
}

#endif
