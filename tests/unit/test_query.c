/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers about a store with known contents, as the daemon gives them. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "cmd/query.h"
#include "core/profile.h"
#include "store/store_writer.h"

#define WINDOW (10 * NSEC_PER_SEC)
#define HOUR   (3600 * NSEC_PER_SEC)
#define START  1795500000000000000ULL /* 2026-11-24T06:00:00Z */
#define DAY    (24 * HOUR)
#define BOOT   (3 * DAY) /* how long the machine has run at START */

static char path[64], *answer;
static size_t answer_bytes;
static uint64_t clock_ns;
static struct failure failure;

static uint64_t now(void)
{
	return clock_ns;
}

static uint32_t text_of(struct profile *profile, const char *text)
{
	uint32_t id;

	assert_int_equal(strings_add(&profile->strings, text, &id), 0);
	return id;
}

/* `main → function`, running; or waiting for a lock, of another process. */
static void add_time(struct profile *profile, const char *function, bool runs, uint64_t us)
{
	struct profile_mapping mapping = {.kind = MAPPING_FILE};
	struct profile_frame frame = {.kind = FRAME_USER};
	struct profile_sample sample = {.pid = runs ? 1 : 2,
					.reason = runs ? REASON_ONCPU : REASON_FUTEX,
					.count = us / 10000,
					.nanoseconds = us * 1000};
	const char *const names[] = {function, "main"};
	uint32_t id, locations[2];

	mapping.path = text_of(profile, "/usr/bin/made");
	assert_int_equal(profile_add_mapping(profile, &mapping, &id), 0);
	for (int i = 0; i < 2; i++) {
		frame.function = text_of(profile, names[i]);
		assert_int_equal(profile_add_named(profile, id, &frame, 1, &locations[i]), 0);
	}
	assert_int_equal(profile_add_stack(profile, locations, 2, STACK_COMPLETE, &sample.stack),
			 0);
	sample.comm = text_of(profile, runs ? "runs" : "waits");
	assert_int_equal(profile_add_sample(profile, &sample), 0);
}

/* 10 s: 4 s of `steady`, 3 s of `sleeper`, and of `grows` 1 s; 2 s in the last hour. */
static void add_window(struct store_writer *writer)
{
	static const struct ledger_who who[] = {
		{1, NSEC_PER_SEC, "/usr/bin/runs", "/system.slice/runs.service"},
		{2, NSEC_PER_SEC, "/usr/bin/waits", ""},
	};
	const struct store_window window = {.start = clock_ns,
					    .span = WINDOW,
					    .covered = WINDOW,
					    .boot = BOOT + clock_ns - START,
					    .windows = 1,
					    .millihertz = 19000};
	struct profile *profile;
	struct ledger ledger;

	assert_int_equal(profile_new(PROFILE_WALL, &profile), 0);
	add_time(profile, "steady", true, 4000000);
	add_time(profile, "grows", true, clock_ns < START + 2 * HOUR ? 1000000 : 2000000);
	add_time(profile, "sleeper", false, 3000000);
	assert_int_equal(ledger_init(&ledger), 0);
	assert_int_equal(ledger_add_profile(&ledger, profile, who, 2), 0);
	assert_int_equal(store_writer_add(writer, &ledger, &window), 0);
	ledger_done(&ledger);
	profile_free(profile);
}

/* The same three hours of three days. */
static int make_store(void **state)
{
	const struct store_options options = {
		.path = path, .window_ns = WINDOW, .limits = STORE_LIMITS_DEFAULT, .now = now};
	struct store_writer *writer;

	strcpy(path, "/tmp/test_query.XXXXXX");
	assert_non_null(mkdtemp(path));
	clock_ns = START - 2 * DAY;
	assert_int_equal(store_writer_open(&options, &writer, &failure), 0);
	for (int day = 0; day < 3; day++) {
		clock_ns = START - (2 - day) * DAY;
		for (int i = 0; i < 1080; i++, clock_ns += WINDOW)
			add_window(writer);
	}
	store_writer_close(writer);
	return 0;
}

static int remove_store(void **state)
{
	char command[128];

	free(answer);
	snprintf(command, sizeof command, "rm -rf %s", path);
	return system(command);
}

#define MOST_WORDS 16

/* @words: NULL at the end. Returns what query_answer() does; @answer is what it wrote. */
static int ask(enum query_kind kind, const char *const *words)
{
	char store[80], *argv[MOST_WORDS + 4] = {"query", "-q", store};
	int n = 3, r;
	FILE *stream;

	snprintf(store, sizeof store, "--store=%s", path);
	while (*words && n < MOST_WORDS)
		argv[n++] = (char *)*words++;
	free(answer);
	stream = open_memstream(&answer, &answer_bytes);
	failure = (struct failure){};
	r = query_answer(kind, n, argv, stream, &failure);
	fclose(stream);
	return r;
}

