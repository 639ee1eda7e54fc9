/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff: what changed between the two sides of a comparison, as tables: text for a terminal,
 * Markdown for a pull request, JSON for programs; and whether it is too much for a gate.
 *
 * A table's row is a function by its name: inlined in one build and called in the other, it is the
 * same one. In the kernel, behind a separator (wakers) it is another. Its self weight changed or
 * its total, or both: the first is where to look, the second whom it concerns.
 */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H

#include <stdio.h>

#include "core/compare.h"

enum diff_by { DIFF_FUNCTIONS, DIFF_COMMANDS, DIFF_REASONS, N_DIFF_BY };
enum diff_weight { DIFF_SELF, DIFF_TOTAL, N_DIFF_WEIGHTS };

struct diff_options {
	const char *base_name, *new_name; /* of the files; NULL: not told */
	double confidence;		  /* see compare.h */
	enum stacks_scale scale;	  /* that of the stacks */
	double threshold;     /* a change of fewer points (percent of the base side's total) is not
				 listed */
	double fail_over;     /* percent of growth; < 0: there is no gate */
	size_t limit;	      /* rows of a table in text and Markdown; 0: all */
	bool colour;	      /* of text: escape sequences */
	unsigned int columns; /* of text; 0: 100 */
};

#define DIFF_OPTIONS_DEFAULT ((struct diff_options){.fail_over = -1, .limit = 20})

struct diff_row {
	const char *name; /* the stacks' */
	enum frame_kind kind;
	struct tree_side sides[N_SIDES];
	struct change changes[N_DIFF_WEIGHTS];
};

/* The rows whose weight changed by more than chance and the threshold, the largest change first. */
struct diff_list {
	const struct diff_row **rows; /* owned */
	size_t n;
};

struct diff_table {
	struct diff_row *rows; /* owned; all there are, by name */
	size_t n_rows;
	struct diff_list changed[N_DIFF_WEIGHTS];
	size_t n_by_kind[N_CHANGE_KINDS]; /* of diff_row_kind(), CHANGE_NONE: unequal by chance */
};

/* What grew by more than the gate lets through: a row, or all (NULL). */
struct diff_offender {
	const struct diff_row *row;
	enum diff_weight weight; /* the one that grew more */
	struct change change;
};

struct diff {
	const struct stacks *stacks;
	struct diff_options options;
	struct compare_options compare; /* n_compared: of all tables together */
	struct change all;		/* of both sides' totals, as they are */
	struct diff_table tables[N_DIFF_BY];
	struct diff_offender *offenders; /* owned; the largest growth first */
	size_t n_offenders;
};

/*
 * Compares all functions, commands and reasons of @stacks, a comparison that is finished and was
 * neither reversed nor made in the order of time. @stacks and the options' strings must outlive
 * diff_done(). Errors: -ENOMEM.
 *
 * The gate: a function fails it if its self weight or its total grew (a change of more than chance
 * and the threshold) by more than @options->fail_over percent of what it was. What is new was
 * nothing; it fails if it has more than that of all. Where weights are compared as they are, the
 * sum of all may fail as well.
 */
int diff_make(const struct stacks *stacks, const struct diff_options *options, struct diff *ret);
void diff_done(struct diff *diff);

/* Whether a side holds nothing: then there are no shares to compare, and no gate can tell. */
bool diff_is_empty(const struct diff *diff);

/* That of the total, or of the self weight where the total did not change. */
enum change_kind diff_row_kind(const struct diff_row *row);

/*
 * Errors of all: -ENOMEM; a failed write shows in ferror(@stream).
 *
 * Markdown is GitHub's and GitLab's: one line that says it all, one table, the others collapsed.
 * Whatever names hold is inert text. It stays below 65,536 bytes, which is what a comment may have.
 */
int diff_text(const struct diff *diff, FILE *stream);
int diff_markdown(const struct diff *diff, FILE *stream);
int diff_json(const struct diff *diff, FILE *stream);

/* One line for each of the first ten offenders, for a log; plain text. */
void diff_write_offenders(const struct diff *diff, const char *prefix, FILE *stream);

/* "functions", "commands", "reasons". */
extern const char *const diff_by_names[N_DIFF_BY];

#endif
