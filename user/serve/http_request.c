/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/http_request.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

static const char *const header_names[N_HTTP_HEADERS] = {
	[HTTP_HOST] = "host",
	[HTTP_AUTHORIZATION] = "authorization",
	[HTTP_ORIGIN] = "origin",
	[HTTP_FETCH_SITE] = "sec-fetch-site",
	[HTTP_ACCEPT_ENCODING] = "accept-encoding",
};

bool http_text_is(struct http_text text, const char *other)
{
	return text.bytes && strlen(other) == text.n && strncasecmp(text.bytes, other, text.n) == 0;
}

static int refuse(struct http_request *request, int status)
{
	if (!request->status)
		request->status = status;
	return -1;
}

/* The parser gives texts in pieces. What is folded over lines comes with a hole. */
static int extend(struct http_request *request, struct http_text *text, const char *at, size_t n)
{
	if (!text->bytes)
		*text = (struct http_text){at, 0};
	if (text->bytes + text->n != at)
		return refuse(request, HTTP_STATUS_BAD_REQUEST);
	text->n += n;
	return 0;
}

/* Headers */

static bool is_token(struct http_text text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!isalnum((unsigned char)text.bytes[i]) &&
		    !memchr("!#$%&'*+-.^_`|~", text.bytes[i], 15))
			return false;
	return text.n > 0;
}

static enum http_header find_header(struct http_text name)
{
	for (int i = 0; i < N_HTTP_HEADERS; i++)
		if (http_text_is(name, header_names[i]))
			return i;
	return N_HTTP_HEADERS;
}

/* A header is over. */
static int end_header(struct http_request *request)
{
	struct http_text name = request->name, value = request->value;
	enum http_header header;

	request->name = request->value = (struct http_text){};
	if (!name.bytes)
		return 0;
	if (!is_token(name))
		return refuse(request, HTTP_STATUS_BAD_REQUEST);
	header = find_header(name);
	if (header == N_HTTP_HEADERS)
		return 0;
	/* This one is a list, and may come in parts. The first one will do. */
	if (request->headers[header].bytes)
		return header == HTTP_ACCEPT_ENCODING ? 0
						      : refuse(request, HTTP_STATUS_BAD_REQUEST);
	while (value.n && isblank((unsigned char)value.bytes[value.n - 1]))
		value.n--;
	request->headers[header] = value.bytes ? value : (struct http_text){"", 0};
	return 0;
}

static int on_name(struct http_parser *parser, const char *at, size_t n)
{
	struct http_request *request = parser->data;

	if (request->value.bytes && end_header(request) < 0)
		return -1;
	return extend(request, &request->name, at, n);
}

/* Also called, with no bytes, for a value that is empty. */
static int on_value(struct http_parser *parser, const char *at, size_t n)
{
	struct http_request *request = parser->data;

	return extend(request, &request->value, at, n);
}

static struct http_text trim(const char *bytes, size_t n)
{
	while (n && isblank((unsigned char)*bytes)) {
		bytes++;
		n--;
	}
	while (n && isblank((unsigned char)bytes[n - 1]))
		n--;
	return (struct http_text){bytes, n};
}

/* `q=0`, `q=0.000`: not wanted. */
static bool is_zero(struct http_text parameter)
{
	if (parameter.n < 3 || strncasecmp(parameter.bytes, "q=0", 3) != 0)
		return false;
	for (size_t i = 3; i < parameter.n; i++)
		if (parameter.bytes[i] != '.' && parameter.bytes[i] != '0')
			return false;
	return true;
}

/* One of the list: `gzip`, `gzip;q=0.5`. */
static bool is_gzip(const char *bytes, size_t n)
{
	const char *semicolon = memchr(bytes, ';', n);
	size_t n_name = semicolon ? (size_t)(semicolon - bytes) : n;

	return http_text_is(trim(bytes, n_name), "gzip") &&
	       !(semicolon && is_zero(trim(semicolon + 1, n - n_name - 1)));
}

bool http_accepts_gzip(const struct http_request *request)
{
	struct http_text list = request->headers[HTTP_ACCEPT_ENCODING];

	while (list.n) {
		const char *comma = memchr(list.bytes, ',', list.n);
		size_t n = comma ? (size_t)(comma - list.bytes) : list.n;

		if (is_gzip(list.bytes, n))
			return true;
		n += comma != NULL;
		list = (struct http_text){list.bytes + n, list.n - n};
	}
	return false;
}

/* The target */

static int on_target(struct http_parser *parser, const char *at, size_t n)
{
	struct http_request *request = parser->data;

	return extend(request, &request->target, at, n);
}

static int split_target(struct http_request *request)
{
	struct http_text target = request->target;
	const char *mark;

	if (target.n > HTTP_TARGET_MAX)
		return refuse(request, HTTP_STATUS_URI_TOO_LONG);
	if (!target.n || target.bytes[0] != '/')
		return refuse(request, HTTP_STATUS_BAD_REQUEST);
	for (size_t i = 0; i < target.n; i++)
		if (!isgraph((unsigned char)target.bytes[i]) || target.bytes[i] == '#')
			return refuse(request, HTTP_STATUS_BAD_REQUEST);
	mark = memchr(target.bytes, '?', target.n);
	request->path =
		(struct http_text){target.bytes, mark ? (size_t)(mark - target.bytes) : target.n};
	if (mark)
		request->query = (struct http_text){mark + 1, target.bytes + target.n - mark - 1};
	return 0;
}

