/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reference: walks a capture with elfutils' libdwfl.
 *
 * Where libdwfl has no call frame information it guesses by frame pointer; what it says from there
 * on is not taken for an oracle: the walk ends at that frame.
 */
#ifndef UNWIND_REFERENCE_H
#define UNWIND_REFERENCE_H

#include "bpf/wire.h"
#include "unwind/capture.h"

enum reference_end {
	REFERENCE_ENTRY,  /* the return address is undefined */
	REFERENCE_DEPTH,  /* there are more than BF_MAX_FRAMES */
	REFERENCE_NO_CFI, /* nothing is known of the last frame's code */
	REFERENCE_FAILED, /* its rules could not be applied */
	N_REFERENCE_ENDS,
};

struct reference_stack {
	uint32_t n;
	enum reference_end end;
	uint64_t frames[BF_MAX_FRAMES];
	/* libdwfl's "activation": the frame is where a signal struck, or its caller's is. */
	bool activation[BF_MAX_FRAMES];
	char error[160];
};

struct reference; /* a process's modules */

int reference_new(struct reference **ret);
void reference_free(struct reference *reference);

/* Returns 0, -ENOMEM, -EAGAIN when the process is gone. */
int reference_walk(struct reference *reference, struct capture *capture,
		   struct reference_stack *ret);

/* "symbol+0x12 libc.so.6+0x34567", of the process of the last walk. */
void reference_name(struct reference *reference, uint64_t pc, char *text, size_t size);

const char *reference_end_name(enum reference_end end);

#endif
