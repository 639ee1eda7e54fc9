/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile as a pprof file: its contents as protobuf-c reads them. */
#include "unit/made_pprof.h"

static const struct unfold_options plain;

/* Samples as text: functions, leaf first, inlined ones after `<`; then values; then labels. */
static char *sample_text(const pprof *message, size_t i)
{
	const Perftools__Profiles__Sample *sample = message->sample[i];
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t k = 0; k < sample->n_location_id; k++) {
		const Perftools__Profiles__Location *location =
			message->location[sample->location_id[k] - 1];

		for (size_t n = 0; n < location->n_line; n++) {
			const Perftools__Profiles__Function *function =
				message->function[location->line[n]->function_id - 1];

			fprintf(out, "%s%s",
				n   ? "<"
				: k ? ";"
				    : "",
				pprof_text(message, function->system_name ? function->system_name
									  : function->name));
		}
	}
	for (size_t k = 0; k < sample->n_value; k++)
		fprintf(out, " %lld", (long long)sample->value[k]);
	for (size_t k = 0; k < sample->n_label; k++) {
		const Perftools__Profiles__Label *label = sample->label[k];

		fprintf(out, " %s=", pprof_text(message, label->key));
		if (label->str)
			fprintf(out, "%s", pprof_text(message, label->str));
		else
			fprintf(out, "%lld", (long long)label->num);
	}
	fclose(out);
	return text;
}

static void expect_sample(const pprof *message, size_t i, const char *expected)
{
	char *text;

	assert_true(i < message->n_sample);
	text = sample_text(message, i);
	assert_string_equal(text, expected);
	free(text);
}

static void expect_type(const pprof *message, const Perftools__Profiles__ValueType *type,
			const char *name, const char *unit)
{
	assert_string_equal(pprof_text(message, type->type), name);
	assert_string_equal(pprof_text(message, type->unit), unit);
}

static pprof *message_of(enum profile_mode mode, const struct made_sample *samples, size_t n,
			 const struct unfold_options *unfold)
{
	struct profile *profile = made_profile(mode, samples, n);
	pprof *message = pprof_message(profile, unfold);

	profile_free(profile);
	pprof_check(message);
	return message;
}

/* Values */

static void samples_and_their_cpu_time(void **state)
{
	static const struct made_sample samples[] = {{"a", "main;f", 3, .pid = 7, .tid = 8},
						     {"a", "main", 2}};
	struct profile *profile = made_profile(PROFILE_ONCPU, samples, COUNT(samples));
	pprof *message;

	profile->frequency = 99;
	profile->start_realtime_ns = 1700000000123456789;
	profile->duration_ns = 5000000001;
	profile->command_line = made_string(profile, "a -x");
	profile->host = made_string(profile, "box");
	profile->kernel = made_string(profile, "Linux 6.1");
	message = pprof_message(profile, &plain);
	pprof_check(message);
	assert_int_equal(message->n_sample_type, 2);
	expect_type(message, message->sample_type[0], "samples", "count");
	expect_type(message, message->sample_type[1], "cpu", "nanoseconds");
	expect_type(message, message->period_type, "cpu", "nanoseconds");
	assert_int_equal(message->period, 10101010);
	assert_string_equal(pprof_text(message, message->default_sample_type), "cpu");
	assert_int_equal(message->time_nanos, 1700000000123456789);
	assert_int_equal(message->duration_nanos, 5000000001);
	assert_int_equal(message->n_comment, 3);
	assert_string_equal(pprof_text(message, message->comment[0]), "command: a -x");
	assert_string_equal(pprof_text(message, message->comment[1]), "host: box");
	assert_string_equal(pprof_text(message, message->comment[2]), "kernel: Linux 6.1");
	assert_int_equal(message->n_sample, 2);
	expect_sample(message, 0, "f;main 3 30303030 comm=a pid=7 tid=8");
	expect_sample(message, 1, "main 2 20202020 comm=a");
	pprof_free(message);
	profile_free(profile);
}

static void samples_alone_where_no_period_is_known(void **state)
{
	pprof *message =
		message_of(PROFILE_ONCPU, &(struct made_sample){"a", "main", 3}, 1, &plain);

	assert_int_equal(message->n_sample_type, 1);
	expect_type(message, message->sample_type[0], "samples", "count");
	assert_null(message->period_type);
	assert_string_equal(pprof_text(message, message->default_sample_type), "samples");
	expect_sample(message, 0, "main 3 comm=a");
	pprof_free(message);
}

