/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/walk.h"

#include <elf.h>
#include <string.h>

static inline int walk_read(void *memory, void *to, __u32 n, __u64 from)
{
	const struct walk_memory *captured = memory;

	if (from < captured->start || from - captured->start > captured->n ||
	    n > captured->n - (from - captured->start))
		return -1;
	memcpy(to, captured->bytes + (from - captured->start), n);
	return 0;
}

#include "bpf/unwind_step.h"

static int step(struct bf_walk *walk, const struct walk_code *code,
		const struct walk_memory *memory, enum walk_machine machine)
{
	const struct bf_rule *rule = NULL;

	if (code->table)
		rule = unwind_table_find(code->table, code->offset);
	if (rule)
		return walk_by_rule(walk, rule, (void *)memory, machine);
	return walk_by_frame_pointer(walk, (void *)memory, code->flags, machine);
}

void unwind_walk(struct bf_walk *walk, __u64 *frames, uint32_t *n, uint16_t machine,
		 const struct walk_memory *memory, walk_code_fn code_at, void *context)
{
	walk->end = BF_END_NONE;
	while (!walk->end) {
		struct walk_code code = {};

		if (!code_at(context, walk->pc - !walk->exact, &code)) {
			walk->end = walk->guessed ? BF_END_NO_ROWS : BF_END_MAPPING;
			return;
		}
		if (code.no_room) {
			walk->end = BF_END_BUDGET;
			return;
		}
		if (*n == BF_MAX_FRAMES) {
			walk->end = BF_END_DEPTH;
			return;
		}
		frames[(*n)++] = walk_frame(walk);
		walk->end =
			step(walk, &code, memory, machine == EM_AARCH64 ? WALK_ARM64 : WALK_X86_64);
	}
}
