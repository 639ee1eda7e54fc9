/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/moment.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/system.h"
#include "cli/parse.h"

#define DAY	     (24 * 3600) /* seconds */
#define MOST_SECONDS (INT64_MAX / NSEC_PER_SEC)

/* A day, and the time of day. */
struct moment {
	struct tm day;
	uint64_t into_ns;
	bool has_zone;
	int zone_seconds; /* east of Greenwich */
};

static bool take_number(const char **text, unsigned int digits, unsigned int most, int *ret)
{
	unsigned int value = 0;

	for (unsigned int i = 0; i < digits; i++) {
		if (!isdigit((unsigned char)(*text)[i]))
			return false;
		value = 10 * value + ((*text)[i] - '0');
	}
	if (value > most)
		return false;
	*text += digits;
	*ret = value;
	return true;
}

static bool take_char(const char **text, char c)
{
	bool is_there = **text == c;

	*text += is_there;
	return is_there;
}

/* `14:03`, `14:03:20`, `14:03:20.5`. */
static int take_clock(const char **text, struct moment *moment)
{
	int hours, minutes, seconds = 0;
	uint64_t fraction = 0;

	if (!take_number(text, 2, 23, &hours) || !take_char(text, ':') ||
	    !take_number(text, 2, 59, &minutes))
		return -EINVAL;
	if (take_char(text, ':')) {
		if (!take_number(text, 2, 60, &seconds))
			return -EINVAL;
		if (take_char(text, '.'))
			for (uint64_t unit = NSEC_PER_SEC / 10; isdigit((unsigned char)**text);
			     unit /= 10)
				fraction += unit * (*(*text)++ - '0');
	}
	moment->into_ns = (hours * 3600ULL + minutes * 60 + seconds) * NSEC_PER_SEC + fraction;
	return 0;
}

/* `Z`, `+01:00`, `-0530`. */
static int take_zone(const char **text, struct moment *moment)
{
	int hours, minutes, sign;

	if (take_char(text, 'Z') || take_char(text, 'z')) {
		moment->has_zone = true;
		return 0;
	}
	if (**text != '+' && **text != '-')
		return 0;
	sign = *(*text)++ == '-' ? -1 : 1;
	if (!take_number(text, 2, 23, &hours))
		return -EINVAL;
	take_char(text, ':');
	if (!take_number(text, 2, 59, &minutes))
		return -EINVAL;
	moment->has_zone = true;
	moment->zone_seconds = sign * (hours * 3600 + minutes * 60);
	return 0;
}

static bool take_word(const char **text, const char *word)
{
	size_t n = strlen(word);
	bool is_there = strncasecmp(*text, word, n) == 0 && !isalpha((unsigned char)(*text)[n]);

	if (is_there)
		*text += n;
	return is_there;
}

/* The last day of that name before today. */
static bool take_weekday(const char **text, struct tm *day)
{
	static const char *const names[] = {"sunday",	"monday", "tuesday", "wednesday",
					    "thursday", "friday", "saturday"};

	take_word(text, "last");
	while (take_char(text, ' '))
		;
	for (int i = 0; i < 7; i++) {
		char brief[4];

		snprintf(brief, sizeof brief, "%.3s", names[i] /* ours */);
		if (take_word(text, names[i]) || take_word(text, brief)) {
			day->tm_mday -= (day->tm_wday - i + 6) % 7 + 1;
			return true;
		}
	}
	return false;
}

/* `2026-11-17`; no 30th of February. */
static int take_date(const char **text, struct tm *day)
{
	struct tm normal;

	if (!take_number(text, 4, 9999, &day->tm_year) || !take_char(text, '-') ||
	    !take_number(text, 2, 12, &day->tm_mon) || !take_char(text, '-') ||
	    !take_number(text, 2, 31, &day->tm_mday))
		return -EINVAL;
	day->tm_year -= 1900;
	day->tm_mon--;
	if (day->tm_year < 70 || day->tm_mon < 0)
		return -EINVAL;
	normal = *day;
	timegm(&normal);
	return normal.tm_mday == day->tm_mday ? 0 : -EINVAL;
}

static int take_day(const char **text, struct moment *moment)
{
	if (strlen(*text) >= 5 && (*text)[2] == ':')
		return 0;
	if (take_word(text, "today"))
		return 0;
	if (take_word(text, "yesterday")) {
		moment->day.tm_mday--;
		return 0;
	}
	return take_weekday(text, &moment->day) ? 0 : take_date(text, &moment->day);
}

