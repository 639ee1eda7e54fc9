/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile stores every item once, and its samples are read as stacks of names in the order of
 * folded lines (user/core/stacks.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "made_profile.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/*
 * Formats a sample as a folded line without its weight, each frame with its suffix; a static
 * buffer.
 */
static const char *unfolded(struct profile *profile, size_t sample,
			    const struct unfold_options *options)
{
	static char line[4096];
	struct unfolder unfolder = {.profile = profile, .options = options};
	const struct named_frame *frames;
	size_t n = 0;

	assert_int_equal(unfolder_next(&unfolder, &profile->samples[sample]), 0);
	assert_true(unfolder.n > 0);
	frames = unfolder.frames;
	for (size_t i = 0; i < unfolder.n; i++)
		n += snprintf(line + n, sizeof line - n, "%s%s%s", i ? ";" : "",
			      strings_get(&profile->strings, frames[i].name),
			      frame_kind_suffix(frames[i].kind));
	unfolder_done(&unfolder);
	return line;
}

static struct profile *made(enum profile_mode mode, const struct made_sample *sample)
{
	return made_profile(mode, sample, 1);
}

static void expect(enum profile_mode mode, const struct made_sample *sample,
		   const struct unfold_options *options, const char *expected)
{
	struct profile *profile = made(mode, sample);

	assert_string_equal(unfolded(profile, 0, options), expected);
	profile_free(profile);
}

/* Contents */

static void wakers_are_kept_once(void **state)
{
	struct profile *profile = made_profile(PROFILE_OFFCPU, NULL, 0);
	struct profile_waker waker = {.comm = made_string(profile, "a"), .pid = 1};
	uint32_t first, again, other;

	assert_int_equal(profile->n_wakers, 1); /* none */
	waker.stack = made_stack(profile, "main", false);
	assert_int_equal(profile_add_waker(profile, &waker, &first), 0);
	assert_int_not_equal(first, 0);
	assert_int_equal(profile_add_waker(profile, &waker, &again), 0);
	assert_int_equal(again, first);

#define EXPECT_OTHER(change)                                                                       \
	do {                                                                                       \
		struct profile_waker kept = waker;                                                 \
		size_t n = profile->n_wakers;                                                      \
		change;                                                                            \
		assert_int_equal(profile_add_waker(profile, &waker, &other), 0);                   \
		assert_int_equal(other, n);                                                        \
		assert_int_equal(profile->n_wakers, n + 1);                                        \
		waker = kept;                                                                      \
	} while (0)
	EXPECT_OTHER(waker.stack = made_stack(profile, "other", false));
	EXPECT_OTHER(waker.comm = made_string(profile, "b"));
	EXPECT_OTHER(waker.pid = 2);
	EXPECT_OTHER(waker.tid = 1);
	EXPECT_OTHER(waker.is_interrupt = true);
	EXPECT_OTHER(waker.next = first);
#undef EXPECT_OTHER
	profile_free(profile);
}

static void many_wakers(void **state)
{
	struct profile *profile = made_profile(PROFILE_OFFCPU, NULL, 0);
	struct profile_waker waker = {.stack = made_stack(profile, "main", false)};
	uint32_t id;

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= 1000; i++) {
			waker.tid = i;
			assert_int_equal(profile_add_waker(profile, &waker, &id), 0);
			assert_int_equal(id, i);
		}
	assert_int_equal(profile->n_wakers, 1001);
	profile_free(profile);
}

static void named_locations_are_kept_once(void **state)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	struct profile_mapping kernel = {.kind = MAPPING_KERNEL}, unknown = {0};
	struct profile_frame frames[2] = {{FRAME_INLINED, made_string(profile, "inner")},
					  {FRAME_USER, made_string(profile, "outer")}};
	uint32_t mappings[2], first, id;

	assert_int_equal(profile_add_mapping(profile, &unknown, &mappings[0]), 0);
	assert_int_equal(profile_add_mapping(profile, &kernel, &mappings[1]), 0);
	/* A location with an address and no names yet equals none of them. */
	assert_int_equal(profile_add_location(profile, mappings[0], 0, false, &first), 0);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(profile_add_named(profile, mappings[0], frames, 2, &id), 0);
		assert_int_equal(id, first + 1);
		assert_int_equal(profile_add_named(profile, mappings[1], frames, 2, &id), 0);
		assert_int_equal(id, first + 2);
		assert_int_equal(profile_add_named(profile, mappings[0], frames, 1, &id), 0);
		assert_int_equal(id, first + 3);
		assert_int_equal(profile_add_named(profile, mappings[0], frames + 1, 1, &id), 0);
		assert_int_equal(id, first + 4);
		frames[1].line = 7;
		assert_int_equal(profile_add_named(profile, mappings[0], frames, 2, &id), 0);
		assert_int_equal(id, first + 5);
		frames[1].line = 0;
	}
	assert_int_equal(profile_add_location(profile, mappings[0], 0, false, &id), 0);
	assert_int_equal(id, first);
	assert_true(profile->locations[first + 1].is_named);
	assert_int_equal(profile->locations[first + 1].n_frames, 2);
	profile_free(profile);
}

