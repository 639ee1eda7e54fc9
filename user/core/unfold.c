/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unfold: reads the samples of a profile as stacks of names.
 *
 * A waker's stack is reversed: right after the separator comes what woke the thread, next to where
 * the thread waited; the waker's name is last, as in the off-wake graphs of bcc's offwaketime.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "core/marks.h"

static int push_named(struct unfolder *to, const struct named_frame *frame)
{
	return array_add(to->frames, to->capacity, to->n, *frame);
}

/* Pushes a frame that is not code. */
static int push(struct unfolder *to, enum frame_kind kind, uint32_t name)
{
	return push_named(to, &(struct named_frame){.name = name,
						    .mapping = MAPPING_NONE,
						    .kind = kind,
						    .is_waker = to->is_waker});
}

static int push_text(struct unfolder *to, enum frame_kind kind, const char *text)
{
	uint32_t name;
	int r = strings_add(&to->profile->strings, text, &name);

	if (r < 0)
		return r;
	return push(to, kind, name);
}

/* Appends numbers to the command's name, which may be of any length in other tools' files. */
static int push_numbered(struct unfolder *to, uint32_t comm, const char *numbers)
{
	const char *name = strings_get(&to->profile->strings, comm);
	uint32_t numbered;
	char *text;
	int r;

	if (asprintf(&text, "%s%s", *name ? name : "[unknown]", numbers) < 0)
		return -ENOMEM;
	r = marks_add_command(&to->profile->strings, text, &numbered);
	free(text);
	if (r < 0)
		return r;
	return push(to, FRAME_NOTE, numbered);
}

/* @begins: the command begins the stack; else it is a waker's. */
static int push_command(struct unfolder *to, uint32_t comm, bool begins)
{
	struct strings *strings = &to->profile->strings;
	int r = (begins ? marks_add_command
			: marks_add_function)(strings, strings_get(strings, comm), &comm);

	if (r < 0)
		return r;
	return push(to, FRAME_NOTE, comm);
}

/* Folded lines by command have no threads. The kernel's idle ones are 0. */
static bool has_thread(const struct unfolder *to, const struct profile_sample *sample)
{
	const char idle[] = "swapper";

	return sample->pid || sample->tid || to->profile->by_thread ||
	       strncmp(strings_get(&to->profile->strings, sample->comm), idle, strlen(idle)) == 0;
}

static int push_root(struct unfolder *to, const struct profile_sample *sample)
{
	char numbers[sizeof "-4294967295/4294967295"];

	if (!unfold_threads(to->profile, to->options) || !has_thread(to, sample))
		return push_command(to, sample->comm, true);
	snprintf(numbers, sizeof numbers, "-%u/%u", sample->pid, sample->tid);
	return push_numbered(to, sample->comm, numbers);
}

int profile_name_frame(struct profile *profile, const struct unfold_options *options,
		       const struct profile_frame *frame, uint32_t *ret_name)
{
	struct strings *strings = &profile->strings;
	char text[8192];
	int n;

	*ret_name = frame->function;
	if (!options->lines || !frame->file)
		return 0;
	n = snprintf(text, sizeof text, "%s (%s", strings_get(strings, frame->function),
		     basename(strings_get(strings, frame->file)));
	if (n < 0 || (size_t)n + sizeof ":4294967295)" > sizeof text)
		return 0;
	/* Line 0 means code without a line. */
	if (frame->line)
		n += snprintf(text + n, sizeof text - n, ":%u", frame->line);
	text[n++] = ')';
	return strings_add_bytes(strings, text, n, ret_name);
}

/* Pushes frame @k of a location; 0 is the innermost inlined function. */
static int push_frame(struct unfolder *to, uint32_t id, uint32_t k)
{
	const struct profile_location *location = &to->profile->locations[id];
	const struct profile_frame *frame = &to->profile->frames[location->first_frame + k];
	struct named_frame named = {.mapping = location->mapping,
				    .location = id,
				    .frame = location->first_frame + k,
				    .kind = frame->kind,
				    .is_waker = to->is_waker};
	int r;

	if (frame->kind == FRAME_INLINED && to->options->no_inline)
		return 0;
	r = profile_name_frame(to->profile, to->options, frame, &named.name);
	if (r < 0)
		return r;
	return push_named(to, &named);
}

