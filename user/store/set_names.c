/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/set_names.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/output.h"
#include "base/text.h"

#define NSEC 1000000000ULL

void set_stamp(uint64_t realtime_ns, bool milliseconds, char text[static SET_STAMP_SIZE])
{
	time_t seconds = realtime_ns / NSEC;
	struct tm tm = {};
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(text, SET_STAMP_SIZE, "%Y%m%dT%H%M%S", &tm);
	if (milliseconds)
		snprintf(text + n, SET_STAMP_SIZE - n, ".%03uZ",
			 (unsigned int)(realtime_ns % NSEC / 1000000));
	else
		snprintf(text + n, SET_STAMP_SIZE - n, "Z");
}

void set_time(uint64_t realtime_ns, char text[static SET_TIME_SIZE])
{
	time_t seconds = realtime_ns / NSEC;
	struct tm tm = {};
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(text, SET_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, SET_TIME_SIZE - n, ".%06uZ", (unsigned int)(realtime_ns % NSEC / 1000));
}

/* Skips exactly @n digits. */
static bool skip_digits(const char **text, size_t n)
{
	if (strspn(*text, "0123456789") != n)
		return false;
	*text += n;
	return true;
}

static bool skip_byte(const char **text, char byte)
{
	if (**text != byte)
		return false;
	++*text;
	return true;
}

bool set_name_is_ours(const char *name)
{
	const char *text = name;

	if (!skip_digits(&text, 8) || !skip_byte(&text, 'T') || !skip_digits(&text, 6))
		return false;
	if (skip_byte(&text, '.') && !skip_digits(&text, 3))
		return false;
	return skip_byte(&text, 'Z') && skip_byte(&text, '-') && *text && !strchr(text, '/') &&
	       strlen(name) < 256;
}

bool set_name_is_temporary(const char *name)
{
	static const char mark[] = OUTPUT_MARK;
	const char *end = strstr(name, mark);

	if (name[0] != '.' || !end)
		return false;
	end += strlen(mark);
	if (!*end || end[strspn(end, "0123456789abcdef")])
		return false;
	return set_name_is_ours(name + 1) || text_begins(name + 1, SETS_INDEX ".") ||
	       text_begins(name + 1, SETS_PAGE ".");
}