/* Whatever room for strings is left when the types are added: growing moves those that are there.
 */
static void events_have_their_names(void **state)
{
	for (size_t n = 1; n < 700; n++) {
		struct profile *profile =
			made_profile(PROFILE_ONCPU, &(struct made_sample){"a", "main", 3}, 1);
		struct profile_event event = {.name = made_string(profile, "page-faults"),
					      .is_counted = true};
		char filler[700] = "";
		pprof *message;

		memset(filler, 'x', n);
		made_string(profile, filler);
		profile->events[profile->n_events++] = event;
		message = pprof_message(profile, &plain);
		assert_int_equal(message->n_sample_type, 2);
		expect_type(message, message->sample_type[1], "page-faults", "count");
		pprof_free(message);
		profile_free(profile);
	}
}

/* A name that grows as it becomes UTF-8 moves the unit, too. */
static void invalid_events_keep_their_unit(void **state)
{
	struct profile *profile =
		made_profile(PROFILE_ONCPU, &(struct made_sample){"a", "main", 3}, 1);
	struct profile_event event = {.is_counted = true};
	char name[4001] = "";
	pprof *message;

	memset(name, '\xff', sizeof name - 1);
	event.name = made_string(profile, name);
	event.unit = made_string(profile, "pages");
	profile->events[profile->n_events++] = event;
	message = pprof_message(profile, &plain);
	assert_int_equal(message->n_sample_type, 2);
	assert_string_equal(pprof_text(message, message->sample_type[1]->unit), "pages");
	pprof_free(message);
	profile_free(profile);
}

static int export_value(enum profile_mode mode, uint64_t value, unsigned int frequency)
{
	struct profile *profile = made_profile(mode, &(struct made_sample){"a", "main", value}, 1);
	FILE *nowhere = fopen("/dev/null", "w");
	int r;

	profile->frequency = frequency;
	r = export_pprof(profile, &plain, nowhere);
	fclose(nowhere);
	profile_free(profile);
	return r;
}

static void values_that_are_too_large_are_refused(void **state)
{
	assert_int_equal(export_value(PROFILE_ONCPU, INT64_MAX, 0), 0);
	assert_int_equal(export_value(PROFILE_ONCPU, INT64_MAX + 1ULL, 0), -EOVERFLOW);
	/* The time of so many samples. */
	assert_int_equal(export_value(PROFILE_ONCPU, INT64_MAX / 1000000, 1000), 0);
	assert_int_equal(export_value(PROFILE_ONCPU, INT64_MAX / 1000000 + 1, 1000), -EOVERFLOW);
	assert_int_equal(export_value(PROFILE_OFFCPU, INT64_MAX, 0), 0);
	assert_int_equal(export_value(PROFILE_OFFCPU, INT64_MAX + 1ULL, 0), -EOVERFLOW);
}

static void waits_and_their_time(void **state)
{
	static const struct made_sample samples[] = {
		{"db", "main;sys_futex_[k]", 1500, REASON_FUTEX, 7, 8},
		{"db", "main", 10, REASON_PAGE_FAULT, .truncated = true},
		{"db", "main", 20, REASON_POLL, .is_idle = true},
	};
	static const struct unfold_options no_reason = {.no_reason = true};
	static const struct unfold_options idle = {.fold_idle = true};
	pprof *message = message_of(PROFILE_OFFCPU, samples, COUNT(samples), &plain);

	expect_type(message, message->sample_type[0], "samples", "count");
	expect_type(message, message->sample_type[1], "off_cpu", "nanoseconds");
	assert_null(message->period_type);
	assert_int_equal(message->period, 0);
	assert_string_equal(pprof_text(message, message->default_sample_type), "off_cpu");
	expect_sample(message, 0,
		      "[futex];sys_futex_[k];main 1 1500 comm=db pid=7 tid=8 reason=futex");
	expect_sample(message, 1, "[page fault];main;[truncated] 1 10 comm=db reason=page fault");
	expect_sample(message, 2, "[poll];main 1 20 comm=db reason=poll idle=true");
	pprof_free(message);

	message = message_of(PROFILE_OFFCPU, samples, COUNT(samples), &no_reason);
	expect_sample(message, 0, "sys_futex_[k];main 1 1500 comm=db pid=7 tid=8 reason=futex");
	pprof_free(message);

	message = message_of(PROFILE_WALL, samples, COUNT(samples), &idle);
	expect_type(message, message->sample_type[1], "wall", "nanoseconds");
	expect_sample(message, 2, "[poll];main;[idle] 1 20 comm=db reason=poll idle=true");
	pprof_free(message);
}

