/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stack ids as BPF computes them: any difference changes the id, and nobody can choose one. */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "bpf/wire.h"

static struct bf_hash_key keys[BF_HASH_KEYS];
#define hash_keys() keys
#define HASH_PROVED static
#include "bpf/hash.h"

#define MOST_FRAMES 8
#define CHOICES	    4

static uint64_t id_of(const uint64_t *frames, uint32_t n, uint32_t end)
{
	struct bf_stack_event stack = {.n = n, .end = end};

	memcpy(stack.frames, frames, n * sizeof *frames);
	return hash_frames(&stack);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* All stacks of 1 to 8 frames chosen from four, each with both ends. */
static void ids_differ(void **state)
{
	static const uint64_t choices[CHOICES] = {0x401000, 0x401001, 0x7f0000401000,
						  0x401000 | BF_FRAME_EXACT};
	static uint64_t ids[200000];
	size_t n = 0;

	assert_int_equal(random_bytes(keys, sizeof keys), 0);
	for (uint32_t depth = 1; depth <= MOST_FRAMES; depth++)
		for (uint32_t which = 0; which < 1u << 2 * depth; which++) {
			uint64_t frames[MOST_FRAMES];

			for (uint32_t i = 0; i < depth; i++)
				frames[i] = choices[which >> 2 * i & 3];
			ids[n++] = id_of(frames, depth, BF_END_ENTRY);
			ids[n++] = id_of(frames, depth, BF_END_MEMORY);
		}
	qsort(ids, n, sizeof *ids, compare);
	assert_true(ids[0]);
	for (size_t i = 1; i < n; i++)
		assert_true(ids[i - 1] != ids[i]);
}

/* Threads that wait in one place, and lack memory, are sent one by one. */
static void places_on_the_stack_count(void **state)
{
	struct bf_stack_event stack = {.n = 1, .end = BF_END_MEMORY, .sp = 0x7ffe0000};
	uint64_t id;

	assert_int_equal(random_bytes(keys, sizeof keys), 0);
	id = hash_frames(&stack);
	stack.sp += 4096;
	assert_true(hash_frames(&stack) != id);
}

/* Frames are hashed in groups, and groups in groups: none is left out at any depth. */
static void every_frame_counts(void **state)
{
	static uint64_t frames[BF_MAX_FRAMES];

	assert_int_equal(random_bytes(keys, sizeof keys), 0);
	assert_int_equal(random_bytes(frames, sizeof frames), 0);
	for (uint32_t depth = 1; depth <= BF_MAX_FRAMES; depth++) {
		uint64_t id = id_of(frames, depth, BF_END_ENTRY), first = frames[0];

		frames[depth - 1] ^= 1;
		assert_true(id_of(frames, depth, BF_END_ENTRY) != id);
		frames[depth - 1] ^= 1;
		frames[0] = first + 1;
		assert_true(id_of(frames, depth, BF_END_ENTRY) != id);
		frames[0] = first;
	}
	for (uint32_t i = 0; i < BF_MAX_FRAMES; i++) {
		uint64_t id = id_of(frames, BF_MAX_FRAMES, BF_END_ENTRY);

		frames[i] ^= 1ull << 40;
		assert_true(id_of(frames, BF_MAX_FRAMES, BF_END_ENTRY) != id);
	}
}

/* Equal for every multiplier if a word is xored in before the multiplication. */
static void high_bits_do_not_cancel_out(void **state)
{
	uint64_t a[] = {0x401000, 0x402000},
		 b[] = {a[0] ^ 1ull << 63, a[1] ^ (1ull << 63 | 1u << 31)};

	for (int i = 0; i < 1000; i++) {
		assert_int_equal(random_bytes(keys, sizeof keys), 0);
		assert_true(id_of(a, 2, BF_END_ENTRY) != id_of(b, 2, BF_END_ENTRY));
	}
}

/* Knowing one recording's ids does not help in the next. */
static void keys_decide(void **state)
{
	uint64_t frame = 0x401000, before = 0;

	for (int i = 0; i < 1000; i++) {
		uint64_t id;

		assert_int_equal(random_bytes(keys, sizeof keys), 0);
		id = id_of(&frame, 1, BF_END_ENTRY);
		assert_true(id != before);
		before = id;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_differ),
		cmocka_unit_test(places_on_the_stack_count),
		cmocka_unit_test(every_frame_counts),
		cmocka_unit_test(high_bits_do_not_cancel_out),
		cmocka_unit_test(keys_decide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
