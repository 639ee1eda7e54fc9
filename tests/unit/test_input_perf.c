/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of perf script: parsing of lines, samples made from them, and recordings of real
 * programs (tests/golden/perf_*.txt) against results worked out by eye.
 */
#include "unit/made_input.h"

#include "input/perf_line.h"

static const struct input_options plain;

#define PART_IS(part, expected)                                                                    \
	do {                                                                                       \
		char _text[256];                                                                   \
		snprintf(_text, sizeof _text, "%.*s", (int)(part).n, (part).text);                 \
		assert_string_equal(_text, expected);                                              \
	} while (0)

/* Lines */

static void headers(void **state)
{
	static const struct {
		const char *line, *comm;
		uint32_t pid, tid;
		const char *event, *rest;
		bool has_time;
	} cases[] = {
		{"perf 12 3.4:     250000 cpu-clock: ", "perf", 12, 12, "cpu-clock", "", true},
		{"perf 12/13 [001] 3.000004: cycles:ppp: ", "perf", 12, 13, "cycles:ppp", "", true},
		{"  Web Content 12/13 [001] 3.4: 1 sched:sched_switch: prev=a 1 2.3: b",
		 "Web Content", 12, 13, "sched:sched_switch", "prev=a 1 2.3: b", true},
		{"a: b 1 2 77 [000] 1.5: cpu-clock:", "a: b 1 2", 77, 77, "cpu-clock", "", true},
		{"migration/0    18 [000] 35.5: 1 context-switches: ", "migration/0", 18, 18,
		 "context-switches", "", true},
		{"12 13 3.4: cycles: ", "12", 13, 13, "cycles", "", true},
		{" 512 33806.943128: cycles: ", "", 512, 512, "cycles", "", true},
		{"1234/1235 1.000000: ", "", 1234, 1235, "", "", true},
		{"swapper     0 1.2:  10 cycles:  ffff f+0x1 ([kernel.kallsyms])", "swapper", 0, 0,
		 "cycles", "ffff f+0x1 ([kernel.kallsyms])", true},
		{":-1 -1/-1 1.2: cycles: ", ":-1", 0, 0, "cycles", "", true},
		{"python3 15045 ", "python3", 15045, 15045, "", "", false},
		{"python3 15045/15046 [002] ", "python3", 15045, 15046, "", "", false},
		{"tmux: server 77     250000 cpu-clock: ", "tmux: server", 77, 77, "cpu-clock", "",
		 false},
		{"a 1 2 3/4 ", "a 1 2", 3, 4, "", "", false},
		{"a 1 1.2: PERF_RECORD_LOST lost 7", "a", 1, 1, "PERF_RECORD_LOST", "lost 7", true},
	};
	static const char *const others[] = {
		"",
		"text",
		"\tffff f (a)",
		"# a 1",
		" 1234 f (/a)",
		"a:b",
		"a 1.2: x",
		"a 99999999999/1 1.2: x: ",
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct perf_header header;

		assert_true(perf_header_parse(cases[i].line, strlen(cases[i].line), &header));
		PART_IS(header.comm, cases[i].comm);
		assert_int_equal(header.pid, cases[i].pid);
		assert_int_equal(header.tid, cases[i].tid);
		PART_IS(header.event, cases[i].event);
		PART_IS(header.rest, cases[i].rest);
		assert_true(header.has_time == cases[i].has_time);
	}
	for (size_t i = 0; i < COUNT(others); i++) {
		struct perf_header header;

		assert_false(perf_header_parse(others[i], strlen(others[i]), &header));
	}
}

