/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/perf_line.h"

#include <string.h>

/* A command's name has no more tokens than this before a sample's time. */
#define MAX_TOKENS 64

static bool is_space(char byte)
{
	return byte == ' ' || byte == '\t';
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* The value of a hexadecimal digit, or -1. */
static int hex_digit(char byte)
{
	if (is_digit(byte))
		return byte - '0';
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static struct perf_part trim(struct perf_part part)
{
	while (part.n && is_space(part.text[0])) {
		part.text++;
		part.n--;
	}
	while (part.n && is_space(part.text[part.n - 1]))
		part.n--;
	return part;
}

/* Takes the next run of non-blanks off @rest; n is 0 at the end. */
static struct perf_part next_token(struct perf_part *rest)
{
	struct perf_part token = {0};

	while (rest->n && is_space(rest->text[0])) {
		rest->text++;
		rest->n--;
	}
	token.text = rest->text;
	while (rest->n && !is_space(rest->text[0])) {
		rest->text++;
		rest->n--;
		token.n++;
	}
	return token;
}

/* Whether all of @part is a number of that base. */
static bool parse_number(struct perf_part part, int base, uint64_t *ret)
{
	uint64_t number = 0;

	if (!part.n || part.n > (base == 16 ? 16 : 19))
		return false;
	for (size_t i = 0; i < part.n; i++) {
		int digit = hex_digit(part.text[i]);

		if (digit < 0 || digit >= base)
			return false;
		number = number * base + digit;
	}
	*ret = number;
	return true;
}

/* Headers */

/* `SECONDS.FRACTION:` */
static bool is_time(struct perf_part token)
{
	size_t i = 0, point;

	while (i < token.n && is_digit(token.text[i]))
		i++;
	point = i;
	if (!i || i == token.n || token.text[i] != '.')
		return false;
	while (++i < token.n && is_digit(token.text[i]))
		;
	return i > point + 1 && i + 1 == token.n && token.text[i] == ':';
}

/* `[CPU]` */
static bool is_cpu(struct perf_part token)
{
	uint64_t cpu;

	return token.n > 2 && token.text[0] == '[' && token.text[token.n - 1] == ']' &&
	       parse_number((struct perf_part){token.text + 1, token.n - 2}, 10, &cpu);
}

/* `PID/TID`, or one of them. perf writes -1 for an unknown thread. */
static bool parse_thread(struct perf_part token, struct perf_header *ret)
{
	const char *slash = memchr(token.text, '/', token.n);
	struct perf_part first = token, second;
	uint64_t pid = 0, tid = 0;

	if (slash)
		first.n = slash - token.text;
	second = slash ? (struct perf_part){slash + 1, token.n - first.n - 1} : first;
	if (first.n == 2 && memcmp(first.text, "-1", 2) == 0)
		pid = 0;
	else if (!parse_number(first, 10, &pid) || pid > UINT32_MAX)
		return false;
	if (second.n == 2 && memcmp(second.text, "-1", 2) == 0)
		tid = 0;
	else if (!parse_number(second, 10, &tid) || tid > UINT32_MAX)
		return false;
	ret->pid = pid;
	ret->tid = tid;
	return true;
}

static struct perf_part comm_before(const char *text, struct perf_part token)
{
	return trim((struct perf_part){text, token.text - text});
}

/* Sets *@rest to the text after the time. */
static bool parse_timed(const char *text, size_t n, struct perf_header *header,
			struct perf_part *rest)
{
	struct perf_part before = {0}, token = {0}, next;

	*rest = (struct perf_part){text, n};
	for (int i = 0; i < MAX_TOKENS; i++) {
		struct perf_part thread = token;

		next = next_token(rest);
		if (!next.n)
			return false;
		if (is_cpu(thread))
			thread = before;
		if (thread.n && is_time(next) && parse_thread(thread, header)) {
			header->comm = comm_before(text, thread);
			header->has_time = true;
			return true;
		}
		before = token;
		token = next;
	}
	return false;
}

/*
 * Nothing, an event, a period and an event, or a frame may follow. Otherwise the line was a
 * sentence that contains a number.
 */
static bool may_follow_thread(struct perf_part rest)
{
	struct perf_part all = rest, token = next_token(&rest);
	struct perf_frame frame;
	uint64_t period;

	if (!token.n || token.text[token.n - 1] == ':')
		return true;
	if (perf_frame_parse(all.text, all.n, &frame) && frame.file.n)
		return true;
	if (!parse_number(token, 10, &period))
		return false;
	token = next_token(&rest);
	return !token.n || token.text[token.n - 1] == ':';
}

/* Parses headers without a time: takes the first PID/TID, or else the first number. */
static bool parse_untimed(const char *text, size_t n, struct perf_header *header,
			  struct perf_part *rest)
{
	struct perf_part left = {text, n}, found = {0}, next;

	next_token(&left);
	for (int i = 0; i < MAX_TOKENS; i++) {
		struct perf_part token = next_token(&left);

		if (!token.n || token.text[token.n - 1] == ':')
			break;
		if (!parse_thread(token, header))
			continue;
		if (!found.n || memchr(token.text, '/', token.n)) {
			found = token;
			*rest = left;
		}
		if (memchr(token.text, '/', token.n))
			break;
	}
	if (!found.n)
		return false;
	parse_thread(found, header);
	header->comm = comm_before(text, found);
	left = *rest;
	next = next_token(&left);
	if (is_cpu(next))
		*rest = left;
	return may_follow_thread(*rest);
}

/* Parses the period, if there is one, and the event; ignores the rest. */
static void parse_event(struct perf_part rest, struct perf_header *header)
{
	struct perf_part after = rest, token = next_token(&after);
	uint64_t period;

	if (parse_number(token, 10, &period)) {
		struct perf_part past = after, event = next_token(&past);

		if (!event.n || event.text[event.n - 1] == ':') {
			token = event;
			after = past;
			header->period = period;
		}
	}
	if (token.n && token.text[token.n - 1] == ':') {
		header->event = (struct perf_part){token.text, token.n - 1};
		header->rest = trim(after);
	} else if (token.n >= 12 && memcmp(token.text, "PERF_RECORD_", 12) == 0) {
		header->event = token;
		header->rest = trim(after);
	} else {
		header->rest = trim(rest);
	}
}

bool perf_header_parse(const char *text, size_t n, struct perf_header *ret)
{
	struct perf_header header = {0};
	struct perf_part rest;

	if (!n || text[0] == '\t')
		return false;
	if (!parse_timed(text, n, &header, &rest)) {
		header = (struct perf_header){0};
		if (text[0] == ' ' || text[0] == '#' || !parse_untimed(text, n, &header, &rest))
			return false;
	}
	parse_event(rest, &header);
	*ret = header;
	return true;
}

/* Frames */

/* Takes `+0xOFFSET` off the end of @part. */
static bool cut_offset(struct perf_part *part, uint64_t *ret)
{
	size_t i = part->n;

	while (i && hex_digit(part->text[i - 1]) >= 0)
		i--;
	if (i < 3 || memcmp(part->text + i - 3, "+0x", 3) != 0 ||
	    !parse_number((struct perf_part){part->text + i, part->n - i}, 16, ret))
		return false;
	part->n = i - 3;
	return true;
}

/* Takes ` (…)` off the end of @part. Inner brackets come in pairs, as in ` (/a (deleted))`. */
static bool cut_brackets(struct perf_part *part, struct perf_part *ret)
{
	size_t i = part->n, depth = 0;

	if (!i || part->text[i - 1] != ')')
		return false;
	while (i--) {
		depth += part->text[i] == ')';
		depth -= part->text[i] == '(';
		if (depth == 0)
			break;
	}
	if (depth || (i && !is_space(part->text[i - 1])))
		return false;
	*ret = (struct perf_part){part->text + i + 1, part->n - i - 2};
	part->n = i;
	return true;
}

bool perf_frame_parse(const char *text, size_t n, struct perf_frame *ret)
{
	struct perf_part rest = {text, n}, token = next_token(&rest);
	struct perf_frame frame = {0};
	uint64_t ignored;

	if (!parse_number(token, 16, &frame.address))
		return false;
	rest = trim(rest);
	if (cut_brackets(&rest, &frame.file)) {
		if (frame.file.n == 7 && memcmp(frame.file.text, "inlined", 7) == 0) {
			frame.is_inlined = true;
			frame.file.n = 0;
		}
		frame.has_offset = cut_offset(&frame.file, &frame.offset);
	}
	frame.symbol = trim(rest);
	cut_offset(&frame.symbol, &ignored);
	*ret = frame;
	return true;
}
