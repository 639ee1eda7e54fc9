/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON in any valid form; files of speedscope and the Firefox Profiler, ours and other tools'. */
#include "unit/made_input.h"

#include "base/json_reader.h"

static const struct input_options plain;

/* The reader */

struct made_reader {
	struct made_file file;
	struct stream stream;
	struct failure failure;
	struct json_reader reader;
};

static void open_reader(struct made_reader *made, const char *text, size_t n)
{
	*made = (struct made_reader){.file = made_file(text, n)};
	assert_int_equal(stream_open(&made->stream, made->file.path, 0, &made->failure), 0);
	json_reader_init(&made->reader, &made->stream, &made->failure);
}

static void close_reader(struct made_reader *made)
{
	json_reader_done(&made->reader);
	stream_close(&made->stream);
	made_file_done(&made->file);
}

static void expect_number(const char *text, uint64_t whole, uint32_t billionths, bool is_negative)
{
	struct made_reader made;
	struct json_number number;

	open_reader(&made, text, strlen(text));
	assert_int_equal(json_reader_number(&made.reader, &number), 0);
	assert_int_equal(number.whole, whole);
	assert_int_equal(number.billionths, billionths);
	assert_int_equal(number.is_negative, is_negative);
	assert_int_equal(json_reader_end(&made.reader), 0);
	close_reader(&made);
}

static void numbers(void **state)
{
	expect_number("0", 0, 0, false);
	expect_number("18446744073709551615", UINT64_MAX, 0, false);
	expect_number(" -12.5 ", 12, 500000000, true);
	expect_number("0.000000001", 0, 1, false);
	expect_number("0.0000000015", 0, 2, false);
	expect_number("0.99999999999", 1, 0, false);
	expect_number("1e3", 1000, 0, false);
	expect_number("1.25E+2", 125, 0, false);
	expect_number("12345e-4", 1, 234500000, false);
	expect_number("1e-400", 0, 0, false);
	expect_number("0e999999999999", 0, 0, false);
	expect_number("1234.567", 1234, 567000000, false);
	expect_number("3.14159265358979323846264338327950288419716939937510", 3, 141592654, false);
}

static void expect_text(const char *text, const char *expected)
{
	struct made_reader made;
	const char *read;
	size_t n;

	open_reader(&made, text, strlen(text));
	assert_int_equal(json_reader_text(&made.reader, &read, &n), 0);
	assert_string_equal(read, expected);
	assert_int_equal(n, strlen(expected));
	close_reader(&made);
}

static void texts(void **state)
{
	expect_text("\"\"", "");
	expect_text("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "a\"\\/\b\f\n\r\t");
	expect_text("\"\\u0041\\u00e9\\u6f22\\ud83d\\udd25\"",
		    "A\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x94\xa5");
	/* Single surrogates, and characters that end strings in other languages. */
	expect_text("\"\\ud83d \\udd25 \\u0000\"", "\ufffd \ufffd \ufffd");
	expect_text("\"\xe6\xbc\xa2 \xff\"", "\xe6\xbc\xa2 \xff");
}

/* Longer than the stream's window. */
static void long_text(void **state)
{
	size_t n = 3 << 20;
	char *text = malloc(n + 3);
	struct made_reader made;
	const char *read;
	size_t n_read;

	memset(text, 'x', n + 2);
	text[0] = text[n + 1] = '"';
	open_reader(&made, text, n + 2);
	assert_int_equal(json_reader_text(&made.reader, &read, &n_read), 0);
	assert_int_equal(n_read, n);
	close_reader(&made);
	free(text);
}

static void skipped(void **state)
{
	static const char text[] = " {\"a\" : [1, -2.5e3, true, false, null, {}, [], [[]], "
				   "{\"b\":{}}] , \"c\":\"]\"} ";
	struct made_reader made;

	open_reader(&made, text, strlen(text));
	assert_int_equal(json_reader_skip(&made.reader), 0);
	assert_int_equal(json_reader_end(&made.reader), 0);
	close_reader(&made);
}

