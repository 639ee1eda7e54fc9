/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/shorten.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

#define ELLIPSIS 0x2026

/* Longer names lose their middle at once: no screen shows them, and finding brackets takes time. */
#define MAX_CODES 4096
/* Deeper brackets count as this level. */
#define MAX_LEVEL 8

size_t shorten_columns(const uint32_t *codes, size_t n)
{
	size_t columns = 0;

	for (size_t i = 0; i < n; i++)
		columns += text_code_columns(codes[i]);
	return columns;
}

/* Replaces [@from, @to) by an ellipsis. */
static size_t replace(uint32_t *codes, size_t n, size_t from, size_t to)
{
	codes[from] = ELLIPSIS;
	memmove(codes + from + 1, codes + to, (n - to) * sizeof *codes);
	return n - (to - from) + 1;
}

static size_t cut_middle(uint32_t *codes, size_t n, size_t columns)
{
	size_t head_columns, tail_columns, head = 0, tail = n;

	if (shorten_columns(codes, n) <= columns || n == 0)
		return n;
	if (columns <= 1)
		return columns ? replace(codes, n, 0, n) : 0;
	/* Keep more of the end: names begin with namespaces and folders. */
	head_columns = (columns - 1) * 2 / 5;
	tail_columns = columns - 1 - head_columns;
	for (; text_code_columns(codes[head]) <= head_columns; head++)
		head_columns -= text_code_columns(codes[head]);
	for (; text_code_columns(codes[tail - 1]) <= tail_columns; tail--)
		tail_columns -= text_code_columns(codes[tail - 1]);
	return replace(codes, n, head, tail);
}

static bool is_at(const uint32_t *codes, size_t n, const char *text)
{
	size_t i = 0;

	for (; i < n && text[i] && codes[i] == (unsigned char)text[i]; i++)
		;
	return !text[i];
}

/* The length of brackets at @codes that are part of an operator or arrow. */
static size_t unbracketed(const uint32_t *codes, size_t n)
{
	static const char *const operators[] = {"<=>", "<<=", ">>=", "->*", "()", "<<",
						">>",  "<=",  ">=",  "->",  "<",  ">"};
	const size_t word = strlen("operator");

	if (is_at(codes, n, "->") || is_at(codes, n, "=>"))
		return 2;
	if (is_at(codes, n, "(anonymous "))
		return strlen("(anonymous namespace)") < n ? strlen("(anonymous namespace)") : n;
	if (!is_at(codes, n, "operator"))
		return 0;
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
		if (is_at(codes + word, n - word, operators[i]))
			return word + strlen(operators[i]);
	return word;
}

struct brackets {
	uint32_t opening, closing;
};

/* The depth to which brackets nest; 0 if they do not match. */
static size_t deepest(const uint32_t *codes, size_t n, struct brackets brackets)
{
	size_t depth = 0, most = 0;

	for (size_t i = 0; i < n;) {
		size_t skipped = unbracketed(codes + i, n - i);

		if (skipped) {
			i += skipped;
			continue;
		}
		if (codes[i] == brackets.opening && ++depth > most)
			most = depth;
		if (codes[i] == brackets.closing && depth-- == 0)
			return 0;
		i++;
	}
	return depth ? 0 : most;
}

/* Finds the longest text in brackets of @level; whether an ellipsis makes any shorter. */
static bool longest(const uint32_t *codes, size_t n, struct brackets brackets, size_t level,
		    size_t *ret_from, size_t *ret_to)
{
	size_t depth = 0, from = 0, most = 1;

	for (size_t i = 0; i < n;) {
		size_t skipped = unbracketed(codes + i, n - i);

		if (skipped) {
			i += skipped;
			continue;
		}
		if (codes[i] == brackets.opening && ++depth == level)
			from = i + 1;
		if (codes[i] == brackets.closing && depth-- == level && i - from > most) {
			most = i - from;
			*ret_from = from;
			*ret_to = i;
		}
		i++;
	}
	return most > 1;
}

static size_t empty_brackets(uint32_t *codes, size_t n, size_t columns, struct brackets brackets)
{
	size_t level = deepest(codes, n, brackets), from, to;

	for (level = level < MAX_LEVEL ? level : MAX_LEVEL; level; level--)
		while (shorten_columns(codes, n) > columns &&
		       longest(codes, n, brackets, level, &from, &to))
			n = replace(codes, n, from, to);
	return n;
}

size_t shorten(uint32_t *codes, size_t n, size_t columns)
{
	if (shorten_columns(codes, n) <= columns)
		return n;
	if (n > MAX_CODES)
		n = replace(codes, n, MAX_CODES / 2, n - MAX_CODES / 2 + 1);
	n = empty_brackets(codes, n, columns, (struct brackets){'<', '>'});
	n = empty_brackets(codes, n, columns, (struct brackets){'(', ')'});
	return cut_middle(codes, n, columns);
}
