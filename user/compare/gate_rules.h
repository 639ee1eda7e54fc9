/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gate_rules: what may grow by how much. A file of lines:
 *
 *	# comment
 *	function  hash_update        fail-over 5
 *	function  /^json_.*$/        fail-over 20  weight total
 *	module    libssl.so*         fail-over 10
 *	total                        fail-over 3
 *	ignore    function "operator new(unsigned long)"
 *
 * A pattern is a glob; between slashes, an extended regular expression, found anywhere in the name;
 * between double quotes, the exact name (\" and \\ are its escapes). The last matching rule counts.
 * An item without a matching rule, or with an ignoring one, is not judged.
 */
#ifndef COMPARE_GATE_RULES_H
#define COMPARE_GATE_RULES_H

#include <regex.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/failure.h"
#include "compare/gate_sums.h"

enum rule_pattern { PATTERN_ANY, PATTERN_GLOB, PATTERN_NAME, PATTERN_REGEX };

struct gate_rule {
	enum gate_by by;
	enum rule_pattern kind;
	char *pattern; /* owned; NULL: PATTERN_ANY */
	regex_t regex;
	bool ignore;
	double fail_over;     /* percent of growth to let through */
	unsigned int weights; /* GATE_BIT() of each weight to judge */
	unsigned int line;    /* in the file; 0: from an option */
};

struct gate_rules {
	struct gate_rule **rules; /* owned */
	size_t n, capacity;
};

/* Fine on a zeroed struct. */
void gate_rules_done(struct gate_rules *rules);

/* Appends a rule for everything of a kind. Errors: -ENOMEM. */
int gate_rules_add(struct gate_rules *rules, enum gate_by by, unsigned int weights,
		   double fail_over);

/*
 * Adds the rules of a file. @weights: for rules that name none. Errors: -EINVAL, with *failure
 * naming file, line and fault; -ENOMEM; -errno of reading.
 */
int gate_rules_read(struct gate_rules *rules, FILE *stream, const char *name, unsigned int weights,
		    struct failure *failure);

/* Whether a rule covers an item. */
bool gate_rule_matches(const struct gate_rule *rule, const struct gate_sums *sums,
		       const struct gate_item *item);

/* The rule that counts for an item; NULL: it is not judged. */
const struct gate_rule *gate_rules_find(const struct gate_rules *rules,
					const struct gate_sums *sums, const struct gate_item *item);

#endif
