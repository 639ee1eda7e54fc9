/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests as they arrive, in any pieces; what is refused; whose requests are answered. */
#include "cmocka_all.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/http_guard.h"

#define HOST "Host: localhost\r\n"
#define GET  "GET / HTTP/1.1\r\n"

/* In pieces of @step bytes; each is a block of its own, so that reading past it is seen. */
static int take(struct http_request *request, const char *text, size_t n, size_t step)
{
	int r = 0;

	http_request_begin(request);
	for (size_t at = 0; at < n && r == 0; at += step) {
		size_t length = n - at < step ? n - at : step;
		char *piece = malloc(length);

		memcpy(piece, text + at, length);
		r = http_request_take(request, piece, length);
		free(piece);
	}
	return r;
}

static bool is_text(struct http_text text, const char *expected)
{
	return text.n == strlen(expected) && memcmp(text.bytes, expected, text.n) == 0;
}

static void test_whole_request(void **state)
{
	static const char text[] = "GET /a/b?c=d&e HTTP/1.1\r\n"
				   "Host: localhost:9997\r\nUser-Agent: x\r\n"
				   "AUTHORIZATION:  Bearer abc \t\r\nSec-Fetch-Site: none\r\n"
				   "Empty:\r\nOrigin:\r\n\r\n";
	struct http_request *request = malloc(sizeof *request);

	for (size_t step = 1; step <= sizeof text; step++) {
		assert_int_equal(take(request, text, strlen(text), step), 1);
		assert_true(request->is_get && !request->is_head && !request->has_body);
		assert_true(is_text(request->path, "/a/b"));
		assert_true(is_text(request->query, "c=d&e"));
		assert_true(is_text(request->headers[HTTP_HOST], "localhost:9997"));
		assert_true(is_text(request->headers[HTTP_AUTHORIZATION], "Bearer abc"));
		assert_true(is_text(request->headers[HTTP_FETCH_SITE], "none"));
		assert_true(is_text(request->headers[HTTP_ORIGIN], ""));
	}
	free(request);
}

static void test_accepted_encodings(void **state)
{
	static const struct {
		const char *headers;
		bool gzip;
	} cases[] = {
		{"", false},
		{"Accept-Encoding:\r\n", false},
		{"Accept-Encoding: gzip\r\n", true},
		{"accept-encoding: deflate, GZIP;q=1.0 , br\r\n", true},
		{"Accept-Encoding: br\t,\tgzip\t;\tq=0.001\r\n", true},
		{"Accept-Encoding: gzip;q=0\r\n", false},
		{"Accept-Encoding: br, gzip; Q=0.000\r\n", false},
		{"Accept-Encoding: xgzip, gzipx, ;gzip, identity\r\n", false},
		{"Accept-Encoding: ,,,;,;;,gzip\r\n", true},
		{"Accept-Encoding: br\r\nAccept-Encoding: gzip\r\n", false}, /* the first one */
		{"Accept-Encoding: gzip\r\nAccept-Encoding: br\r\n", true},
	};
	struct http_request *request = malloc(sizeof *request);

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[256];

		snprintf(text, sizeof text, GET HOST "%s\r\n", cases[i].headers);
		assert_int_equal(take(request, text, strlen(text), 3), 1);
		if (http_accepts_gzip(request) != cases[i].gzip)
			fail_msg("%s", cases[i].headers);
	}
	free(request);
}

static void test_methods_and_bodies(void **state)
{
	struct http_request *request = malloc(sizeof *request);
	static const char head[] = "HEAD /x HTTP/1.0\r\n" HOST "\r\n";
	static const char post[] = "POST /x HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello";
	static const char none[] = "GET /x HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n";
	static const char chunks[] = "GET /x HTTP/1.1\r\n" HOST
				     "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";

	assert_int_equal(take(request, head, strlen(head), 7), 1);
	assert_true(request->is_head && !request->is_get);
	assert_int_equal(take(request, post, strlen(post), 1000), 1);
	assert_true(request->has_body && !request->is_get && !request->is_head);
	assert_int_equal(take(request, none, strlen(none), 1000), 1);
	assert_true(request->is_get && !request->has_body);
	assert_int_equal(take(request, chunks, strlen(chunks), 1000), 1);
	assert_true(request->is_get && request->has_body);
	free(request);
}