/* Three events: shows one of them, and keeps removed ones away. */
static void events_are_shown_one_at_a_time(void **state)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	struct profile_sample sample = {.count = 1, .nanoseconds = 10};
	size_t n[3] = {100, 100, 100};

	for (uint32_t i = 0; i < 300; i++) {
		char name[16];

		snprintf(name, sizeof name, "f%u", i / 3);
		sample.stack = made_stack(profile, name, false);
		sample.event = i % 3;
		assert_int_equal(profile_add_sample(profile, &sample), 0);
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	assert_int_equal(profile->n_samples, 300);
	assert_null(profile_event(profile));
	profile->n_events = 3;
	profile->events[1] = (struct profile_event){.is_counted = true, .period = 10};
	profile->events[2] = (struct profile_event){.frequency = 99};
	for (uint32_t round = 0; round < 9; round++) {
		uint32_t event = round * 2 % 3;
		uint64_t seen = 0;

		profile_show_event(profile, event);
		assert_ptr_equal(profile_event(profile), &profile->events[event]);
		assert_true(profile->frequency == profile->events[event].frequency);
		assert_int_equal(profile->n_samples, n[event]);
		for (size_t i = 0; i < profile->n_samples; i++) {
			assert_int_equal(profile->samples[i].event, event);
			assert_int_equal(profile->samples[i].count, 2);
			seen += profile_sample_weight(profile, &profile->samples[i]);
		}
		assert_int_equal(seen, n[event] * (event == 1 ? 20 : 2));
		if (round % 2)
			profile->n_samples = n[event] -= 10;
	}
	profile_free(profile);
}

/* Whether or not they are the first of their stack. */
static void samples_are_found(void **state)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	struct profile_sample sample = {.count = 1};

	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 3000; i++) {
			char name[16];

			snprintf(name, sizeof name, "f%u", i / 100);
			sample.stack = made_stack(profile, name, false);
			sample.tid = i % 100 + (round == 2 ? 1000 : 0);
			assert_int_equal(profile_add_sample(profile, &sample), 0);
		}
		assert_int_equal(profile->n_samples, 3000);
		if (round == 1) {
			for (size_t i = 0; i < profile->n_samples; i++)
				profile->samples[i].tid += 1000;
			assert_int_equal(profile_index_samples(profile), 0);
		}
	}
	for (size_t i = 0; i < profile->n_samples; i++)
		assert_int_equal(profile->samples[i].count, 3);
	profile_free(profile);
}

static void in_order_only_neighbours_merge(void **state)
{
	static const struct made_sample samples[] = {
		{"a", "f", 1}, {"a", "f", 2}, {"a", "g", 3}, {"a", "f", 4}, {"b", "f", 5}};
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);

	profile->in_order = true;
	for (size_t i = 0; i < COUNT(samples); i++)
		made_add(profile, &samples[i]);
	assert_int_equal(profile->n_samples, 4);
	assert_int_equal(profile->samples[0].count, 3);
	assert_int_equal(profile->samples[1].count, 3);
	assert_int_equal(profile->samples[2].count, 4);
	assert_int_equal(profile->samples[3].count, 5);
	profile_free(profile);
}

