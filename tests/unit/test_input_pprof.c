/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pprof files: ours come back unchanged, those of other tools keep their meaning. */
#include "unit/made_pprof_file.h"

static const struct unfold_options plain;

static void add_bytes(struct made_message *file, const char *bytes, size_t n)
{
	memcpy(file->bytes + file->n, bytes, n);
	file->n += n;
}

static void expect_lines(const struct made_message *file, enum profile_mode mode,
			 const char *expected)
{
	struct input input = made_input((struct input_options){0});
	int r = read_file(&input, file);

	assert_string_equal(made_failure.what, "");
	assert_int_equal(r, 0);
	assert_int_equal(input.profile->mode, mode);
	made_expect_profile(input.profile, &made_all, expected);
	input_done(&input);
}

/* Round trips */

static void expect_round(struct profile *profile, const struct unfold_options *unfold)
{
	struct input input = made_input((struct input_options){0});
	size_t n, n_again;
	char *bytes = made_pprof(profile, unfold, &n), *again, *lines, *lines_again;

	assert_int_equal(made_read_bytes(&input, bytes, n), 0);
	assert_int_equal(input.profile->mode, profile->mode);
	again = made_pprof(input.profile, unfold, &n_again);
	assert_int_equal(n, n_again);
	assert_memory_equal(bytes, again, n);
	lines = made_folded(profile, unfold);
	lines_again = made_folded(input.profile, unfold);
	assert_string_equal(lines_again, lines);
	free(bytes);
	free(again);
	free(lines);
	free(lines_again);
	input_done(&input);
}

static void our_files_come_back(void **state)
{
	for (int i = 0; i < 300; i++) {
		struct unfold_options options = {.no_inline = i % 8 == 1,
						 .no_kernel = i % 8 == 2,
						 .no_reason = i % 8 == 3,
						 .fold_idle = i >> 3 & 1,
						 .waker_depth = i % 4,
						 .threads = i % 5 == 0};
		struct profile *profile = made_random_profile(i % N_PROFILE_MODES, i);

		expect_round(profile, &options);
		profile_free(profile);
	}
}

static void hostile_names_come_back(void **state)
{
	for (int mode = 0; mode < N_PROFILE_MODES; mode++) {
		struct profile *profile = made_hostile(mode), *clean;
		struct input input = made_input((struct input_options){0});
		size_t n;
		char *bytes = made_pprof(profile, &plain, &n);

		/*
		 * Bytes that are not text are replaced in the first file; the second file is equal
		 * to it.
		 */
		assert_int_equal(made_read_bytes(&input, bytes, n), 0);
		clean = input.profile;
		assert_int_equal(clean->n_samples, profile->n_samples);
		expect_round(clean, &plain);
		free(bytes);
		input_done(&input);
		profile_free(profile);
	}
}

static void folded_lines_come_back(void **state)
{
	static const char lines[] = "[idle];db;start;poll;[poll] 900\n"
				    "a;[truncated];x;jit_[j];read_[k];[on-cpu] 7\n"
				    "db;--;x;(page fault);--;wake_[k];unlock;worker-9;--;end_[k];"
				    "[interrupt] 1000\n"
				    "db;main;[futex] 20\n"
				    "db;main;[futex];--;f;[truncated];w 22\n"
				    "db;main;in_[i];[preempted] 21\n"
				    "db;main;wait;(--) 3\n"
				    "e-1/2;[libfoo.so+0x12];[kernel+0xff]_[k];[stopped] 4\n";
	struct input input = made_input((struct input_options){0}),
		     again = made_input((struct input_options){0});
	size_t n;
	char *bytes;

	assert_int_equal(made_read(&input, lines), 0);
	bytes = made_pprof(input.profile, &made_all, &n);
	assert_int_equal(made_read_bytes(&again, bytes, n), 0);
	made_expect_profile(again.profile, &made_all, lines);
	free(bytes);
	input_done(&input);
	input_done(&again);
}

