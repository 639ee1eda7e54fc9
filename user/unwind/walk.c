/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/walk.h"

#include <elf.h>
#include <string.h>

static inline int walk_read(void *memory, void *to, __u32 n, __u64 from)
{
	const struct walk_memory *captured = memory;

	if (captured->code && from == captured->code_at && n == sizeof(uint32_t)) {
		memcpy(to, captured->code, n);
		return 0;
	}
	if (from < captured->start || from - captured->start > captured->n ||
	    n > captured->n - (from - captured->start))
		return -1;
	memcpy(to, captured->bytes + (from - captured->start), n);
	return 0;
}

static inline void chain_copy(__u64 *to, const __u64 *from, __u32 n)
{
	memcpy(to, from, n * sizeof *to);
}

#include "bpf/machine.h"
#include "bpf/unwind_step.h"

/* Adds the rest of the captured chain. */
struct chain {
	const __u64 *words;
	uint32_t at, n;
	bool is_cut; /* frames had no room */
};

/* Puts the activations that have their anchors below @sp before the last frame; or all at the end.
 */
static void merge(struct chain *chain, __u64 *frames, uint32_t *n, uint64_t sp, bool is_before)
{
	while (chain->at < chain->n &&
	       (!is_before || chain_anchor(chain->words, chain->at, chain->n) < sp)) {
		uint32_t count = chain_count(chain->words, chain->at);
		uint32_t placed = count < chain->n - chain->at
					  ? chain_insert(chain->words, chain->at, frames, *n, is_before)
					  : 0;

		*n += placed;
		if (!placed || placed < count) {
			chain->is_cut = true;
			chain->n = 0;
			return;
		}
		chain->at += count + 1;
	}
}

/*
 * Chains of several runtimes come one after the other: puts their activations into @to in the order
 * of their anchors, those without last. Returns how many words there are.
 */
static uint32_t sort_chain(const __u64 *words, uint32_t n, __u64 to[static BF_CHAIN_WORDS])
{
	uint32_t done = 0;

	for (uint32_t at = 0, count, place; at < n; at += count) {
		count = chain_count(words, at) + 1;
		if (count == 1 || count > n - at || count > BF_CHAIN_WORDS - done)
			break;
		for (place = 0; place < done;
		     place += chain_count(to, place) + 1)
			if (chain_anchor(to, place, done) > chain_anchor(words, at, n))
				break;
		memmove(to + place + count, to + place, (done - place) * sizeof *to);
		memcpy(to + place, words + at, count * sizeof *to);
		done += count;
	}
	return done;
}

/* Returns whether the range was a runtime's. */
static bool walk_range(struct bf_walk *walk, __u64 *frames, uint32_t *n,
		       const struct walk_memory *memory)
{
	uint64_t sp = walk->sp;
	int end = BF_END_NONE;
	uint32_t count = memory->range(memory->range_context, walk, memory, frames, *n, &end);

	if (!end && !count && walk->sp == sp)
		return false;
	*n += count;
	walk->end = end;
	return true;
}

void unwind_walk(struct bf_walk *walk, __u64 *frames, uint32_t *n, uint16_t machine,
		 const struct walk_memory *memory, walk_code_fn code_at, void *context)
{
	enum walk_machine kind = machine == EM_AARCH64 ? WALK_ARM64 : WALK_X86_64;
	void *captured = (void *)memory;
	__u64 words[BF_CHAIN_WORDS];
	struct chain chain = {words};

	if (memory->chain)
		chain.n = sort_chain(memory->chain, memory->n_chain, words);
	walk->end = BF_END_NONE;
	while (!walk->end) {
		const struct bf_rule *rule = NULL;
		struct walk_code code = {};
		bool is_code = code_at(context, walk->pc - !walk->exact, &code);

		walk->built_in =
			code.flags & BF_MAPPING_BUILT_IN ? code.flags >> BF_OWNER_SHIFT : 0;
		if (memory->range && (!is_code || !(code.flags & BF_MAPPING_FILE)) &&
		    walk_range(walk, frames, n, memory))
			continue;
		if (!is_code) {
			walk->end = walk_nowhere(walk, 1);
			break;
		}
		if (*n == BF_MAX_FRAMES) {
			walk->end = BF_END_DEPTH;
			break;
		}
		if (code.table)
			rule = unwind_table_find(code.table, code.offset);
		frames[(*n)++] = walk_frame(walk, rule);
		walk->end = code.no_room  ? BF_END_BUDGET
			    : walk->is_32 ? BF_END_32_BIT
			    : rule	  ? walk_by_rule(walk, rule, captured, kind)
					  : walk_by_frame_pointer(walk, captured, code.flags, kind);
		merge(&chain, frames, n, walk->sp, true);
	}
	merge(&chain, frames, n, 0, false);
	if (chain.is_cut && walk->end == BF_END_ENTRY)
		walk->end = BF_END_DEPTH;
}