#define ASK(kind, ...) ask(kind, (const char *const[]){__VA_ARGS__, NULL})

static void assert_says(const char *text)
{
	if (!strstr(answer, text))
		fail_msg("'%.3000s' does not say '%s'", answer, text);
}

static void assert_refused(int r, const char *says)
{
	assert_int_equal(r, -EINVAL);
	if (!strstr(failure.what, says))
		fail_msg("'%s' does not say '%s'", failure.what, says);
	assert_int_equal(answer_bytes, 0);
}

#define LAST_HOUR  "--from=2026-11-24T08:00:00Z", "--to=2026-11-24T09:00:00Z"
#define FIRST_HOUR "--diff-from=2026-11-24T06:00:00Z"

#define ALL_HOURS "--from=2026-11-24T06:00:00Z", "--to=2026-11-24T09:00:00Z"
#define SERIES	  "--series", "--json", "--step=1h"

/* Times a second. */
static void test_diff(void **state)
{
	assert_int_equal(ASK(QUERY_DIFF, LAST_HOUR, FIRST_HOUR, "--json"), 0);
	assert_says("\"scale\":\"per-second\"");
	assert_says("\"counts\":{\"grew\":2,\"shrank\":0,"); /* it, and main */
	assert_says("{\"name\":\"grows\",\"kernel\":false,\"change\":\"grew\","
		    "\"self\":{\"base\":0.100000000,\"new\":0.200000000,");
	assert_says("{\"name\":\"steady\",\"kernel\":false,\"change\":\"none\",");
	assert_int_equal(ASK(QUERY_DIFF, LAST_HOUR, FIRST_HOUR, "--json", "--comm=waits"), 0);
	assert_says("\"sleeper\"");
	assert_null(strstr(answer, "\"grows\""));
	assert_int_equal(ASK(QUERY_DIFF, LAST_HOUR, FIRST_HOUR, "--diff-to=2026-11-24T07:30:00Z",
			     "--format=svg"),
			 0);
	assert_says("<svg");
	assert_int_equal(ASK(QUERY_DIFF, LAST_HOUR, FIRST_HOUR, "--format=html", "--title=mine"),
			 0);
	assert_says("<title>mine</title>");
	assert_int_equal(ASK(QUERY_DIFF, LAST_HOUR, FIRST_HOUR, "--format=markdown"), 0);
	assert_says("grows");
}

static void test_wrong_diff(void **state)
{
	assert_refused(ASK(QUERY_DIFF, LAST_HOUR, "--json"), "diff-from: where the base begins");
	assert_refused(ASK(QUERY_DIFF, LAST_HOUR, "--diff-from=never"), "'never' is no point");
	assert_refused(ASK(QUERY_DIFF, "--from=x@-1h", FIRST_HOUR), "'x@-1h' is no point");
	assert_refused(ASK(QUERY_DIFF, "--from=-1h", "--to=-2h", FIRST_HOUR),
		       "to is not after from");
	assert_refused(ASK(QUERY_DIFF, LAST_HOUR, FIRST_HOUR, "--diff-to=2026-11-24T05:00:00Z"),
		       "diff-to is not after diff-from");
	assert_refused(ASK(QUERY_DIFF, LAST_HOUR, FIRST_HOUR, "--format=pprof"), "pprof");
	assert_refused(ASK(QUERY_DIFF, LAST_HOUR, FIRST_HOUR, "--format=junit"), "gate");
	assert_refused(ASK(QUERY_DIFF, LAST_HOUR, FIRST_HOUR, "--format=svg,html"),
		       "one at a time");
	assert_refused(ASK(QUERY_DIFF, LAST_HOUR, FIRST_HOUR, "--function=("), "regular");
}

/* As many rows as were asked for, the largest changes first. */
static void test_diff_with_a_limit(void **state)
{
	const char *functions;

	assert_int_equal(ASK(QUERY_DIFF, LAST_HOUR, FIRST_HOUR, "--json", "--limit=1"), 0);
	functions = strstr(answer, "\"functions\":[{\"name\":\"grows\"");
	assert_non_null(functions);
	assert_null(strstr(functions, "steady"));
	assert_non_null(strstr(functions, "\"commands\":[{\"name\":\"runs\""));
}