static void test_refused_requests(void **state)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{GET "\r\n", 400},		      /* no Host */
		{GET HOST HOST "\r\n", 400},	      /* two */
		{GET HOST "X: y\r\n z\r\n\r\n", 400}, /* a folded line */
		{GET HOST " X: y\r\n\r\n", 400},
		{GET HOST "X : y\r\n\r\n", 400},
		{GET HOST "X\r\n\r\n", 400},
		{GET HOST "X(): y\r\n\r\n", 400},
		{GET HOST "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
		{GET HOST "Content-Length: -1\r\n\r\n", 400},
		{GET HOST "Content-Length: 99999999999999999999\r\n\r\n", 400},
		{GET HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
		{GET HOST "\r\n" GET HOST "\r\n", 400}, /* pipelining */
		{GET HOST "\r\nx", 400},
		{"GET http://localhost/ HTTP/1.1\r\n" HOST "\r\n", 400},
		{"CONNECT localhost:1 HTTP/1.1\r\n" HOST "\r\n", 400},
		{"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 400},
		{"GET /#x HTTP/1.1\r\n" HOST "\r\n", 400},
		{"GET /\377 HTTP/1.1\r\n" HOST "\r\n", 400},
		{"GET / HTTP/1.1 x\r\n" HOST "\r\n", 505},
		{"GET / HTTP/2.0\r\n" HOST "\r\n", 505},
		{"GET /\r\n" HOST "\r\n", 505},
		{"GETS / HTTP/1.1\r\n" HOST "\r\n", 501},
		{"\x16\x03\x01\x02", 501}, /* TLS */
	};
	struct http_request *request = malloc(sizeof *request);

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int whole = take(request, cases[i].text, strlen(cases[i].text), 10000);
		int pieces = take(request, cases[i].text, strlen(cases[i].text), 3);

		if (whole < 400 || whole != cases[i].status)
			print_error("%zu: %d, not %d\n", i, whole, cases[i].status);
		assert_true(whole >= 400);
		assert_int_equal(whole, cases[i].status);
		/* The end of a piece may hide what follows the request. */
		assert_true(pieces == whole || pieces == 1);
	}
	free(request);
}

static void test_limits(void **state)
{
	struct http_request *request = malloc(sizeof *request);
	size_t n = 4 * HTTP_HEAD_MAX;
	char *text = malloc(n);
	int at = sprintf(text, "GET / HTTP/1.1\r\n" HOST "X: ");

	memset(text + at, 'a', n - at);
	assert_int_equal(take(request, text, n, 1000), 431);
	assert_int_equal(take(request, text, n, n), 431);
	for (size_t i = at; i < n; i += 4)
		memcpy(text + i, "\r\na:", 4);
	assert_int_equal(take(request, text, n, 777), 431);
	at = sprintf(text, "GET /");
	memset(text + at, 'a', n - at);
	sprintf(text + HTTP_TARGET_MAX + 100, " HTTP/1.1\r\n" HOST "\r\n");
	assert_int_equal(take(request, text, strlen(text), 1000), 414);
	/* Right below the limits. */
	memset(text + at, 'a', n - at);
	sprintf(text + 4 + HTTP_TARGET_MAX, " HTTP/1.1\r\n" HOST "\r\n");
	assert_int_equal(take(request, text, strlen(text), 1000), 1);
	assert_int_equal(request->path.n, HTTP_TARGET_MAX);
	free(text);
	free(request);
}

