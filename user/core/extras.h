/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * extras: parts of a pprof file that we don't understand, kept to be written again: labels, values
 * of several types, facts about functions beside their names.
 *
 * Indexes refer to items; 0 means none. Each row of values belongs to a sample. Rows that are not
 * valid for all samples of a profile are not written.
 */
#ifndef CORE_EXTRAS_H
#define CORE_EXTRAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

#define EXTRAS_MAX_VALUES 64

/* A chain in the order of the file. String ids. */
struct extras_label {
	uint32_t key, text, unit;
	uint32_t next;
	int64_t number;
};

/* Facts about a frame's function. If present, its system name holds even if it is "". */
struct extras_detail {
	uint32_t system_name; /* string id */
	int64_t start_line;
};

struct extras_type {
	uint32_t type, unit; /* string ids */
};

struct extras {
	struct extras_label *labels;
	size_t n_labels, labels_capacity;
	struct extras_detail *details;
	size_t n_details, details_capacity;
	struct table label_index, detail_index;

	/* Types of values, and rows of them. With 0 types, the profile's own weights say it all. */
	struct extras_type types[EXTRAS_MAX_VALUES], period_type;
	size_t n_types;
	int64_t period;
	uint32_t default_type;
	uint64_t *values; /* the first row belongs to no sample */
	size_t n_rows, values_capacity;

	uint32_t *comments; /* string ids: comments that say nothing else about the profile */
	size_t n_comments, comments_capacity;
	uint32_t drop_frames, keep_frames;
	uint32_t program;      /* the command of samples without one; 0: all have one */
	bool has_main_mapping; /* the profile's first mapping is the main program's */
};

/* Fine on a zeroed struct. */
void extras_done(struct extras *extras);

/* Each adds an item, or finds the equal one, and returns its index. Errors: -ENOMEM, -E2BIG. */
int extras_add_label(struct extras *extras, const struct extras_label *label, uint32_t *ret);
int extras_add_detail(struct extras *extras, const struct extras_detail *detail, uint32_t *ret);

/* Adds a row of @n_types values. Errors: as above. */
int extras_add_row(struct extras *extras, const uint64_t *values, uint32_t *ret);

static inline uint64_t *extras_row(const struct extras *extras, uint32_t row)
{
	return extras->values + (size_t)row * extras->n_types;
}

/* Adds the values of row @from to row @to. */
void extras_add_up(struct extras *extras, uint32_t to, uint32_t from);

int extras_add_comment(struct extras *extras, uint32_t text);

#endif