static void frames(void **state)
{
	static const struct {
		const char *line;
		uint64_t address;
		const char *symbol, *file;
		bool is_inlined, has_offset;
		uint64_t offset;
	} cases[] = {
		{"\t           153e0 f+0x270 (/usr/lib/ld.so.2)", 0x153e0, "f", "/usr/lib/ld.so.2"},
		{"\tffffffff8158cc29 f ([kernel.kallsyms])", 0xffffffff8158cc29, "f",
		 "[kernel.kallsyms]"},
		{"\t 10 in1+0x10 (inlined)", 0x10, "in1", "", true},
		{"\t 10 A::operator()(int (*)(char)) const+0x1f (/opt/a b/x (deleted))", 0x10,
		 "A::operator()(int (*)(char)) const", "/opt/a b/x (deleted)"},
		{"\t 10 f(int) (/lib/x.so+0x94ac3)", 0x10, "f(int)", "/lib/x.so", false, true,
		 0x94ac3},
		{"\t 10 [unknown] ([unknown])", 0x10, "[unknown]", "[unknown]"},
		{"\t 10 f+0x1", 0x10, "f", ""},
		{"\t 10 f(int)", 0x10, "f(int)", ""},
		{"\t 10", 0x10, "", ""},
		{"\t 10 (/usr/bin/x)", 0x10, "", "/usr/bin/x"},
		{"\t 10 operator+ (/usr/bin/x)", 0x10, "operator+", "/usr/bin/x"},
		{"\t 10 a+0xzz (/usr/bin/x+0x)", 0x10, "a+0xzz", "/usr/bin/x+0x"},
		{"\t 10 f ()", 0x10, "f", ""},
	};
	static const char *const others[] = {
		"",
		"\t",
		"\tf+0x1 (/a)",
		"\t 0x10 f (/a)",
		"\t 1ffffffffffffffff f (/a)",
		"\tmain.c:12",
		"  FF f (/a)",
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct perf_frame frame;

		assert_true(perf_frame_parse(cases[i].line, strlen(cases[i].line), &frame));
		assert_true(frame.address == cases[i].address);
		PART_IS(frame.symbol, cases[i].symbol);
		PART_IS(frame.file, cases[i].file);
		assert_true(frame.is_inlined == cases[i].is_inlined);
		assert_true(frame.has_offset == cases[i].has_offset);
		assert_true(frame.offset == cases[i].offset);
	}
	for (size_t i = 0; i < COUNT(others); i++) {
		struct perf_frame frame;

		assert_false(perf_frame_parse(others[i], strlen(others[i]), &frame));
	}
}

/* Samples */

#define HEADER "sh 1/2 [000] 1.5: 10 cpu-clock: \n"

static void expect(const char *text, const char *expected)
{
	made_expect(text, plain, PROFILE_ONCPU, expected);
}