static void expect_damaged(const char *text, const char *what)
{
	struct made_reader made;
	char expected[200];

	open_reader(&made, text, strlen(text));
	assert_true(json_reader_skip(&made.reader) < 0 || json_reader_end(&made.reader) < 0);
	snprintf(expected, sizeof expected, "%s: damaged JSON at byte %s", made.file.path, what);
	assert_string_equal(made.failure.what, expected);
	close_reader(&made);
}

static void damaged(void **state)
{
	char deep[JSON_MAX_DEPTH + 2];

	expect_damaged("[1,]", "3: found ']' where a value should be");
	expect_damaged("[1 2]", "3: found '2' where ',' or ']' should be");
	expect_damaged("{\"a\" 1}", "5: found '1' where ':' should be");
	expect_damaged("{1:2}", "1: found '1' where a text should be");
	expect_damaged("{\"a\":1", "6: the file ends where ',' or '}' should be");
	expect_damaged("[\"a", "3: the file ends in a text");
	expect_damaged("[\"a\n\"]", "3: a text holds the control character 10");
	expect_damaged("[\"\\x\"]", "2: a backslash before byte 120");
	expect_damaged("[\"\\u12g4\"]", "2: \\u without four digits of base 16");
	expect_damaged("[nul]", "1: no value begins like this");
	expect_damaged("[1.]", "1: a point without decimals");
	expect_damaged("[-]", "1: '-' without a number");
	expect_damaged("[1e]", "1: an exponent without a number");
	expect_damaged("[1e30]", "1: this number is too large");
	expect_damaged("[99999999999999999999]", "1: this number is too large");
	expect_damaged("[] x", "3: found 'x' where the file's end should be");
	memset(deep, '[', sizeof deep - 1);
	deep[sizeof deep - 1] = '\0';
	expect_damaged(deep, "256: nested more than 256 deep");
}

/* Facts, in memory */

/*
 * Reads {"c": count, "d": decimal, "t": text}, in any order. Returns the result of
 * json_reader_end().
 */
static int read_facts(const char *text, struct failure *failure, char facts[static 64])
{
	struct stream stream = stream_of("facts", text);
	struct json_reader reader;
	uint64_t count = 0;
	double decimal = 0;
	char word[8] = "";
	const char *key;
	int r;

	json_reader_init(&reader, &stream, failure);
	json_reader_begin(&reader, '{');
	while (json_reader_key(&reader, &key) > 0) {
		switch (*key) {
		case 'c': count = json_reader_count(&reader); break;
		case 'd': decimal = json_reader_decimal(&reader, 1e6); break;
		default: json_reader_copy(&reader, word, sizeof word);
		}
	}
	r = json_reader_end(&reader);
	json_reader_done(&reader);
	snprintf(facts, 64, "%llu %g %s", (unsigned long long)count, decimal, word);
	return r;
}

static void expect_facts(const char *text, const char *expected)
{
	struct failure failure = {0};
	char facts[64];

	assert_int_equal(read_facts(text, &failure, facts), 0);
	assert_string_equal(facts, expected);
	assert_string_equal(failure.what, "");
}

/* Keeps the first error and reads nothing after it. */
static void expect_fault(const char *text, const char *what)
{
	struct failure failure = {0};
	char facts[64], expected[100];

	assert_int_equal(read_facts(text, &failure, facts), -EINVAL);
	snprintf(expected, sizeof expected, "facts: damaged JSON at byte %s", what);
	assert_string_equal(failure.what, expected);
	assert_string_equal(facts, "0 0 ");
}

static void facts(void **state)
{
	expect_facts("{}", "0 0 ");
	expect_facts("{\"c\":18446744073709551615,\"d\":1.5e3,\"t\":\"a\\u0000b\"} ",
		     "18446744073709551615 1500 a\ufffdb");
	/* Text that is too long is cut, never inside a character. */
	expect_facts("{\"t\":\"1234567890\"}", "0 0 1234567");
	expect_facts("{\"t\":\"123456\u00e9\"}", "0 0 123456");
	expect_facts("{\"t\":\"12345\u00e97\"}", "0 0 12345\u00e9");
	expect_fault("", "0: the file ends where an object should be");
	expect_fault("{\"c\":-1,\"d\":7}", "7: this is not a whole number");
	expect_fault("{\"c\":1.5,\"d\":7}", "8: this is not a whole number");
	expect_fault("{\"d\":-1,\"c\":7}", "7: this number is out of range");
	expect_fault("{\"d\":1000000.5,\"c\":7}", "14: this number is out of range");
	expect_fault("{\"t\":\"\xff\",\"c\":7}", "8: this text is not UTF-8");
	expect_fault("{\"t\":1,\"c\":7", "5: found '1' where a text should be");
}

