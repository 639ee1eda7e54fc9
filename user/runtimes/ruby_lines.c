/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From an instruction to its line. Ruby has a list of items, each for a run of instructions, and a
 * bit vector that has a 1 where a run begins, with counts that make it quick to search
 * (succ_index_table of iseq.c): of the first 54 positions only the counts, 9 of 7 bits a word; then
 * blocks of 512 positions: two words of counts and 8 of bits.
 */
#include "runtimes/ruby.h"

#include <string.h>

#define IMMEDIATE      54
#define A_WORD	       9
#define IMMEDIATE_SIZE (IMMEDIATE / A_WORD * 8)
#define BLOCK	       512
#define BLOCK_SIZE     80
#define BLOCK_BITS     16 /* where they begin */

uint32_t ruby_index_size(uint32_t n_words)
{
	uint32_t rest = n_words > IMMEDIATE ? n_words - IMMEDIATE : 0;

	return IMMEDIATE_SIZE + (rest + BLOCK - 1) / BLOCK * BLOCK_SIZE;
}

static uint64_t word_at(const uint8_t *bytes, uint32_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof word);
	return word;
}

/* How many runs begin at positions up to @position, of the first ones. */
static uint32_t rank_of(const uint8_t *index, uint32_t position)
{
	return word_at(index, position / A_WORD * 8) >> position % A_WORD * 7 & 127;
}

static bool begins_run(const uint8_t *index, uint32_t position)
{
	uint32_t in_block, block;

	if (position < IMMEDIATE)
		return rank_of(index, position) != (position ? rank_of(index, position - 1) : 0);
	block = IMMEDIATE_SIZE + (position - IMMEDIATE) / BLOCK * BLOCK_SIZE;
	in_block = (position - IMMEDIATE) % BLOCK;
	return word_at(index, block + BLOCK_BITS + in_block / 64 * 8) >> in_block % 64 & 1;
}

uint32_t ruby_runs(const uint8_t *items, uint32_t n, uint32_t item_size, const uint8_t *index,
		   uint32_t n_index, uint32_t n_words, struct ruby_run *ret)
{
	uint32_t runs = 0;

	if (n_index < ruby_index_size(n_words))
		return 0;
	for (uint32_t position = 0; position < n_words && runs < n; position++) {
		uint32_t line;

		if (position && !begins_run(index, position))
			continue;
		memcpy(&line, items + runs * item_size, sizeof line);
		ret[runs++] = (struct ruby_run){position, line};
	}
	return runs;
}

/* The place in a frame is that of the next instruction, except before the first. */
uint32_t ruby_line(const struct runtime_facts *facts, const uint8_t *lines, uint32_t n_lines,
		   uint32_t first_line, uint32_t detail)
{
	uint32_t position = detail / 8, line = first_line;
	struct ruby_run run;

	position -= position > 0;
	for (uint32_t at = 0; at + sizeof run <= n_lines; at += sizeof run) {
		memcpy(&run, lines + at, sizeof run);
		if (run.first > position)
			break;
		line = run.line;
	}
	return line > INT32_MAX ? 0 : line;
}
