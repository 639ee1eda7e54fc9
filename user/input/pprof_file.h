/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_file: the contents of a pprof file, message by message, in the file's ids and indexes.
 * These may point anywhere, including to later parts.
 *
 * The file is never in memory as a whole: each message of the top level is read in the stream's
 * window, samples by pprof_samples.h.
 */
#ifndef INPUT_PPROF_FILE_H
#define INPUT_PPROF_FILE_H

#include "base/stream.h"
#include "core/profile.h"
#include "input/pprof_ids.h"
#include "input/pprof_samples.h"

struct pprof_type {
	int64_t type, unit;
};

struct pprof_file_mapping {
	uint64_t start, limit, offset;
	int64_t file, build_id;
	uint8_t symbols; /* enum mapping_symbols */
	uint64_t at;	 /* its offset in the file */
};

struct pprof_file_location {
	uint64_t mapping_id, address;
	uint32_t first_line, n_lines;
	bool is_folded;
	uint64_t at;
};

struct pprof_file_line {
	uint64_t function_id;
	int64_t line;
};

struct pprof_file_function {
	int64_t name, system_name, file, start_line;
	uint64_t at;
};

struct pprof_file {
	struct stream *stream; /* the caller's, like the next ones */
	struct failure *failure;
	struct strings *strings;

	struct pprof_samples samples; /* location_ids: their items index @locations */
	struct pprof_type *types;
	size_t n_types, types_capacity;
	struct pprof_file_mapping *mappings;
	size_t n_mappings, mappings_capacity;
	struct pprof_file_location *locations;
	size_t n_locations, locations_capacity;
	struct pprof_file_line *lines;
	size_t n_lines, lines_capacity;
	struct pprof_file_function *functions;
	size_t n_functions, functions_capacity;
	struct pprof_ids mapping_ids, function_ids; /* their items index the arrays */
	uint32_t *texts;			    /* string ids, by index */
	size_t n_texts, texts_capacity;
	int64_t *comments;
	size_t n_comments, comments_capacity;
	struct pprof_type period_type;
	int64_t period, time_nanos, duration_nanos, default_type, drop_frames, keep_frames;
};

/*
 * Reads all of @stream; strings go to @strings. Errors: as of input_read(); sets *@failure, except
 * for -ENOMEM. pprof_file_done() is fine after a failure.
 */
int pprof_file_read(struct pprof_file *file, struct stream *stream, struct strings *strings,
		    bool in_order, struct failure *failure);
void pprof_file_done(struct pprof_file *file);

/* Sets *failure: the file is damaged at byte @at. Returns -EINVAL. */
int pprof_file_fault(const struct pprof_file *file, uint64_t at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Gives the string id of string @index, which the item at byte @at needs. Errors: -EINVAL. */
int pprof_file_text(const struct pprof_file *file, int64_t index, uint64_t at, uint32_t *ret_text);

#endif
