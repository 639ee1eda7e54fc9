/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/matcher.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { UNKNOWN, MATCHES, DIFFERS };

int matcher_init(struct matcher *matcher, const char *expression)
{
	*matcher = (struct matcher){};
	if (expression && regcomp(&matcher->regex, expression, REG_EXTENDED | REG_NOSUB) != 0)
		return -EINVAL;
	matcher->is_set = expression;
	return 0;
}

void matcher_done(struct matcher *matcher)
{
	if (matcher->is_set)
		regfree(&matcher->regex);
	free(matcher->known);
	*matcher = (struct matcher){};
}

int matcher_test(struct matcher *matcher, uint32_t id, const char *text)
{
	if (!matcher->is_set)
		return 0;
	if (id >= matcher->n_known) {
		size_t n = matcher->n_known, more = id + 1 - n;
		int r = array_reserve(matcher->known, matcher->known_capacity, n, more);

		if (r < 0)
			return r;
		memset(matcher->known + n, UNKNOWN, more);
		matcher->n_known = n + more;
	}
	if (matcher->known[id] == UNKNOWN)
		matcher->known[id] =
			regexec(&matcher->regex, text, 0, NULL, 0) == 0 ? MATCHES : DIFFERS;
	return matcher->known[id] == MATCHES;
}

void matcher_forget(struct matcher *matcher)
{
	matcher->n_known = 0;
}

/* The largest number of `{2,30}`; 1 if there is none. */
static unsigned long largest_bound(const char *brace)
{
	unsigned long largest = 1;

	for (const char *at = brace + 1; *at && *at != '}';) {
		char *end;
		unsigned long bound = strtoul(at, &end, 10);

		largest = bound > largest ? bound : largest;
		at = end > at ? end : at + 1;
	}
	return largest;
}

bool matcher_is_modest(const char *expression)
{
	unsigned long bytes = strlen(expression);

	for (const char *at = expression; *at && bytes <= MATCHER_MODEST_BYTES; at++) {
		unsigned long bound = *at == '{' ? largest_bound(at) : 1;

		if (*at == '\\' && at[1] >= '1' && at[1] <= '9')
			return false;
		bytes = bound > MATCHER_MODEST_BYTES ? bound : bytes * bound;
	}
	return bytes <= MATCHER_MODEST_BYTES;
}