static void samples_differ_by_waker_and_idleness(void **state)
{
	static const struct made_sample samples[] = {
		{"a", "f", 10, REASON_FUTEX, 1, 1, .wakers = {{"w", "g"}}},
		{"a", "f", 20, REASON_FUTEX, 1, 1, .wakers = {{"w", "h"}}},
		{"a", "f", 30, REASON_FUTEX, 1, 1},
		{"a", "f", 40, REASON_FUTEX, 1, 1, .is_idle = true},
		{"a", "f", 50, REASON_FUTEX, 1, 1, .wakers = {{"w", "g"}}},
		{"a", "f", 60, REASON_FUTEX, 1, 1, .is_idle = true},
	};
	struct profile *profile = made_profile(PROFILE_OFFCPU, samples, COUNT(samples));

	assert_int_equal(profile->n_samples, 4);
	assert_int_equal(profile->n_wakers, 3);
	assert_int_equal(profile->samples[0].nanoseconds, 60);
	assert_int_equal(profile->samples[0].count, 2);
	assert_int_equal(profile->samples[1].nanoseconds, 20);
	assert_int_equal(profile->samples[2].nanoseconds, 30);
	assert_int_equal(profile->samples[3].nanoseconds, 100);
	profile_free(profile);
}

static void weights(void **state)
{
	struct profile_sample sample = {.count = 3, .nanoseconds = 2500};
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);

	assert_int_equal(profile_sample_weight(profile, &sample), 3);
	for (int mode = PROFILE_OFFCPU; mode <= PROFILE_WALL; mode++) {
		profile->mode = mode;
		sample.nanoseconds = 2500;
		assert_int_equal(profile_sample_weight(profile, &sample), 3);
		sample.nanoseconds = 2499;
		assert_int_equal(profile_sample_weight(profile, &sample), 2);
	}
	profile_free(profile);
}

/* Reasons */

static void every_reason_has_its_leaf(void **state)
{
	static const char *const texts[N_OFF_REASONS] = {
		[REASON_ONCPU] = "[on-cpu]",	    [REASON_SLEEP] = "[sleep]",
		[REASON_DISK] = "[disk]",	    [REASON_STOPPED] = "[stopped]",
		[REASON_PREEMPTED] = "[preempted]", [REASON_RUNQUEUE] = "[runqueue]",
		[REASON_FUTEX] = "[futex]",	    [REASON_POLL] = "[poll]",
		[REASON_TIMER] = "[timer]",	    [REASON_NETWORK] = "[network]",
		[REASON_PIPE] = "[pipe]",	    [REASON_PAGE_FAULT] = "[page fault]",
		[REASON_CHILD] = "[child]",	    [REASON_LOCK] = "[lock]",
		[REASON_SIGNAL] = "[signal]",	    [REASON_THROTTLED] = "[throttled]",
	};

	assert_string_equal(off_reason_text(REASON_NONE), "");
	for (int reason = REASON_ONCPU; reason < N_OFF_REASONS; reason++) {
		struct made_sample sample = {"a", "main", 1, reason};
		char line[64];

		assert_non_null(texts[reason]);
		assert_string_equal(off_reason_text(reason), texts[reason]);
		snprintf(line, sizeof line, "a;main;%s", texts[reason]);
		expect(PROFILE_WALL, &sample, &(struct unfold_options){0}, line);
		expect(PROFILE_WALL, &sample, &(struct unfold_options){.no_reason = true},
		       "a;main");
	}
	expect(PROFILE_ONCPU, &(struct made_sample){"a", "main", 1}, &(struct unfold_options){0},
	       "a;main");
}

static enum frame_kind kind_of_leaf(enum off_reason reason)
{
	struct profile *profile = made(PROFILE_WALL, &(struct made_sample){"a", "", 1, reason});
	struct unfold_options options = {0};
	struct unfolder unfolder = {.profile = profile, .options = &options};
	enum frame_kind kind;

	assert_int_equal(unfolder_next(&unfolder, profile->samples), 0);
	assert_int_equal(unfolder.n, 2);
	kind = unfolder.frames[1].kind;
	unfolder_done(&unfolder);
	profile_free(profile);
	return kind;
}

static void leaves_distinguish_running_from_waiting(void **state)
{
	assert_int_equal(kind_of_leaf(REASON_ONCPU), FRAME_RUNNING);
	assert_int_equal(kind_of_leaf(REASON_RUNQUEUE), FRAME_RUNNABLE);
	assert_int_equal(kind_of_leaf(REASON_PREEMPTED), FRAME_RUNNABLE);
	assert_int_equal(kind_of_leaf(REASON_THROTTLED), FRAME_RUNNABLE);
	assert_int_equal(kind_of_leaf(REASON_SLEEP), FRAME_WAITING);
	assert_int_equal(kind_of_leaf(REASON_SIGNAL), FRAME_WAITING);
}

