/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff_words: a comparison's sentences and figures, shared by text and Markdown. */
#ifndef REPORT_DIFF_WORDS_H
#define REPORT_DIFF_WORDS_H

#include "report/diff.h"
#include "report/words.h"

#define DIFF_CELL_SIZE 128

/* A column of figures. Narrow terminals leave out those that are is_wide. */
struct diff_column {
	const char *heading; /* NULL: diff_unit() */
	void (*write)(const struct diff *diff, const struct diff_row *row, enum diff_weight weight,
		      char text[static DIFF_CELL_SIZE]);
	bool is_wide;
};

/* The columns for the comparison's scale. */
const struct diff_column *diff_columns(const struct diff *diff, size_t *ret_n);

/* "samples" or "time". */
const char *diff_unit(const struct diff *diff);

/* `+26.4 %`, `new`, `gone`. */
void diff_ratio(const struct change *change, char text[static DIFF_CELL_SIZE]);

/* `total on-CPU samples 12,345 → 13,001 (+5.3 %); 3 functions grew, 1 new; 57 changes are …`. */
void diff_write_verdict(const struct diff *diff, const struct words *words);

/* Writes how the sides were compared, and the caveats, as sentences. */
void diff_write_method(const struct diff *diff, const struct words *words);

/* Says that values without samples have no confidence. */
void diff_write_unsampled(const struct diff *diff, const struct words *words);

/* A weight as counted: `12,345`, `1.23 s`. */
void diff_figure(const struct diff *diff, uint64_t weight, char text[static DIFF_CELL_SIZE]);

#endif
