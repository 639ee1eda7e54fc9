/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page: writes lines of text for a terminal. Names from a profile pass through text_next(): the
 * terminal obeys no byte of them, and columns are counted as drawn.
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
	STYLE_INTERPRETED,
	STYLE_RUNNING,
	STYLE_RUNNABLE,
	STYLE_WAITING,
	N_PAGE_STYLES,
};

struct page {
	FILE *stream;
	bool colour;
	size_t columns;
	int error;	 /* the first -ENOMEM; nothing is written after it */
	uint32_t *codes; /* of the current name */
	size_t n_codes, capacity;
};

/* @columns: 0 means 100; at least PAGE_LEAST_COLUMNS. */
#define PAGE_LEAST_COLUMNS 40
void page_init(struct page *page, FILE *stream, bool colour, unsigned int columns);
void page_done(struct page *page);

enum page_style page_style_of_kind(enum frame_kind kind);

void page_text(struct page *page, enum page_style style, const char *text); /* all of it */
void page_right(struct page *page, enum page_style style, const char *text, size_t columns);
/* Writes `12.3`; dim if it is almost nothing. */
void page_percent(struct page *page, double percent, size_t columns);
void page_spaces(struct page *page, size_t n);
void page_line(struct page *page);

/*
 * Writes @name and @suffix in at most @columns, and returns the number used. A name that is too
 * long loses, in turn and only as much as necessary: template arguments, the largest first;
 * parameters; its middle. The suffix stays.
 */
size_t page_name(struct page *page, enum page_style style, const char *name, const char *suffix,
		 size_t columns);

/* Writes a bar in eighths of a column: @share, 0 to 1, of @columns. Fills up with spaces. */
void page_bar(struct page *page, double share, size_t columns);

#endif