/* Kernel halves, idle waits */

static const struct made_sample blocked = {
	"db", "start;main;wait;sys_futex_[k];schedule_[k]", 1000, REASON_FUTEX, 7, 8};

static void kernel_halves_can_be_left_out(void **state)
{
	static const struct made_sample thread = {"kworker", "ret_from_fork_[k];kthread_[k]", 1,
						  REASON_SLEEP};
	struct made_sample woken = blocked;

	expect(PROFILE_OFFCPU, &blocked, &(struct unfold_options){0},
	       "db;start;main;wait;sys_futex_[k];schedule_[k];[futex]");
	expect(PROFILE_OFFCPU, &blocked, &(struct unfold_options){.no_kernel = true},
	       "db;start;main;wait;[futex]");
	expect(PROFILE_OFFCPU, &thread, &(struct unfold_options){.no_kernel = true},
	       "kworker;[sleep]");
	woken.wakers[0] = (struct made_waker){"w", "start;unlock;wake_[k]"};
	expect(PROFILE_OFFCPU, &woken,
	       &(struct unfold_options){.no_kernel = true, .waker_depth = 1},
	       "db;start;main;wait;[futex];--;unlock;start;w");
}

/* A function inlined into a kernel function is part of the kernel. */
static void inlined_kernel_functions_are_the_kernels(void **state)
{
	struct profile *profile = made(PROFILE_OFFCPU, &blocked);
	uint32_t leaf = profile->stack_locations[0];
	struct profile_frame frames[2] = {
		{.kind = FRAME_INLINED, .function = made_string(profile, "context_switch")},
		{.kind = FRAME_KERNEL, .function = made_string(profile, "schedule")}};

	assert_int_equal(profile_set_frames(profile, leaf, frames, 2), 0);
	assert_string_equal(
		unfolded(profile, 0, &(struct unfold_options){0}),
		"db;start;main;wait;sys_futex_[k];schedule_[k];context_switch_[i];[futex]");
	assert_string_equal(unfolded(profile, 0, &(struct unfold_options){.no_kernel = true}),
			    "db;start;main;wait;[futex]");
	profile_free(profile);
}

static void idle_waits_have_one_root(void **state)
{
	static const struct unfold_options fold = {.fold_idle = true},
					   threads = {.fold_idle = true, .threads = true};
	struct made_sample idle = blocked;

	idle.is_idle = true;
	idle.truncated = true;
	expect(PROFILE_OFFCPU, &idle, &fold,
	       "[idle];db;[truncated];start;main;wait;sys_futex_[k];schedule_[k];[futex]");
	expect(PROFILE_OFFCPU, &idle, &threads,
	       "[idle];db-7/8;[truncated];start;main;wait;sys_futex_[k];schedule_[k];[futex]");
	expect(PROFILE_OFFCPU, &idle, &(struct unfold_options){0},
	       "db;[truncated];start;main;wait;sys_futex_[k];schedule_[k];[futex]");
	expect(PROFILE_OFFCPU, &blocked, &fold,
	       "db;start;main;wait;sys_futex_[k];schedule_[k];[futex]");
}

/* Wakers */

static const struct made_sample chained = {
	"db",
	"main;wait",
	1000,
	REASON_FUTEX,
	7,
	8,
	.wakers = {{"worker", "start;main;unlock;wake_[k]", .tid = 9},
		   {"reader", "loop;push", .truncated = true},
		   {"swapper", "irq_entry_[k];nvme_irq_[k]", .truncated = true,
		    .is_interrupt = true}}};

static void chains_are_followed_as_far_as_asked(void **state)
{
	static const char *const lines[] = {
		"db;main;wait;[futex]",
		"db;main;wait;[futex];--;wake_[k];unlock;main;start;worker-9",
		"db;main;wait;[futex];--;wake_[k];unlock;main;start;worker-9"
		";--;push;loop;[truncated];reader",
		"db;main;wait;[futex];--;wake_[k];unlock;main;start;worker-9"
		";--;push;loop;[truncated];reader;--;nvme_irq_[k];irq_entry_[k];[interrupt]",
	};

	for (unsigned int depth = 0; depth <= 8; depth++)
		expect(PROFILE_OFFCPU, &chained, &(struct unfold_options){.waker_depth = depth},
		       lines[depth < COUNT(lines) ? depth : COUNT(lines) - 1]);
	expect(PROFILE_WALL, &chained,
	       &(struct unfold_options){.waker_depth = 1, .no_reason = true, .threads = true},
	       "db-7/8;main;wait;--;wake_[k];unlock;main;start;worker-9");
}

