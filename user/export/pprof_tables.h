/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_tables: the strings, functions, mappings and locations that the samples of a pprof file
 * refer to.
 *
 * Each distinct item is kept once. Items that differ only in what pprof can't express (whose
 * memory JIT code is, a caller's address or a leaf's) become one. Items get their ids when first
 * used, so ids are 1 to n and nothing unused is written.
 *
 * pprof can't express a frame's kind either. A function's system_name holds it, as the name in
 * folded lines: vfs_read has the system_name vfs_read_[k]. It is left out if it equals the name:
 * for user code, and for inlined functions that share a location with the function they are
 * inlined into. Items read from another producer's pprof file are written as they were: see
 * core/extras.h.
 */
#ifndef EXPORT_PPROF_TABLES_H
#define EXPORT_PPROF_TABLES_H

#include "core/profile.h"
#include "export/gzip.h"

struct pprof_text {
	uint32_t clean; /* string id of the same text in UTF-8; 0: not looked up yet */
	uint32_t index; /* in the file's string table; 0: not there yet */
	uint32_t note;	/* the location of the note with this text, + 1 */
};

struct pprof_function {
	uint32_t name, system_name, file; /* string ids */
	int64_t start_line;
	uint32_t id; /* 0: not used yet */
};

struct pprof_mapping {
	uint32_t file, build_id; /* string ids */
	uint64_t start, limit, offset;
	uint32_t id;
	uint8_t symbols;			/* enum mapping_symbols */
	bool has_files, has_lines, has_inlined; /* of its used locations */
};

struct pprof_line {
	uint32_t function, line;
};

struct pprof_location {
	uint32_t mapping; /* TABLE_NONE: none */
	uint32_t first_line, n_lines;
	bool is_folded;
	uint64_t address; /* 0: unknown */
};

/* Items in the order of their ids. */
struct pprof_order {
	uint32_t *items;
	size_t n, capacity;
};

struct pprof_tables {
	struct profile *profile; /* the caller's; gets strings added */
	bool no_inline;
	bool has_merged; /* things that differ in the profile are one here */

	struct pprof_text *texts; /* by string id */
	size_t n_texts, texts_capacity;
	struct pprof_function *functions;
	size_t n_functions, functions_capacity;
	struct pprof_mapping *mappings;
	size_t n_mappings, mappings_capacity;
	struct pprof_line *lines;
	size_t n_lines, lines_capacity;
	struct pprof_location *locations;
	size_t n_locations, locations_capacity;
	uint32_t *location_ids; /* by location; 0: unused. An array of its own: the hottest one */
	size_t location_ids_capacity;
	struct table function_index, mapping_index, location_index;
	uint32_t *mapping_of, *location_of; /* by the profile's numbers; TABLE_NONE: none */

	struct pprof_order used_texts, used_functions, used_mappings, used_locations;
};

/*
 * Makes tables of all of @profile. @no_inline: drop inlined functions. Errors: -ENOMEM, -E2BIG.
 * pprof_tables_done() is fine after a failure.
 */
int pprof_tables_init(struct pprof_tables *tables, struct profile *profile, bool no_inline);
void pprof_tables_done(struct pprof_tables *tables);

/* The location of a frame that is only a name, not code. Errors: -ENOMEM, -E2BIG. */
int pprof_tables_note(struct pprof_tables *tables, uint32_t text, uint32_t *ret_location);

/* The string to write for the profile's string @text. Errors: -ENOMEM, -E2BIG. */
int pprof_tables_clean(struct pprof_tables *tables, uint32_t text, uint32_t *ret_clean);

/*
 * The file's numbers of a string and of a location, assigned at the first use.
 * Errors: -ENOMEM, -E2BIG.
 */
int pprof_tables_index(struct pprof_tables *tables, uint32_t text, uint32_t *ret_index);
int pprof_tables_index_text(struct pprof_tables *tables, const char *text, uint32_t *ret_index);
int pprof_tables_use_new(struct pprof_tables *tables, uint32_t location);
static inline int pprof_tables_use(struct pprof_tables *tables, uint32_t location, uint32_t *ret_id)
{
	int r = tables->location_ids[location] ? 0 : pprof_tables_use_new(tables, location);

	*ret_id = tables->location_ids[location];
	return r;
}

/* Writes all used items but the strings, which come last. Errors: -ENOMEM, -E2BIG. */
int pprof_tables_write(struct pprof_tables *tables, struct gzip *gzip);
void pprof_tables_write_strings(const struct pprof_tables *tables, struct gzip *gzip);

#endif