/* Against the same hour of both days before; what shrank, or is as it was, is not there. */
static void test_worse(void **state)
{
	assert_int_equal(ASK(QUERY_WORSE, "--worse", LAST_HOUR, "--json"), 0);
	assert_says("\"runs\":{\"base\":2,\"new\":1}");
	assert_says("\"self\":[{\"name\":\"grows\",\"kernel\":false,\"base\":0.100000000,"
		    "\"new\":0.200000000,\"difference\":0.100000000,\"change\":\"grew\","
		    "\"ratio\":1.000000,");
	assert_says("}],\"self_left_out\":0,\"with_calls\":[");
	assert_null(strstr(answer, "steady"));
	assert_int_equal(ASK(QUERY_WORSE, "--worse", LAST_HOUR, "--json", "--comm=waits"), 0);
	assert_says("\"self\":[],");
	/* The hour before was as it always is. */
	assert_int_equal(ASK(QUERY_WORSE, "--worse", "--from=2026-11-24T07:00:00Z",
			     "--to=2026-11-24T08:00:00Z", "--json"),
			 0);
	assert_says("\"self\":[],\"self_left_out\":0,\"with_calls\":[],\"with_calls_left_out\":0}");
	/* Of the next day, only the one before has at least half of the range. */
	assert_int_equal(ASK(QUERY_WORSE, "--worse", "--from=2026-11-23T08:00:00Z",
			     "--to=2026-11-23T09:30:00Z", "--json"),
			 0);
	assert_says("\"base\":{\"file\"");
	assert_null(strstr(answer, "\"runs\""));
	assert_int_equal(ASK(QUERY_WORSE, "--worse", LAST_HOUR), 0);
	assert_says("grows");
}

static void test_wrong_worse(void **state)
{
	assert_refused(ASK(QUERY_WORSE, "--worse", "--from=2026-11-23T05:00:00Z",
			   "--to=2026-11-24T06:00:00Z"),
		       "up to a day");
	assert_refused(ASK(QUERY_WORSE, "--worse", LAST_HOUR, FIRST_HOUR), "--worse");
	assert_refused(ASK(QUERY_WORSE, "--worse", LAST_HOUR, "--series"), "--worse");
	assert_refused(ASK(QUERY_WORSE, "--worse", LAST_HOUR, "--format=svg"), "--worse");
	assert_int_equal(ASK(QUERY_WORSE, "--worse", "--from=2026-11-22T06:00:00Z",
			     "--to=2026-11-22T07:00:00Z"),
			 -ENODATA);
	assert_non_null(strstr(failure.what, "seven days before"));
	assert_int_equal(answer_bytes, 0);
}

static void test_search(void **state)
{
	assert_int_equal(ASK(QUERY_FUNCTIONS, LAST_HOUR, "--search=^(main|grows|waits)$", "--json"),
			 0);
	assert_string_equal(
		answer, "{\"total_seconds\":3240.000000,\"functions\":["
			"{\"name\":\"main\",\"module\":\"made\",\"kind\":\"user\",\"self_seconds\":"
			"0.000000,"
			"\"total_seconds\":3240.000000,\"running_seconds\":2160.000000},"
			"{\"name\":\"grows\",\"module\":\"made\",\"kind\":\"user\","
			"\"self_seconds\":720.000000,\"total_seconds\":720.000000,"
			"\"running_seconds\":720.000000}],\"functions_left_out\":0,\"processes\":["
			"{\"pid\":2,\"comm\":\"waits\",\"total_seconds\":1080.000000,"
			"\"running_seconds\":0.000000}],\"processes_left_out\":0}\n");
	assert_int_equal(ASK(QUERY_FUNCTIONS, LAST_HOUR, "--search=", "--json", "--limit=1"), 0);
	assert_says("\"functions\":[{\"name\":\"main\"");
	assert_says("}],\"functions_left_out\":3,\"processes\":[{\"pid\":1,\"comm\":\"runs\",");
	assert_says("}],\"processes_left_out\":1}");
	assert_int_equal(
		ASK(QUERY_FUNCTIONS, LAST_HOUR, "--search=grows", "--comm=waits", "--json"), 0);
	assert_says("\"functions\":[],\"functions_left_out\":0,\"processes\":[],");
	assert_int_equal(ASK(QUERY_FUNCTIONS, LAST_HOUR, "--search=grows"), 0);
	assert_says("function, 1 of 1\n     720.000      720.000      720.000  grows  made\n");
	assert_refused(ASK(QUERY_FUNCTIONS, LAST_HOUR, "--search=("), "regular");
	assert_refused(ASK(QUERY_FUNCTIONS, LAST_HOUR, "--search=a", "--series"), "--search");
	assert_refused(ASK(QUERY_FUNCTIONS, LAST_HOUR, "--search=a", "--format=svg"), "--search");
}