static void waiting_for_a_cpu_has_no_waker(void **state)
{
	static const enum off_reason reasons[] = {REASON_RUNQUEUE, REASON_PREEMPTED,
						 REASON_THROTTLED};
	static const struct unfold_options options = {.waker_depth = 8};

	for (size_t i = 0; i < COUNT(reasons); i++) {
		struct made_sample sample = chained;
		char line[64];

		sample.reason = reasons[i];
		snprintf(line, sizeof line, "db;main;wait;%s", off_reason_text(reasons[i]));
		expect(PROFILE_OFFCPU, &sample, &options, line);
	}
	/* Nor does an unknown waker. */
	expect(PROFILE_OFFCPU, &blocked, &options,
	       "db;start;main;wait;sys_futex_[k];schedule_[k];[futex]");
}

/* Leaf first, also inside a location; hidden frames stay hidden. */
static void waker_stacks_are_turned_round(void **state)
{
	struct profile *profile = made(PROFILE_OFFCPU, &chained);
	const struct profile_waker *waker = &profile->wakers[profile->samples[0].waker];
	const uint32_t *ids =
		profile->stack_locations + profile->stacks[waker->stack].first; /* leaf first */
	uint32_t file = made_string(profile, "/src/lock.c");
	struct profile_frame frames[3] = {
		{.kind = FRAME_INLINED, .function = made_string(profile, "inner"), file, 3},
		{.kind = FRAME_INLINED, .function = made_string(profile, "middle"), file, 0},
		{.kind = FRAME_USER, .function = made_string(profile, "outer"), file, 9}};

	profile->locations[ids[0]].hidden = true;
	assert_int_equal(profile_set_frames(profile, ids[1], frames, 3), 0);
	assert_string_equal(unfolded(profile, 0, &(struct unfold_options){.waker_depth = 1}),
			    "db;main;wait;[futex];--;inner_[i];middle_[i];outer;main;start;"
			    "worker-9");
	assert_string_equal(
		unfolded(profile, 0, &(struct unfold_options){.waker_depth = 1, .no_inline = true}),
		"db;main;wait;[futex];--;outer;main;start;worker-9");
	assert_string_equal(
		unfolded(profile, 0, &(struct unfold_options){.waker_depth = 1, .lines = true}),
		"db;main;wait;[futex];--;inner (lock.c:3)_[i];middle (lock.c)_[i];outer (lock.c:9);"
		"main;start;worker-9");
	profile_free(profile);
}