static void wakers_are_above_their_threads(void **state)
{
	static const struct made_sample sample = {
		"db", "main;wait", 10, REASON_FUTEX,
		.wakers = {{"worker", "start;unlock;wake_[k]", 9, .truncated = true},
			   {"swapper/0", "irq_[k];bio_end_[k]", .is_interrupt = true}}};
	static const struct unfold_options one = {.waker_depth = 1}, two = {.waker_depth = 2};
	pprof *message = message_of(PROFILE_OFFCPU, &sample, 1, &plain);

	expect_sample(message, 0, "[futex];wait;main 1 10 comm=db reason=futex");
	pprof_free(message);
	message = message_of(PROFILE_OFFCPU, &sample, 1, &one);
	expect_sample(message, 0,
		      "worker-9;[truncated];start;unlock;wake_[k];--;[futex];wait;main 1 10 "
		      "comm=db reason=futex");
	pprof_free(message);
	message = message_of(PROFILE_OFFCPU, &sample, 1, &two);
	expect_sample(message, 0,
		      "[interrupt];irq_[k];bio_end_[k];--;worker-9;[truncated];start;unlock;"
		      "wake_[k];--;[futex];wait;main 1 10 comm=db reason=futex");
	pprof_free(message);
}

/* Places */

static uint32_t add_location(struct profile *profile, const struct profile_mapping *mapping,
			     uint64_t address, bool is_return, const struct profile_frame *frames,
			     uint32_t n)
{
	uint32_t id, location;

	made_check(profile_add_mapping(profile, mapping, &id), "profile_add_mapping");
	made_check(profile_add_location(profile, id, address, is_return, &location),
		   "profile_add_location");
	made_check(profile_set_frames(profile, location, frames, n), "profile_set_frames");
	return location;
}

/* A caller in a file, a function inlined into it, the kernel, JIT code. */
static struct profile *profile_with_places(uint64_t device)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	struct profile_mapping file = {.kind = MAPPING_FILE,
				       .path = made_string(profile, "/bin/a"),
				       .build_id = made_string(profile, "00ff"),
				       .device = device,
				       .start = 0x400000,
				       .limit = 0x500000,
				       .offset = 0x1000};
	struct profile_mapping kernel = {.kind = MAPPING_KERNEL,
					 .path = made_string(profile, "[kernel]")};
	struct profile_mapping memory = {.kind = MAPPING_ANON, .pid = 7};
	uint32_t source = made_string(profile, "/src/a.c");
	struct profile_frame in_file[] = {{FRAME_INLINED, made_string(profile, "inner"), source, 3},
					  {FRAME_USER, made_string(profile, "outer"), source, 9}};
	struct profile_frame in_kernel = {FRAME_KERNEL, made_string(profile, "sys_read")};
	struct profile_frame in_memory = {FRAME_JIT, made_string(profile, "jit")};
	uint32_t locations[] = {
		add_location(profile, &kernel, 0xffffffff81000010, false, &in_kernel, 1),
		add_location(profile, &file, 0x1500, true, in_file, 2),
		add_location(profile, &memory, 0x7f0000001000, true, &in_memory, 1)};

	made_add_locations(profile, &(struct made_sample){"a", "", 1}, locations, 3);
	return profile;
}

/* Addresses in a recorded process's memory stay private; offsets in files are written. */
static void places_of_recorded_files_are_invented(void **state)
{
	struct profile *profile = profile_with_places(5);
	pprof *message = pprof_message(profile, &plain);
	const Perftools__Profiles__Mapping *file = message->mapping[1];

	pprof_check(message);
	assert_int_equal(file->memory_start, 2ull << 40);
	assert_int_equal(file->memory_limit - file->memory_start, 0x100000);
	assert_int_equal(file->file_offset, 0x1000);
	assert_int_equal(message->location[1]->address - file->memory_start + file->file_offset,
			 0x14ff);
	pprof_free(message);
	profile_free(profile);
}

