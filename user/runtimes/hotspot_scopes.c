/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a compiled method runs where: a table from offsets of its code (PcDesc) to scopes, which
 * are chains of methods and places in their bytecode, for all that is inlined there. The compiler
 * writes it for the places where a thread may be stopped: after each call, and at polls.
 */
#include "runtimes/hotspot.h"

#include <errno.h>
#include <string.h>

int hotspot_read(const struct runtime_memory *memory, uint64_t address, void *to, uint32_t n)
{
	return memory->read(memory->context, &(struct runtime_piece){address, n, to}, 1);
}

#define NUMBER_BITS  6
#define NUMBER_MORE  192 /* bytes from here on are followed by more, … */
#define NUMBER_BYTES 5	 /* … but for the last one */

uint32_t hotspot_number(uint32_t version, const uint8_t *bytes, uint32_t n, uint32_t *at)
{
	uint32_t value = 0, base = version >= HOTSPOT(20);

	for (uint32_t i = 0; i < NUMBER_BYTES && *at < n; i++) {
		uint32_t byte = bytes[(*at)++];

		value += (byte - base) << (NUMBER_BITS * i);
		if (byte < NUMBER_MORE)
			break;
	}
	return value;
}

/* Where the tables of a compiled method are. */
struct tables {
	uint64_t pcs, pcs_end, scopes, metadata;
};

#define HEADER_MAX 512

static uint32_t number_at(const uint8_t *bytes, uint32_t at)
{
	uint32_t number;

	memcpy(&number, bytes + at, sizeof number);
	return number;
}

static uint64_t word_at(const uint8_t *bytes, uint32_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof word);
	return word;
}

static uint32_t header_size(const uint32_t *o)
{
	uint32_t size = 8;

	for (uint32_t i = BLOB_NAME; i <= COMPILED_RELOCATIONS; i++)
		size = o[i] + 8 > size ? o[i] + 8 : size;
	return size;
}

/* Up to 22, in the code's memory; from 23 on, apart from it. */
static void find_tables(const uint32_t *o, uint64_t compiled, const uint8_t *header,
			struct tables *ret)
{
	uint64_t base = compiled;

	if (o[COMPILED_TABLES])
		base = word_at(header, o[COMPILED_TABLES]);
	ret->pcs = base + number_at(header, o[COMPILED_PCS]);
	if (o[COMPILED_TABLES]) {
		ret->scopes = base + number_at(header, o[COMPILED_SCOPES_OFFSET]);
		ret->pcs_end = ret->scopes > ret->pcs
				       ? ret->scopes
				       : base + number_at(header, o[COMPILED_TABLES_SIZE]);
	} else {
		ret->scopes = word_at(header, o[COMPILED_SCOPES]);
		ret->pcs_end = base + number_at(header, o[COMPILED_PCS_END]);
	}
	if (o[COMPILED_MUTABLE])
		ret->metadata = word_at(header, o[COMPILED_MUTABLE]) +
				number_at(header, o[COMPILED_RELOCATIONS]);
	else
		ret->metadata = compiled + number_at(header, o[COMPILED_METADATA]);
}

#define MOST_PCS     (1u << 20)
#define PCS_AT_ONCE  32
#define PC_BYTES_MAX 64

/* The scope of the first entry at or after @offset, or exactly there; 0: there is none. */
static uint32_t find_scope(const uint32_t *o, const struct runtime_memory *memory,
			   const struct tables *tables, int32_t offset, bool is_exact)
{
	uint32_t size = o[PC_DESC_SIZE], low = 0, n;
	uint8_t entries[PCS_AT_ONCE * PC_BYTES_MAX];

	if (tables->pcs_end < tables->pcs || (tables->pcs_end - tables->pcs) / size > MOST_PCS)
		return 0;
	n = (tables->pcs_end - tables->pcs) / size;
	while (n > PCS_AT_ONCE) {
		uint32_t half = n / 2;

		if (hotspot_read(memory, tables->pcs + (uint64_t)(low + half - 1) * size, entries,
				 4) < 0)
			return 0;
		if ((int32_t)number_at(entries, 0) < offset) {
			low += half;
			n -= half;
		} else {
			n = half;
		}
	}
	if (!n || hotspot_read(memory, tables->pcs + (uint64_t)low * size, entries, n * size) < 0)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		int32_t at = (int32_t)number_at(entries, i * size);

		if (at >= offset)
			return !is_exact || at == offset ? number_at(entries, i * size + 4) : 0;
	}
	return 0;
}

#define SCOPE_BYTES (3 * NUMBER_BYTES)

int hotspot_scopes(const struct runtime_facts *facts, const struct runtime_memory *memory,
		   uint64_t compiled, uint32_t offset, bool is_call, struct hotspot_place *ret)
{
	const uint32_t *o = facts->offsets;
	uint8_t header[HEADER_MAX], bytes[SCOPE_BYTES];
	struct tables tables;
	uint32_t scope, size = header_size(o);
	int n = 0;

	if (size > HEADER_MAX || hotspot_read(memory, compiled, header, size) < 0)
		return 0;
	find_tables(o, compiled, header, &tables);
	scope = find_scope(o, memory, &tables, (int32_t)offset, is_call);
	while (scope && n <= RUNTIME_MAX_INLINED) {
		uint32_t at = 0, outer, method, bytecode;

		if (hotspot_read(memory, tables.scopes + scope, bytes, sizeof bytes) < 0)
			return 0;
		outer = hotspot_number(facts->version, bytes, sizeof bytes, &at);
		method = hotspot_number(facts->version, bytes, sizeof bytes, &at);
		bytecode = hotspot_number(facts->version, bytes, sizeof bytes, &at);
		if (!method || hotspot_read(memory, tables.metadata + 8 * (uint64_t)(method - 1),
					    &ret[n].method, 8) < 0)
			return 0;
		ret[n++].bytecode = (int32_t)bytecode - 1;
		if (outer >= scope)
			return 0; /* they lead to what was written before */
		scope = outer;
	}
	return scope ? 0 : n;
}
