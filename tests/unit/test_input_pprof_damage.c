/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pprof files that are damaged are refused, and those that repeat themselves take no room. */
#include "unit/made_pprof_file.h"

static void expect_fault(const struct made_message *file, const char *what)
{
	struct input input = made_input((struct input_options){0});

	assert_int_equal(read_file(&input, file), -EINVAL);
	assert_string_equal(made_failure.what, what);
	input_done(&input);
}

static void cut_files(void **state)
{
	struct made_message file = go_profile();
	struct input input;
	size_t n_whole = 0;

	for (size_t n = 2; n < file.n; n++) {
		int r;

		input = made_input((struct input_options){0});
		r = made_read_bytes(&input, file.bytes, n);
		n_whole += r == 0;
		if (r != 0) {
			assert_int_equal(r, -EINVAL);
			assert_true(strncmp(made_failure.what, ": damaged pprof at byte ", 24) ==
				    0);
		}
		input_done(&input);
	}
	/* Cut after everything that the samples refer to. */
	assert_true(n_whole < 8);
}

/* With any byte changed to any value, reading gives an error or a profile. */
static void changed_files(void **state)
{
	static const unsigned char changes[] = {0x01, 0x02, 0x08, 0x40, 0x80, 0xff};
	struct made_message whole = go_profile();

	for (size_t at = 0; at < whole.n; at++)
		for (size_t i = 0; i < COUNT(changes); i++) {
			struct made_message file = whole;
			struct input input = made_input((struct input_options){0});
			int r;

			file.bytes[at] ^= changes[i];
			r = read_file(&input, &file);
			assert_true(r == 0 || r == -EINVAL);
			assert_true((r == 0) == !*made_failure.what);
			if (r == 0)
				free(made_folded(input.profile, &made_all));
			input_done(&input);
		}
}

static void wrong_references(void **state)
{
	static const char *const strings[] = {"", "samples", "count", "f"};
	struct made_message made, *file = &made;

#define BEGIN()                                                                                    \
	made.n = 0;                                                                                \
	add_strings(file, strings, COUNT(strings));                                                \
	add_type(file, 1, 2)
	BEGIN();
	add_sample(file, IDS(7), VALUES(1), NULL, 0);
	expect_fault(file, ": damaged pprof at byte 27: location 7 is not there");
	BEGIN();
	add_sample(file, IDS(0), VALUES(1), NULL, 0);
	expect_fault(file,
		     ": damaged pprof at byte 27: a sample refers to location 0, which is not "
		     "a valid id");
	BEGIN();
	add_sample(file, IDS(1), VALUES(1), NULL, 0);
	add_location(file, 1, 3, 0, NULL);
	expect_fault(file, ": damaged pprof at byte 35: mapping 3 is not there");
	BEGIN();
	add_sample(file, IDS(1), VALUES(1), NULL, 0);
	add_location(file, 1, 0, 0, FUNCTIONS(4));
	expect_fault(file, ": damaged pprof at byte 35: function 4 is not there");
	BEGIN();
	add_function(file, 1, 4, 0, 0);
	expect_fault(file,
		     ": damaged pprof at byte 27: this refers to string 4, where there are 4");
	BEGIN();
	add_function(file, 1, -1, 0, 0);
	expect_fault(file,
		     ": damaged pprof at byte 27: this refers to string -1, where there are 4");
	BEGIN();
	add_mapping(file, 1, 0, 0, 99);
	expect_fault(file,
		     ": damaged pprof at byte 27: this refers to string 99, where there are 4");
	BEGIN();
	add_location(file, 1, 0, 0, NULL);
	add_sample(file, IDS(1), VALUES(1), LABELS({9, 1, 0}));
	expect_fault(file,
		     ": damaged pprof at byte 31: this refers to string 9, where there are 4");
	BEGIN();
	add_function(file, 1, 3, 0, 0);
	add_function(file, 1, 3, 0, 0);
	expect_fault(file, ": damaged pprof at byte 33: function 1 is there twice");
	BEGIN();
	add_location(file, 0, 0, 0, NULL);
	expect_fault(file, ": damaged pprof at byte 27: a location has the id 0");
	BEGIN();
	add_type(file, 9, 2);
	expect_fault(file, ": damaged pprof at byte 0: this refers to string 9, where there are 4");
#undef BEGIN
}

static void wrong_values(void **state)
{
	static const char *const strings[] = {"", "samples", "count", "off_cpu", "seconds"};
	struct made_message made, *file = &made;

#define BEGIN()                                                                                    \
	made.n = 0;                                                                                \
	add_strings(file, strings, COUNT(strings));                                                \
	add_type(file, 1, 2);                                                                      \
	add_type(file, 3, 4);                                                                      \
	add_location(file, 1, 0, 0, NULL)
	BEGIN();
	add_sample(file, IDS(1), VALUES(1), NULL, 0);
	expect_fault(file, ": damaged pprof at byte 52: samples have 1 values, but there are 2 "
			   "types of them");
	BEGIN();
	add_sample(file, IDS(1), VALUES(1, 2), NULL, 0);
	add_sample(file, IDS(1), VALUES(1), NULL, 0);
	expect_fault(file, ": damaged pprof at byte 61: a sample has another number of values than "
			   "the first one");
	BEGIN();
	add_sample(file, IDS(1), NULL, 0, NULL, 0);
	expect_fault(file, ": damaged pprof at byte 52: a sample has no values");
	BEGIN();
	add_sample(file, IDS(1), VALUES(1, -2), NULL, 0);
	expect_fault(file, ": has negative values, like the difference of two profiles");
	BEGIN();
	add_sample(file, IDS(1), VALUES(1, INT64_MAX), NULL, 0);
	expect_fault(file, ": damaged pprof at byte 52: a time of 584 years");
	BEGIN();
	add_sample(file, IDS(1), VALUES(INT64_MAX, 1), NULL, 0);
	add_sample(file, IDS(1), VALUES(INT64_MAX, 1), NULL, 0);
	expect_fault(file, ": damaged pprof at byte 69: the values are too large to be added up");
#undef BEGIN
}

