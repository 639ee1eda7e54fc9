/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/loop_frames.h"

#include <string.h>

#include "runtimes/runtime.h"

static bool is_last(uint64_t word)
{
	return word >> BF_FRAME_KIND_SHIFT & RUNTIME_LAST;
}

/* Whether native frame @i is in [@start, @end). */
static bool is_within(const uint64_t *words, uint32_t i, uint64_t start, uint64_t end)
{
	bool is_return = i && !(words[i] & BF_FRAME_EXACT);
	uint64_t address = i ? words[i] & ~BF_FRAME_EXACT : words[i];

	return address - is_return >= start && address - is_return < end;
}

static bool is_in_loop(const uint64_t *words, uint32_t i, const struct loop_code *code)
{
	return is_within(words, i, code->start, code->end) ||
	       is_within(words, i, code->cold_start, code->cold_end);
}

/* Whether native frame @i of @n is an activation's: the innermost loop of it, or generated code
 * that it is not below. */
static bool is_loop(const uint64_t *words, uint32_t i, uint32_t n, const struct loop_code *code)
{
	if (i && is_within(words, i - 1, code->again_start, code->again_end))
		return false;
	return is_in_loop(words, i, code) ||
	       (is_within(words, i, code->made_start, code->made_end) &&
		(i + 1 == n || !(is_in_loop(words, i + 1, code) ||
				 is_within(words, i + 1, code->made_start, code->made_end))));
}

/* Words of the activation at words[@at]. */
static uint32_t activation(const uint64_t *words, uint32_t at, uint32_t n)
{
	uint32_t to = at;

	while (to + 1 < n && words[to] & BF_FRAME_RUNTIME) {
		to += 2;
		if (is_last(words[to - 2]))
			break;
	}
	return to - at;
}

/*
 * How many loops there are more than activations. The innermost of these run nothing: the
 * interpreter has just left their function. Fewer: the innermost activations don't run.
 */
static int32_t count_idle(const uint64_t *words, uint32_t n_native, uint32_t n,
			  const struct loop_code *code)
{
	int32_t idle = 0;

	for (uint32_t i = 0; i < n_native; i++)
		idle += is_loop(words, i, n_native, code);
	for (uint32_t at = n_native, count; (count = activation(words, at, n)); at += count)
		idle--;
	return idle;
}

/* Whether the program's own activation, the last of all, is there, but over. */
static bool is_program_over(const uint64_t *words, uint32_t n_native, uint32_t n,
			    const struct loop_code *code)
{
	if (code->program_start == code->program_end || n - n_native < 2 ||
	    !(words[n - 2] >> BF_FRAME_KIND_SHIFT & RUNTIME_KIND_PROGRAM))
		return false;
	for (uint32_t i = n_native; i-- > 0 && !is_loop(words, i, n_native, code);)
		if (is_within(words, i, code->program_start, code->program_end))
			return false;
	return true;
}

uint32_t loop_frames_place(const uint64_t *words, uint32_t n, const struct loop_code *code,
			   bool is_whole, uint64_t *ret)
{
	uint32_t n_native = 0, out = 0, at;
	bool has_loop = false;
	int32_t idle;

	while (n_native < n && !(words[n_native] & BF_FRAME_RUNTIME))
		n_native++;
	at = n_native;
	if (is_whole && is_program_over(words, n_native, n, code))
		n -= 2;
	/* That is known only where all loops are there. */
	idle = is_whole ? count_idle(words, n_native, n, code) : 0;
	for (; idle < 0; idle++)
		at += activation(words, at, n);
	for (uint32_t i = 0; i < n_native; i++) {
		if (is_loop(words, i, n_native, code)) {
			uint32_t count = idle ? 0 : activation(words, at, n);

			memcpy(ret + out, words + at, count * sizeof *ret);
			out += count;
			at += count;
			idle -= idle > 0;
			has_loop = true;
		}
		ret[out++] = words[i];
	}
	if (has_loop || !is_whole) {
		memcpy(ret + out, words + at, (n - at) * sizeof *ret);
		out += n - at;
	}
	return out;
}
