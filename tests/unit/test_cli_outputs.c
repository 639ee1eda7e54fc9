/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output file names for recordings of named events. */
#include "unit/cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "cli/outputs.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void stems_of_events(void **state)
{
	static const char *const names[] = {
		"page-faults",
		"sched:sched_switch",
		"tracepoint:sched:sched_switch",
		"cycles:u",
		"uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:malloc+0x10",
		"usdt:./a b/python3:python:gc__start",
		"cpu/event=0x3c,umask=0x0/",
		"sched:sched_switch",
		"uprobe:/bin/x:std::sort<int*, (lambda)>",
	};
	static const char *const stems[] = {
		"page-faults",
		"sched-sched_switch",
		"sched-sched_switch-2",
		"cycles-u",
		"uprobe-libc.so.6-malloc+0x10",
		"usdt-python3-python-gc__start",
		"cpu-event=0x3c-umask=0x0",
		"sched-sched_switch-3",
		"uprobe-x-std--sort-int-lambda",
	};
	char text[EVENT_STEM_SIZE], longest[1000];
	const char *long_names[] = {longest, longest};

	for (size_t i = 0; i < COUNT(names); i++) {
		outputs_event_stem(names, COUNT(names), i, text);
		assert_string_equal(text, stems[i]);
	}
	memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	outputs_event_stem(long_names, 2, 1, text);
	assert_string_equal(text + strlen(text) - 2, "-2");
}

static void names_of_o_get_the_event(void **state)
{
	static const struct {
		const char *path, *named;
	} cases[] = {
		{"out.svg", "out.cs.svg"},
		{"a.b/out.pb.gz", "a.b/out.cs.pb.gz"},
		{"out.speedscope.json", "out.cs.speedscope.json"},
		{"a.b/plain", "a.b/plain.cs"},
		{"x.y.unknown", "x.y.cs.unknown"},
	};
	const enum output_format defaults[] = {FORMAT_SVG, FORMAT_NONE};
	struct failure failure = {};
	struct output_files files = {};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct outputs outputs = {.known = profile_formats,
					  .paths = {cases[i].path},
					  .n_paths = 1,
					  .formats = {FORMAT_SVG},
					  .n_formats = 1};

		assert_int_equal(
			outputs_plan_event(&outputs, "s", "cs", defaults, &files, &failure), 0);
		assert_string_equal(files.files[0].path, cases[i].named);
		output_files_done(&files);
	}
}

static void standard_output_takes_one_event(void **state)
{
	struct outputs outputs = {.known = profile_formats, .paths = {"-"}, .n_paths = 1};
	const enum output_format defaults[] = {FORMAT_SVG, FORMAT_NONE};
	struct failure failure = {};
	struct output_files files = {};

	assert_int_equal(outputs_plan_event(&outputs, "s", "cs", defaults, &files, &failure),
			 -EINVAL);
	assert_non_null(strstr(failure.what, "-o -"));
	output_files_done(&files);
	assert_int_equal(outputs_plan_event(&outputs, "s", NULL, defaults, &files, &failure), 0);
	output_files_done(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stems_of_events),
		cmocka_unit_test(names_of_o_get_the_event),
		cmocka_unit_test(standard_output_takes_one_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
