/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff_gate: the gate's sentences and figures, shared by all formats. */
#ifndef REPORT_DIFF_GATE_H
#define REPORT_DIFF_GATE_H

#include "report/diff_words.h"

enum gate_column {
	GATE_BASE,
	GATE_NEW,
	GATE_CHANGE,
	GATE_INTERVAL,
	GATE_SURE,
	GATE_LIMIT,
	N_GATE_COLUMNS,
};

/* "base", "new", "change", "99 % interval", "sure", "limit". */
void diff_gate_heading(const struct diff *diff, enum gate_column column,
		       char text[static DIFF_CELL_SIZE]);
void diff_gate_cell(const struct diff *diff, const struct gate_answer *answer,
		    enum gate_column column, char text[static DIFF_CELL_SIZE]);

/* "function", "module", "total"; then the name, "" for the whole; then the kind of weight. */
const char *diff_gate_name(const struct diff *diff, const struct gate_answer *answer);
const char *diff_gate_suffix(const struct gate_answer *answer); /* "_[k]" or "" */
const char *diff_gate_weight(const struct gate_answer *answer); /* "self", "total" */
/* Whose code a function is; "" if unknown, or not a function. */
const char *diff_gate_module(const struct diff *diff, const struct gate_answer *answer);

/* `gate: 2 functions grew by more than 5 %`. */
void diff_write_gate(const struct diff *diff, const struct words *words);
/*
 * The number of functions that the tables show to have grown by more than they may. 0 if nothing
 * failed in the gate.
 */
size_t diff_gate_besides(const struct diff *diff);
/* `37 judged, at 99 % confidence for all together; 5 runs against 5, …`. */
void diff_write_gate_method(const struct diff *diff, const struct words *words);
/* `self 12.3 % → 15.6 % (+26.4 %, +20.1 to +33.0 % at 99 %; 99.98 % sure; limit 10 %)`. */
void diff_write_answer(const struct diff *diff, const struct gate_answer *answer,
		       const struct words *words);

/* A rule as its author wrote it, without its limit; plain text. */
void diff_write_rule(const struct gate_rule *rule, const struct words *words);
/* Whether a rule of a file matched nothing. */
bool diff_is_unused(const struct diff *diff, const struct gate_rule *rule);

/* `5 runs against 3`. */
void diff_write_runs(const struct diff *diff, const struct words *words);

#endif
