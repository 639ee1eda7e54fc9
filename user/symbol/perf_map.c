/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_map: one pass over the lines finds, for each lookup, the last line that contains it; then
 * only those lines are read again for their names. A map of 100 MB has a million lines, of which a
 * profile needs a few hundred.
 */
#include "symbol/perf_map.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/jit_ranges.h"
#include "symbol/jit_reader.h"

/*
 * Reads at most the last bytes: a second of work, whatever the lines are. Real maps have 100 a
 * line.
 */
#define BYTES_MAX (256ULL << 20)

struct line {
	uint64_t start, size;
	size_t name; /* where it begins */
};

static int digit(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Parses a hexadecimal number and the blanks after it; moves *@at. */
static bool parse_number(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at;
	uint64_t value = 0;
	int next;

	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	if (p == end || digit(*p) < 0)
		return false;
	for (; p < end && (next = digit(*p)) >= 0; p++) {
		if (value >> 60)
			return false;
		value = value << 4 | next;
	}
	if (p == end || (*p != ' ' && *p != '\t'))
		return false;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	*at = p;
	*ret = value;
	return true;
}

static bool parse_line(const char *text, size_t n, struct line *ret)
{
	const char *at = text, *end = text + n;

	if (!parse_number(&at, end, &ret->start) || !parse_number(&at, end, &ret->size) ||
	    at == end)
		return false;
	ret->name = at - text;
	return true;
}

/*
 * The bytes from @offset on, up to the newline and further if the line fits in the buffer. *ret_end
 * is its newline, or NULL.
 */
static const char *line_at(struct jit_reader *reader, uint64_t offset, size_t *ret_n,
			   const char **ret_end)
{
	const char *text = jit_reader_at(reader, offset, 1, ret_n);
	uint64_t left = reader->size - offset;

	*ret_end = text ? memchr(text, '\n', *ret_n) : NULL;
	if (!text || *ret_end)
		return text;
	text = jit_reader_at(reader, offset, left < JIT_BUFFER_SIZE ? left : JIT_BUFFER_SIZE,
			     ret_n);
	*ret_end = text ? memchr(text, '\n', *ret_n) : NULL;
	return text;
}

/* Adds each line's range to @ranges, with the line's offset + 1 as its token. */
static void scan(struct jit_reader *reader, struct jit_ranges *ranges)
{
	uint64_t offset = reader->size > BYTES_MAX ? reader->size - BYTES_MAX : 0;
	bool is_rest = offset > 0; /* in a line that was entered midway, or is too long */
	const char *text, *end;
	struct line line;
	size_t n;

	while ((text = line_at(reader, offset, &n, &end))) {
		if (end && !is_rest && parse_line(text, end - text, &line))
			jit_ranges_add(ranges, line.start, line.size, offset + 1);
		is_rest = !end;
		offset += end ? (size_t)(end - text) + 1 : n;
		if (!end)
			offset = jit_reader_skip_hole(reader, offset);
	}
}

/* Reads the line at @offset again for its name; if the file was rewritten, it may differ. */
static int read_line(struct jit_reader *reader, uint64_t offset, struct strings *strings,
		     struct line *ret, uint32_t *ret_name)
{
	const char *text, *end;
	size_t n;

	*ret_name = 0;
	text = line_at(reader, offset, &n, &end);
	if (!text || !end || !parse_line(text, end - text, ret))
		return 0;
	return jit_reader_name(reader, offset + ret->name, end - text - ret->name, '\n', strings,
			       ret_name);
}

static int name_lookups(struct jit_reader *reader, const struct jit_winner *winners, size_t n,
			struct lookups *lookups, struct strings *strings)
{
	struct line line = {};
	uint32_t name = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t address = lookups->addresses[winners[i].lookup];

		if (i == 0 || winners[i].token != winners[i - 1].token)
			r = read_line(reader, winners[i].token - 1, strings, &line, &name);
		if (r < 0)
			return r;
		if (address >= line.start && address - line.start < line.size)
			lookups->names[winners[i].lookup] = name;
	}
	return 0;
}

static int resolve(struct jit_reader *reader, struct lookups *lookups, struct strings *strings)
{
	struct jit_winner *winners;
	struct jit_ranges ranges;
	size_t n;
	int r = jit_ranges_init(&ranges, lookups);

	if (r < 0)
		return r;
	scan(reader, &ranges);
	r = jit_ranges_winners(&ranges, &winners, &n);
	jit_ranges_done(&ranges);
	if (r < 0)
		return r;
	r = name_lookups(reader, winners, n, lookups, strings);
	free(winners);
	return r;
}

int perf_map_resolve(int fd, struct lookups *lookups, struct strings *strings)
{
	struct jit_reader reader;
	int r = jit_reader_init(&reader, fd);

	if (r < 0)
		return r;
	r = resolve(&reader, lookups, strings);
	jit_reader_done(&reader);
	return r;
}