/* Which files are detected as JSON */

static void which_files(void **state)
{
	static const char other[] = "{\"traceEvents\":[{\"ph\":\"X\"}]}";
	static const char both[] = "{\"profiles\":[],\"shared\":{\"frames\":[]},\"threads\":[]}";

	/* Names of commands. */
	made_expect("{closure};f 3\n", plain, PROFILE_ONCPU, "{closure};f 3\n");
	made_expect("{ 3\n", plain, PROFILE_ONCPU, "{ 3\n");
	made_expect_failure(other, strlen(other), -EINVAL,
			    ": this JSON is neither speedscope's nor the Firefox Profiler's: its "
			    "object has no \"profiles\" and no \"threads\"");
	made_expect_failure(both, strlen(both), -EINVAL,
			    ": this JSON is neither speedscope's nor the Firefox Profiler's: its "
			    "object has both \"profiles\" and \"threads\"");
	made_expect_failure("{\"threads\":[]", 13, -EINVAL,
			    ": damaged JSON at byte 13: the file ends where ',' or '}' should be");
}

/* speedscope */

#define SPEEDSCOPE(frames, profiles)                                                               \
	"{\"profiles\":[" profiles "],\"exporter\":\"x\",\"shared\":{\"frames\":[" frames "]}}"
#define ABC                                                                                        \
	"{\"name\":\"a\"},{\"name\":\"b\",\"file\":\"b.c\",\"line\":7,\"col\":1},{\"name\":\"c_["  \
	"k]\"}"

static void sampled(void **state)
{
	made_expect(
		"\xef\xbb\xbf \n" SPEEDSCOPE(
			ABC,
			"{\"type\":\"sampled\",\"name\":\"x\",\"unit\":\"none\",\"startValue\":0,"
			"\"endValue\":9,\"samples\":[[0,1],[0,2],[],[0,1]],\"weights\":[1,2.6,3,4]"
			"}"),
		plain, PROFILE_ONCPU, "x 3\nx;a;b 5\nx;a;c_[k] 3\n");
	/* Weights first; several profiles. */
	made_expect(SPEEDSCOPE(ABC, "{\"weights\":[1000],\"samples\":[[0]],\"unit\":\"bytes\"},"
				    "{\"weights\":[2],\"samples\":[[1]],\"unit\":\"none\","
				    "\"name\":\"y\"}"),
		    plain, PROFILE_ONCPU, "[unknown];a 1000\ny;b 2\n");
}

static void units(void **state)
{
	static const struct {
		const char *unit, *expected;
	} cases[] = {{"nanoseconds", "x;a 2\n"},
		     {"microseconds", "x;a 1500\n"},
		     {"milliseconds", "x;a 1500250\n"},
		     {"seconds", "x;a 1500250000\n"}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[512];

		snprintf(text, sizeof text,
			 SPEEDSCOPE(ABC, "{\"name\":\"x\",\"unit\":\"%s\",\"samples\":[[0]],"
					 "\"weights\":[1500.25]}"),
			 cases[i].unit);
		made_expect(text, plain, PROFILE_WALL, cases[i].expected);
	}
}

static void evented(void **state)
{
	made_expect(SPEEDSCOPE(ABC, "{\"type\":\"evented\",\"name\":\"x\",\"unit\":"
				    "\"milliseconds\",\"events\":["
				    "{\"type\":\"O\",\"frame\":0,\"at\":1},{\"type\":\"O\","
				    "\"frame\":1,\"at\":1.5},"
				    "{\"type\":\"C\",\"frame\":1,\"at\":4},{\"type\":\"O\","
				    "\"frame\":1,\"at\":4},"
				    "{\"type\":\"C\",\"frame\":1,\"at\":5},{\"type\":\"C\","
				    "\"frame\":0,\"at\":7},"
				    "{\"type\":\"O\",\"frame\":2,\"at\":9},{\"type\":\"C\","
				    "\"frame\":2,\"at\":9.001}]}"),
		    plain, PROFILE_WALL, "x;a 2500\nx;a;b 3500\nx;c_[k] 1\n");
}

