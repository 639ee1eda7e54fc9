/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/series_function.h"

#include <stdlib.h>

#include "base/array.h"
#include "core/marks.h"

int series_function_init(struct series_function *function, const char *expression)
{
	int r;

	*function = (struct series_function){};
	r = matcher_init(&function->matcher, expression);
	if (r < 0)
		return r;
	return matcher_init(&function->marks, expression);
}

void series_function_done(struct series_function *function)
{
	matcher_done(&function->matcher);
	matcher_done(&function->marks);
	free(function->has);
	*function = (struct series_function){};
}

static int test_string(struct series_function *function, const struct ledger *ledger, uint32_t id)
{
	return matcher_test(&function->matcher, id, strings_get(&ledger->strings, id));
}

int series_function_read(struct series_function *function, const struct ledger *ledger,
			 bool is_first)
{
	int r;

	if (!function->matcher.is_set)
		return 0;
	if (is_first) {
		matcher_forget(&function->matcher);
		function->n = 0;
	}
	if (ledger->n_nodes > function->n) {
		r = array_reserve(function->has, function->capacity, function->n,
				  ledger->n_nodes - function->n);
		if (r < 0)
			return r;
	}
	for (size_t i = function->n; i < ledger->n_nodes; i++) {
		const struct ledger_node *node = &ledger->nodes[i];
		bool above = i > 0 && function->has[node->parent];

		/* The root is no frame. */
		r = i == 0 || above
			    ? above
			    : test_string(function, ledger, ledger->frames[node->frame].function);
		if (r < 0)
			return r;
		function->has[i] = r > 0;
	}
	function->n = ledger->n_nodes;
	return 0;
}

int series_function_test(struct series_function *function, const struct ledger *ledger,
			 const struct ledger_row *row)
{
	uint32_t reason = row->reason == REASON_NONE ? REASON_ONCPU : row->reason;
	int r;

	if (!function->matcher.is_set || function->has[row->node])
		return 1;
	r = test_string(function, ledger, ledger->processes[row->process].comm);
	if (r != 0)
		return r;
	r = matcher_test(&function->marks, reason, off_reason_text(reason));
	if (r != 0 || row->end == STACK_COMPLETE)
		return r;
	return matcher_test(&function->marks, N_OFF_REASONS, mark_text(MARK_TRUNCATED));
}
