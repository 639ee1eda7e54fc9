/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/page.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/text.h"
#include "report/shorten.h"

#define DEFAULT_COLUMNS 100

/* The 16 colours of every terminal, in the shades of the user's choice. */
// clang-format off
static const char *const sequences[N_PAGE_STYLES] = {
	[STYLE_PLAIN]    = "",
	[STYLE_DIM]      = "\033[2m",
	[STYLE_STRONG]   = "\033[1m",
	[STYLE_BAR]      = "\033[33m",
	[STYLE_KERNEL]   = "\033[33m",
	[STYLE_INLINED]  = "\033[36m",
	[STYLE_JIT]      = "\033[32m",
	[STYLE_INTERPRETED] = "\033[92m",
	[STYLE_RUNNING]  = "\033[31m",
	[STYLE_RUNNABLE] = "\033[35m",
	[STYLE_WAITING]  = "\033[34m",
};
// clang-format on

void page_init(struct page *page, FILE *stream, bool colour, unsigned int columns)
{
	*page = (struct page){
		.stream = stream, .colour = colour, .columns = columns ? columns : DEFAULT_COLUMNS};
	if (page->columns < PAGE_LEAST_COLUMNS)
		page->columns = PAGE_LEAST_COLUMNS;
}

static void begin_style(struct page *page, enum page_style style)
{
	if (page->colour && style != STYLE_PLAIN)
		fputs_unlocked(sequences[style] /* ours */, page->stream);
}

static void end_style(struct page *page, enum page_style style)
{
	if (page->colour && style != STYLE_PLAIN)
		fputs_unlocked("\033[0m", page->stream);
}

void page_done(struct page *page)
{
	free(page->codes);
	*page = (struct page){0};
}

enum page_style page_style_of_kind(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_KERNEL: return STYLE_KERNEL;
	case FRAME_INLINED: return STYLE_INLINED;
	case FRAME_JIT: return STYLE_JIT;
	case FRAME_INTERPRETED: return STYLE_INTERPRETED;
	case FRAME_RUNNING: return STYLE_RUNNING;
	case FRAME_RUNNABLE: return STYLE_RUNNABLE;
	case FRAME_WAITING: return STYLE_WAITING;
	default: return STYLE_PLAIN;
	}
}

void page_text(struct page *page, enum page_style style, const char *text)
{
	if (!*text)
		return;
	begin_style(page, style);
	text_put_line(page->stream, text);
	end_style(page, style);
}

void page_spaces(struct page *page, size_t n)
{
	while (n--)
		putc_unlocked(' ', page->stream);
}

void page_right(struct page *page, enum page_style style, const char *text, size_t columns)
{
	size_t n = text_columns(text);

	page_spaces(page, n < columns ? columns - n : 0);
	page_text(page, style, text);
}

void page_percent(struct page *page, double percent, size_t columns)
{
	char text[32];

	snprintf(text, sizeof text, "%.1f", percent);
	page_right(page, percent < 0.05 ? STYLE_DIM : STYLE_PLAIN, text, columns);
}

void page_line(struct page *page)
{
	putc_unlocked('\n', page->stream);
}

static void decode(struct page *page, const char *name)
{
	page->n_codes = 0;
	for (uint32_t code; (code = text_next(&name));) {
		int r = array_reserve(page->codes, page->capacity, page->n_codes, 1);

		if (r < 0) {
			page->error = r;
			return;
		}
		page->codes[page->n_codes++] = code;
	}
}

size_t page_name(struct page *page, enum page_style style, const char *name, const char *suffix,
		 size_t columns)
{
	size_t tail = text_columns(suffix), written;

	decode(page, name);
	if (tail >= columns)
		suffix = "", tail = 0;
	page->n_codes = shorten(page->codes, page->n_codes, columns - tail);
	written = shorten_columns(page->codes, page->n_codes);
	begin_style(page, style);
	for (size_t i = 0; i < page->n_codes; i++)
		text_put(page->stream, page->codes[i]);
	end_style(page, style);
	if (tail)
		page_text(page, STYLE_DIM, suffix);
	return written + tail;
}

void page_bar(struct page *page, double share, size_t columns)
{
	/* U+2588 is a whole column, U+258F an eighth. */
	size_t eighths = share * columns * 8 + 0.5, whole = eighths / 8;

	begin_style(page, STYLE_BAR);
	for (size_t i = 0; i < whole; i++)
		text_put(page->stream, 0x2588);
	if (eighths % 8)
		text_put(page->stream, 0x2590 - eighths % 8);
	end_style(page, STYLE_BAR);
	page_spaces(page, columns - whole - (eighths % 8 != 0));
}
