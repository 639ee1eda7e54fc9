/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text: writes texts for the machine (bpf/machine.h), with labels in place of distances.
 */
#ifndef RUNTIMES_TEXT_H
#define RUNTIMES_TEXT_H

#include <stdint.h>

#include "bpf/wire.h"

#define TEXT_LABELS 64

/* glibc's struct pthread: its first keys' data, {sequence, data} each (2.17 … 2.43). */
#define TEXT_SPECIFIC_DATA  0x310
#define TEXT_SPECIFIC_SHIFT 4

struct text_writer {
	struct bf_text *text;
	uint32_t n;
	uint32_t labels[TEXT_LABELS]; /* where each is; UINT32_MAX: nowhere yet */
	uint8_t wants[BF_TEXT_OPS];   /* label that an operation jumps to, from 1; 0: none */
	int error;
};

void text_begin(struct text_writer *writer, struct bf_text *text);
/* Appends an operation. More than BF_TEXT_OPS are an error of text_end(). */
void text_op(struct text_writer *writer, enum bf_code code, uint8_t a, uint8_t b, uint8_t c,
	     int32_t value);
/* The next operation has this label. */
void text_label(struct text_writer *writer, uint32_t label);
/* The last operation, a BF_OP_JUMP, _IF or _IFR, leads to @label. */
void text_to(struct text_writer *writer, uint32_t label);
/* What texts are made of: @to = @bytes of the window at @at; the word of memory at @base + @offset,
 * by the window's first word; … */
void text_load(struct text_writer *writer, uint8_t to, uint32_t bytes, uint32_t at);
void text_fetch(struct text_writer *writer, uint8_t to, uint8_t base, uint32_t offset);
/* The same; 0 if that can't be read. */
void text_try(struct text_writer *writer, uint8_t to, uint8_t base, int32_t offset);
/* … to @label, always or if @a has @relation to a value or register. */
void text_jump(struct text_writer *writer, uint32_t label);
void text_if(struct text_writer *writer, uint8_t a, enum bf_relation relation, int32_t value,
	     uint32_t label);
void text_if_register(struct text_writer *writer, uint8_t a, enum bf_relation relation,
		      uint8_t other, uint32_t label);
/* Ends for a thread without TLS: its program's loader is at work, and nothing of it has run yet. */
void text_end_early(struct text_writer *writer);
/* @to = the thread's data (pthread_setspecific(3)) of the key whose number is at @base + @offset;
 * to @label if there is no such key. */
void text_fetch_specific(struct text_writer *writer, uint8_t to, uint8_t base, uint32_t offset,
			 uint32_t label);
/* Puts distances in place. Errors: -EINVAL: too long, too far, or a label that is nowhere. */
int text_end(struct text_writer *writer);

#endif
