/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a browser is served at `/`: the same bytes packed and unpacked, and what it may do with
 * them. */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/unpack_object.h"
#include "serve/page.h"

static const char *const paths[] = {"/", "/page.css", "/page.js", "/frame"};

static struct serve_answer ask(const char *path, const char *encodings)
{
	struct http_request request = {
		.path = {path, strlen(path)},
		.headers[HTTP_ACCEPT_ENCODING] = {encodings, encodings ? strlen(encodings) : 0}};
	struct serve_answer answer = {.fd = -1};

	assert_true(page_is(request.path));
	page_answer(&request, &answer);
	assert_int_equal(answer.status, 200);
	return answer;
}

static void test_packed_or_not(void **state)
{
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct serve_answer packed = ask(paths[i], "gzip"), plain = ask(paths[i], NULL);
		size_t n;
		const void *unpacked = unpack_object((unsigned char *)packed.bytes, packed.n, &n);

		assert_true(packed.is_gzip && !plain.is_gzip && packed.n < plain.n);
		assert_int_equal(n, plain.n);
		assert_memory_equal(unpacked, plain.bytes, n);
		unpack_object_free(&unpacked);
		free(packed.bytes);
		free(plain.bytes);
	}
}

/* Only the frame runs what is in it, and that has no origin and no network. */
static void test_policies(void **state)
{
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct serve_answer answer = ask(paths[i], "gzip");
		bool is_frame = strcmp(paths[i], "/frame") == 0;

		free(answer.bytes);
		if (!answer.policy)
			continue; /* the server's strictest */
		assert_non_null(strstr(answer.policy, "default-src 'none'; "));
		assert_int_equal(strstr(answer.policy, "'unsafe-inline'") != NULL, is_frame);
		assert_int_equal(strstr(answer.policy, "sandbox allow-scripts ") != NULL, is_frame);
		assert_int_equal(strstr(answer.policy, "connect-src") == NULL, is_frame);
		assert_null(strstr(answer.policy, "allow-same-origin"));
	}
}

static void test_other_paths(void **state)
{
	static const char *const others[] = {"",	  "//",	       "/page",
					     "/page.js/", "/page.jsx", "/api/list"};

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(page_is((struct http_text){others[i], strlen(others[i])}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packed_or_not),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_other_paths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
