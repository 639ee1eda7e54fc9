/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as a request that comes in pieces, the first of them as long as the first
 * byte says. What one sees in them must not depend on the pieces, and all that is believed lies in
 * the request.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/matcher.h"
#include "serve/http_guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static int take(struct http_request *request, const uint8_t *bytes, size_t n, size_t step)
{
	int r = 0;

	http_request_begin(request);
	for (size_t at = 0; at < n && r == 0; at += step) {
		size_t length = n - at < step ? n - at : step;
		char *piece = malloc(length);

		memcpy(piece, bytes + at, length);
		r = http_request_take(request, piece, length);
		free(piece);
	}
	return r;
}

static void check_text(const struct http_request *request, struct http_text text)
{
	if (text.n &&
	    (text.bytes < request->buffer || text.bytes + text.n > request->buffer + request->n))
		abort();
}

/* Compiling what passes takes little memory and time. */
static void check_expression(const char *text)
{
	struct matcher matcher;

	if (!matcher_is_modest(text))
		return;
	matcher_init(&matcher, text);
	matcher_done(&matcher);
}

static void check_query(const struct http_request *request)
{
	struct http_query query;

	if (http_query_parse(request->query, &query) < 0)
		return;
	for (size_t i = 0; i < query.n; i++) {
		if (query.pairs[i].name < query.buffer ||
		    query.pairs[i].value + strlen(query.pairs[i].value) >=
			    query.buffer + sizeof query.buffer)
			abort();
		check_expression(query.pairs[i].value);
	}
}

static void check_guard(const struct http_request *request)
{
	static const struct http_guard guard = {.address = {.ss_family = AF_UNIX},
						.token = "0123456789abcdef"};
	int r = http_guard_check(&guard, request);

	if (r != 0 && r != 401 && r != 403)
		abort();
	if (r == 0 && !memmem(request->buffer, request->n, "0123456789abcdef", 16))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct http_request *whole, *pieces;
	int r, in_pieces;

	if (n < 2)
		return 0;
	whole = malloc(sizeof *whole);
	pieces = malloc(sizeof *pieces);
	r = take(whole, bytes + 1, n - 1, n - 1);
	in_pieces = take(pieces, bytes + 1, n - 1, 1 + bytes[0]);
	if (r != 0 && r != 1 && (r < 400 || r > 599))
		abort();
	/* What follows a whole request is seen only where it comes with its end. */
	if (r != in_pieces && !(r == 400 && in_pieces == 1))
		abort();
	if (r == 1) {
		if (whole->path.n != pieces->path.n ||
		    memcmp(whole->path.bytes, pieces->path.bytes, whole->path.n) != 0)
			abort();
		check_text(whole, whole->path);
		check_text(whole, whole->query);
		for (int i = 0; i < N_HTTP_HEADERS; i++)
			check_text(whole, whole->headers[i]);
		check_query(whole);
		if (http_accepts_gzip(whole) && !http_accepts_gzip(pieces))
			abort();
		check_guard(whole);
	}
	free(whole);
	free(pieces);
	return 0;
}