static void test_query(void **state)
{
	static const char text[] = "a=1&b=%2Fx%20y+z&&c&=d&e==f%3D";
	static const char *const expected[][2] = {
		{"a", "1"}, {"b", "/x y z"}, {"c", ""}, {"", "d"}, {"e", "=f="}};
	static const char *const wrong[] = {"a=%", "a=%1", "a=%zz", "%g0=1", "a=%00", "%00"};
	struct http_query query;
	char many[HTTP_TARGET_MAX] = "";

	assert_int_equal(http_query_parse((struct http_text){text, strlen(text)}, &query), 0);
	assert_int_equal(query.n, 5);
	for (size_t i = 0; i < query.n; i++) {
		assert_string_equal(query.pairs[i].name, expected[i][0]);
		assert_string_equal(query.pairs[i].value, expected[i][1]);
	}
	assert_int_equal(http_query_parse((struct http_text){}, &query), 0);
	assert_int_equal(query.n, 0);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(
			http_query_parse((struct http_text){wrong[i], strlen(wrong[i])}, &query),
			-EINVAL);
	for (size_t i = 0; i < HTTP_PAIRS_MAX; i++)
		strcat(many, "&a");
	assert_int_equal(http_query_parse((struct http_text){many, strlen(many)}, &query), 0);
	strcat(many, "&a");
	assert_int_equal(http_query_parse((struct http_text){many, strlen(many)}, &query), -E2BIG);
	/* The longest, of as many as there may be. */
	memset(many, 'a', sizeof many);
	for (size_t i = 0; i + 1 < HTTP_PAIRS_MAX; i++)
		many[2 * i + 1] = '&';
	assert_int_equal(http_query_parse((struct http_text){many, sizeof many - 1}, &query), 0);
	assert_int_equal(query.n, HTTP_PAIRS_MAX);
}

/* Guards */

static struct sockaddr_storage address_of(const char *text)
{
	struct sockaddr_storage address = {};
	struct sockaddr_in *v4 = (void *)&address;
	struct sockaddr_in6 *v6 = (void *)&address;

	if (text[0] == '/') {
		address.ss_family = AF_UNIX;
	} else if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		address.ss_family = AF_INET;
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
		address.ss_family = AF_INET6;
	}
	return address;
}

static int guard(const struct http_guard *of, const char *host, const char *headers)
{
	struct http_request *request = malloc(sizeof *request);
	char text[8192];
	int n = snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: %s\r\n%s\r\n", host, headers),
	    r;

	assert_int_equal(take(request, text, n, n), 1);
	r = http_guard_check(of, request);
	free(request);
	return r;
}

static bool is_root(struct http_text path)
{
	return http_text_is(path, "/");
}

static bool is_nothing(struct http_text path)
{
	return false;
}

/* What holds nothing of the machine needs no token, and other sites may have links to it. */
static void test_public_paths(void **state)
{
	struct http_guard of = {
		.address = address_of("127.0.0.1"), .token = "a token", .is_public = is_root};

	assert_int_equal(guard(&of, "localhost", ""), 0);
	assert_int_equal(guard(&of, "localhost", "Sec-Fetch-Site: cross-site\r\n"), 0);
	assert_int_equal(guard(&of, "evil.example", ""), 403);
	of.is_public = is_nothing;
	assert_int_equal(guard(&of, "localhost", ""), 401);
	assert_int_equal(guard(&of, "localhost", "Sec-Fetch-Site: cross-site\r\n"), 403);
}

static void test_hosts(void **state)
{
	static const char *const ours[] = {"localhost", "LocalHost:80", "127.0.0.1:9997",
					   "127.1.2.3", "[::1]",	"[::1]:9997",
					   "a.example", "A.Example:1",	"localhost:"};
	static const char *const others[] = {"",
					     "evil.example",
					     "localhost.evil.example",
					     "localhost:x",
					     "10.0.0.1",
					     "[::2]",
					     "[::1",
					     "[::1]x",
					     "[::1]x:1",
					     "127.0.0.1.evil.example",
					     "127.1",
					     "a.example.",
					     "evil@localhost",
					     "::1",
					     "[]",
					     "localhost:80:80"};
	struct http_guard of = {
		.address = address_of("127.0.0.1"), .hosts = {"a.example"}, .n_hosts = 1};

	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		assert_int_equal(guard(&of, ours[i], ""), 0);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (guard(&of, others[i], "") != 403)
			fail_msg("'%s' is let pass", others[i]);
	of.address = address_of("/run/x");
	assert_int_equal(guard(&of, "localhost", ""), 0);
	assert_int_equal(guard(&of, "evil.example", ""), 403);
	/* An address of its own is the only one; of all, any. */
	of.address = address_of("192.0.2.1");
	assert_int_equal(guard(&of, "192.0.2.1:9997", ""), 0);
	assert_int_equal(guard(&of, "192.0.2.2:9997", ""), 403);
	assert_int_equal(guard(&of, "127.0.0.1", ""), 403);
	of.address = address_of("0.0.0.0");
	of.any_address = true;
	assert_int_equal(guard(&of, "192.0.2.2:9997", ""), 0);
	assert_int_equal(guard(&of, "evil.example", ""), 403);
	of.by_proxy = true;
	assert_int_equal(guard(&of, "evil.example", ""), 0);
}