static int64_t offset_at(time_t time)
{
	struct tm tm;

	localtime_r(&time, &tm);
	return tm.tm_gmtoff;
}

/* The moment between @begin and @end at which the offset changes. */
static time_t find_change(time_t begin, time_t end)
{
	int64_t before = offset_at(begin);

	while (end - begin > 1) {
		time_t middle = begin + (end - begin) / 2;

		*(offset_at(middle) == before ? &begin : &end) = middle;
	}
	return end;
}

/*
 * When clocks on the wall say @local, which is seconds since 1970 as if they were UTC. What they
 * say twice in autumn is the first of both; what they skip in spring is when they skip it.
 */
static time_t from_local(time_t local)
{
	int64_t before = offset_at(local - DAY), after = offset_at(local + DAY);
	time_t first = local - before, second = local - after;

	if (offset_at(first) == before)
		return first;
	return offset_at(second) == after ? second : find_change(second, first);
}

static int add_up(const struct moment *moment, uint64_t *ret_ns)
{
	struct tm tm = moment->day;
	time_t time;

	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	time = timegm(&tm) + moment->into_ns / NSEC_PER_SEC;
	time = moment->has_zone ? time - moment->zone_seconds : from_local(time);
	if (time < 0)
		return -EINVAL;
	if ((uint64_t)time > MOST_SECONDS) /* in the year 2262; all later ones are as far away */
		time = MOST_SECONDS;
	*ret_ns = time * NSEC_PER_SEC + moment->into_ns % NSEC_PER_SEC;
	return 0;
}

int moment_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns)
{
	struct moment moment = {};
	time_t now = now_ns / NSEC_PER_SEC;
	uint64_t ago;

	if (strcasecmp(text, "now") == 0) {
		*ret_ns = now_ns;
		return 0;
	}
	if (*text == '-') {
		if (parse_time(text + 1, NSEC_PER_SEC, &ago) < 0)
			return -EINVAL;
		*ret_ns = ago < now_ns ? now_ns - ago : 0;
		return 0;
	}
	localtime_r(&now, &moment.day);
	if (take_day(&text, &moment) < 0)
		return -EINVAL;
	if (*text && strchr(" Tt", *text))
		text++;
	if (*text && take_clock(&text, &moment) < 0)
		return -EINVAL;
	if (take_zone(&text, &moment) < 0 || *text)
		return -EINVAL;
	return add_up(&moment, ret_ns);
}

int moment_read(const char *text, uint64_t now_ns, uint64_t *ret_ns, struct failure *failure)
{
	if (moment_parse(text, now_ns, ret_ns) == 0)
		return 0;
	failure_set(failure, -EINVAL, "'%s' is no point of time", text);
	return failure_fix(failure, -EINVAL, "such as -1h, 14:03, yesterday, '2026-11-17 14:03'");
}

int moment_check_range(uint64_t from, uint64_t to, struct failure *failure)
{
	char begin[MOMENT_SIZE], end[MOMENT_SIZE];

	if (from < to)
		return 0;
	moment_text(from, begin);
	if (from == to)
		return failure_set(failure, -EINVAL, "the range ends where it begins, at %s",
				   begin);
	failure_set(failure, -EINVAL, "the range ends at %s, before it begins, at %s",
		    moment_text(to, end), begin);
	return failure_fix(failure, -EINVAL, "times without a day are today's: 'yesterday 14:03'");
}

const char *moment_text(uint64_t ns, char text[static MOMENT_SIZE])
{
	time_t seconds = ns / NSEC_PER_SEC;
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(text, MOMENT_SIZE, "%Y-%m-%d %H:%M:%S", &tm);
	return text;
}

const char *moment_utc(uint64_t ns, char text[static MOMENT_SIZE])
{
	time_t seconds = ns / NSEC_PER_SEC;
	unsigned int milliseconds = ns / (NSEC_PER_SEC / 1000) % 1000;
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(text, MOMENT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	if (milliseconds)
		n += snprintf(text + n, MOMENT_SIZE - n, ".%03u", milliseconds);
	snprintf(text + n, MOMENT_SIZE - n, "Z");
	return text;
}
