/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b) ||
	       (strchr("-_", a) && strchr("-_", b));
}

/* Levenshtein's distance, row by row; swapped neighbours count as one change. */
static unsigned int distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
	unsigned int rows[3][NEAREST_SIZE + 1];
	unsigned int *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t k = 0; k <= n_b; k++)
		last[k] = k;
	for (size_t i = 1; i <= n_a; i++) {
		unsigned int *reused = before;

		now[0] = i;
		for (size_t k = 1; k <= n_b; k++) {
			now[k] = least(least(last[k], now[k - 1]) + 1,
				       last[k - 1] + !same(a[i - 1], b[k - 1]));
			if (i > 1 && k > 1 && same(a[i - 1], b[k - 2]) && same(a[i - 2], b[k - 1]))
				now[k] = least(now[k], before[k - 2] + 1);
		}
		before = last;
		last = now;
		now = reused;
	}
	return last[n_b];
}

/* The difference between two names, in thirds of a character; UINT_MAX: too large. */
static unsigned int far(const char *wanted, const char *name)
{
	size_t n = strlen(wanted), n_name = strlen(name);
	unsigned int changes;

	if (n >= NEAREST_SIZE || n_name >= NEAREST_SIZE || n == 0)
		return ~0u;
	changes = distance(wanted, n, name, n_name);
	/* The dashes of an option are right in any case. */
	if (changes <= (n - strspn(wanted, "-") + 2) / 3)
		return 3 * changes;
	/* `switch` for `context-switches`: only added characters. */
	if (n >= 3 && strstr(name, wanted))
		return 3 + (n_name - n);
	return ~0u;
}

void nearest_offer(struct nearest *nearest, const char *name)
{
	unsigned int value = far(nearest->wanted, name);
	size_t at = nearest->n;

	for (size_t i = 0; i < nearest->n; i++)
		if (strcmp(nearest->names[i], name) == 0)
			return;
	while (at && nearest->distances[at - 1] > value)
		at--;
	if (value == ~0u || at == NEAREST_NAMES)
		return;
	if (nearest->n < NEAREST_NAMES)
		nearest->n++;
	for (size_t i = nearest->n - 1; i > at; i--) {
		strcpy(nearest->names[i], nearest->names[i - 1]);
		nearest->distances[i] = nearest->distances[i - 1];
	}
	strcpy(nearest->names[at], name);
	nearest->distances[at] = value;
}

const char *nearest_text(const struct nearest *nearest, char text[static NEAREST_TEXT_SIZE])
{
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < nearest->n; i++)
		n += sprintf(text + n, "%s%s",
			     i == 0		   ? "did you mean "
			     : i + 1 == nearest->n ? " or "
						   : ", ",
			     nearest->names[i]);
	if (n)
		strcpy(text + n, "?");
	return text;
}
