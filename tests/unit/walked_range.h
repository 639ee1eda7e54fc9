/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks ranges of a runtime in memory made by hand, and describes the frames. Included after the
 * header that makes the memory: its facts, memory and reading().
 */
#ifndef TESTS_UNIT_WALKED_RANGE_H
#define TESTS_UNIT_WALKED_RANGE_H

static struct bf_machine machine;
static __u64 frames[BF_MAX_FRAMES];
static int end;

/* Walks on from @walk, as the @turn'th range of it. Returns the number of frames. */
static inline uint32_t run_turn(struct bf_walk *walk, int turn)
{
	const struct runtime_memory process = reading();
	struct bf_text text;

	if (!turn) {
		memory.n_reads = 0;
		machine.turns = 0;
	}
	assert_int_equal(runtime_write(&facts, BF_HOOK_RANGE, &text), 0);
	return machine_run_range(&machine, &text, walk, &process, frames, 0, &end) / 2;
}

/* The first range. */
static inline uint32_t run(struct bf_walk *walk)
{
	return run_turn(walk, 0);
}

static inline struct runtime_frame frame_at(uint32_t i)
{
	return (struct runtime_frame){frames[2 * i] & BF_FRAME_CODE,
				      frames[2 * i] >> BF_FRAME_KIND_SHIFT & (BF_FRAME_KINDS - 1),
				      (uint32_t)frames[2 * i + 1], frames[2 * i + 1] >> 32};
}

static inline int describe(uint32_t i, struct runtime_code *ret)
{
	const struct runtime_memory process = reading();
	const struct runtime_frame frame = frame_at(i);

	memory.n_reads = 0;
	return runtime_describe(&facts, &process, &frame, ret);
}

#endif
