/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page: lines of text for a terminal. Whatever comes from a profile passes through text_next(): no
 * byte of it is obeyed by the terminal, and its columns are counted as they are drawn.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/profile.h"

enum page_style {
	STYLE_PLAIN,
	STYLE_DIM,
	STYLE_STRONG,
	STYLE_BAR,
	STYLE_KERNEL,
	STYLE_INLINED,
	STYLE_JIT,
	STYLE_RUNNING,
	STYLE_RUNNABLE,
	STYLE_WAITING,
	N_PAGE_STYLES,
};

struct page {
	FILE *stream;
	bool colour;
	size_t columns;
	int error;	 /* the first -ENOMEM; what comes after it is not written */
	uint32_t *codes; /* of the name that is being written */
	size_t n_codes, capacity;
};

/* @columns: 0: 100; never fewer than PAGE_LEAST_COLUMNS. */
#define PAGE_LEAST_COLUMNS 40
void page_init(struct page *page, FILE *stream, bool colour, unsigned int columns);
void page_done(struct page *page);

enum page_style page_style_of_kind(enum frame_kind kind);

void page_text(struct page *page, enum page_style style, const char *text); /* all of it */
void page_right(struct page *page, enum page_style style, const char *text, size_t columns);
/* `12.3`; what is next to nothing is dim. */
void page_percent(struct page *page, double percent, size_t columns);
void page_spaces(struct page *page, size_t n);
void page_line(struct page *page);

/*
 * Writes @name and @suffix in at most @columns, and returns how many it took. What does not fit
 * loses, one after the other and only as far as it must: arguments of templates, the largest first;
 * parameters; its middle. The suffix stays.
 */
size_t page_name(struct page *page, enum page_style style, const char *name, const char *suffix,
		 size_t columns);

/* A bar of eighths of a column; @share: 0 to 1 of @columns, all of which are written. */
void page_bar(struct page *page, double share, size_t columns);

#endif