/* Steps without anything were recorded; those that are missing were not. */
static void test_empty_steps(void **state)
{
	assert_int_equal(ASK(QUERY_SERIES, "--from=2026-11-24T04:00:00Z",
			     "--to=2026-11-24T08:00:00Z", SERIES, "--function=none", "--empty"),
			 0);
	assert_string_equal(
		answer,
		"{\"start\":\"2026-11-24T06:00:00Z\",\"seconds\":3600.000,\"group\":\"all\","
		"\"running_seconds\":0.000000,\"waiting_seconds\":0.000000,"
		"\"idle_seconds\":0.000000}\n"
		"{\"start\":\"2026-11-24T07:00:00Z\",\"seconds\":3600.000,\"group\":\"all\","
		"\"running_seconds\":0.000000,\"waiting_seconds\":0.000000,"
		"\"idle_seconds\":0.000000}\n");
	assert_int_equal(ASK(QUERY_SERIES, "--from=2026-11-24T05:59:40Z",
			     "--to=2026-11-24T06:00:20Z", "--series", "--step=10s", "--csv",
			     "--comm=none", "--empty"),
			 0);
	assert_string_equal(answer,
			    "start,seconds,group,running_seconds,waiting_seconds,idle_seconds\n"
			    "2026-11-24T06:00:00Z,10,\"all\",0.000000,0.000000,0.000000\n"
			    "2026-11-24T06:00:10Z,10,\"all\",0.000000,0.000000,0.000000\n");
	assert_refused(ASK(QUERY_PROFILE, LAST_HOUR, "--json", "--empty"), "--series");
}

/* The time of all steps, s. */
static double running_seconds(void)
{
	static const char key[] = "\"running_seconds\":";
	double sum = 0;

	for (const char *at = answer; (at = strstr(at, key)); at += sizeof key - 1)
		sum += strtod(at + sizeof key - 1, NULL);
	return sum;
}

/* Since when there is more of it; of each level, and callers count with what they call. */
static void test_series_of_a_function(void **state)
{
	assert_int_equal(ASK(QUERY_SERIES, ALL_HOURS, SERIES, "--function=^grows$"), 0);
	assert_string_equal(
		answer,
		"{\"start\":\"2026-11-24T06:00:00Z\",\"seconds\":3600.000,\"group\":\"all\","
		"\"running_seconds\":360.000000,\"waiting_seconds\":0.000000,"
		"\"idle_seconds\":0.000000}\n"
		"{\"start\":\"2026-11-24T07:00:00Z\",\"seconds\":3600.000,\"group\":\"all\","
		"\"running_seconds\":360.000000,\"waiting_seconds\":0.000000,"
		"\"idle_seconds\":0.000000}\n"
		"{\"start\":\"2026-11-24T08:00:00Z\",\"seconds\":3600.000,\"group\":\"all\","
		"\"running_seconds\":720.000000,\"waiting_seconds\":0.000000,"
		"\"idle_seconds\":0.000000}\n");
	assert_int_equal(ASK(QUERY_SERIES, ALL_HOURS, "--series", "--json", "--step=10s",
			     "--function=grows"),
			 0);
	assert_true(running_seconds() == 1440);
	assert_int_equal(ASK(QUERY_SERIES, ALL_HOURS, SERIES, "--function=main"), 0);
	assert_true(running_seconds() == 1440 + 3 * 1440);
	assert_says("\"waiting_seconds\":1080.0");
	assert_int_equal(ASK(QUERY_SERIES, ALL_HOURS, SERIES, "--function=none"), 0);
	assert_int_equal(answer_bytes, 0);
	assert_int_equal(ASK(QUERY_SERIES, ALL_HOURS, SERIES, "--function=main", "--by=comm"), 0);
	assert_says("\"group\":\"waits\"");
}

/* As in profiles, where these are frames, too. */
static void test_series_of_commands_and_causes(void **state)
{
	assert_int_equal(ASK(QUERY_SERIES, ALL_HOURS, SERIES, "--function=^runs$"), 0);
	assert_true(running_seconds() == 1440 + 3 * 1440);
	assert_null(strstr(answer, "\"waiting_seconds\":1080"));
	assert_int_equal(ASK(QUERY_SERIES, ALL_HOURS, SERIES, "--function=futex"), 0);
	assert_true(running_seconds() == 0);
	assert_says("\"waiting_seconds\":1080.0");
}

static void test_wrong_series(void **state)
{
	assert_refused(ASK(QUERY_SERIES, ALL_HOURS, SERIES, "--function=("), "regular");
	assert_refused(ASK(QUERY_SERIES, ALL_HOURS, "--series", "--step=0"), "--step");
	assert_refused(ASK(QUERY_SERIES, "--from=2001-01-01", "--series", "--step=1s"), "--step");
	assert_refused(ASK(QUERY_SERIES, "--from=never", "--series"), "'never' is no point");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_wrong_diff),
		cmocka_unit_test(test_diff_with_a_limit),
		cmocka_unit_test(test_worse),
		cmocka_unit_test(test_wrong_worse),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_empty_steps),
		cmocka_unit_test(test_series_of_a_function),
		cmocka_unit_test(test_series_of_commands_and_causes),
		cmocka_unit_test(test_wrong_series),
	};

	return cmocka_run_group_tests(tests, make_store, remove_store);
}
