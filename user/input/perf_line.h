/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_line: the kinds of lines that `perf script` writes, taken apart. Nothing is copied: a part
 * is a piece of the line.
 *
 * What stands in a line depends on perf's option -F, and a command's name may hold anything. So the
 * beginning of a sample is found by its time, in front of which there is a thread, and the
 * command's name is what is left; without a time, by the thread.
 */
#ifndef INPUT_PERF_LINE_H
#define INPUT_PERF_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_part {
	const char *text;
	size_t n; /* 0: it is not there */
};

/* The first line of a sample. */
struct perf_header {
	struct perf_part comm;
	uint32_t pid, tid;	/* the same if only one of them is there */
	struct perf_part event; /* without the colon */
	uint64_t period;	/* what the sample stands for, of the event; 0: not told */
	struct perf_part rest;	/* what stands behind it: a frame, or a tracepoint's payload */
	bool has_time;
};

/* A frame. */
struct perf_frame {
	uint64_t address;
	struct perf_part symbol; /* without its offset; "[unknown]" as it is */
	struct perf_part file;	 /* as it stands in the brackets, without its offset */
	bool is_inlined;
	bool has_offset;
	uint64_t offset; /* the address in @file, with -F +dsoff */
};

/* Each says whether the line is one, and takes it apart. */
bool perf_header_parse(const char *text, size_t n, struct perf_header *ret);
bool perf_frame_parse(const char *text, size_t n, struct perf_frame *ret);

/* Whether a symbol or a file is behind the address, as in every frame but those of -F ip. */
static inline bool perf_frame_is_named(const struct perf_frame *frame)
{
	return frame->symbol.n || frame->file.n || frame->is_inlined;
}

#endif
