/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_runtime: a thread of a runtime in memory made by hand: which frames the runtime's text finds
 * there, and what they are called.
 */
#ifndef TESTS_MADE_RUNTIME_H
#define TESTS_MADE_RUNTIME_H

#include <stdlib.h>

#include "tests/unit/cmocka_all.h"
#include "tests/unit/made_machine.h"

struct made_runtime {
	struct made_memory memory;
	struct bf_machine machine;
	uint64_t tls;
	int64_t bias; /* of the runtime's file */
};

/* Finds the thread's frames. */
static inline void made_find(struct made_runtime *thread, const struct runtime_facts *facts)
{
	struct bf_text text;

	assert_int_equal(runtime_write(facts, BF_HOOK_CHAIN, &text), 0);
	thread->machine.parameters[0] = thread->bias;
	made_run(&thread->machine, &text, thread->tls, &thread->memory);
}

/* A thread whose program's loader is at work has no TLS, no frames, and a chain that is whole. */
static inline void made_early(struct made_runtime *thread, const struct runtime_facts *facts)
{
	const uint64_t tls = thread->tls;

	thread->tls = 0;
	made_find(thread, facts);
	assert_int_equal(thread->machine.end, BF_CHAIN_WHOLE);
	assert_int_equal(thread->machine.header, 0);
	thread->tls = tls;
}

/* Frame @wanted of the chain, in whichever activation. */
static inline struct runtime_frame made_frame_at(const struct made_runtime *thread, uint32_t wanted)
{
	const __u64 *words = thread->machine.words;

	for (uint32_t at = 0, i = 0; at < thread->machine.header;) {
		uint32_t count = words[at] >> BF_CHAIN_SHIFT;

		for (uint32_t k = at + 1; k <= at + count; k += 2)
			if (i++ == wanted)
				return (struct runtime_frame){
					words[k] & BF_FRAME_CODE,
					words[k] >> BF_FRAME_KIND_SHIFT & (BF_FRAME_KINDS - 1),
					(uint32_t)words[k + 1], words[k + 1] >> 32};
		at += count + 1;
	}
	fail_msg("no frame %u", wanted);
	return (struct runtime_frame){};
}

/* What frame @i is, as runtime_describe(). Reads are counted from here on. */
static inline int made_describe(struct made_runtime *thread, const struct runtime_facts *facts,
				uint32_t i, struct runtime_code *ret)
{
	const struct runtime_memory from = {made_read, &thread->memory, thread->bias};
	const struct runtime_frame frame = made_frame_at(thread, i);

	thread->memory.n_reads = 0;
	return runtime_describe(facts, &from, &frame, ret);
}

/* Wherever a read fails, the chain is well formed, and no frame of the @depth ones is there twice.
 */
static inline void made_faults(struct made_runtime *thread, const struct runtime_facts *facts,
			       uint32_t depth)
{
	uint32_t activations;

	made_find(thread, facts);
	for (uint64_t i = 1, n = thread->memory.n_reads; i <= n; i++) {
		thread->memory.fails_at = i;
		made_find(thread, facts);
		assert_true(made_frames(&thread->machine, &activations) <= depth);
	}
	thread->memory.fails_at = 0;
	made_find(thread, facts);
}

/*
 * Facts with some of their first @n offsets replaced by numbers below @most are refused, or read
 * nothing out of bounds, in memory that @make makes.
 */
static inline void made_other_facts(struct made_runtime *thread, const struct runtime_facts *facts,
				    void (*make)(const struct runtime_facts *), uint32_t n,
				    uint32_t most)
{
	srandom(1);
	for (int i = 0; i < 20000; i++) {
		struct runtime_facts changed = *facts;
		struct runtime_code code;
		struct bf_text text;

		for (int k = random() % 4; k >= 0; k--)
			changed.offsets[random() % n] = random() % most;
		if (!runtime_is_sound(&changed) || runtime_write(&changed, BF_HOOK_CHAIN, &text) < 0)
			continue;
		make(facts);
		made_find(thread, &changed);
		if (thread->machine.header && made_describe(thread, &changed, 0, &code) == 0)
			free(code.lines);
	}
}

#endif