static void expect_refused(const char *text, const char *what)
{
	made_expect_failure(text, strlen(text), -EINVAL, what);
}

static void faults_of_speedscope(void **state)
{
	expect_refused(SPEEDSCOPE(ABC, "{\"unit\":\"none\",\"samples\":[[3]],\"weights\":[1]}"),
		       ": a sample refers to frame 3, where there are 3");
	expect_refused(SPEEDSCOPE(ABC, "{\"unit\":\"none\",\"samples\":[[0]],\"weights\":[-1]}"),
		       ": has negative values, like the difference of two profiles");
	expect_refused(SPEEDSCOPE(ABC, "{\"unit\":\"none\",\"samples\":[[0]],\"weights\":[1]},"
				       "{\"unit\":\"seconds\",\"samples\":[[0]],\"weights\":[1]}"),
		       ": profile 2 of it holds times, the first one does not");
	expect_refused(SPEEDSCOPE(ABC, "{\"unit\":\"ns\"}"),
		       ": damaged JSON at byte 25: \"ns\" is not a unit of speedscope");
	expect_refused(SPEEDSCOPE(ABC, "{\"unit\":\"none\",\"samples\":[[0]],\"weights\":[]}"),
		       ": damaged JSON at byte 57: a profile of 1 samples has 0 weights");
	expect_refused(SPEEDSCOPE(ABC, "{\"unit\":\"none\",\"events\":[{\"type\":\"C\","
				       "\"frame\":0,\"at\":0}]}"),
		       ": event 1 of a profile closes frame 0, which is not the one opened last");
	expect_refused(SPEEDSCOPE(ABC,
				  "{\"unit\":\"none\",\"events\":[{\"type\":\"O\","
				  "\"frame\":0,\"at\":2},{\"type\":\"C\",\"frame\":0,\"at\":1}]}"),
		       ": event 2 of a profile is before the last");
	expect_refused(SPEEDSCOPE(ABC, "{\"unit\":\"seconds\",\"samples\":[[0]],"
				       "\"weights\":[20000000000]}"),
		       ": a value is too large");
	made_expect(SPEEDSCOPE(ABC, "{\"unit\":\"none\",\"samples\":[[0]],"
				    "\"weights\":[18446744073709551615]}"),
		    plain, PROFILE_ONCPU, "[unknown];a 18446744073709551615\n");
}

/* The Firefox Profiler */

#define META                                                                                       \
	"\"meta\":{\"preprocessedProfileVersion\":%d,\"interval\":2,\"startTime\":1000.5,"         \
	"\"categories\":[{\"name\":\"Other\",\"color\":\"grey\"},{\"name\":\"Kernel\"}]}"
#define TABLES                                                                                     \
	"\"frameTable\":{\"func\":[0,1,2],\"category\":[0,0,1],\"inlineDepth\":[0,1,0],"           \
	"\"line\":[null,7,null]},\"funcTable\":{\"name\":[0,1,2],\"resource\":[0,-1,-1],"          \
	"\"fileName\":[null,3,null]},\"resourceTable\":{\"name\":[4],\"type\":[1]},"               \
	"\"stringArray\":[\"a\",\"b\",\"c\",\"b.c\",\"lib.so\"]"

static void expect_firefox(const char *text, int version, enum profile_mode mode,
			   const char *expected)
{
	char file[2048];

	assert_true((size_t)snprintf(file, sizeof file, text, version) < sizeof file);
	made_expect(file, plain, mode, expected);
}

