/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * input: finds a file's format by its beginning. A JSON object is speedscope's or the Firefox
 * Profiler's, by its keys; if its first line ends in a value, it is a folded one. A file with
 * control characters is pprof if its first fields look like pprof's; with NULs it is nothing else
 * known here. Other text is folded lines unless it looks like `perf script`.
 */
#include "input/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/stream.h"
#include "input/folded.h"
#include "input/json_files.h"
#include "input/perf_script.h"
#include "input/pprof.h"

/* Bytes that are examined. */
#define BEGINNING ((size_t)256 << 10)

/* Text has line ends and tabs, but rarely other control characters near its beginning. */
static bool has_controls(const struct stream *stream)
{
	const unsigned char *bytes = (const unsigned char *)stream_bytes(stream);
	size_t n = stream_available(stream);

	for (size_t i = 0; i < n && i < 1024; i++)
		if (bytes[i] < '\t' || (bytes[i] > '\r' && bytes[i] < ' '))
			return true;
	return false;
}

/* NULL: none near its beginning. */
static const char *find_nul(const struct stream *stream)
{
	size_t n = stream_available(stream);

	return memchr(stream_bytes(stream), '\0', n < 1024 ? n : 1024);
}

/* Reads a base-128 number. Returns its length; 0: cut off, or too long. */
static size_t read_varint(const unsigned char *bytes, size_t n, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < n && i < 10; i++) {
		value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
		if (!(bytes[i] & 0x80)) {
			*ret = value;
			return i + 1;
		}
	}
	return 0;
}

/* The wire types that fields of pprof's message Profile may have, as bits. */
static bool has_field(uint64_t tag)
{
	enum { VARINT = 1 << 0, BYTES = 1 << 2 };
	static const uint8_t types[] = {
		[1 ... 6] = BYTES,     [7 ... 10] = VARINT, [11] = BYTES, [12] = VARINT,
		[13] = VARINT | BYTES, [14] = VARINT,	    [15] = VARINT};
	uint64_t field = tag >> 3;

	return field < sizeof types && types[field] >> (tag & 7) & 1;
}

/* Whether the first fields are those of a Profile, as far as the window reaches. */
static bool is_pprof(const struct stream *stream)
{
	const unsigned char *bytes = (const unsigned char *)stream_bytes(stream);
	size_t n = stream_available(stream), at = 0;

	for (int i = 0; i < 8 && at < n; i++) {
		uint64_t tag, value;
		size_t used = read_varint(bytes + at, n - at, &tag);

		if (!used || !has_field(tag))
			return false;
		at += used;
		used = read_varint(bytes + at, n - at, &value);
		if (!used)
			return at + 10 > n;
		at += used;
		if ((tag & 7) == 2) {
			if (value > n - at)
				break;
			at += value;
		}
	}
	return n > 0;
}

/* Whether the first line ends as a folded one does, whatever its command is called. */
static bool ends_in_value(const struct stream *stream)
{
	const char *line = stream_bytes(stream);
	const char *end = memchr(line, '\n', stream_available(stream));
	const char *value;

	if (!end)
		return false;
	if (end > line && end[-1] == '\r')
		end--;
	for (value = end; value > line && value[-1] >= '0' && value[-1] <= '9'; value--)
		;
	return value < end && value > line && value[-1] == ' ';
}

/* SVG and HTML, ours or others', which people name in place of the file beside it. */
static bool is_picture(const struct stream *stream)
{
	static const char *const beginnings[] = {"<?xml", "<svg", "<!DOCTYPE", "<!doctype"};

	for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
		size_t n = strlen(beginnings[i]);

		if (stream_available(stream) >= n &&
		    memcmp(stream_bytes(stream), beginnings[i], n) == 0)
			return true;
	}
	return false;
}