static void facts_come_back(void **state)
{
	struct profile *profile = made_random_profile(PROFILE_ONCPU, 1), *read;
	struct input input = made_input((struct input_options){0});
	size_t n;
	char *bytes = made_pprof(profile, &plain, &n);

	assert_int_equal(made_read_bytes(&input, bytes, n), 0);
	read = input.profile;
	assert_float_equal(read->frequency, 99, 0.001);
	assert_int_equal(read->start_realtime_ns, profile->start_realtime_ns);
	assert_int_equal(read->duration_ns, profile->duration_ns);
	assert_string_equal(strings_get(&read->strings, read->command_line), "a --all");
	assert_string_equal(strings_get(&read->strings, read->host), "host");
	assert_string_equal(strings_get(&read->strings, read->kernel), "6.1.0");
	free(bytes);
	input_done(&input);
	profile_free(profile);
}

/* JIT code of two processes at one address. */
static void other_code_at_the_same_address(void **state)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);

	for (uint32_t pid = 1; pid <= 3; pid++) {
		struct profile_mapping mapping = {.kind = MAPPING_ANON, .pid = pid};
		struct profile_frame frame = {FRAME_JIT,
					      made_string(profile, pid == 1 ? "one" : "other")};
		uint32_t id, location;

		made_check(profile_add_mapping(profile, &mapping, &id), "profile_add_mapping");
		made_check(profile_add_location(profile, id, 0x7000, false, &location),
			   "profile_add_location");
		made_check(profile_set_frames(profile, location, &frame, 1), "profile_set_frames");
		made_add_locations(profile, &(struct made_sample){"a", "", 1}, &location, 1);
	}
	expect_round(profile, &plain);
	profile_free(profile);
}

/* Files of other tools */

static const char go_lines[] = "server;[vdso+0x123] 2\n"
			       "server;runtime.goexit;[server+0x1700] 1\n"
			       "server;runtime.goexit;main.main;main.inner_[i] 4\n";

static void profiles_of_go(void **state)
{
	struct made_message file = go_profile();
	struct input input = made_input((struct input_options){0}),
		     no_inline = made_input((struct input_options){.no_inline = true});
	size_t n;
	unsigned char *packed = made_gzip(file.bytes, file.n, &n);

	expect_lines(&file, PROFILE_ONCPU, go_lines);
	assert_int_equal(made_read_bytes(&input, packed, n), 0);
	made_expect_profile(input.profile, &made_all, go_lines);
	assert_float_equal(input.profile->frequency, 100, 0);
	assert_int_equal(input.profile->duration_ns, 1000000000);
	made_expect_profile(input.profile, &(struct unfold_options){.lines = true},
			    "server;[vdso+0x123] 2\n"
			    "server;runtime.goexit (main.go:3);[server+0x1700] 1\n"
			    "server;runtime.goexit (main.go:3);main.main (main.go:1);"
			    "main.inner (main.go:2)_[i] 4\n");
	expect_round(input.profile, &plain);
	assert_int_equal(read_file(&no_inline, &file), 0);
	made_expect_profile(no_inline.profile, &made_all,
			    "server;[vdso+0x123] 2\n"
			    "server;runtime.goexit;[server+0x1700] 1\n"
			    "server;runtime.goexit;main.main 4\n");
	free(packed);
	input_done(&input);
	input_done(&no_inline);
}

/* Values of several kinds; strings: 1 objects, 2 count, 3 space, 4 bytes, 5 f, 6 unit of time. */
static struct made_message two_values(const char *const names[4], int64_t default_type,
				      int64_t first, int64_t second)
{
	const char *const strings[] = {"", names[0], names[1], names[2], names[3], "f"};
	struct made_message made = {.n = 0}, *file = &made;
	pprof facts = PERFTOOLS__PROFILES__PROFILE__INIT;

	add_type(file, 1, 2);
	add_type(file, 3, 4);
	add_sample(file, IDS(1), VALUES(first, second), NULL, 0);
	add_location(file, 1, 0, 0, FUNCTIONS(1));
	add_function(file, 1, 5, 0, 0);
	add_strings(file, strings, COUNT(strings));
	facts.default_sample_type = default_type;
	add(file, &facts);
	return made;
}

