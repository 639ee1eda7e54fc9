/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ours: walks a capture with the unwinder under test: unwind_walk() with tables of
 * unwind_table_build(), for the machine that this runs on.
 */
#ifndef UNWIND_OURS_H
#define UNWIND_OURS_H

#include "bpf/wire.h"
#include "unwind/capture.h"

struct our_stack {
	uint32_t n;
	uint8_t end; /* enum bf_end */
	uint64_t frames[BF_MAX_FRAMES];
};

struct ours; /* tables by file; mappings by process */

int ours_new(struct ours **ret);
void ours_free(struct ours *ours);

/* Errors: -ENOMEM. */
int ours_walk(struct ours *ours, struct capture *capture, struct our_stack *ret);

/* The rule that unwinds frame @frame of @capture, in words. */
void ours_explain(struct ours *ours, struct capture *capture, uint64_t frame, bool exact,
		  char *text, size_t size);

const char *ours_end_name(uint8_t end);

#endif