/* Each kind of file, with and without a symbol. */
static void names(void **state)
{
	static const char *const cases[][2] = {
		{"1a2b f+0x1 (/usr/lib/libc.so.6)", "f"},
		{"1a2b [unknown] (/usr/lib/libc.so.6)", "[libc.so.6+0x1a2b]"},
		{"7f1234561a2b [unknown] (/usr/lib/libc.so.6)", "[libc.so.6]"},
		{"7f1234561a2b [unknown] (/usr/lib/libc.so.6+0x1a2b)", "[libc.so.6+0x1a2b]"},
		{"1a2b [unknown] (/opt/a b/x (deleted))", "[x+0x1a2b]"},
		{"1a2b f (/opt/a b/x (deleted))", "f"},
		{"ffffffff81000001 f ([kernel.kallsyms])", "f_[k]"},
		{"ffffffff81000001 [unknown] ([kernel.kallsyms])",
		 "[kernel+0xffffffff81000001]_[k]"},
		{"ffffffff81000001 f ([guest.kernel.kallsyms])", "f_[k]"},
		{"10 f ([guest.kernel.kallsyms])", "f_[k]"},
		{"ffffffffc0000001 f ([nf_tables])", "f_[k]"},
		{"ffffffffc0000001 [unknown] ([nf_tables])", "[nf_tables+0xffffffffc0000001]_[k]"},
		{"10 [unknown] (/lib/modules/6/kernel/net/x.ko.xz)", "[x+0x10]_[k]"},
		{"10 f (/usr/lib/debug/boot/vmlinux-6.1)", "f_[k]"},
		{"ffffffffc0000001 bpf_prog_6deef7357e7b4530_f (bpf_prog_6deef7357e7b4530_f)",
		 "bpf_prog_6deef7357e7b4530_f_[k]"},
		{"ffffffff81000001 [unknown] ([unknown])", "[kernel+0xffffffff81000001]_[k]"},
		{"ffffffffff600000 [unknown] ([vsyscall])", "[vsyscall]"},
		{"7ffd12345678 [unknown] ([unknown])", "[unknown]"},
		{"7ffd12345678 [unknown] ([vdso])", "[vdso]"},
		{"678 [unknown] ([vdso])", "[vdso+0x678]"},
		{"7ffd12345678 __vdso_gettimeofday ([vdso])", "__vdso_gettimeofday"},
		{"7f1234561a2b LFoo;::bar (/tmp/perf-123.map)", "LFoo:::bar_[j]"},
		{"7f1234561a2b bar (/tmp/jitted-12-3.so)", "bar_[j]"},
		{"7f1234561a2b [unknown] (/tmp/perf-123.map)", "[anon]_[j]"},
		{"7f1234561a2b [unknown] (//anon)", "[anon]"},
		{"7f1234561a2b bar (//anon)", "bar_[j]"},
		{"7f1234561a2b [unknown] ([heap])", "[anon]"},
		{"7f1234561a2b f", "f"},
		{"ffffffff81000001 f", "f_[k]"},
		{"7f1234561a2b", "[unknown]"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[256], expected[256];

		snprintf(text, sizeof text, HEADER "\t%s\n\n", cases[i][0]);
		snprintf(expected, sizeof expected, "sh;%s 1\n", cases[i][1]);
		expect(text, expected);
	}
}

static void samples(void **state)
{
	struct input input = made_input(plain);

	assert_int_equal(made_read(&input, HEADER "\t10 leaf (/a)\n\t20 root (/a)\n\n" HEADER
						  "\t10 leaf (/a)\n\t20 root (/a)\n\n"
						  "sh 1/3 [000] 1.5: 10 cpu-clock: \n"
						  "\t10 leaf (/a)\n\t20 root (/a)"),
			 0);
	assert_int_equal(input.profile->n_samples, 2);
	assert_int_equal(input.profile->samples[0].count, 2);
	assert_int_equal(input.profile->samples[0].pid, 1);
	assert_int_equal(input.profile->samples[0].tid, 2);
	assert_int_equal(input.profile->samples[1].tid, 3);
	made_expect_profile(input.profile, &made_all, "sh;root;leaf 3\n");
	assert_int_equal(input.stats.lines, 11);
	assert_int_equal(input.stats.skipped, 0);
	input_done(&input);
}

static void without_stacks(void **state)
{
	/* Without -g: one line per sample. */
	expect("         sh 1 1.5: 10 cpu-clock:  10 f+0x1 (/a)\n"
	       "         sh 1 1.6: 10 cpu-clock:  10 f+0x2 (/a)\n"
	       "         sh 1 1.6: 10 cpu-clock:  ffffffff81000001 [unknown] ([unknown])\n",
	       "sh;[kernel+0xffffffff81000001]_[k] 1\nsh;f 2\n");
	/* Stacks that perf could not record. */
	expect(HEADER "\n" HEADER "\n" HEADER "\t10 f (/a)\n\n", "sh 2\nsh;f 1\n");
	/* A tracepoint's payload is not a frame, even if it begins like one. */
	expect("sh 1 1.5: a:b: dead beef\nsh 1 1.5: a:b: 1 f (x) y\n", "sh 2\n");
}

/* With -F. */
static void fewer_fields(void **state)
{
	expect("sh 12 \n\t10 f (/a)\n\nsh 12 \n\t10 f (/a)\n\n", "sh;f 2\n");
	expect("\n\t10 f\n\t20 main\n\n\n\t10 g\n\t20 main\n\n",
	       "[unknown];main;f 1\n[unknown];main;g 1\n");
	expect("sh 12/13 \n\t10\n\t20\n\n", "sh;[unknown];[unknown] 1\n");
	/* With +srcline. */
	expect(HEADER "\t10 f (/a)\n  a.c:12\n\t20 main (/a)\n  a.c:20\n\n", "sh;main;f 1\n");
}

static void inlined(void **state)
{
	static const char text[] = HEADER "\t10 in2 (inlined)\n\t10 in1 (inlined)\n\t10 f (/a)\n"
					  "\t20 in3 (inlined)\n\t30 main (/a)\n\n"
					  "sh 1/2 1.5: cpu-clock: \n"
					  "\tffffffff81000001 kin (inlined)\n\n";

	/* in3 is the only function at its address, so it was called there. */
	expect(text, "sh;kin_[k] 1\nsh;main;in3;f;in1_[i];in2_[i] 1\n");
	made_expect(text, (struct input_options){.no_inline = true}, PROFILE_ONCPU,
		    "sh;kin_[k] 1\nsh;main;in3;f 1\n");
}

static void other_lines(void **state)
{
	struct input input = made_input(plain);

	assert_int_equal(made_read(&input,
				   "# ========\r\n# captured on: x\r\n#\r\n" HEADER
				   "\t10 f (/a)\r\n\r\n"
				   "sh 1/2 1.5: PERF_RECORD_LOST lost 7\n"
				   "sh 1 1.5: PERF_RECORD_COMM exec: sh:1/1\n"
				   "sh 1 1.5: PERF_RECORD_FORK(2:2):(1:1)\n"
				   "Processed 100 events and lost 1 chunks!\nWarning 7\n" HEADER
				   "\t10 f (/a)\n\n"),
			 0);
	made_expect_profile(input.profile, &made_all, "sh;f 2\n");
	/* Neither comments nor records. */
	assert_int_equal(input.stats.skipped, 2);
	assert_int_equal(input.stats.first_skipped, 10);
	input_done(&input);
}

/* Text that only looks like perf's here and there. */
static void other_text(void **state)
{
	static const char dtrace[] = "CPU     ID                    FUNCTION:NAME\n"
				     "  0  64091                        :tick-60s\n\n"
				     "   genunix`kmem_cache_free+0xce\n   genunix`vn_free+0x9a\n"
				     "   genunix`fop_inactive+0x76\n     5\n";

	made_expect_failure(dtrace, sizeof dtrace - 1, -EINVAL,
			    ": neither folded lines nor the text of perf script: 4 of its 7 lines "
			    "are neither samples nor frames, the first is line 1");
}

/* Lines as old versions of perf and filters of its text lay them out. */
static void layouts(void **state)
{
	expect("java 19983 cycles:\nffff810 f ([kernel.kallsyms])\n7f72 main (/a)\n\n"
	       "java 19983 cycles:\nffff810 f ([kernel.kallsyms])\n7f72 main (/a)\n\n",
	       "java;main;f_[k] 2\n");
	/* A blank line below the header. */
	expect(HEADER "\n\t10 f (/a)\n\n" HEADER "\n" HEADER "\t10 g (/a)\n\n",
	       "sh 1\nsh;f 1\nsh;g 1\n");
}

static void refused(void **state)
{
	static const char nul[] = HEADER "\t10 f (/a)\n\n" HEADER "\t10 g\0 (/a)\n";
	struct input input = made_input(plain);
	char *text = malloc(1 << 20);
	size_t n;

	assert_int_equal(made_read_bytes(&input, nul, sizeof nul - 1), -EINVAL);
	assert_non_null(strstr(made_failure.what, " is 0"));
	input_done(&input);
	/* After the part that detection examines. */
	n = sprintf(text, HEADER);
	for (int i = 0; i < 100; i++)
		n += sprintf(text + n, "\t10 a_function_of_some_length (/a)\n");
	memcpy(text + n, "\t10 g\0 (/a)\n", 12);
	made_expect_failure(text, n + 12, -EINVAL, ":102: a NUL byte; this is not a text file");
	/* Too many nested inlined functions. */
	n = sprintf(text, HEADER);
	for (int i = 0; i < 300; i++)
		n += sprintf(text + n, "\t10 f%d (inlined)\n", i);
	made_expect_failure(text, n, -E2BIG, ":257: this stack has too many frames");
	free(text);
}

/* Folded lines that look like another format. */
static void folded_is_folded(void **state)
{
	expect("sh;a 1 2.5:;b 3\n", "sh;a 1 2.5:;b 3\n");
	expect("python3 1234\n", "python3 1234\n");
	expect("a 12 3.5 4\nb 7\n", "a 12 3.5 4\nb 7\n");
}

/* Recordings */

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	assert_non_null(file);
	assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
	fclose(file);
	return text;
}

static void expect_golden(const char *name)
{
	char path[256], *text, *expected;

	snprintf(path, sizeof path, "tests/golden/%s.txt", name);
	text = read_file(path);
	snprintf(path, sizeof path, "tests/golden/%s.folded", name);
	expected = read_file(path);
	expect(text, expected);
	free(text);
	free(expected);
}

static void recordings(void **state)
{
	expect_golden("perf_events");
	expect_golden("perf_dwarf");
	expect_golden("perf_sched");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers),	  cmocka_unit_test(frames),
		cmocka_unit_test(names),	  cmocka_unit_test(samples),
		cmocka_unit_test(without_stacks), cmocka_unit_test(fewer_fields),
		cmocka_unit_test(inlined),	  cmocka_unit_test(other_lines),
		cmocka_unit_test(other_text),	  cmocka_unit_test(layouts),
		cmocka_unit_test(refused),	  cmocka_unit_test(folded_is_folded),
		cmocka_unit_test(recordings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