static void places_are_written(void **state)
{
	struct profile *profile = profile_with_places(0);
	pprof *message = pprof_message(profile, &plain);
	const Perftools__Profiles__Mapping *kernel, *file, *memory;

	pprof_check(message);
	expect_sample(message, 0, "sys_read_[k];inner<outer;jit_[j] 1 comm=a");
	assert_int_equal(message->n_mapping, 3);
	kernel = message->mapping[0], file = message->mapping[1], memory = message->mapping[2];
	assert_string_equal(pprof_text(message, kernel->filename), "[kernel.kallsyms]");
	assert_false(kernel->has_filenames);
	assert_string_equal(pprof_text(message, file->filename), "/bin/a");
	assert_string_equal(pprof_text(message, file->build_id), "00ff");
	assert_int_equal(file->memory_start, 0x400000);
	assert_int_equal(file->memory_limit, 0x500000);
	assert_int_equal(file->file_offset, 0x1000);
	assert_true(file->has_filenames && file->has_line_numbers && file->has_inline_frames);
	assert_string_equal(pprof_text(message, memory->filename), "//anon");
	assert_int_equal(message->location[0]->address, 0xffffffff81000010);
	/* The one in memory, and that of the call. */
	assert_int_equal(message->location[1]->address, 0x4004ff);
	assert_int_equal(message->location[1]->line[0]->line, 3);
	assert_int_equal(message->location[1]->line[1]->line, 9);
	assert_string_equal(pprof_text(message, message->function[1]->name), "inner");
	assert_string_equal(pprof_text(message, message->function[1]->filename), "/src/a.c");
	assert_int_equal(message->location[2]->address, 0x7f0000000fff);
	pprof_free(message);
	profile_free(profile);
}

static void names_have_no_suffix(void **state)
{
	pprof *message = message_of(PROFILE_ONCPU,
				    &(struct made_sample){"a", "main;in_[i];jit_[j];read_[k]", 1},
				    1, &plain);
	static const char *const names[] = {"read", "jit", "in", "main"};
	static const char *const system_names[] = {"read_[k]", "jit_[j]", "in_[i]", ""};

	assert_int_equal(message->n_function, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(pprof_text(message, message->function[i]->name), names[i]);
		assert_string_equal(pprof_text(message, message->function[i]->system_name),
				    system_names[i]);
	}
	pprof_free(message);
}

static void names_alone_have_no_address(void **state)
{
	struct input input = made_input((struct input_options){0});
	pprof *message;

	assert_int_equal(made_read(&input, "a;main;f 3\n"), 0);
	message = pprof_message(input.profile, &plain);
	pprof_check(message);
	assert_int_equal(message->n_mapping, 0);
	assert_int_equal(message->location[0]->address, 0);
	assert_int_equal(message->location[0]->mapping_id, 0);
	pprof_free(message);
	input_done(&input);
}

static void hidden_frames_are_not_written(void **state)
{
	static const struct unfold_options no_inline = {.no_inline = true},
					   no_kernel = {.no_kernel = true};
	struct profile *profile = profile_with_places(0);
	pprof *message = pprof_message(profile, &no_inline);

	pprof_check(message);
	expect_sample(message, 0, "sys_read_[k];outer;jit_[j] 1 comm=a");
	assert_int_equal(message->n_function, 3);
	pprof_free(message);

	message = pprof_message(profile, &no_kernel);
	pprof_check(message);
	expect_sample(message, 0, "inner<outer;jit_[j] 1 comm=a");
	assert_int_equal(message->n_mapping, 2);
	pprof_free(message);

	profile->locations[2].hidden = true;
	message = pprof_message(profile, &plain);
	pprof_check(message);
	expect_sample(message, 0, "sys_read_[k];inner<outer 1 comm=a");
	pprof_free(message);
	profile_free(profile);
}

/* Merges samples that differ in nothing that is written. */
static void equal_samples_are_added_up(void **state)
{
	static const struct made_sample samples[] = {
		{"db", "main;wait", 10, REASON_FUTEX, .wakers = {{"a", "f"}}},
		{"db", "main;wait", 20, REASON_FUTEX, .wakers = {{"b", "g"}}},
		{"db", "main;wait", 30, REASON_PIPE, .wakers = {{"b", "g"}}},
	};
	pprof *message = message_of(PROFILE_OFFCPU, samples, COUNT(samples), &plain);

	assert_int_equal(message->n_sample, 2);
	expect_sample(message, 0, "[futex];wait;main 2 30 comm=db reason=futex");
	expect_sample(message, 1, "[pipe];wait;main 1 30 comm=db reason=pipe");
	pprof_free(message);
}

