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
	int r = writer->error;

	for (uint32_t i = 0; i < writer->n && r == 0; i++)
		if (writer->wants[i])
			r = link_op(writer, i);
	return r;
}