static void values_are_chosen(void **state)
{
	static const struct {
		const char *names[4];
		int64_t default_type, first, second;
		enum profile_mode mode;
		const char *lines;
	} cases[] = {
		{{"inuse", "count", "space", "bytes"},
		 0,
		 3,
		 4096,
		 PROFILE_ONCPU,
		 "[unknown];f 4096\n"},
		{{"inuse", "count", "space", "bytes"},
		 1,
		 3,
		 4096,
		 PROFILE_ONCPU,
		 "[unknown];f 3\n"},
		{{"inuse", "count", "space", "bytes"},
		 5,
		 3,
		 4096,
		 PROFILE_ONCPU,
		 "[unknown];f 4096\n"},
		{{"samples", "count", "cpu", "nanoseconds"},
		 0,
		 3,
		 4096,
		 PROFILE_ONCPU,
		 "[unknown];f 3\n"},
		{{"contentions", "count", "delay", "nanoseconds"},
		 0,
		 3,
		 4096,
		 PROFILE_OFFCPU,
		 "[unknown];f 4\n"},
		{{"contentions", "count", "delay", "microseconds"},
		 0,
		 3,
		 4096,
		 PROFILE_OFFCPU,
		 "[unknown];f 4096\n"},
		{{"samples", "count", "off_cpu", "ms"},
		 0,
		 3,
		 5,
		 PROFILE_OFFCPU,
		 "[unknown];f 5000\n"},
		{{"samples", "count", "wall", "seconds"},
		 0,
		 3,
		 5,
		 PROFILE_WALL,
		 "[unknown];f 5000000\n"},
		{{"x", "bytes", "cpu", "nanoseconds"},
		 0,
		 3,
		 4096,
		 PROFILE_ONCPU,
		 "[unknown];f 4096\n"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct made_message file = two_values(cases[i].names, cases[i].default_type,
						      cases[i].first, cases[i].second);

		expect_lines(&file, cases[i].mode, cases[i].lines);
	}
}

/* CPU time without a count: the period gives the number of samples. */
static void time_is_counted_in_periods(void **state)
{
	static const char *const strings[] = {"", "cpu", "milliseconds", "f"};
	struct made_message made = {.n = 0}, *file = &made;
	pprof facts = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__ValueType period = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;

	add_type(file, 1, 2);
	add_sample(file, IDS(1), VALUES(79), NULL, 0);
	add_sample(file, IDS(2), VALUES(1), NULL, 0);
	add_location(file, 1, 0, 0, FUNCTIONS(1));
	add_location(file, 2, 0, 0, FUNCTIONS(1, 1));
	add_function(file, 1, 3, 3, 0);
	add_strings(file, strings, COUNT(strings));
	period.type = 1;
	period.unit = 2;
	facts.period_type = &period;
	facts.period = 10;
	add(file, &facts);
	expect_lines(file, PROFILE_ONCPU, "[unknown];f 8\n[unknown];f;f_[i] 1\n");
}

static const char *const label_strings[] = {
	"",	  "samples", "count",  "comm",	"thread_comm", "pid",  "tid",  "proc",	  "thread",
	"reason", "futex",   "nobody", "other", "f",	       "idle", "true", "off_cpu", "ns"};

static struct made_message with_labels(const struct made_label *labels, size_t n)
{
	struct made_message made = {.n = 0}, *file = &made;

	add_strings(file, label_strings, COUNT(label_strings));
	add_type(file, 16, 17);
	add_function(file, 1, 13, 13, 0);
	add_location(file, 1, 0, 0, FUNCTIONS(1));
	add_sample(file, IDS(1), VALUES(5000), labels, n);
	return made;
}

static void labels_are_understood(void **state)
{
	struct made_message file = with_labels(LABELS({3, 7, 0}, {5, 0, 12}, {6, 0, 13}));
	struct input input = made_input((struct input_options){0});

	assert_int_equal(read_file(&input, &file), 0);
	made_expect_profile(input.profile, &(struct unfold_options){.threads = true},
			    "proc-12/13;f 5\n");
	input_done(&input);

	file = with_labels(LABELS({4, 8, 0}, {3, 7, 0}));
	expect_lines(&file, PROFILE_OFFCPU, "thread;f 5\n");
	file = with_labels(LABELS({3, 7, 0}, {9, 10, 0}, {14, 15, 0}));
	expect_lines(&file, PROFILE_OFFCPU, "[idle];proc;f;[futex] 5\n");
	/* A reason that is not ours, impossible numbers, unknown labels. */
	file = with_labels(LABELS({9, 11, 0}, {5, 0, -1}, {6, 0, 1LL << 40}, {12, 0, 3}));
	expect_lines(&file, PROFILE_OFFCPU, "[unknown];f 5\n");
}

/* Kinds of frames, by their position and by other tools' names for them. */
static void kinds_are_found(void **state)
{
	static const char *const strings[] = {
		"",	      "samples", "count",      "f",
		"f_[k]",      "g_[j]",	 "/a/x.ko.xz", "[kernel.kallsyms]_text",
		"[vsyscall]", "[heap]",	 "_[k]"};
	static const struct {
		uint64_t mapping, address, function;
		const char *lines;
	} cases[] = {
		{0, 0, 1, "[unknown];f 1\n"},
		{0, 0, 2, "[unknown];f_[k] 1\n"},
		{0, 0, 3, "[unknown];g_[j] 1\n"},
		{0, 0xffffffff81000000, 1, "[unknown];f_[k] 1\n"},
		{0, 0xffffffff81000000, 0, "[unknown];[kernel+0xffffffff81000000]_[k] 1\n"},
		{6, 0x10, 1, "x.ko.xz;f_[k] 1\n"},
		{7, 0x10, 1, "[kernel];f_[k] 1\n"},
		{8, 0xffffffffff600000, 1, "[vsyscall];f 1\n"},
		{9, 0x10, 0, "[heap];[heap] 1\n"},
		{0, 0x10, 0, "[unknown];[unknown] 1\n"},
		{0, 0, 4, "[unknown];_[k] 1\n"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct made_message made = {.n = 0}, *file = &made;

		add_strings(file, strings, COUNT(strings));
		add_type(file, 1, 2);
		add_function(file, 1, 3, 3, 0);
		add_function(file, 2, 4, 0, 0);
		add_function(file, 3, 0, 5, 0);
		add_function(file, 4, 10, 10, 0);
		if (cases[i].mapping)
			add_mapping(file, 1, 0, 0, cases[i].mapping);
		add_location(file, 1, cases[i].mapping ? 1 : 0, cases[i].address,
			     cases[i].function ? FUNCTIONS(cases[i].function) : NULL);
		add_sample(file, IDS(1), VALUES(1), NULL, 0);
		expect_lines(file, PROFILE_ONCPU, cases[i].lines);
	}
}

/* Any order, any ids, unknown fields, numbers that are not packed. */
static void files_of_any_shape(void **state)
{
	static const char *const strings[] = {"", "samples", "count", "f"};
	struct made_message made = {.n = 0}, *file = &made;

	add_strings(file, strings, 1);
	for (int i = 0; i < 8; i++)
		add_bytes(file, "\x48\x01", 2);
	add_bytes(file, "\x9a\x06\x03xyz\xa0\x06\x05\xa9\x06zzzzzzzz\xad\x06zzzz", 25);
	/* location_id: 1, location_id: 2^40, value: 4, each in a field of its own */
	add_bytes(file, "\x12\x0b\x08\x01\x08\x80\x80\x80\x80\x80\x20\x10\x04", 13);
	add_strings(file, strings + 1, COUNT(strings) - 1);
	add_location(file, 1ULL << 40, 0, 0, FUNCTIONS(UINT64_MAX));
	add_location(file, 1, 0, 0, FUNCTIONS(UINT64_MAX - 1));
	add_function(file, UINT64_MAX, 3, 3, 0);
	add_function(file, UINT64_MAX - 1, 2, 2, 0);
	add_type(file, 1, 2);
	expect_lines(file, PROFILE_ONCPU, "[unknown];f;count 4\n");
}

static void several_files_add_up(void **state)
{
	struct made_message file = go_profile();
	static const char *const waits[] = {"contentions", "count", "delay", "ns"};
	struct made_message other = two_values(waits, 0, 1, 1000);
	struct input input = made_input((struct input_options){0});

	assert_int_equal(read_file(&input, &file), 0);
	assert_int_equal(read_file(&input, &file), 0);
	assert_int_equal(made_read(&input, "server;runtime.goexit;main.main;main.inner_[i] 4\n"),
			 0);
	made_expect_profile(input.profile, &plain,
			    "server;[vdso+0x123] 4\n"
			    "server;runtime.goexit;[server+0x1700] 2\n"
			    "server;runtime.goexit;main.main;main.inner_[i] 12\n");
	assert_int_equal(input.profile->n_samples, 4);
	assert_int_equal(read_file(&input, &other), -EINVAL);
	assert_string_equal(made_failure.what,
			    ": holds times of waiting, where the files before it hold samples");
	input_done(&input);
}

/* Reading and writing a file that we wrote gives the same file. */
static void expect_stable(const struct made_message *file)
{
	struct input input = made_input((struct input_options){0});

	assert_int_equal(read_file(&input, file), 0);
	expect_round(input.profile, &made_all);
	input_done(&input);
}

/* A frame and a waker that differ in nothing but their kind. */
static void several_symbols_at_no_address(void **state)
{
	static const char *const strings[] = {"",  "off_cpu", "nanoseconds", "[sleep]", "--",
					      "w", "x"};
	Perftools__Profiles__Line line = PERFTOOLS__PROFILES__LINE__INIT, *lines[] = {&line};
	Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT;
	struct made_message made = {.n = 0}, *file = &made;

	add_type(file, 1, 2);
	add_sample(file, IDS(4, 2, 3, 2, 1, 3), VALUES(1000), NULL, 0);
	add_sample(file, IDS(5), VALUES(2000), NULL, 0);
	location.n_line = 1;
	location.line = lines;
	for (location.id = 1; location.id <= 5; location.id++) {
		line.function_id = location.id < 5 ? location.id : 3;
		location.is_folded = location.id == 5;
		PART(location, &location);
	}
	for (int id = 1; id <= 4; id++)
		add_function(file, id, id + 2, 0, 0);
	add_strings(file, strings, COUNT(strings));
	expect_stable(file);
}

/*
 * Where a mark cannot be, its text is a name: a reason at the end would look like a chain of
 * wakers.
 */
static void misplaced_marks(void **state)
{
	static const char *const strings[] = {"",   "off_cpu", "nanoseconds", "reason", "sleep",
					      "--", "f"};
	struct made_message made = {.n = 0}, *file = &made;

	add_type(file, 1, 2);
	add_sample(file, IDS(1, 2, 1, 2), VALUES(1000), LABELS({.key = 3, .str = 4}));
	for (int id = 1; id <= 2; id++) {
		add_location(file, id, 0, 0, FUNCTIONS(id));
		add_function(file, id, id + 4, 0, 0);
	}
	add_strings(file, strings, COUNT(strings));
	expect_lines(file, PROFILE_OFFCPU, "[unknown];f;(--);f;(--);[sleep] 1\n");
	expect_stable(file);
}

static void samples_in_their_order(void **state)
{
	struct made_message file = go_profile();
	struct input input = made_input((struct input_options){.in_order = true});
	static const uint64_t counts[] = {3, 1, 2, 1};

	assert_int_equal(read_file(&input, &file), 0);
	assert_int_equal(input.profile->n_samples, COUNT(counts));
	for (size_t i = 0; i < COUNT(counts); i++)
		assert_int_equal(input.profile->samples[i].count, counts[i]);
	input_done(&input);
}

static void an_empty_file(void **state)
{
	static const char *const strings[] = {"", "samples", "count"};
	struct made_message made = {.n = 0}, *file = &made;

	add_type(file, 1, 2);
	add_strings(file, strings, COUNT(strings));
	expect_lines(file, PROFILE_ONCPU, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_files_come_back),
		cmocka_unit_test(hostile_names_come_back),
		cmocka_unit_test(folded_lines_come_back),
		cmocka_unit_test(facts_come_back),
		cmocka_unit_test(other_code_at_the_same_address),
		cmocka_unit_test(profiles_of_go),
		cmocka_unit_test(values_are_chosen),
		cmocka_unit_test(time_is_counted_in_periods),
		cmocka_unit_test(labels_are_understood),
		cmocka_unit_test(kinds_are_found),
		cmocka_unit_test(files_of_any_shape),
		cmocka_unit_test(several_files_add_up),
		cmocka_unit_test(several_symbols_at_no_address),
		cmocka_unit_test(misplaced_marks),
		cmocka_unit_test(samples_in_their_order),
		cmocka_unit_test(an_empty_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