/* A different stack each time, so that only the profile's sum is too large. */
static void too_large_a_sum(void **state)
{
	static const char *const strings[] = {"", "samples", "count"};
	struct made_message made = {.n = 0}, *file = &made;

	add_strings(file, strings, COUNT(strings));
	add_type(file, 1, 2);
	for (uint64_t i = 1; i <= 3; i++) {
		add_location(file, i, 0, 0, NULL);
		add_sample(file, IDS(i), VALUES(INT64_MAX), NULL, 0);
	}
	expect_fault(file, ": damaged pprof at byte 68: the values are too large to be added up");
}

/* What follows the beginning of a pprof file with 9 strings. */
#define STRINGS "\x32\x00\x32\x00\x32\x00\x32\x00\x32\x00\x32\x00\x32\x00\x32\x00\x32\x00"

static void wrong_bytes(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *what;
	} cases[] = {
		{STRINGS "\x32\x01", 20, "18: the file ends in the middle of a field"},
		{STRINGS "\x32", 19, "18: the file ends in the middle of a field"},
		{"\x32\x01x\x32\x00", 5, "0: the first string is not empty"},
		{STRINGS "\x10\x00\x00", 21, "18: field 2 has the wrong type"},
		{STRINGS "\x4a\x01x", 21, "18: field 9 has the wrong type"},
		{STRINGS "\x32\xff\xff\xff\x7f", 23, "18: field 6 has 268435455 bytes"},
		{STRINGS "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 29,
		 "18: field 2 has 18446744073709551615 bytes"},
		{STRINGS "\x12\x02\x0a\x05", 22, "18: a sample is not a message"},
		{STRINGS "\x12\x03\x0a\x01\xff", 23, "18: a location of a sample is not a number"},
		{STRINGS "\x12\x03\x12\x01\xff", 23, "18: a value of a sample is not a number"},
		{STRINGS "\x12\x05\x0dxxxx", 25, "18: a field of a sample has the wrong type"},
		{STRINGS "\x22\x02\x22\x05", 22, "18: field 4 cannot be decoded"},
		{STRINGS "\x22\x02\x20\x05", 22, "18: field 4 cannot be decoded"},
		{STRINGS "\x22\x04\x22\x02\x0a\x00", 24, "18: field 4 cannot be decoded"},
		{STRINGS "\x1a\x02\x0a\x00", 22, "18: field 3 cannot be decoded"},
		{STRINGS "\x2a\x01\x08", 21, "18: field 5 cannot be decoded"},
		{STRINGS "\x0a\x05\x0dxxxx", 25, "18: field 1 cannot be decoded"},
		{STRINGS "\x68\x05\x07", 21, "20: the file ends in the middle of a field"},
		{STRINGS "\x6a\x01\xff", 21, "18: field 13 cannot be decoded"},
		{STRINGS "\x9a\x06\x05x", 22, "18: the file ends in this field"},
		{STRINGS "\x07", 19, "18: the file ends in the middle of a field"},
		{STRINGS "\x07xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 49,
		 "18: no field of a message begins here"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char what[128];

		snprintf(what, sizeof what, ": damaged pprof at byte %s", cases[i].what);
		made_expect_failure(cases[i].bytes, cases[i].n, -EINVAL, what);
	}
}

/* A million repetitions take no more room than one. */
static void repeated_samples(void **state)
{
	static const char *const strings[] = {"", "samples", "count"};
	struct made_message made = {.n = 0}, *file = &made;
	struct input input = made_input((struct input_options){0});
	size_t n_sample = 8, n_samples = 300000, n;
	char *bytes;

	add_strings(file, strings, COUNT(strings));
	add_type(file, 1, 2);
	add_location(file, 1, 0, 0, NULL);
	n = file->n;
	bytes = malloc(n + n_samples * n_sample);
	memcpy(bytes, file->bytes, n);
	for (size_t i = 0; i < n_samples; i++, n += n_sample)
		memcpy(bytes + n, "\x12\x06\x0a\x01\x01\x12\x01\x01", n_sample);
	assert_int_equal(made_read_bytes(&input, bytes, n), 0);
	assert_int_equal(input.profile->n_samples, 1);
	assert_int_equal(input.profile->samples[0].count, n_samples);
	free(bytes);
	input_done(&input);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_files),	    cmocka_unit_test(changed_files),
		cmocka_unit_test(wrong_references), cmocka_unit_test(wrong_values),
		cmocka_unit_test(too_large_a_sum),  cmocka_unit_test(wrong_bytes),
		cmocka_unit_test(repeated_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