static void firefox(void **state)
{
	expect_firefox(
		"{" META ",\"threads\":[{\"name\":\"x\",\"pid\":\"7\",\"tid\":8,"
		"\"samples\":{\"stack\":[1,2,null,1],\"weight\":null,\"weightType\":"
		"\"samples\"},\"stackTable\":{\"prefix\":[null,0,1],\"frame\":[0,1,2]}," TABLES
		"}]}",
		47, PROFILE_ONCPU, "x;a;b_[i] 2\nx;a;b_[i];c_[k] 1\n");
	/* Tables of the file; sample times given as differences. */
	expect_firefox(
		"{\"threads\":[{\"name\":\"x\",\"samples\":{\"stack\":[1,2],\"weight\":"
		"[0.5,0.0015],\"weightType\":\"tracing-ms\"}},{\"name\":\"y\",\"samples\":"
		"{\"stack\":[0],\"weight\":[2],\"weightType\":\"tracing-ms\"}}]," META
		",\"shared\":{\"stackTable\":{\"prefixOffset\":[0,1,2],\"frame\":[0,1,2]}," TABLES
		"}}",
		66, PROFILE_WALL, "x;a;b_[i] 500\nx;a;c_[k] 2\ny;a 2000\n");
	/* No text at the beginning of the strings. */
	expect_firefox(
		"{" META ",\"threads\":[{\"name\":\"x\",\"samples\":{\"stack\":[1]},"
		"\"stackTable\":{\"prefix\":[null,0],\"frame\":[0,1]},\"frameTable\":"
		"{\"func\":[0,1]},\"funcTable\":{\"name\":[0,1]},\"stringArray\":[null,\"b\"]}]}",
		47, PROFILE_ONCPU, "x;[unknown];b 1\n");
}

static void facts_of_firefox(void **state)
{
	struct input input = made_input(plain);
	const struct profile *profile = input.profile;

	assert_int_equal(
		made_read(
			&input,
			"{\"meta\":{\"preprocessedProfileVersion\":47,\"interval\":2,\"startTime\":"
			"1000.5},\"threads\":[{\"name\":\"x\",\"pid\":\"7\",\"tid\":\"8\","
			"\"samples\":{\"stack\":[0],\"weight\":[3]},\"stackTable\":{\"prefix\":"
			"[null],\"frame\":[0]},\"frameTable\":{\"func\":[0]},\"funcTable\":"
			"{\"name\":[0]},\"stringArray\":[\"a\"]}]}"),
		0);
	assert_int_equal(profile->n_samples, 1);
	assert_int_equal(profile->samples[0].pid, 7);
	assert_int_equal(profile->samples[0].tid, 8);
	assert_int_equal(profile->samples[0].count, 3);
	assert_true(profile->frequency == 500);
	assert_int_equal(profile->start_realtime_ns, 1000500000);
	input_done(&input);
}

