/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/json_files.h"

#include <errno.h>
#include <string.h>

#include "input/firefox.h"
#include "input/speedscope.h"

/* Windows editors put this before a text. */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

struct json_file {
	struct json_reader reader;
	struct json_stacks stacks;
	struct speedscope speedscope;
	struct firefox firefox;
};

static size_t mark_length(const struct stream *stream)
{
	size_t n = strlen(BYTE_ORDER_MARK);

	return stream_available(stream) >= n &&
			       memcmp(stream_bytes(stream), BYTE_ORDER_MARK, n) == 0
		       ? n
		       : 0;
}

/* The first byte from @i on that is not white space; 0 at the window's end. */
static char byte_from(const struct stream *stream, size_t *i)
{
	const char *bytes = stream_bytes(stream);
	size_t n = stream_available(stream);

	while (*i < n && strchr(" \t\r\n", bytes[*i]) && bytes[*i])
		++*i;
	return *i < n ? bytes[*i] : 0;
}

bool json_files_is(const struct stream *stream)
{
	size_t i = mark_length(stream);

	if (byte_from(stream, &i) != '{')
		return false;
	i++;
	/* A folded line's command may begin with {, but hardly with {" . */
	return byte_from(stream, &i) == '"';
}

/* Both formats have the key "shared". */
static int read_shared(struct json_file *json)
{
	const char *key;
	int r = json_reader_begin(&json->reader, '{');

	while (r == 0 && (r = json_reader_key(&json->reader, &key)) > 0) {
		if ((r = speedscope_read_shared(&json->speedscope, key)) == 0 &&
		    (r = firefox_read_shared(&json->firefox, key)) == 0)
			r = json_reader_skip(&json->reader);
		r = r > 0 ? 0 : r;
	}
	return r;
}

static int read_keys(struct json_file *json)
{
	const char *key;
	int r = json_reader_begin(&json->reader, '{');

	while (r == 0 && (r = json_reader_key(&json->reader, &key)) > 0) {
		if (strcmp(key, "shared") == 0)
			r = read_shared(json);
		else if ((r = speedscope_read(&json->speedscope, key)) == 0 &&
			 (r = firefox_read(&json->firefox, key)) == 0)
			r = json_reader_skip(&json->reader);
		r = r > 0 ? 0 : r;
	}
	if (r < 0)
		return r;
	return json_reader_end(&json->reader);
}

static int finish(struct json_file *json)
{
	bool is_speedscope = json->speedscope.has_profiles;
	bool is_firefox = json->firefox.has_threads;
	int r;

	if (is_speedscope == is_firefox)
		return json_stacks_fault(&json->stacks,
					 "this JSON is neither speedscope's nor the Firefox "
					 "Profiler's: its object has %s",
					 is_firefox ? "both \"profiles\" and \"threads\""
						    : "no \"profiles\" and no \"threads\"");
	r = is_speedscope ? speedscope_finish(&json->speedscope) : firefox_finish(&json->firefox);
	if (r < 0)
		return r;
	json_stacks_finish(&json->stacks);
	return 0;
}

static int read_document(struct json_file *json, struct input *input)
{
	int r = json_stacks_init(&json->stacks, input, &json->reader);

	json->speedscope.stacks = json->firefox.stacks = &json->stacks;
	if (r < 0)
		return r;
	r = read_keys(json);
	if (r < 0)
		return r;
	return finish(json);
}

int json_files_read(struct input *input, struct stream *stream, struct failure *failure)
{
	struct json_file json = {0};
	int r;

	*failure->what = '\0';
	stream_take(stream, mark_length(stream));
	json_reader_init(&json.reader, stream, failure);
	r = read_document(&json, input);
	if (r == -E2BIG && !*failure->what)
		failure_set(failure, r, "%s: more different names or stacks than can be numbered",
			    stream->name);
	else if (r < 0 && !*failure->what)
		failure_set(failure, r, "%s: %s", stream->name, strerror(-r));
	speedscope_done(&json.speedscope);
	firefox_done(&json.firefox);
	json_stacks_done(&json.stacks);
	json_reader_done(&json.reader);
	return r;
}
