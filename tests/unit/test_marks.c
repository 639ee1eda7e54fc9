/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands and functions named like marks, through every format that can be read back: none becomes
 * a mark, none is lost.
 */
#include "unit/made_input.h"

#include "core/marks.h"
#include "made_profile.h"

static void expect_name(int (*add)(struct strings *, const char *, uint32_t *), const char *name,
			const char *expected)
{
	struct strings strings;
	uint32_t id, own, again;

	assert_int_equal(strings_init(&strings), 0);
	assert_int_equal(add(&strings, name, &id), 0);
	assert_string_equal(strings_get(&strings, id), expected);
	/* One of the strings, and the text written so far. */
	assert_int_equal(strings_add(&strings, name, &own), 0);
	assert_int_equal(add(&strings, strings_get(&strings, own), &again), 0);
	assert_int_equal(again, id);
	assert_int_equal(add(&strings, strings_get(&strings, id), &again), 0);
	assert_int_equal(again, id);
	strings_done(&strings);
}

static void names(void **state)
{
	static const char *const plain[] = {"",		 "a",	  "-",	       "---",
					    "all",	 "[idle", "idle]",     "[Idle]",
					    "[]",	 "--x",	  "(idle)",    "_[k]",
					    "f_[k]x",	 "f_[x]", "f[k]",      "[libc.so.6+0x1]",
					    "[idle];",	 "(--)",  "[unknown]", "f_(k)",
					    "operator[]"};
	static const char *const marks[][2] = {
		{"# c", "(#) c"},	  {"#", "(#)"},	  {"[idle]", "(idle)"},	  {"[truncated]", "(truncated)"},
		{"--", "(--)"},		  {"[interrupt]", "(interrupt)"},
		{"[on-cpu]", "(on-cpu)"}, {"[page fault]", "(page fault)"},
	};
	static const char *const suffixes[][2] = {{"f_[k]", "f_(k)"},
						  {"漢_[i]", "漢_(i)"},
						  {"--_[j]", "--_(j)"},
						  {"f_[k]_[k]", "f_[k]_(k)"}};

	for (size_t i = 0; i < COUNT(plain); i++) {
		expect_name(marks_add_command, plain[i], plain[i]);
		expect_name(marks_add_function, plain[i], plain[i]);
	}
	for (size_t i = 0; i < COUNT(marks); i++) {
		expect_name(marks_add_command, marks[i][0], marks[i][1]);
		expect_name(marks_add_function, marks[i][0], marks[i][1]);
	}
	/* A command is recognized by its position. */
	for (size_t i = 0; i < COUNT(suffixes); i++) {
		expect_name(marks_add_command, suffixes[i][0], suffixes[i][0]);
		expect_name(marks_add_function, suffixes[i][0], suffixes[i][1]);
	}
}

static void every_reason_is_a_mark(void **state)
{
	for (enum off_reason reason = REASON_ONCPU; reason < N_OFF_REASONS; reason++) {
		const char *text = off_reason_text(reason);
		enum off_reason found = REASON_NONE;

		assert_int_equal(mark_find(text, strlen(text), &found), MARK_REASON);
		assert_int_equal(found, reason);
		assert_int_equal(mark_find(text, strlen(text) - 1, NULL), MARK_NONE);
	}
}

/* Round trips */

static const char *const made_names[] = {
	"main",	       "[idle]", "--",	    "all",	   "[truncated]", "[interrupt]",
	"[sleep]",     "(idle)", "[futex]", "[preempted]", "[on-cpu]",	  "f_[k]",
	"[sleep]_[i]", "g_[j]",	 "--_[k]",  "[unknown]",   "漢字",   "# c",	  "#d",	   "#",
};

static const char *made_name(uint64_t *random)
{
	return made_names[made_random(random) % COUNT(made_names)];
}

/* With an address, or with only a name. */
static uint32_t random_location(struct profile *profile, uint64_t *random)
{
	static const enum frame_kind kinds[] = {FRAME_USER, FRAME_USER, FRAME_KERNEL, FRAME_INLINED,
						FRAME_JIT};
	enum frame_kind kind = kinds[made_random(random) % COUNT(kinds)];
	struct profile_mapping mapping = {.kind = MAPPING_UNKNOWN};
	struct profile_frame frame = {.kind = kind};
	const char *name = made_name(random);
	uint32_t index, location;

	if (made_random(random) % 2)
		return made_location(profile, kind, name);
	frame.function = made_string(profile, name);
	if (made_random(random) % 4 == 0)
		frame.file = made_string(profile, "main.c");
	made_check(profile_add_mapping(profile, &mapping, &index), "profile_add_mapping");
	made_check(profile_add_named(profile, index, &frame, 1, &location), "profile_add_named");
	return location;
}

static uint32_t random_stack(struct profile *profile, uint64_t *random, bool truncated)
{
	uint32_t locations[6], n = made_random(random) % COUNT(locations), stack;

	for (uint32_t i = 0; i < n; i++)
		locations[i] = random_location(profile, random);
	made_check(profile_add_stack(profile, locations, n, truncated, &stack),
		   "profile_add_stack");
	return stack;
}

