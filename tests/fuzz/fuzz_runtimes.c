/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any text run over any memory, any facts turned into a text, any memory read as code
 * objects, any line table. The chain must be well formed, and nothing may be read out of bounds.
 *
 * Input: facts (struct runtime_facts), then a text (struct bf_text), then memory.
 */
#include <stdlib.h>

#include "tests/unit/made_machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static struct made_memory memory;
static struct bf_machine machine;

/* Takes up to @size bytes of the input. */
static void take(void *to, size_t size, const uint8_t **bytes, size_t *n)
{
	size_t many = *n < size ? *n : size;

	memset(to, 0, size);
	memcpy(to, *bytes, many);
	*bytes += many;
	*n -= many;
}

static void run(const struct bf_text *text)
{
	uint32_t activations;

	for (int i = 0; i < BF_PARAMETERS; i++)
		machine.parameters[i] = MADE_START + 0x800 * i;
	made_run(&machine, text, MADE_START + 0x1000, &memory);
	if (made_frames(&machine, &activations) == UINT32_MAX || machine.header > BF_CHAIN_WORDS ||
	    machine.end == BF_CHAIN_GOES_ON)
		abort();
}

/* Where walks of ranges begin: as in the seeds. */
#define BEGIN_PC  (MADE_START + 0x60c0)
#define BEGIN_SP  (MADE_START + 0x8000)
#define BEGIN_FP  (MADE_START + 0x8100)
#define BEGIN_R13 (MADE_START + 0x2000)
#define BEGIN_RDX (MADE_START + 0x2508)
#define BEGIN_RBX (MADE_START + 0x3798)

/* Row of user/runtimes/runtime.c: its processes' stacks are anywhere to the thread's. */
#define ERLANG 7

/*
 * The same as that of a range; @at: a leaf (1), in built-in code (2). Returns how many words
 * @frames got. One of ours leads up the stack; others may set the walk's registers to anything.
 */
static uint32_t run_range(const struct bf_text *text, int at, bool is_ours, __u64 *frames)
{
	const struct runtime_memory from = {made_read, &memory, MADE_START};
	struct bf_walk walk = {.pc = BEGIN_PC,
			       .sp = BEGIN_SP,
			       .fp = BEGIN_FP,
			       .exact = at & 1,
			       .built_in = at >> 1};
	uint64_t sp = walk.sp;
	uint32_t n;
	int end;

	walk.leaf[BF_REGISTER_R13] = BEGIN_R13;
	walk.leaf[BF_REGISTER_DX] = BEGIN_RDX;
	walk.leaf[BF_REGISTER_BX] = BEGIN_RBX;
	memory.n_reads = 0;
	machine.turns = 0;
	n = machine_run_range(&machine, text, &walk, &from, frames, 0, &end);
	if (n > BF_MAX_FRAMES || (is_ours && walk.sp < sp))
		abort();
	return n;
}

/* What @n words say. */
static void describe(const struct runtime_facts *facts, const __u64 *words, uint32_t n)
{
	const struct runtime_memory from = {made_read, &memory, MADE_START};

	for (uint32_t i = 0; i + 1 < n && i < 64; i++) {
		const struct runtime_frame frame = {words[i] & BF_FRAME_CODE,
						    words[i] >> BF_FRAME_KIND_SHIFT &
							    (BF_FRAME_KINDS - 1),
						    (uint32_t)words[i + 1], words[i + 1] >> 32};
		struct runtime_code code;

		if (runtime_describe(facts, &from, &frame, &code) == 0)
			runtime_code_done(&code);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct runtime_facts facts;
	__u64 frames[BF_MAX_FRAMES];
	struct bf_text text;

	memory.fails_at = 0;
	take(&facts, sizeof facts, &bytes, &n);
	take(&text, sizeof text, &bytes, &n);
	if (runtime_is_sound(&facts))
		runtime_line(&facts, bytes, n, 1, facts.version);
	take(memory.bytes, sizeof memory.bytes, &bytes, &n);
	run(&text);
	run_range(&text, 1, false, frames);
	if (!runtime_is_sound(&facts) || facts.problem)
		return 0;
	if (runtime_write(&facts, BF_HOOK_CHAIN, &text) == 0) {
		run(&text);
		describe(&facts, machine.words, machine.header);
	}
	if (runtime_write(&facts, BF_HOOK_RANGE, &text) < 0)
		return 0;
	for (int at = 0; at < 4; at++)
		describe(&facts, frames, run_range(&text, at, facts.runtime != ERLANG, frames));
	return 0;
}
