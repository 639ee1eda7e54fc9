/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * http_request: reads one HTTP/1 request, piece by piece as it arrives, within a limit.
 *
 * It is strict, since proxies and browsers that see another request in the same bytes are how
 * servers are attacked: what comes more than once, is folded, or follows the request is refused.
 * All texts lie in the request's own buffer. Bodies are not read.
 */
#ifndef SERVE_HTTP_REQUEST_H
#define SERVE_HTTP_REQUEST_H

#include <http_parser.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_MAX	(16 << 10) /* bytes of a request up to its empty line */
#define HTTP_TARGET_MAX 4096
#define HTTP_PAIRS_MAX	32

/* A piece of the request's buffer; not terminated. n 0 and bytes NULL: it is not there. */
struct http_text {
	const char *bytes;
	size_t n;
};

/* Headers that count; others are passed over. */
enum http_header {
	HTTP_HOST,
	HTTP_AUTHORIZATION,
	HTTP_ORIGIN,
	HTTP_FETCH_SITE, /* Sec-Fetch-Site: who has a browser ask */
	HTTP_ACCEPT_ENCODING,
	N_HTTP_HEADERS,
};

struct http_request {
	bool is_get, is_head; /* neither: another method */
	bool has_body;
	struct http_text path, query; /* of the target: `/path?query` */
	struct http_text headers[N_HTTP_HEADERS];
	/* While it is read: */
	struct http_parser parser;
	struct http_text target, name, value;
	enum http_header header; /* N_HTTP_HEADERS: one that does not count */
	bool is_whole;
	int status; /* of the answer to what is wrong; 0: nothing is */
	size_t n;
	char buffer[HTTP_HEAD_MAX];
};

void http_request_begin(struct http_request *request);

/*
 * Takes the next @n bytes of a connection. Returns 0: there must be more; 1: the request is whole;
 * or the status, from 400 on, of the answer to a bad one. Not to be called after 1 or a status.
 */
int http_request_take(struct http_request *request, const char *bytes, size_t n);

/* Whether whoever asks takes a body that is packed by gzip. */
bool http_accepts_gzip(const struct http_request *request);

bool http_text_is(struct http_text text, const char *other);

/* A name and a value of a query, decoded. */
struct http_pair {
	const char *name, *value;
};

struct http_query {
	struct http_pair pairs[HTTP_PAIRS_MAX];
	size_t n;
	char buffer[HTTP_TARGET_MAX + HTTP_PAIRS_MAX];
};

/*
 * Decodes `name=value&name=value`; a name without `=` has the value "". Errors: -E2BIG too many;
 * -EINVAL what no browser sends: a wrong escape, or a byte 0.
 */
int http_query_parse(struct http_text text, struct http_query *ret);

#endif