static void faults_of_firefox(void **state)
{
	static const char thread[] = "{\"meta\":{\"preprocessedProfileVersion\":47},\"threads\":"
				     "[{\"samples\":{\"stack\":[%s]},\"stackTable\":{\"prefix\":"
				     "[%s],\"frame\":[%s]},\"frameTable\":{\"func\":[%s]},"
				     "\"funcTable\":{\"name\":[0]},\"stringArray\":[\"a\"]}]}";
	static const struct {
		const char *sample, *prefix, *frame, *function, *what;
	} cases[] = {
		{"1", "null", "0", "0", ": a sample refers to stack 1, where there are 1"},
		{"0", "0", "0", "0", ": stack 0 begins with a later one"},
		{"0", "null", "4", "0", ": a stack refers to frame 4, where there are 1"},
		{"0", "null", "0", "2", ": frame 0 has no function"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[512];

		snprintf(text, sizeof text, thread, cases[i].sample, cases[i].prefix,
			 cases[i].frame, cases[i].function);
		expect_refused(text, cases[i].what);
	}
	expect_refused("{\"meta\":{\"version\":27},\"threads\":[]}",
		       ": is as Firefox recorded it, not as its profiler saves it: "
		       "meta.preprocessedProfileVersion is missing");
}

/* A tree of stacks can describe more frames than the file has bytes; memory must not follow. */
static void stacks_without_bound(void **state)
{
	struct input input = made_input(plain);
	size_t n = 200000, size;
	char *text;
	FILE *stream = open_memstream(&text, &size);

	fputs("{\"meta\":{\"preprocessedProfileVersion\":66},\"threads\":[{\"samples\":{\"stack\":["
	      "0",
	      stream);
	for (size_t i = 1; i < n; i++)
		fprintf(stream, ",%zu", i);
	fputs("]}}],\"shared\":{\"stackTable\":{\"prefixOffset\":[0", stream);
	for (size_t i = 1; i < n; i++)
		fputs(",1", stream);
	fputs("],\"frame\":[0", stream);
	for (size_t i = 1; i < n; i++)
		fputs(",0", stream);
	fputs("]},\"frameTable\":{\"func\":[0]},\"funcTable\":{\"name\":[0]},\"stringArray\":["
	      "\"a\"]}}",
	      stream);
	fclose(stream);
	assert_int_equal(made_read_bytes(&input, text, size), -EINVAL);
	assert_non_null(strstr(made_failure.what, ": its stacks have more than 6"));
	input_done(&input);
	free(text);
}

/* Round trips */

typedef int (*export_fn)(struct profile *, const struct unfold_options *, FILE *);

static void expect_back(const char *folded, export_fn export, enum profile_mode mode)
{
	struct input input = made_input(plain);
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_int_equal(made_read(&input, folded), 0);
	input.profile->start_realtime_ns = 1795317544377186647;
	input.profile->duration_ns = 12345678901;
	input.profile->frequency = mode == PROFILE_ONCPU ? 99.5 : 0;
	assert_int_equal(
		strings_add(&input.profile->strings, "make -j \"2\"", &input.profile->command_line),
		0);
	assert_int_equal(export(input.profile, &made_all, stream), 0);
	fclose(stream);
	input_done(&input);

	input = made_input(plain);
	assert_int_equal(made_read_bytes(&input, text, size), 0);
	assert_int_equal(input.profile->mode, mode);
	made_expect_profile(input.profile, &made_all, folded);
	assert_int_equal(input.profile->start_realtime_ns, 1795317544377186647);
	assert_int_equal(input.profile->duration_ns, 12345678901);
	assert_true(input.profile->frequency == (mode == PROFILE_ONCPU ? 99.5 : 0));
	assert_string_equal(strings_get(&input.profile->strings, input.profile->command_line),
			    "make -j \"2\"");
	input_done(&input);
	free(text);
}

static void there_and_back(void **state)
{
	static const struct {
		enum profile_mode mode;
		const char *folded;
	} cases[] = {
		{PROFILE_ONCPU, "sh 3\nsh;[truncated] 2\nsh;[truncated];f 2\nsh;sh 4\n"},
		{PROFILE_ONCPU, "a;f 8\na;f;f_[i];g_[k];h_[j] 7\na;f_[i];f;f_[i] 7\na;f_[k] 1\n"},
		{PROFILE_ONCPU, "a;[a.so+0x1];[kernel+0x2]_[k];[vdso+0x3] 1\na;g_[k]_[k] 2\n"},
		{PROFILE_ONCPU, "a;x (b.c:12);\"\\ \xe6\xbc\xa2 \xe2\x80\xaf 1\nb;(--);c-7 1\n"},
		{PROFILE_OFFCPU, "[idle];db;f;[poll] 7\ndb;f;[futex];--;w_[k];m;b-9 3\n"
				 "db;f;[sleep];--;[interrupt] 3\ndb;f;g_[i];[page fault] 11\n"},
		{PROFILE_WALL, "a;f;[futex] 2\na;f;[on-cpu] 1000000\na;f;[preempted] 2\n"},
		{PROFILE_OFFCPU, "a-1/2;f;[futex] 2\na-1/3;f;[futex] 5\nb-9-4/4;f;[disk] 2\n"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		expect_back(cases[i].folded, export_speedscope, cases[i].mode);
		expect_back(cases[i].folded, export_firefox, cases[i].mode);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),	     cmocka_unit_test(texts),
		cmocka_unit_test(long_text),	     cmocka_unit_test(skipped),
		cmocka_unit_test(damaged),   cmocka_unit_test(facts),	     cmocka_unit_test(which_files),
		cmocka_unit_test(sampled),	     cmocka_unit_test(units),
		cmocka_unit_test(evented),	     cmocka_unit_test(faults_of_speedscope),
		cmocka_unit_test(firefox),	     cmocka_unit_test(facts_of_firefox),
		cmocka_unit_test(faults_of_firefox), cmocka_unit_test(stacks_without_bound),
		cmocka_unit_test(there_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
