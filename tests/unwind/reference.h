/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reference: walks a capture with elfutils' libdwfl.
 *
 * Without call frame information libdwfl guesses by frame pointer; from there on it is not an
 * oracle, so the walk ends at that frame.
 */
#ifndef UNWIND_REFERENCE_H
#define UNWIND_REFERENCE_H

#include "bpf/wire.h"
#include "unwind/capture.h"

enum reference_end {
	REFERENCE_ENTRY,  /* the return address is undefined */
	REFERENCE_DEPTH,  /* there are more than BF_MAX_FRAMES */
	REFERENCE_NO_CFI, /* no information on the last frame's code */
	REFERENCE_FAILED, /* its rules could not be applied */
	N_REFERENCE_ENDS,
};

struct reference_stack {
	uint32_t n;
	enum reference_end end;
	uint64_t frames[BF_MAX_FRAMES];
	/*
	 * libdwfl's "activation": the frame was interrupted by a signal, or is the caller of one
	 * that was.
	 */
	bool activation[BF_MAX_FRAMES];
	char error[160];
};

struct reference; /* modules, by process */

int reference_new(struct reference **ret);
void reference_free(struct reference *reference);

/* Returns 0, -ENOMEM, or -EAGAIN if the process is gone. */
int reference_walk(struct reference *reference, struct capture *capture,
		   struct reference_stack *ret);

/* "symbol+0x12 libc.so.6+0x34567", of the process of the last walk. */
void reference_name(struct reference *reference, uint64_t pc, char *text, size_t size);

const char *reference_end_name(enum reference_end end);

#endif