/* Its end */

static int on_headers(struct http_parser *parser)
{
	struct http_request *request = parser->data;

	if (end_header(request) < 0 || split_target(request) < 0)
		return -1;
	if (parser->http_major != 1 || parser->http_minor > 1) {
		refuse(request, HTTP_STATUS_HTTP_VERSION_NOT_SUPPORTED);
		return -1;
	}
	if (!request->headers[HTTP_HOST].bytes) {
		refuse(request, HTTP_STATUS_BAD_REQUEST);
		return -1;
	}
	request->is_get = parser->method == HTTP_GET;
	request->is_head = parser->method == HTTP_HEAD;
	request->has_body = (parser->flags & F_CHUNKED) ||
			    (parser->content_length && parser->content_length != UINT64_MAX);
	return 1; /* whatever follows is not for the parser */
}

static int on_whole(struct http_parser *parser)
{
	struct http_request *request = parser->data;

	request->is_whole = true;
	http_parser_pause(parser, 1);
	return 0;
}

void http_request_begin(struct http_request *request)
{
	/* The buffer is only read where it was written. */
	memset(request, 0, offsetof(struct http_request, buffer));
	http_parser_init(&request->parser, HTTP_REQUEST);
	request->parser.data = request;
}

static int status_of(const struct http_request *request)
{
	enum http_errno error = HTTP_PARSER_ERRNO(&request->parser);

	if (request->status)
		return request->status;
	if (error == HPE_INVALID_METHOD)
		return HTTP_STATUS_NOT_IMPLEMENTED;
	if (error == HPE_INVALID_VERSION)
		return HTTP_STATUS_HTTP_VERSION_NOT_SUPPORTED;
	return HTTP_STATUS_BAD_REQUEST;
}

/* What follows a request that has no body would be another request. */
static int judge_rest(const struct http_request *request, size_t rest)
{
	return rest && !request->has_body ? HTTP_STATUS_BAD_REQUEST : 1;
}

int http_request_take(struct http_request *request, const char *bytes, size_t n)
{
	static const struct http_parser_settings settings = {
		.on_url = on_target,
		.on_header_field = on_name,
		.on_header_value = on_value,
		.on_headers_complete = on_headers,
		.on_message_complete = on_whole,
	};
	size_t room = sizeof request->buffer - request->n, taken = n < room ? n : room, parsed;
	char *at = request->buffer + request->n;

	memcpy(at, bytes, taken);
	request->n += taken;
	parsed = http_parser_execute(&request->parser, &settings, at, taken);
	if (request->is_whole && !request->status)
		return judge_rest(request, n - parsed);
	if (request->status || parsed < taken)
		return status_of(request);
	return request->n == sizeof request->buffer ? HTTP_STATUS_REQUEST_HEADER_FIELDS_TOO_LARGE
						    : 0;
}

/* Queries */

static int hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	digit = tolower((unsigned char)digit);
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Appends @text, decoded and terminated. Returns where its end is, or NULL. */
static char *decode(struct http_text text, char *to)
{
	for (size_t i = 0; i < text.n; i++) {
		char byte = text.bytes[i];

		if (byte == '%') {
			int high = i + 2 < text.n ? hex_digit(text.bytes[i + 1]) : -1;
			int low = i + 2 < text.n ? hex_digit(text.bytes[i + 2]) : -1;

			if (high < 0 || low < 0)
				return NULL;
			byte = high << 4 | low;
			i += 2;
		} else if (byte == '+') {
			byte = ' ';
		}
		if (!byte)
			return NULL;
		*to++ = byte;
	}
	*to++ = '\0';
	return to;
}

static struct http_text cut(struct http_text *rest, char at)
{
	const char *mark = rest->n ? memchr(rest->bytes, at, rest->n) : NULL;
	struct http_text piece = {rest->bytes, mark ? (size_t)(mark - rest->bytes) : rest->n};

	*rest = mark ? (struct http_text){mark + 1, rest->n - piece.n - 1} : (struct http_text){};
	return piece;
}

int http_query_parse(struct http_text text, struct http_query *ret)
{
	char *to = ret->buffer;

	ret->n = 0;
	while (text.n) {
		struct http_text value = cut(&text, '&'), name = cut(&value, '=');
		struct http_pair *pair = &ret->pairs[ret->n];

		if (!name.n && !value.n)
			continue;
		if (ret->n == HTTP_PAIRS_MAX)
			return -E2BIG;
		pair->name = to;
		to = decode(name, to);
		if (!to)
			return -EINVAL;
		pair->value = to;
		to = decode(value, to);
		if (!to)
			return -EINVAL;
		ret->n++;
	}
	return 0;
}