static uint32_t random_wakers(struct profile *profile, uint64_t *random)
{
	uint32_t next = 0;

	for (uint64_t n = made_random(random) % 4; n; n--) {
		bool is_interrupt = made_random(random) % 4 == 0;
		struct profile_waker waker = {
			.comm = made_string(profile, made_name(random)),
			.stack = random_stack(profile, random, made_random(random) % 3 == 0),
			.tid = made_random(random) % 3,
			.is_interrupt = is_interrupt,
			.next = next};

		made_check(profile_add_waker(profile, &waker, &next), "profile_add_waker");
	}
	return next;
}

static void add_random_sample(struct profile *profile, uint64_t *random, enum off_reason reason)
{
	bool is_oncpu = profile->mode == PROFILE_ONCPU;
	uint64_t weight = 1 + made_random(random) % 500;
	struct profile_sample sample = {
		.comm = made_string(profile, made_name(random)),
		.stack = random_stack(profile, random, made_random(random) % 4 == 0),
		.reason = reason,
		.is_idle = !is_oncpu && made_random(random) % 4 == 0,
		.count = is_oncpu ? weight : 1,
		.nanoseconds = is_oncpu ? 0 : weight * 1000};

	/* Waiting for a CPU has neither an idle mark nor a waker. */
	if (!is_oncpu && !off_reason_is_runnable(reason))
		sample.waker = random_wakers(profile, random);
	made_check(profile_add_sample(profile, &sample), "profile_add_sample");
}

static struct profile *random_profile(enum profile_mode mode, uint64_t *random)
{
	struct profile *profile = made_profile(mode, NULL, 0);

	for (int i = 0; i < 40; i++) {
		enum off_reason reason = REASON_NONE;

		if (mode == PROFILE_WALL && i % 4 == 0)
			reason = REASON_ONCPU;
		else if (mode != PROFILE_ONCPU)
			reason =
				REASON_SLEEP + made_random(random) % (N_OFF_REASONS - REASON_SLEEP);
		add_random_sample(profile, random, reason);
	}
	return profile;
}

/* The kind of a profile's samples, from their weights. */
struct tally {
	uint64_t idle, truncated, frames, kernel, wakers, interrupts, truncated_wakers;
	uint64_t reasons[N_OFF_REASONS];
};

static void tally_stack(const struct profile *profile, uint32_t id, uint64_t weight,
			struct tally *tally)
{
	const struct profile_stack *stack = &profile->stacks[id];

	for (uint32_t i = 0; i < stack->n; i++) {
		const struct profile_location *location =
			&profile->locations[profile->stack_locations[stack->first + i]];

		tally->frames += weight * location->n_frames;
		tally->kernel +=
			weight * (profile->frames[location->first_frame].kind == FRAME_KERNEL);
	}
}

static void tally_wakers(const struct profile *profile, uint32_t id, uint64_t weight,
			 struct tally *tally)
{
	for (; id; id = profile->wakers[id].next) {
		const struct profile_waker *waker = &profile->wakers[id];
		bool is_complete = profile->stacks[waker->stack].end == STACK_COMPLETE;

		tally->wakers += weight;
		tally->interrupts += weight * waker->is_interrupt;
		tally->truncated_wakers += weight * (!is_complete && !waker->is_interrupt);
		tally_stack(profile, waker->stack, weight, tally);
	}
}

static struct tally tally_of(const struct profile *profile)
{
	struct tally tally = {0};

	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		uint64_t weight = profile_sample_weight(profile, sample);

		tally.idle += weight * sample->is_idle;
		tally.truncated += weight * (profile->stacks[sample->stack].end != STACK_COMPLETE);
		tally.reasons[sample->reason] += weight;
		tally_stack(profile, sample->stack, weight, &tally);
		tally_wakers(profile, sample->waker, weight, &tally);
	}
	return tally;
}

static int export_lines(struct profile *profile, const struct unfold_options *unfold, FILE *stream)
{
	return export_folded(profile, &(struct stacks_options){.unfold = *unfold}, stream);
}

static void marks_come_back(void **state)
{
	static int (*const exports[])(struct profile *, const struct unfold_options *, FILE *) = {
		export_lines, export_pprof, export_speedscope, export_firefox};
	uint64_t random = 7;

	for (int round = 0; round < 400; round++) {
		enum profile_mode mode = round % N_PROFILE_MODES;
		struct profile *profile = random_profile(mode, &random);
		struct input input = made_input((struct input_options){0});
		struct tally before = tally_of(profile), after;
		char *lines = made_folded(profile, &made_all), *bytes;
		size_t n;
		FILE *stream = open_memstream(&bytes, &n);

		assert_int_equal(exports[round / N_PROFILE_MODES % COUNT(exports)](
					 profile, &made_all, stream),
				 0);
		fclose(stream);
		assert_int_equal(made_read_bytes(&input, bytes, n), 0);
		assert_int_equal(input.profile->mode, mode);
		after = tally_of(input.profile);
		assert_memory_equal(&before, &after, sizeof before);
		made_expect_profile(input.profile, &made_all, lines);
		input_done(&input);
		profile_free(profile);
		free(lines);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(every_reason_is_a_mark),
		cmocka_unit_test(marks_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