/* The outermost function decides whose code it is. */
static bool is_left_out(const struct unfolder *to, const struct profile_location *location)
{
	const struct profile_frame *frames = to->profile->frames + location->first_frame;

	return location->hidden || !location->n_frames ||
	       (to->options->no_kernel && frames[location->n_frames - 1].kind == FRAME_KERNEL);
}

static int push_location(struct unfolder *to, uint32_t id, bool leaf_first)
{
	const struct profile_location *location = &to->profile->locations[id];

	if (is_left_out(to, location))
		return 0;
	for (uint32_t i = 0; i < location->n_frames; i++) {
		int r = push_frame(to, id, leaf_first ? i : location->n_frames - 1 - i);

		if (r < 0)
			return r;
	}
	return 0;
}

static int push_stack(struct unfolder *to, const struct profile_stack *stack)
{
	const uint32_t *ids = to->profile->stack_locations + stack->first;

	for (uint32_t i = 0; i < stack->n; i++) {
		int r = push_location(to, ids[i], true);

		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_same_root(const struct unfolder *to, const struct profile_sample *sample)
{
	const struct profile_sample *before = &to->before;

	if (!to->has_before || before->comm != sample->comm || before->is_idle != sample->is_idle)
		return false;
	if (unfold_threads(to->profile, to->options) &&
	    (before->pid != sample->pid || before->tid != sample->tid))
		return false;
	return to->profile->stacks[before->stack].end == to->profile->stacks[sample->stack].end;
}

/* The number of locations, from the root on, that this sample shares with the previous one. */
static uint32_t count_shared(const struct unfolder *to, const struct profile_sample *sample)
{
	const struct profile *profile = to->profile;
	const struct profile_stack *a = &profile->stacks[to->before.stack];
	const struct profile_stack *b = &profile->stacks[sample->stack];
	const uint32_t *x = profile->stack_locations + a->first + a->n;
	const uint32_t *y = profile->stack_locations + b->first + b->n;
	uint32_t n = a->n < b->n ? a->n : b->n, shared = 0;

	while (shared < n && *--x == *--y)
		shared++;
	return shared;
}

/* Pushes what comes before the functions of a stack whose end is @end. */
static int push_head(struct unfolder *to, const struct profile_sample *sample, enum stack_end end)
{
	int r;

	if (to->options->fold_idle && sample->is_idle) {
		r = push_text(to, FRAME_NOTE, mark_text(MARK_IDLE));
		if (r < 0)
			return r;
	}
	r = push_root(to, sample);
	if (r < 0 || end == STACK_COMPLETE)
		return r;
	return push_text(to, FRAME_NOTE, mark_text(MARK_TRUNCATED));
}

/* Consecutive samples mostly share much of their stacks: that part stays. */
static int push_thread(struct unfolder *to, const struct profile_sample *sample)
{
	const struct profile_stack *stack = &to->profile->stacks[sample->stack];
	const uint32_t *ids = to->profile->stack_locations + stack->first;
	uint32_t shared = 0;
	int r = array_reserve(to->depths, to->depths_capacity, 0, (size_t)stack->n + 1);

	if (r < 0)
		return r;
	if (is_same_root(to, sample)) {
		shared = count_shared(to, sample);
		to->n = to->n_same = to->depths[shared];
	} else {
		r = push_head(to, sample, stack->end);
		if (r < 0)
			return r;
		to->depths[0] = to->n;
	}
	for (; shared < stack->n; shared++) {
		r = push_location(to, ids[stack->n - 1 - shared], false);
		if (r < 0)
			return r;
		to->depths[shared + 1] = to->n;
	}
	return 0;
}

static int push_waker_name(struct unfolder *to, const struct profile_waker *waker)
{
	char numbers[sizeof "-4294967295"];

	if (waker->is_interrupt)
		return push_text(to, FRAME_NOTE, mark_text(MARK_INTERRUPT));
	if (!waker->tid)
		return push_command(to, waker->comm, false);
	snprintf(numbers, sizeof numbers, "-%u", waker->tid);
	return push_numbered(to, waker->comm, numbers);
}

static int push_waker(struct unfolder *to, const struct profile_waker *waker)
{
	const struct profile_stack *stack = &to->profile->stacks[waker->stack];
	int r = push_text(to, FRAME_SEPARATOR, mark_text(MARK_SEPARATOR));

	if (r < 0)
		return r;
	r = push_stack(to, stack);
	if (r < 0)
		return r;
	/* An interrupt's frames end by themselves, not where the thread below it began. */
	if (stack->end != STACK_COMPLETE && !waker->is_interrupt) {
		r = push_text(to, FRAME_NOTE, mark_text(MARK_TRUNCATED));
		if (r < 0)
			return r;
	}
	return push_waker_name(to, waker);
}

static int push_wakers(struct unfolder *to, const struct profile_sample *sample)
{
	/* Whoever made the thread runnable is not the reason that it then waits for a CPU. */
	unsigned int left = off_reason_is_runnable(sample->reason) ? 0 : to->options->waker_depth;
	uint32_t id = sample->waker;

	to->is_waker = true;
	for (; id && left; left--, id = to->profile->wakers[id].next) {
		int r = push_waker(to, &to->profile->wakers[id]);

		if (r < 0)
			return r;
	}
	return 0;
}

static enum frame_kind reason_kind(enum off_reason reason)
{
	if (reason == REASON_ONCPU)
		return FRAME_RUNNING;
	return off_reason_is_runnable(reason) ? FRAME_RUNNABLE : FRAME_WAITING;
}

static int push_reason(struct unfolder *to, enum off_reason reason)
{
	uint32_t *name = &to->reasons[reason];

	if (!*name) {
		int r = strings_add(&to->profile->strings, off_reason_text(reason), name);

		if (r < 0)
			return r;
	}
	return push(to, reason_kind(reason), *name);
}

int unfolder_next(struct unfolder *to, const struct profile_sample *sample)
{
	int r;

	to->n = to->n_same = 0;
	to->is_waker = false;
	r = push_thread(to, sample);
	to->before = *sample;
	to->has_before = r == 0;
	if (r < 0)
		return r;
	if (sample->reason != REASON_NONE && !to->options->no_reason) {
		r = push_reason(to, sample->reason);
		if (r < 0)
			return r;
	}
	return push_wakers(to, sample);
}

void unfolder_done(struct unfolder *unfolder)
{
	free(unfolder->frames);
	free(unfolder->depths);
	*unfolder = (struct unfolder){};
}

uint64_t profile_sample_weight(const struct profile *profile, const struct profile_sample *sample)
{
	if (profile->mode != PROFILE_ONCPU)
		return (sample->nanoseconds + 500) / 1000;
	return profile_is_counted(profile) ? sample->nanoseconds : sample->count;
}

const char *profile_mode_name(enum profile_mode mode)
{
	// clang-format off
	static const char *const names[N_PROFILE_MODES] = {
		[PROFILE_ONCPU]  = "oncpu",
		[PROFILE_OFFCPU] = "offcpu",
		[PROFILE_WALL]   = "wall",
	};
	// clang-format on

	return names[mode];
}

bool off_reason_is_runnable(enum off_reason reason)
{
	return reason == REASON_RUNQUEUE || reason == REASON_PREEMPTED ||
	       reason == REASON_THROTTLED;
}

const char *off_reason_text(enum off_reason reason)
{
	static const char *const texts[N_OFF_REASONS] = {
		[REASON_NONE] = "",
		[REASON_ONCPU] = "[on-cpu]",
		[REASON_SLEEP] = "[sleep]",
		[REASON_DISK] = "[disk]",
		[REASON_STOPPED] = "[stopped]",
		[REASON_PREEMPTED] = "[preempted]",
		[REASON_RUNQUEUE] = "[runqueue]",
		[REASON_THROTTLED] = "[throttled]",
		[REASON_FUTEX] = "[futex]",
		[REASON_POLL] = "[poll]",
		[REASON_TIMER] = "[timer]",
		[REASON_NETWORK] = "[network]",
		[REASON_PIPE] = "[pipe]",
		[REASON_PAGE_FAULT] = "[page fault]",
		[REASON_CHILD] = "[child]",
		[REASON_LOCK] = "[lock]",
		[REASON_SIGNAL] = "[signal]",
	};

	return texts[reason];
}

const char *frame_kind_suffix(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_KERNEL: return "_[k]";
	case FRAME_INLINED: return "_[i]";
	case FRAME_JIT: return "_[j]";
	case FRAME_INTERPRETED: return "_[0]";
	default: return "";
	}
}
