/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtimes/text.h"

#include <errno.h>
#include <string.h>

void text_begin(struct text_writer *writer, struct bf_text *text)
{
	*writer = (struct text_writer){.text = text};
	*text = (struct bf_text){};
	memset(writer->labels, 0xff, sizeof writer->labels);
}

void text_op(struct text_writer *writer, enum bf_code code, uint8_t a, uint8_t b, uint8_t c,
	     int32_t value)
{
	if (writer->n == BF_TEXT_OPS) {
		writer->error = -EINVAL;
		return;
	}
	writer->text->ops[writer->n++] = (struct bf_op){code, a, b, c, value};
}

void text_label(struct text_writer *writer, uint32_t label)
{
	writer->labels[label] = writer->n;
}

void text_to(struct text_writer *writer, uint32_t label)
{
	if (writer->n)
		writer->wants[writer->n - 1] = label + 1;
}

void text_load(struct text_writer *writer, uint8_t to, uint32_t bytes, uint32_t at)
{
	text_op(writer, BF_OP_LOAD, to, 0, bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2, at);
}

void text_fetch(struct text_writer *writer, uint8_t to, uint8_t base, uint32_t offset)
{
	text_op(writer, BF_OP_READ, 0, base, 0, offset);
	text_load(writer, to, 8, 0);
}

void text_try(struct text_writer *writer, uint8_t to, uint8_t base, int32_t offset)
{
	text_op(writer, BF_OP_TRY, 0, base, 0, offset);
	text_load(writer, to, 8, 0);
}

void text_jump(struct text_writer *writer, uint32_t label)
{
	text_op(writer, BF_OP_JUMP, 0, 0, 0, 0);
	text_to(writer, label);
}

void text_if(struct text_writer *writer, uint8_t a, enum bf_relation relation, int32_t value,
	     uint32_t label)
{
	text_op(writer, BF_OP_IF, a, relation, 0, value);
	text_to(writer, label);
}

void text_if_register(struct text_writer *writer, uint8_t a, enum bf_relation relation,
		      uint8_t other, uint32_t label)
{
	text_op(writer, BF_OP_IFR, a, relation, 0, other);
	text_to(writer, label);
}

void text_end_early(struct text_writer *writer)
{
	text_op(writer, BF_OP_IF, BF_REGISTER_TLS, BF_NE, 1 /* passes over one */, 0);
	text_op(writer, BF_OP_END, 0, 0, 0, 0);
}

#define SPECIFIC_KEYS 32

void text_fetch_specific(struct text_writer *writer, uint8_t to, uint8_t base, uint32_t offset,
			 uint32_t label)
{
	text_op(writer, BF_OP_TRY, 0, base, 0, offset); /* untouched: 0 */
	text_load(writer, to, 4, 0);
	text_if(writer, to, BF_GE, SPECIFIC_KEYS, label);
	text_op(writer, BF_OP_SHL, to, to, 0, TEXT_SPECIFIC_SHIFT);
	text_op(writer, BF_OP_ADD, to, to, BF_REGISTER_TLS, 0);
	text_fetch(writer, to, to, TEXT_SPECIFIC_DATA + 8);
}

static int link_op(struct text_writer *writer, uint32_t i)
{
	uint32_t label = writer->labels[writer->wants[i] - 1];
	struct bf_op *op = &writer->text->ops[i];
	int distance = (int)label - (int)i - 1;

	if (label == UINT32_MAX)
		return -EINVAL;
	if (op->code == BF_OP_JUMP)
		op->value = distance;
	else if (distance < INT8_MIN || distance > INT8_MAX)
		return -EINVAL;
	else
		op->c = (uint8_t)distance;
	return 0;
}

int text_end(struct text_writer *writer)
{
	if (writer->error)
		return writer->error;
	for (uint32_t i = 0; i < writer->n; i++)
		if (writer->wants[i] && link_op(writer, i) < 0)
			return -EINVAL;
	return 0;
}
