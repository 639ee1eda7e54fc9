/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_line: parses the kinds of lines that `perf script` writes. Nothing is copied: a part is a
 * piece of the line.
 *
 * The fields of a line depend on perf's option -F, and a command's name may hold anything. A
 * sample's beginning is therefore recognized by its time, with a thread before it, and the rest is
 * the command's name. Without a time, the thread marks it.
 */
#ifndef INPUT_PERF_LINE_H
#define INPUT_PERF_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_part {
	const char *text;
	size_t n; /* 0: missing */
};

/* The first line of a sample. */
struct perf_header {
	struct perf_part comm;
	uint32_t pid, tid;	/* equal if only one of them is given */
	struct perf_part event; /* without the colon */
	uint64_t period;	/* events that the sample counts for; 0: unknown */
	struct perf_part rest;	/* the text after it: a frame, or a tracepoint's payload */
	bool has_time;
};

/* A frame. */
struct perf_frame {
	uint64_t address;
	struct perf_part symbol; /* without its offset; "[unknown]" unchanged */
	struct perf_part file;	 /* the text in brackets, without its offset */
	bool is_inlined;
	bool has_offset;
	uint64_t offset; /* the address in @file, with -F +dsoff */
};

/* Each returns whether the line is of its kind, and if so parses it. */
bool perf_header_parse(const char *text, size_t n, struct perf_header *ret);
bool perf_frame_parse(const char *text, size_t n, struct perf_frame *ret);

/* Whether a symbol or a file follows the address, as everywhere except with -F ip. */
static inline bool perf_frame_is_named(const struct perf_frame *frame)
{
	return frame->symbol.n || frame->file.n || frame->is_inlined;
}

#endif