static void hostile_names(void **state)
{
	for (int mode = 0; mode < N_PROFILE_MODES; mode++) {
		struct profile *profile = made_hostile(mode);
		pprof *message = pprof_message(profile, &plain);

		pprof_check(message);
		assert_int_equal(message->n_sample, N_MADE_HOSTILE + 1);
		pprof_free(message);
		profile_free(profile);
	}
}

static void invalid_text_is_replaced(void **state)
{
	struct input input = made_input((struct input_options){0});
	pprof *message;

	assert_int_equal(made_read(&input, "c\xff;b\xe2\x82;a\xff\xfe 1\n"
					   "c\xfe;b\xe2\x83;a\xc0\xc1 2\n"),
			 0);
	message = pprof_message(input.profile, &plain);
	pprof_check(message);
	assert_int_equal(message->n_sample, 1);
	expect_sample(message, 0, "a\ufffd\ufffd;b\ufffd\ufffd 3 comm=c\ufffd");
	pprof_free(message);
	input_done(&input);
}

static void empty_profiles(void **state)
{
	for (int mode = 0; mode < N_PROFILE_MODES; mode++) {
		pprof *message = message_of(mode, NULL, 0, &plain);

		assert_int_equal(message->n_sample, 0);
		assert_true(message->n_sample_type > 0);
		pprof_free(message);
	}
}

/* A file's bytes do not depend on when it is written. */
static void same_bytes_every_time(void **state)
{
	for (int mode = 0; mode < N_PROFILE_MODES; mode++) {
		struct profile *profile = made_random_profile(mode, 1);
		size_t n, n_again;
		char *bytes = made_pprof(profile, &made_all, &n);
		char *again = made_pprof(profile, &made_all, &n_again);

		assert_int_equal(n, n_again);
		assert_memory_equal(bytes, again, n);
		assert_memory_equal(bytes + 4, "\0\0\0\0", 4); /* time field of gzip */
		free(bytes);
		free(again);
		profile_free(profile);
	}
}

static void random_profiles_are_valid(void **state)
{
	for (int i = 0; i < 60; i++) {
		struct unfold_options options = {.no_inline = i & 1,
						 .no_kernel = i >> 1 & 1,
						 .no_reason = i >> 2 & 1,
						 .fold_idle = i >> 3 & 1,
						 .waker_depth = i % 4,
						 .threads = i % 5 == 0,
						 .lines = i % 7 == 0};
		struct profile *profile = made_random_profile(i % N_PROFILE_MODES, i);
		pprof *message = pprof_message(profile, &options);

		pprof_check(message);
		assert_true(message->n_sample > 0);
		pprof_free(message);
		profile_free(profile);
	}
}

/* A full disk: the caller finds the error in the stream. */
static void failed_writes_show_in_the_stream(void **state)
{
	struct profile *profile = made_random_profile(PROFILE_ONCPU, 1);
	FILE *full = fopen("/dev/full", "w");

	assert_non_null(full);
	assert_int_equal(export_pprof(profile, &plain, full), 0);
	assert_true(fflush(full) != 0 || ferror(full));
	fclose(full);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_and_their_cpu_time),
		cmocka_unit_test(samples_alone_where_no_period_is_known),
		cmocka_unit_test(events_have_their_names),
		cmocka_unit_test(invalid_events_keep_their_unit),
		cmocka_unit_test(values_that_are_too_large_are_refused),
		cmocka_unit_test(waits_and_their_time),
		cmocka_unit_test(wakers_are_above_their_threads),
		cmocka_unit_test(places_are_written),
		cmocka_unit_test(places_of_recorded_files_are_invented),
		cmocka_unit_test(names_have_no_suffix),
		cmocka_unit_test(names_alone_have_no_address),
		cmocka_unit_test(hidden_frames_are_not_written),
		cmocka_unit_test(equal_samples_are_added_up),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(invalid_text_is_replaced),
		cmocka_unit_test(empty_profiles),
		cmocka_unit_test(same_bytes_every_time),
		cmocka_unit_test(random_profiles_are_valid),
		cmocka_unit_test(failed_writes_show_in_the_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
