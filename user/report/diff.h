/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff: what changed between the two sides of a comparison, as tables: text for a terminal,
 * Markdown for a pull request, JSON for programs; and whether it is too much for a gate.
 *
 * A table's row is a function by its name: inlined in one build and called in the other, it is the
 * same one. In the kernel, behind a separator (wakers) it is another. Its self weight changed or
 * its total, or both: the first is where to look, the second whom it concerns.
 *
 * Tables tell all that changed, the gate what grew by more than it may: it is judged before, see
 * gate.h, and told here. Where there are several runs of a side, tables reckon with their spread.
 */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H

#include <stdio.h>

#include "compare/judgement.h"

enum diff_by { DIFF_FUNCTIONS, DIFF_COMMANDS, DIFF_REASONS, N_DIFF_BY };
enum diff_weight { DIFF_SELF, DIFF_TOTAL, N_DIFF_WEIGHTS };

struct diff_options {
	const char *base_name, *new_name; /* of the files; NULL: not told */
	double confidence;		  /* see compare.h */
	enum stacks_scale scale;	  /* that of the stacks */
	double threshold; /* a change of fewer points (percent of the base side's total) is not
			     listed */
	const struct gate *gate;	   /* NULL: there is none */
	const struct gate_rules *rules;	   /* the gate's */
	const struct gate_options *judged; /* how it was judged */
	struct gate_sums *sums;	    /* of the runs, where there are several, or a gate; else NULL */
	const struct gate *noise;   /* what the runs tell, or is supposed for a gate; else NULL */
	const char *const *remarks; /* on the machines, a line each, NULL behind the last, in place
				       of what is known of both sides' recordings; NULL: that */
	size_t limit;		    /* rows of a table in text and Markdown; 0: all */
	bool colour;		    /* of text: escape sequences */
	unsigned int columns;	    /* of text; 0: 100 */
};

#define DIFF_OPTIONS_DEFAULT ((struct diff_options){.limit = 20})

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

struct diff {
	const struct stacks *stacks;
	struct diff_options options;
	struct judgement judgement; /* n_compared: of all tables together; for pictures, too */
	struct change all;	    /* of both sides' totals, as they are */
	struct diff_table tables[N_DIFF_BY];
};

/*
 * Compares all functions, commands and reasons of @stacks, a comparison that is finished and was
 * neither reversed nor made in the order of time. @stacks and the options' strings must outlive
 * diff_done(). Errors: -ENOMEM.
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
 *
 * JUnit is the XML that Jenkins, GitLab and others read: a test for each thing that the gate looked
 * at, the heaviest DIFF_JUNIT_CASES and all that failed; one that was skipped for each rule that
 * matched nothing.
 */
#define DIFF_JUNIT_CASES 500
int diff_text(const struct diff *diff, FILE *stream);
int diff_markdown(const struct diff *diff, FILE *stream);
int diff_json(const struct diff *diff, FILE *stream);
int diff_junit(const struct diff *diff, FILE *stream);

/*
 * For a log, plain text, @prefix before each line: what failed, the first ten of them; rules that
 * matched nothing; how the machines differ.
 */
void diff_write_offenders(const struct diff *diff, const char *prefix, FILE *stream);
void diff_write_unused_rules(const struct diff *diff, const char *prefix, FILE *stream);
void diff_write_machines(const struct diff *diff, const char *prefix, FILE *stream);

/* "functions", "commands", "reasons". */
extern const char *const diff_by_names[N_DIFF_BY];

#endif
