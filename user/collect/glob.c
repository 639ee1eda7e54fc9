/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/filter.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Parses `[…]` after its bracket; marks the bytes it matches. Returns the rest, or NULL. */
static const char *parse_class(const char *p, bool taken[256])
{
	bool negated = *p == '!' || *p == '^';
	const char *start;

	memset(taken, negated, 256);
	p += negated;
	for (start = p; *p && (*p != ']' || p == start); p++) {
		unsigned char first = *p, last = first;

		if (p[1] == '-' && p[2] && p[2] != ']') {
			last = p[2];
			p += 2;
		}
		for (int byte = first; byte <= last; byte++)
			taken[byte] = !negated;
	}
	return *p == ']' ? p + 1 : NULL;
}

int glob_compile(const char *pattern, struct bf_glob *ret)
{
	struct bf_glob glob = {};
	unsigned int state = 0;
	bool taken[256];

	for (const char *p = pattern; *p;) {
		if (*p == '*') {
			glob.stay |= 1ULL << state;
			p++;
			continue;
		}
		if (*p == '[') {
			p = parse_class(p + 1, taken);
			if (!p)
				return -EINVAL;
		} else {
			memset(taken, *p == '?', sizeof taken);
			if (*p == '\\' && p[1])
				p++;
			taken[(unsigned char)*p++] = true;
		}
		if (state == BF_COMM_LEN - 1)
			return -E2BIG;
		for (int byte = 0; byte < 256; byte++)
			glob.step[byte] |= (__u64)taken[byte] << state;
		state++;
	}
	glob.accept = 1ULL << state;
	*ret = glob;
	return 0;
}

int glob_matches(const struct bf_glob *glob, const char *text)
{
	__u64 states = 1;

	for (; *text; text++)
		states = (states & glob->step[(unsigned char)*text]) << 1 | (states & glob->stay);
	return !!(states & glob->accept);
}