/* Files that people try, by their beginnings; the command that converts one, around its name. */
static const struct known_other {
	const char *beginning;
	size_t n;
	const char *what, *before, *after;
} known_others[] = {
#define BEGINS(text) text, sizeof text - 1
#define UNPACKS	     " >FILE unpacks it"
#define LEGACY	     "pprof's format before protocol buffers", "go tool pprof -proto", " writes it as one"
#define MAPS	     "what bpftrace prints", "stackcollapse-bpftrace.pl", " >FILE makes folded lines of it"
#define UTF_16	     "text in UTF-16", "iconv -f UTF-16 -t UTF-8", " >FILE makes UTF-8 of it"
	{BEGINS("PERFILE2"), "perf's recording", "perf script -i", " >FILE makes text of it"},
	{BEGINS("BZh"), "packed by bzip2", "bzip2 -dc", UNPACKS},
	{BEGINS("\x04\"M\x18"), "packed by lz4", "lz4 -dc", UNPACKS},
	{BEGINS("\xff\xfe"), UTF_16},
	{BEGINS("\xfe\xff"), UTF_16},
	{BEGINS("heap profile: "), LEGACY},
	{BEGINS("--- contention"), LEGACY},
	{BEGINS("--- heapz"), LEGACY},
	{BEGINS("--- threadz"), LEGACY},
	{BEGINS("\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), LEGACY},
	{BEGINS("@["), MAPS},
	{BEGINS("Attaching "), MAPS},
};

static const struct known_other *find_other(const struct stream *stream)
{
	for (size_t i = 0; i < sizeof known_others / sizeof *known_others; i++)
		if (stream_available(stream) >= known_others[i].n &&
		    memcmp(stream_bytes(stream), known_others[i].beginning, known_others[i].n) == 0)
			return &known_others[i];
	return NULL;
}

enum file_format { FILE_FOLDED, FILE_JSON, FILE_PPROF, FILE_PERF_SCRIPT, FILE_PICTURE, FILE_OTHER };

static enum file_format format_of(const struct stream *stream)
{
	bool is_line = ends_in_value(stream);

	if (!is_line && json_files_is(stream))
		return FILE_JSON;
	if (has_controls(stream) && is_pprof(stream))
		return FILE_PPROF;
	if (find_nul(stream) || (!is_line && find_other(stream)))
		return FILE_OTHER;
	if (!is_line && is_picture(stream))
		return FILE_PICTURE;
	return perf_script_is(stream) ? FILE_PERF_SCRIPT : FILE_FOLDED;
}

/* Refuses options that files of this format can't satisfy. */
static int check_options(const struct input *input, enum file_format format, const char *name,
			 struct failure *failure)
{
	if (input->options.sample_type && format != FILE_PPROF)
		return failure_set(failure, -EINVAL,
				   "%s is no pprof file: it has no --sample-type %.64s", name,
				   input->options.sample_type);
	if (input->options.event && format != FILE_PERF_SCRIPT)
		return failure_set(failure, -EINVAL,
				   "%s is no text of perf script: it has no --event %.64s", name,
				   input->options.event);
	return 0;
}

static int fail_picture(const struct stream *stream, struct failure *failure)
{
	failure_set(failure, -EINVAL, "%s: a picture, which does not hold all that was recorded",
		    stream->name);
	return failure_fix(failure, -EINVAL, "name the .folded or .pb.gz file of that recording");
}

/* Windows' editors put a mark before UTF-8. */
static void skip_mark(struct stream *stream)
{
	static const char mark[] = "\xef\xbb\xbf";
	size_t n = sizeof mark - 1;

	if (stream_available(stream) >= n && memcmp(stream_bytes(stream), mark, n) == 0)
		stream_take(stream, n);
}

static int fail_unknown(const struct stream *stream, struct failure *failure)
{
	const struct known_other *other = find_other(stream);

	if (!other)
		return failure_set(failure, -EINVAL,
				   "%s: neither folded lines, nor pprof, nor JSON, nor the text of "
				   "perf script: byte %zu is 0",
				   stream->name, (size_t)(find_nul(stream) - stream_bytes(stream)));
	failure_set(failure, -EINVAL, "%s: %s, which cannot be read here", stream->name,
		    other->what);
	return failure_fix(failure, -EINVAL, "%s %s%s", other->before,
			   stream->is_own ? stream->name : "-", other->after);
}

static int read_stream(struct input *input, struct stream *stream, struct failure *failure)
{
	int r = stream_fill(stream, BEGINNING, failure);
	enum file_format format;

	if (r < 0)
		return r;
	skip_mark(stream);
	format = format_of(stream);
	r = check_options(input, format, stream->name, failure);
	if (r < 0)
		return r;
	switch (format) {
	case FILE_JSON: return json_files_read(input, stream, failure);
	case FILE_PPROF: return pprof_read(input, stream, failure);
	case FILE_PERF_SCRIPT: return perf_script_read(input, stream, failure);
	case FILE_PICTURE: return fail_picture(stream, failure);
	case FILE_OTHER: return fail_unknown(stream, failure);
	default: return folded_read(input, stream, failure);
	}
}

/* If some files are by thread and some are not, the sum is by command. */
static int read_profile(struct input *input, struct stream *stream, struct failure *failure)
{
	struct profile *profile = input->profile;
	bool may_be = profile->by_thread || !profile->n_samples;
	int r;

	profile->by_thread = false;
	r = read_stream(input, stream, failure);
	profile->by_thread &= may_be;
	return r;
}

int input_read(struct input *input, const char *path, struct failure *failure)
{
	struct stream stream;
	int r = stream_open(&stream, path, input->options.max_bytes, failure);

	if (r == 0)
		r = read_profile(input, &stream, failure);
	input->stats.bytes += stream.taken;
	stream_close(&stream);
	return r;
}
