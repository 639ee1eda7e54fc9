/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moment, cgroup_words, store_filter_state: parsing of what people and runtimes write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/system.h"
#include "cli/moment.h"
#include "cli/store_input.h"
#include "store/cgroup_words.h"

#define NOW (1795600800 * NSEC_PER_SEC) /* Wednesday, 2026-11-25T10:00:00Z */

static uint64_t at(const char *text)
{
	uint64_t ns = 0;

	if (moment_parse(text, NOW, &ns) < 0)
		fail_msg("'%s' is refused", text);
	return ns;
}

static void assert_at(const char *text, const char *utc)
{
	char found[MOMENT_SIZE];

	assert_string_equal(moment_utc(at(text), found), utc);
}

static void test_moments(void **state)
{
	setenv("TZ", "UTC", 1);
	tzset();
	assert_at("now", "2026-11-25T10:00:00Z");
	assert_at("-1h", "2026-11-25T09:00:00Z");
	assert_at("-10min", "2026-11-25T09:50:00Z");
	assert_at("-90", "2026-11-25T09:58:30Z");
	assert_at("-2d", "2026-11-23T10:00:00Z");
	assert_at("14:03", "2026-11-25T14:03:00Z");
	assert_at("today", "2026-11-25T00:00:00Z");
	assert_at("yesterday", "2026-11-24T00:00:00Z");
	assert_at("yesterday 14:03", "2026-11-24T14:03:00Z");
	assert_at("tuesday 14:03", "2026-11-24T14:03:00Z");
	assert_at("last Tuesday 14:03:05", "2026-11-24T14:03:05Z");
	assert_at("wednesday", "2026-11-18T00:00:00Z");
	assert_at("thu", "2026-11-19T00:00:00Z");
	assert_at("2026-11-17", "2026-11-17T00:00:00Z");
	assert_at("2026-11-17 14:03", "2026-11-17T14:03:00Z");
	assert_at("2026-11-17t14:03:20z", "2026-11-17T14:03:20Z");
	assert_at("2028-02-29", "2028-02-29T00:00:00Z");
	assert_at("-1w", "2026-11-18T10:00:00Z");
	assert_at("2026-11-17T14:03:20.5Z", "2026-11-17T14:03:20.500Z");
	assert_at("2026-11-17T14:03:20+01:00", "2026-11-17T13:03:20Z");
	assert_at("2026-11-17T14:03:20-0530", "2026-11-17T19:33:20Z");
	assert_at("2262-04-11 00:00", "2262-04-11T00:00:00Z");
	assert_at("2600-01-01", "2262-04-11T23:47:16Z"); /* none is in the past */
	assert_at("9999-12-31", "2262-04-11T23:47:16Z");
}

/* Local time with daylight saving; a zone in the text takes precedence. */
static void test_zones(void **state)
{
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	assert_at("2026-11-17 14:03", "2026-11-17T13:03:00Z");
	assert_at("2026-07-17 14:03", "2026-07-17T12:03:00Z");
	assert_at("2026-07-17 14:03Z", "2026-07-17T14:03:00Z");
	assert_at("yesterday", "2026-11-23T23:00:00Z");
	setenv("TZ", "UTC", 1);
	tzset();
}

/* Skipped times are when they are skipped, repeated ones the first. */
static void test_changes_of_clocks(void **state)
{
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	assert_at("2026-03-29 01:59:59", "2026-03-29T00:59:59Z");
	assert_at("2026-03-29 02:00", "2026-03-29T01:00:00Z");
	assert_at("2026-03-29 02:30", "2026-03-29T01:00:00Z");
	assert_at("2026-03-29 03:00", "2026-03-29T01:00:00Z");
	assert_at("2026-03-29 03:30", "2026-03-29T01:30:00Z");
	assert_at("2026-10-25 01:59", "2026-10-24T23:59:00Z");
	assert_at("2026-10-25 02:30", "2026-10-25T00:30:00Z");
	assert_at("2026-10-25 03:00", "2026-10-25T02:00:00Z");
	assert_at("2026-10-25 02:30+01:00", "2026-10-25T01:30:00Z");
	setenv("TZ", "NZST-12NZDT,M9.5.0,M4.1.0/3", 1);
	tzset();
	assert_at("2026-09-27 02:15", "2026-09-26T14:00:00Z");
	assert_at("2026-09-27 03:00", "2026-09-26T14:00:00Z");
	assert_at("2026-04-05 02:30", "2026-04-04T13:30:00Z");
	setenv("TZ", "NST3:30NDT,M3.2.0,M11.1.0", 1);
	tzset();
	assert_at("2026-03-08 02:10", "2026-03-08T05:30:00Z");
	assert_at("2026-11-01 01:10", "2026-11-01T03:40:00Z");
	setenv("TZ", "UTC", 1);
	tzset();
}

static void test_no_moments(void **state)
{
	static const char *const none[] = {"",
					   "never",
					   "14",
					   "25:00",
					   "14:60",
					   "2026-13-01",
					   "2026-1-1",
					   "2026-02-29",
					   "2026-11-31",
					   "2026-11-00",
					   "2026-11-17 14",
					   "2026-11-17 14:03 ",
					   "-1x",
					   "--1h",
					   "2026-11-17T14:03:20+1",
					   "1e300",
					   "-99999999999999d",
					   "tomorrow",
					   "1969-01-01"};
	uint64_t ns;

	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		if (moment_parse(none[i], NOW, &ns) == 0)
			fail_msg("'%s' is taken", none[i]);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_cgroups(void **state)
{
	static const struct {
		const char *path, *container, *unit;
	} known[] = {
		{"/", "", ""},
		{"/system.slice/nginx.service", "", "nginx.service"},
		{"/system.slice/docker-" ID ".scope", ID, ""},
		{"/docker/" ID, ID, ""},
		{"/machine.slice/libpod-" ID ".scope/container", ID, ""},
		{"/kubepods.slice/kubepods-burstable.slice/"
		 "kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice/"
		 "cri-containerd-" ID ".scope",
		 ID, ""},
		{"/kubepods/burstable/pod01234567-89ab-cdef-0123-456789abcdef/" ID, ID, ""},
		{"/ecs/0123456789abcdef0123456789abcdef-1234567",
		 "0123456789abcdef0123456789abcdef-1234567", ""},
		{"/user.slice/user-0.slice/user@0.service/app.slice/x.scope", "", "x.scope"},
	};
	char word[CGROUP_WORD_SIZE];

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		cgroup_container(known[i].path, word);
		assert_string_equal(word, known[i].container);
		cgroup_unit(known[i].path, word);
		assert_string_equal(word, known[i].unit);
	}
}

static void test_states(void **state)
{
	uint32_t running, waiting, one;

	assert_int_equal(store_filter_state("running", &running), 0);
	assert_int_equal(store_filter_state("waiting", &waiting), 0);
	assert_int_equal(running & waiting, 0);
	assert_int_equal(running | waiting, (1u << N_OFF_REASONS) - 1);
	assert_int_equal(store_filter_state("page-fault", &one), 0);
	assert_int_equal(one, 1u << REASON_PAGE_FAULT);
	assert_int_equal(store_filter_state("bored", &one), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moments),		  cmocka_unit_test(test_zones),
		cmocka_unit_test(test_changes_of_clocks), cmocka_unit_test(test_no_moments),
		cmocka_unit_test(test_cgroups),		  cmocka_unit_test(test_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