static void frames_know_their_half(void **state)
{
	static const bool is_waker[] = {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	struct profile *profile = made(PROFILE_OFFCPU, &chained);
	struct unfold_options options = {.waker_depth = 2};
	struct unfolder unfolder = {.profile = profile, .options = &options};
	const struct named_frame *frames;

	assert_int_equal(unfolder_next(&unfolder, profile->samples), 0);
	assert_int_equal(unfolder.n, COUNT(is_waker));
	frames = unfolder.frames;
	for (size_t i = 0; i < COUNT(is_waker); i++)
		assert_int_equal(frames[i].is_waker, is_waker[i]);
	assert_int_equal(frames[3].kind, FRAME_WAITING);
	assert_int_equal(frames[4].kind, FRAME_SEPARATOR);
	assert_int_equal(frames[5].kind, FRAME_KERNEL);
	assert_int_equal(frames[9].kind, FRAME_NOTE);
	assert_int_equal(frames[10].kind, FRAME_SEPARATOR);
	unfolder_done(&unfolder);
	profile_free(profile);
}

/* Stacks of 127 frames with the maximum number of wakers: the array grows for them. */
static void long_chains_have_room(void **state)
{
	struct profile *profile = made_profile(PROFILE_OFFCPU, NULL, 0);
	struct profile_waker waker = {.comm = made_string(profile, "w")};
	struct profile_sample sample = {.reason = REASON_PIPE, .nanoseconds = 1};
	struct unfold_options options = {.waker_depth = 8};
	struct unfolder unfolder = {.profile = profile, .options = &options};
	uint32_t locations[254];

	for (uint32_t i = 0; i < COUNT(locations); i++)
		locations[i] = made_location(profile, FRAME_USER, i % 2 ? "odd" : "even");
	assert_int_equal(
		profile_add_stack(profile, locations, COUNT(locations), STACK_DEPTH, &waker.stack),
		0);
	sample.stack = waker.stack;
	for (waker.tid = 1; waker.tid <= 8; waker.tid++)
		assert_int_equal(profile_add_waker(profile, &waker, &waker.next), 0);
	sample.waker = waker.next;
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	assert_int_equal(unfolder_next(&unfolder, profile->samples), 0);
	assert_int_equal(unfolder.n, 3 + 254 + 8 * (3 + 254));
	assert_string_equal(strings_get(&profile->strings, unfolder.frames[2058 + 254].name),
			    "w-1");
	unfolder_done(&unfolder);
	profile_free(profile);
}

/* A sample that shares frames with the one before reads the same as alone. */
static void shared_beginnings_are_right(void **state)
{
	struct profile *profile = made_profile(PROFILE_WALL, NULL, 0);
	static const char *const names[] = {"a", "b", "c_[k]", "d_[i]"};
	struct unfold_options options = {.waker_depth = 1};
	struct unfolder running = {.profile = profile, .options = &options};
	uint64_t random = 5, n_same = 0;

	for (int i = 0; i < 2000; i++) {
		char stack[64] = "";
		struct made_sample sample = {
			names[made_random(&random) % 2],
			stack,
			i + 1,
			made_random(&random) % N_OFF_REASONS,
			made_random(&random) % 2 + 1,
			1,
			.truncated = made_random(&random) % 4 == 0,
			.is_idle = made_random(&random) % 4 == 0,
			.wakers = {{"w", made_random(&random) % 2 ? "x;y" : NULL}}};

		for (uint64_t k = made_random(&random) % 8; k > 0; k--)
			snprintf(stack + strlen(stack), sizeof stack - strlen(stack), "%s%s",
				 *stack ? ";" : "", names[made_random(&random) % 4]);
		made_add(profile, &sample);
	}
	for (size_t i = 0; i < profile->n_samples; i++) {
		struct unfolder alone = {.profile = profile, .options = &options};

		options.threads = i > profile->n_samples / 2;
		options.fold_idle = i > profile->n_samples / 3;
		options.no_inline = options.no_kernel = i > profile->n_samples / 4;
		if (i == profile->n_samples / 2 + 1 || i == profile->n_samples / 3 + 1 ||
		    i == profile->n_samples / 4 + 1)
			running.has_before = false; /* reset, but keeping its options */
		assert_int_equal(unfolder_next(&running, &profile->samples[i]), 0);
		assert_int_equal(unfolder_next(&alone, &profile->samples[i]), 0);
		assert_int_equal(running.n, alone.n);
		for (size_t k = 0; k < alone.n; k++) {
			assert_int_equal(running.frames[k].name, alone.frames[k].name);
			assert_int_equal(running.frames[k].kind, alone.frames[k].kind);
			assert_int_equal(running.frames[k].is_waker, alone.frames[k].is_waker);
		}
		n_same += running.n_same;
		unfolder_done(&alone);
	}
	assert_true(n_same > 100);
	unfolder_done(&running);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wakers_are_kept_once),
		cmocka_unit_test(many_wakers),
		cmocka_unit_test(named_locations_are_kept_once),
		cmocka_unit_test(samples_are_found),
		cmocka_unit_test(events_are_shown_one_at_a_time),
		cmocka_unit_test(in_order_only_neighbours_merge),
		cmocka_unit_test(samples_differ_by_waker_and_idleness),
		cmocka_unit_test(weights),
		cmocka_unit_test(every_reason_has_its_leaf),
		cmocka_unit_test(leaves_distinguish_running_from_waiting),
		cmocka_unit_test(kernel_halves_can_be_left_out),
		cmocka_unit_test(inlined_kernel_functions_are_the_kernels),
		cmocka_unit_test(idle_waits_have_one_root),
		cmocka_unit_test(chains_are_followed_as_far_as_asked),
		cmocka_unit_test(waiting_for_a_cpu_has_no_waker),
		cmocka_unit_test(waker_stacks_are_turned_round),
		cmocka_unit_test(frames_know_their_half),
		cmocka_unit_test(long_chains_have_room),
		cmocka_unit_test(shared_beginnings_are_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