static void test_other_sites(void **state)
{
	const struct http_guard of = {.address = address_of("127.0.0.1")};

	assert_int_equal(guard(&of, "localhost:1", "Sec-Fetch-Site: none\r\n"), 0);
	assert_int_equal(guard(&of, "localhost:1", "Sec-Fetch-Site: same-origin\r\n"), 0);
	assert_int_equal(guard(&of, "localhost:1", "Sec-Fetch-Site: cross-site\r\n"), 403);
	assert_int_equal(guard(&of, "localhost:1", "Sec-Fetch-Site: same-site\r\n"), 403);
	assert_int_equal(guard(&of, "localhost:1", "Sec-Fetch-Site:\r\n"), 403);
	assert_int_equal(guard(&of, "localhost:1", "Origin: http://localhost:1\r\n"), 0);
	assert_int_equal(guard(&of, "localhost:1", "Origin: https://localhost:1\r\n"), 0);
	assert_int_equal(guard(&of, "localhost:1", "Origin: http://localhost:2\r\n"), 403);
	assert_int_equal(guard(&of, "localhost:1", "Origin: http://evil.example\r\n"), 403);
	assert_int_equal(guard(&of, "localhost:1", "Origin: null\r\n"), 403);
	assert_int_equal(guard(&of, "localhost:1", "Origin: file://localhost:1\r\n"), 403);
	assert_int_equal(guard(&of, "localhost:1", "Origin: ://localhost:1\r\n"), 403);
}

static void test_token(void **state)
{
	static const char *const wrong[] = {"eDowMTIzNDU2Nzg5YWJjZGVl",
					    "MDEyMzQ1Njc4OWFiY2RlZg==",
					    "MDEyMzQ1Njc4OWFiY2RlZjo=",
					    "",
					    "=",
					    "x:0123456789abcdef"};
	static char large[4096];
	const struct http_guard of = {.address = address_of("127.0.0.1"),
				      .token = "0123456789abcdef"};

	assert_int_equal(guard(&of, "localhost", ""), 401);
	assert_int_equal(guard(&of, "localhost", "Authorization: Bearer 0123456789abcdef\r\n"), 0);
	assert_int_equal(guard(&of, "localhost", "authorization: bearer 0123456789abcdef\r\n"), 0);
	assert_int_equal(guard(&of, "localhost", "Authorization: Bearer 0123456789abcdee\r\n"),
			 401);
	assert_int_equal(guard(&of, "localhost", "Authorization: Bearer 0123456789abcde\r\n"), 401);
	assert_int_equal(guard(&of, "localhost", "Authorization: Bearer 0123456789abcdeff\r\n"),
			 401);
	assert_int_equal(guard(&of, "localhost", "Authorization: Basic  0123456789abcdef\r\n"),
			 401);
	assert_int_equal(guard(&of, "localhost", "Authorization:\r\n"), 401);
	/* Of a URL `http://x:0123456789abcdef@localhost/`, and without a name. */
	assert_int_equal(
		guard(&of, "localhost", "Authorization: Basic eDowMTIzNDU2Nzg5YWJjZGVm\r\n"), 0);
	assert_int_equal(
		guard(&of, "localhost", "authorization: basic OjAxMjM0NTY3ODlhYmNkZWY=\r\n"), 0);
	/* `x:0123456789abcdee`, `0123456789abcdef`, `0123456789abcdef:`, nothing, no base64. */
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char header[64];

		snprintf(header, sizeof header, "Authorization: Basic %s\r\n", wrong[i]);
		if (guard(&of, "localhost", header) != 401)
			fail_msg("'%s' is a token", wrong[i]);
	}
	memset(large, 'A', sizeof large - 1);
	memcpy(large, "Authorization: Basic ", 21);
	memcpy(large + sizeof large - 3, "\r\n", 3);
	assert_int_equal(guard(&of, "localhost", large), 401);
	/* A wrong host learns nothing of the token. */
	assert_int_equal(guard(&of, "evil.example", ""), 403);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_request),
		cmocka_unit_test(test_accepted_encodings),
		cmocka_unit_test(test_methods_and_bodies),
		cmocka_unit_test(test_refused_requests),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_public_paths),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_other_sites),
		cmocka_unit_test(test_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
