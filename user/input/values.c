/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/values.h"

#include <errno.h>

static inline bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* Finds where the digits that end before @end begin. */
static inline size_t digits_before(const char *text, size_t end)
{
	while (end && is_digit(text[end - 1]))
		end--;
	return end;
}

static int add_up(const char *text, size_t from, size_t to, uint64_t *ret_number)
{
	uint64_t number = 0;

	for (size_t i = from; i < to; i++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, text[i] - '0', &number))
			return -ERANGE;
	*ret_number = number;
	return 0;
}

int value_read(const char *text, size_t n, struct value *ret)
{
	size_t begin = digits_before(text, n), end = n;
	struct value value = {0};

	if (begin && text[begin - 1] == '.') {
		for (size_t i = begin; i < n; i++)
			value.was_rounded |= text[i] != '0';
		end = begin - 1;
		begin = digits_before(text, end);
	}
	if (begin == end || !begin || (text[begin - 1] != ' ' && text[begin - 1] != '\t'))
		return 0;
	if (add_up(text, begin, end, &value.number) < 0)
		return -ERANGE;
	if (value.was_rounded && end + 1 < n && text[end + 1] >= '5' &&
	    __builtin_add_overflow(value.number, 1, &value.number))
		return -ERANGE;
	value.n = begin - 1;
	*ret = value;
	return 1;
}
