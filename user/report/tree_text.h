/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree_text: trees of calls for a terminal. Errors: those of call_tree.h. */
#ifndef REPORT_TREE_TEXT_H
#define REPORT_TREE_TEXT_H

#include "report/page.h"
#include "report/ranking.h"

/* Writes what each command calls. @percent: leave out nodes below this share of everything. */
int tree_text(struct page *page, const struct report_source *source, double percent);

/* Writes the callers of the functions that match @pattern. */
int tree_text_callers(struct page *page, const struct report_source *source, const char *pattern,
		      double percent);

#endif
