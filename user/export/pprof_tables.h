/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_tables: the strings, functions, mappings and locations that the samples of a pprof file
 * refer to.
 *
 * Each is kept once by what is written of it: what differs in the profile only by what pprof has
 * no place for (whose memory JIT code is, a caller's address or a leaf's) is one there. Ids are
 * given out when something is first used, so they are 1 to n, and nothing unused is written.
 *
 * What pprof has no place for either is the kind of a frame. It stands in a function's system_name,
 * which is the name as folded lines have it: vfs_read, system_name vfs_read_[k]. It is left out
 * where nothing but the name would stand there: for user code, and for inlined functions that lie
 * in one location with the function they are inlined into. What was read from a pprof file of
 * others is written as it was there: see core/extras.h.
 */
#ifndef EXPORT_PPROF_TABLES_H
#define EXPORT_PPROF_TABLES_H

#include "core/profile.h"
#include "export/gzip.h"

struct pprof_text {
	uint32_t clean; /* the string id of the same in UTF-8; 0: not known yet */
	uint32_t index; /* in the file's string table; 0: not there yet */
	uint32_t note;	/* the location of the note of this text, +1 */
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
	bool has_files, has_lines, has_inlined; /* of the locations that are used */
};

struct pprof_line {
	uint32_t function, line;
};

struct pprof_location {
	uint32_t mapping; /* TABLE_NONE: none */
	uint32_t first_line, n_lines;
	bool is_folded;
	uint64_t address; /* 0: not known */
};

/* Things that were given ids, in their order. */
struct pprof_order {
	uint32_t *items;
	size_t n, capacity;
};

struct pprof_tables {
	struct profile *profile; /* the caller's; strings are added to it */
	bool no_inline;
	bool has_merged; /* things that the profile tells apart are one here */

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
	uint32_t *location_ids; /* by location; 0: not used yet. Apart: most of all work is here */
	size_t location_ids_capacity;
	struct table function_index, mapping_index, location_index;
	uint32_t *mapping_of, *location_of; /* by the profile's numbers; TABLE_NONE: none */

	struct pprof_order used_texts, used_functions, used_mappings, used_locations;
};

/*
 * Makes tables of all that @profile has. @no_inline: without inlined functions.
 * Errors: -ENOMEM, -E2BIG. pprof_tables_done() is fine after a failure.
 */
int pprof_tables_init(struct pprof_tables *tables, struct profile *profile, bool no_inline);
void pprof_tables_done(struct pprof_tables *tables);

/* The location of a frame that is no code: a name alone. Errors: -ENOMEM, -E2BIG. */
int pprof_tables_note(struct pprof_tables *tables, uint32_t text, uint32_t *ret_location);

/* The string that is written for the string @text of the profile. Errors: -ENOMEM, -E2BIG. */
int pprof_tables_clean(struct pprof_tables *tables, uint32_t text, uint32_t *ret_clean);

/* What files call a string, a location; given out now if it has none. Errors: -ENOMEM, -E2BIG. */
int pprof_tables_index(struct pprof_tables *tables, uint32_t text, uint32_t *ret_index);
int pprof_tables_index_text(struct pprof_tables *tables, const char *text, int64_t *ret_index);
int pprof_tables_use_new(struct pprof_tables *tables, uint32_t location);
static inline int pprof_tables_use(struct pprof_tables *tables, uint32_t location, uint32_t *ret_id)
{
	int r = tables->location_ids[location] ? 0 : pprof_tables_use_new(tables, location);

	*ret_id = tables->location_ids[location];
	return r;
}

/* Writes all that is used, the strings, which come last, left out. Errors: -ENOMEM, -E2BIG. */
int pprof_tables_write(struct pprof_tables *tables, struct gzip *gzip);
int pprof_tables_write_strings(struct pprof_tables *tables, struct gzip *gzip);

/* Writes those fields of @part that are set: the parts of a message, one behind the other, are it.
 * Errors: -ENOMEM. */
struct Perftools__Profiles__Profile;
int pprof_write_part(struct gzip *gzip, const struct Perftools__Profiles__Profile *part);

#endif
