/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/loop_frames.h"

#include <string.h>

#include "runtimes/runtime.h"

/* A stack, taken apart. */
struct parts {
	/* Native frames; which of them are code of the thread's position is in the words. */
	uint64_t native[BF_MAX_FRAMES];
	uint32_t n_native;
	/* The owner's frames: words of activations, innermost first. */
	uint64_t chain[BF_MAX_FRAMES];
	uint32_t n_chain;
};

static bool is_last(uint64_t word)
{
	return word >> BF_FRAME_KIND_SHIFT & RUNTIME_LAST;
}

static bool is_owned(uint64_t word, const struct loop_code *code)
{
	return (word >> BF_FRAME_OWNER_SHIFT & (BF_FRAME_OWNERS - 1)) == code->owner;
}

static void take_apart(const uint64_t *words, uint32_t n, const struct loop_code *code,
		       struct parts *ret)
{
	ret->n_native = ret->n_chain = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!(words[i] & BF_FRAME_RUNTIME)) {
			ret->native[ret->n_native++] = words[i];
			continue;
		}
		if (i + 1 < n && is_owned(words[i], code)) {
			ret->chain[ret->n_chain++] = words[i];
			ret->chain[ret->n_chain++] = words[i + 1];
		}
		i++;
	}
}

/* Whether native frame @i is in [@start, @end). */
static bool is_within(const uint64_t *words, uint32_t i, uint64_t start, uint64_t end)
{
	bool is_return = i && !(words[i] & BF_FRAME_EXACT);
	uint64_t address = i ? words[i] & ~BF_FRAME_EXACT : words[i];

	return address - is_return >= start && address - is_return < end;
}

/* Whether native frame @i is an activation's: the innermost loop of it. */
static bool is_loop(const struct parts *parts, uint32_t i, const struct loop_code *code)
{
	const uint64_t *words = parts->native;

	return !(i && is_within(words, i - 1, code->again_start, code->again_end)) &&
	       (is_within(words, i, code->start, code->end) ||
		is_within(words, i, code->cold_start, code->cold_end));
}

/* Words of the activation at chain[@at]. */
static uint32_t activation(const struct parts *parts, uint32_t at)
{
	uint32_t to = at;

	while (to < parts->n_chain) {
		to += 2;
		if (is_last(parts->chain[to - 2]))
			break;
	}
	return to - at;
}

/*
 * How many loops there are more than activations. The innermost of these run nothing: the
 * interpreter has just left their function. Fewer: the innermost activations don't run.
 */
static int32_t count_idle(const struct parts *parts, const struct loop_code *code)
{
	int32_t idle = 0;

	for (uint32_t i = 0; i < parts->n_native; i++)
		idle += is_loop(parts, i, code);
	for (uint32_t at = 0, count; (count = activation(parts, at)); at += count)
		idle--;
	return idle;
}

/* Whether the program's own activation, the last of all, is there, but over. */
static bool is_program_over(const struct parts *parts, const struct loop_code *code)
{
	if (code->program_start == code->program_end || !parts->n_chain ||
	    !(parts->chain[parts->n_chain - 2] >> BF_FRAME_KIND_SHIFT & RUNTIME_KIND_PROGRAM))
		return false;
	for (uint32_t i = parts->n_native; i-- > 0 && !is_loop(parts, i, code);)
		if (is_within(parts->native, i, code->program_start, code->program_end))
			return false;
	return true;
}

/* A stack put together again, in @to. */
struct whole {
	uint64_t *to;
	uint32_t n;
};

static void put(struct whole *whole, const uint64_t *words, uint32_t n)
{
	memcpy(whole->to + whole->n, words, n * sizeof *words);
	whole->n += n;
}

uint32_t loop_frames_place(const uint64_t *words, uint32_t n, const struct loop_code *code,
			   bool is_whole, uint64_t *ret)
{
	struct parts parts;
	struct whole whole = {ret};
	uint32_t at = 0, n_native = 0;
	bool has_loop = false;
	int32_t idle;

	take_apart(words, n, code, &parts);
	if (is_whole && is_program_over(&parts, code))
		parts.n_chain -= 2;
	/* That is known only where all loops are there. */
	idle = is_whole ? count_idle(&parts, code) : 0;
	for (; idle < 0; idle++)
		at += activation(&parts, at);
	for (uint32_t i = 0; i < n; i++) {
		if (words[i] & BF_FRAME_RUNTIME) {
			if (i + 1 == n) /* half a frame */
				put(&whole, words + i, 1);
			else if (!is_owned(words[i], code))
				put(&whole, words + i, 2);
			i++;
			continue;
		}
		if (is_loop(&parts, n_native++, code)) {
			uint32_t count = idle ? 0 : activation(&parts, at);

			put(&whole, parts.chain + at, count);
			at += count;
			idle -= idle > 0;
			has_loop = true;
		}
		put(&whole, words + i, 1);
	}
	if (has_loop || !is_whole)
		put(&whole, parts.chain + at, parts.n_chain - at);
	return whole.n;
}
