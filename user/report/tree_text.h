/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree_text: trees of calls for a terminal. Errors of both: those of call_tree.h.
 */
#ifndef REPORT_TREE_TEXT_H
#define REPORT_TREE_TEXT_H

#include "report/page.h"
#include "report/ranking.h"

/* What each command calls. @percent: what is below it of all is left out. */
int tree_text(struct page *page, const struct report_source *source, double percent);

/* Who calls the functions that match @pattern. */
int tree_text_callers(struct page *page, const struct report_source *source, const char *pattern,
		      double percent);

#endif
