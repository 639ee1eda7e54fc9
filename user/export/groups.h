/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * groups: a profile's stacks by command, or by thread with --threads, for formats that keep each
 * in a part of its own. The heaviest group comes first.
 *
 * Frames differ if such formats can show the difference: name, source file, line with --lines,
 * and the module where the file is unknown. An inlined function and the same one called are
 * therefore one frame; group_stack_is_inlined() distinguishes them. The command is no frame
 * unless nothing else is on a stack.
 */
#ifndef EXPORT_GROUPS_H
#define EXPORT_GROUPS_H

#include "base/json.h"
#include "core/stacks.h"

struct group_frame {
	uint32_t name, file, module; /* string ids of the stacks; 0: unknown */
	uint32_t line;		     /* only with --lines; 0: unknown */
	uint8_t kind;		     /* enum frame_kind, never FRAME_INLINED */
};

struct group {
	uint32_t name; /* string id of the stacks */
	uint64_t weight;
	uint32_t first, n; /* in groups.entries */
};

struct groups {
	struct stacks stacks;
	struct group *items;
	size_t n;
	uint32_t *entries; /* of the stacks, grouped; within a group sorted by the frames' names */
	struct group_frame *frames;
	size_t n_frames, frames_capacity;
	uint32_t *frame_of; /* by the stacks' frames */
};

/* Errors: -ENOMEM, -E2BIG, -EOVERFLOW. groups_done() is fine after a failure. */
int groups_init(struct groups *groups, struct profile *profile,
		const struct unfold_options *unfold);
void groups_done(struct groups *groups);

/* Entry @i of @group: its frames, root first. */
struct group_stack {
	const struct groups *groups;
	const struct stacks_entry *entry;
	uint32_t n;
	bool is_idle; /* begins with [idle], which preceded the command */
};
struct group_stack group_stack(const struct groups *groups, const struct group *group, uint32_t i);

static inline uint32_t group_stack_frame(const struct group_stack *stack, uint32_t i)
{
	const uint32_t *ids = stack->groups->stacks.ids + stack->entry->first;
	uint32_t after_command = stack->entry->n > 1 && !(stack->is_idle && i == 0);

	return stack->groups->frame_of[ids[i + after_command]];
}

/* Whether frame @i is an inlined function in this stack. */
static inline bool group_stack_is_inlined(const struct group_stack *stack, uint32_t i)
{
	const struct stacks *stacks = &stack->groups->stacks;
	const uint32_t *ids = stacks->ids + stack->entry->first;
	uint32_t after_command = stack->entry->n > 1 && !(stack->is_idle && i == 0);

	return stacks->frames[ids[i + after_command]].kind == FRAME_INLINED;
}

static inline const char *groups_text(const struct groups *groups, uint32_t text)
{
	return strings_get(&groups->stacks.strings, text);
}

/* Calls @add with the key and text of each known fact (core/facts.h). */
typedef void (*groups_fact_fn)(struct json *json, const char *key, const char *text);
void groups_facts(const struct groups *groups, struct json *json, groups_fact_fn add);

#endif
