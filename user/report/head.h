/* SPDX-License-Identifier: GPL-2.0-or-later */
/* head: the first lines of a report: what was recorded, how much, where and when. */
#ifndef REPORT_HEAD_H
#define REPORT_HEAD_H

#include "base/text.h"
#include "report/page.h"
#include "report/ranking.h"

/* @n_functions: SIZE_MAX if not counted; @n_threads: 0 if threads are not distinguished. */
void head_print(struct page *page, const struct report_source *source, size_t n_functions,
		size_t n_threads);

/* Prints one more line of the head. */
void head_fact(struct page *page, const char *label, enum page_style style, const char *text);

/* The heading of a column of weights: "samples", "time", "events", "bytes". */
const char *head_unit(const struct stacks *stacks);

/* `12,345` samples, or `34.5 s`. */
void head_figure(char text[static TEXT_FIGURE_SIZE], const struct stacks *stacks, uint64_t weight);

double head_percent(uint64_t part, uint64_t whole);

#endif
