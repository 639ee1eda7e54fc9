/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff: the changes between the two sides of a comparison as tables: text for a terminal, Markdown
 * for a pull request, JSON for programs; and whether they are too much for a gate.
 *
 * A row of a table is a function by its name: one that is inlined in one build and called in the
 * other is the same. A kernel function, or one after a separator (wakers), is another. A change of
 * the self weight shows where to look, a change of the total shows what it affects.
 *
 * Tables list all changes; the gate, judged before (gate.h), lists what grew by more than it may.
 * With several runs of a side, tables include their spread.
 */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H

#include <stdio.h>

#include "compare/judgement.h"

enum diff_by { DIFF_FUNCTIONS, DIFF_COMMANDS, DIFF_REASONS, N_DIFF_BY };
enum diff_weight { DIFF_SELF, DIFF_TOTAL, N_DIFF_WEIGHTS };

struct diff_options {
	const char *base_name, *new_name; /* of the files; NULL: not shown */
	double confidence;		  /* see compare.h */
	enum stacks_scale scale;	  /* must be the stacks' own */
	double threshold; /* leave out smaller changes, in points: percent of the base total */
	const struct gate *gate;	   /* NULL: none */
	const struct gate_rules *rules;	   /* the gate's */
	const struct gate_options *judged; /* how it was judged */
	struct gate_sums *sums;	    /* of the runs, if there are several, or a gate; else NULL */
	const struct gate *noise;   /* the noise of the runs, or the gate's assumption; else NULL */
	const char *const *remarks; /* on the machines, a line each, NULL at the end; replace the
				       facts of both recordings. NULL: show the facts */
	size_t limit;		    /* rows of a table in text and Markdown; 0: all */
	size_t json_limit;	    /* rows of a table in JSON, the largest changes first; 0: all,
				       by name */
	bool only_grown;	    /* list what grew, or is new, and nothing else */
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

/* The rows whose weight changed by more than chance and the threshold, largest change first. */
struct diff_list {
	const struct diff_row **rows; /* owned */
	size_t n;
};

struct diff_table {
	struct diff_row *rows; /* owned; all rows, by name */
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
 * Compares all functions, commands and reasons of @stacks, a finished comparison that is neither
 * reversed nor in order of time. @stacks and the options' strings must outlive diff_done(). Errors:
 * -ENOMEM.
 */
int diff_make(const struct stacks *stacks, const struct diff_options *options, struct diff *ret);
void diff_done(struct diff *diff);

/* Whether a side is empty: then there are no shares to compare, and a gate can't decide. */
bool diff_is_empty(const struct diff *diff);

/* The kind of the total's change, or of the self weight's if the total did not change. */
enum change_kind diff_row_kind(const struct diff_row *row);

/*
 * All return -ENOMEM; a failed write shows in ferror(@stream).
 *
 * Markdown is for GitHub and GitLab: one line that sums up, one table, the others collapsed. Names
 * are inert text, whatever they hold. It stays below 65,536 bytes, the limit of a comment.
 *
 * JUnit is the XML that Jenkins, GitLab and others read: a test for each thing that the gate
 * judged, up to the heaviest DIFF_JUNIT_CASES and all that failed; a skipped one for each rule that
 * matches nothing.
 */
#define DIFF_JUNIT_CASES 500
int diff_text(const struct diff *diff, FILE *stream);
int diff_markdown(const struct diff *diff, FILE *stream);
int diff_json(const struct diff *diff, FILE *stream);
int diff_junit(const struct diff *diff, FILE *stream);

/*
 * Writes plain text for a log, with @prefix before each line: the first ten failures, rules that
 * match nothing, and differences between the machines.
 */
void diff_write_offenders(const struct diff *diff, const char *prefix, FILE *stream);
void diff_write_unused_rules(const struct diff *diff, const char *prefix, FILE *stream);
void diff_write_machines(const struct diff *diff, const char *prefix, FILE *stream);

/* "functions", "commands", "reasons". */
extern const char *const diff_by_names[N_DIFF_BY];

#endif
