/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ids of stacks and wakers: a hash that nobody can aim at. A program chooses what is on its stack,
 * and two stacks with one id would be taken for each other.
 *
 * MULTILINEAR-HM (Lemire, Kaser: Strongly universal string hashing is fast, 2014): a sum modulo
 * 2^64 of one product per word, (key + lower half) * (another key + upper half). For any two inputs
 * chosen without knowing the keys, the upper halves of their sums agree with a probability of 2^-31
 * at most; two such sums, with separate keys, make the id. Keys are random for each recording, and
 * ids never leave it. It takes one multiplication per sum and word, and none waits for another.
 *
 * Compiled for BPF and for its tests, which define hash_keys(), an array of BF_HASH_KEYS, and
 * HASH_PROVED: in BPF, global functions, which the verifier proves once instead of for each call.
 */
#ifndef BPF_HASH_H
#define BPF_HASH_H

#include "bpf/wire.h"

#define HASH_INLINE static inline __attribute__((always_inline))

struct hash_sums {
	__u64 of[2];
};

/* Keeps compilers from reading all keys first: BPF's stack has no room for them. */
#define HASH_SETTLE(sum) asm volatile("" : "+r"(sum))

HASH_INLINE void hash_word(struct hash_sums *sums, __u32 i, __u64 word)
{
	const volatile struct bf_hash_key *key = &hash_keys()[i];

	sums->of[0] += (key->lower[0] + (__u32)word) * (key->upper[0] + (word >> 32));
	HASH_SETTLE(sums->of[0]);
	sums->of[1] += (key->lower[1] + (__u32)word) * (key->upper[1] + (word >> 32));
	HASH_SETTLE(sums->of[1]);
}

/* The last keys are for the properties: @type of the event that carries it, @size, @time. */
HASH_INLINE void hash_begin(struct hash_sums *sums, __u32 type, __u32 size, __u64 time)
{
	*sums = (struct hash_sums){};
	hash_word(sums, BF_MAX_FRAMES, (__u64)type << 32 | size);
	hash_word(sums, BF_MAX_FRAMES + 1, time);
}

/* Never 0, which means nothing. */
HASH_INLINE __u64 hash_end(const struct hash_sums *sums)
{
	return (sums->of[0] >> 32 | (sums->of[1] & ~0xffffffffULL)) ?: 1;
}

/* @n: a constant, at most BF_MAX_FRAMES. */
HASH_INLINE __u64 hash_words(__u32 type, const __u64 *words, __u32 n)
{
	struct hash_sums sums;

	hash_begin(&sums, type, n, 0);
	for (__u32 i = 0; i < n; i++)
		hash_word(&sums, i, words[i]);
	return hash_end(&sums);
}

#define HASH_FRAMES 8 /* at a time: each is expensive for the verifier */

HASH_PROVED int hash_some_frames(struct hash_sums *sums, const struct bf_stack_event *stack,
				 __u32 first)
{
	for (__u32 i = 0; sums && stack && i < HASH_FRAMES; i++) {
		__u32 at = first + i;

		if (at < BF_MAX_FRAMES && at < stack->n)
			hash_word(sums, at, stack->frames[at]);
	}
	return 0;
}

#define HASH_PARTS 16 /* of so many; loops are nested for the verifier, see bpf/unwind.bpf.h */

HASH_PROVED int hash_many_frames(struct hash_sums *sums, const struct bf_stack_event *stack,
				 __u32 first)
{
	for (__u32 i = 0; i < HASH_PARTS && stack && first < stack->n; i++) {
		hash_some_frames(sums, stack, first);
		first += HASH_FRAMES;
	}
	return 0;
}

HASH_PROVED __u64 hash_frames(const struct bf_stack_event *stack)
{
	struct hash_sums sums;

	if (!stack)
		return 0;
	hash_begin(&sums, BF_EVENT_STACK, stack->n | (__u32)stack->end << 16, stack->time);
	hash_word(&sums, BF_MAX_FRAMES + 2, stack->process_start);
	hash_word(&sums, BF_MAX_FRAMES + 3, (__u64)stack->pid << 32 | stack->exec_id);
	hash_word(&sums, BF_MAX_FRAMES + 4, stack->sp);
	for (__u32 i = 0; i < BF_MAX_FRAMES && i < stack->n; i += HASH_PARTS * HASH_FRAMES)
		hash_many_frames(&sums, stack, i);
	return hash_end(&sums);
}

#endif
