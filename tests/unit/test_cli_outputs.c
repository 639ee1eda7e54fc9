/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output file names for recordings of named events. */
#include "unit/cmocka_all.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/confined.h"
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

/* Two outputs to one place would lose one, or mix them. */
static void two_outputs_are_two_files(void **state)
{
	static const struct {
		const char *paths[2];
		enum output_format formats[2];
		const char *stem, *place; /* NULL: allowed */
	} cases[] = {
		{{"a.svg", "b.svg"}, {}, "s", NULL},
		{{"a.svg", "a.svg"}, {}, "s", "a.svg"},
		{{"a.svg", "./a.svg"}, {}, "s", "./a.svg"},
		{{"/a.svg", "/../a.svg"}, {}, "s", "/../a.svg"},
		{{"./a.svg", "/nowhere/a.svg"}, {}, "s", NULL},
		{{"a", "a"}, {FORMAT_SVG, FORMAT_FOLDED}, "s", "a"},
		{{"-", "-"}, {}, "s", "standard output"},
		{{"-", "/dev/stdout"}, {}, "s", "/dev/stdout"},
		{{"/dev/fd/3", "/proc/self/fd/3"}, {}, "s", "/proc/self/fd/3"},
		{{"-", "/dev/stderr"}, {}, "s", NULL},
		{{"/dev/null", "/dev/null"}, {FORMAT_SVG, FORMAT_FOLDED}, "s", NULL},
		{{}, {FORMAT_SVG, FORMAT_SVG}, "s", "./s.svg"},
		{{}, {FORMAT_SVG, FORMAT_FOLDED}, "s", NULL},
		{{}, {FORMAT_SVG, FORMAT_FOLDED}, NULL, "standard output"},
	};
	const enum output_format defaults[] = {FORMAT_SVG, FORMAT_NONE};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct outputs outputs = {.known = profile_formats,
					  .paths = {cases[i].paths[0], cases[i].paths[1]},
					  .n_paths = cases[i].paths[0] ? 2 : 0,
					  .formats = {cases[i].formats[0], cases[i].formats[1]},
					  .n_formats = cases[i].formats[0] ? 2 : 0};
		struct output_files files = {};
		struct failure failure = {};
		int r = outputs_plan(&outputs, cases[i].stem, defaults, &files, &failure);

		assert_int_equal(r, cases[i].place ? -EINVAL : 0);
		if (cases[i].place)
			assert_string_equal(failure.what + strlen("two outputs would be written "
								  "to "),
					    cases[i].place);
		output_files_done(&files);
	}
}

#define EARLY INT_MAX /* ends before it writes, as if all were well */

/* What a process of its own writes, and how it ends. */
static int write_as_told(void *data, enum output_format format, FILE *stream)
{
	int how = *(const int *)data;

	if (how == EARLY)
		_exit(0);
	fputs(format == FORMAT_SVG ? "a picture" : "text", stream);
	if (how > 0) {
		signal(how, SIG_DFL);
		raise(how);
	}
	return confined_is_here() ? how : -EPERM;
}

static void draw(int how, int expected, const char *what)
{
	static const enum output_format defaults[] = {FORMAT_SVG, FORMAT_NONE};
	char folder[] = "/tmp/test_cli_outputs.XXXXXX", path[64], text[32] = "";
	struct outputs outputs = {
		.known = profile_formats, .paths = {path}, .n_paths = 1, .formats = {FORMAT_SVG}};
	struct output_files files = {};
	struct failure failure = {};
	struct rusage usage = {};
	FILE *stream;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/x.svg", folder);
	assert_int_equal(outputs_plan(&outputs, "s", defaults, &files, &failure), 0);
	assert_int_equal(output_files_check(&files, &failure), 0);
	assert_int_equal(output_files_draw(&files, write_as_told, &how, &usage, &failure),
			 expected);
	assert_true(usage.ru_maxrss > 0);
	output_files_done(&files);
	stream = fopen(path, "r");
	assert_int_equal(stream != NULL, expected == 0);
	if (stream) {
		assert_non_null(fgets(text, sizeof text, stream));
		assert_string_equal(text, "a picture");
		fclose(stream);
		unlink(path);
	} else {
		assert_non_null(strstr(failure.what, path));
		assert_non_null(strstr(failure.what, what));
	}
	/* Nothing else is left. */
	assert_int_equal(rmdir(folder), 0);
}

static void drawing_leaves_a_file_or_none(void **state)
{
	draw(0, 0, NULL);
	draw(-ENOSPC, -ENOSPC, "No space left");
	draw(SIGSEGV, -ECHILD, "crashed");
	draw(SIGKILL, -ECHILD, "memory");
	draw(EARLY, -ECHILD, "crashed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stems_of_events),
		cmocka_unit_test(names_of_o_get_the_event),
		cmocka_unit_test(standard_output_takes_one_event),
		cmocka_unit_test(two_outputs_are_two_files),
		cmocka_unit_test(drawing_leaves_a_file_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
