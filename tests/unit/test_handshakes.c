/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shares of handshakes' CPU time: by time, and by address. */
#include "cmocka_all.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "serve/handshakes.h"

#define MSEC 1000000ULL

static void test_credit(void **state)
{
	struct handshakes handshakes;
	uint64_t now = 1000 * NSEC_PER_SEC, wait;

	handshakes_begin(&handshakes, 500 * MSEC, now);
	assert_int_equal(handshakes_wait(&handshakes, now), 0);
	handshakes_take(&handshakes, 0, 510 * MSEC);
	wait = handshakes_wait(&handshakes, now);
	assert_in_range(wait, 20 * MSEC, 20 * MSEC + 10);
	assert_int_not_equal(handshakes_wait(&handshakes, now + wait / 2), 0);
	assert_int_equal(handshakes_wait(&handshakes, now + wait + 10), 0);
	/* However often it is asked, a second gives as much. */
	handshakes_begin(&handshakes, 500 * MSEC, now);
	handshakes_take(&handshakes, 0, NSEC_PER_SEC);
	for (uint64_t ns = 0; ns < NSEC_PER_SEC - MSEC; ns += 10000)
		assert_int_not_equal(handshakes_wait(&handshakes, now + ns), 0);
	assert_int_equal(handshakes_wait(&handshakes, now + NSEC_PER_SEC + MSEC), 0);
	/* Silence, however long, gives that of a second. */
	now += 1000 * NSEC_PER_SEC;
	assert_int_equal(handshakes_wait(&handshakes, now), 0);
	handshakes_take(&handshakes, 0, 500 * MSEC);
	assert_int_not_equal(handshakes_wait(&handshakes, now), 0);
}

static struct sockaddr_storage address_of(const char *text)
{
	struct sockaddr_storage address = {};
	struct sockaddr_in *v4 = (void *)&address;
	struct sockaddr_in6 *v6 = (void *)&address;

	address.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	assert_int_equal(inet_pton(address.ss_family, text,
				   address.ss_family == AF_INET ? (void *)&v4->sin_addr
								: (void *)&v6->sin6_addr),
			 1);
	return address;
}

static unsigned int place(const struct handshakes *handshakes, const char *text)
{
	const struct sockaddr_storage address = address_of(text);

	return handshakes_place(handshakes, &address);
}

static void test_places(void **state)
{
	struct handshakes one, other;
	unsigned int n_same = 0, counts[HANDSHAKE_PLACES] = {}, n_used = 0;
	char text[32];

	handshakes_begin(&one, NSEC_PER_SEC, 0);
	handshakes_begin(&other, NSEC_PER_SEC, 0);
	assert_int_equal(place(&one, "2001:db8::1"), place(&one, "2001:db8::ffff:1"));
	for (int i = 0; i < 2048; i++) {
		snprintf(text, sizeof text, "10.0.%d.%d", i / 256, i % 256);
		counts[place(&one, text)]++;
		n_same += place(&one, text) == place(&other, text);
	}
	for (size_t i = 0; i < HANDSHAKE_PLACES; i++)
		n_used += counts[i] > 0;
	/* Spread, in a way that nobody can know. */
	assert_true(n_used > HANDSHAKE_PLACES / 2);
	assert_true(n_same < 2048 / 4);
}

static void test_what_was_taken_is_forgotten(void **state)
{
	struct handshakes handshakes;

	handshakes_begin(&handshakes, NSEC_PER_SEC, 0);
	handshakes_take(&handshakes, 3, 800);
	handshakes_take(&handshakes, 3, 200);
	for (uint64_t ns = 0; ns < 2 * NSEC_PER_SEC; ns += 100 * MSEC)
		handshakes_wait(&handshakes, ns);
	assert_int_equal(handshakes.taken_ns[3], 500);
	handshakes_wait(&handshakes, 3 * NSEC_PER_SEC);
	assert_int_equal(handshakes.taken_ns[3], 125);
	handshakes_wait(&handshakes, 1000 * NSEC_PER_SEC);
	assert_int_equal(handshakes.taken_ns[3], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_credit),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_what_was_taken_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
