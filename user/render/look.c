/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/look.h"

#include <stddef.h>

static const struct {
	char letter;
	const char *text, *wall_text; /* wall_text: if running and waiting are distinguished */
} looks[N_LOOKS] = {
	[LOOK(PART_RUNNING, FRAME_USER)] = {'a', "running"},
	[LOOK(PART_RUNNING, FRAME_KERNEL)] = {'b', "in the kernel"},
	[LOOK(PART_RUNNING, FRAME_INLINED)] = {'c', "inlined"},
	[LOOK(PART_RUNNING, FRAME_JIT)] = {'d', "JIT"},
	[LOOK(PART_RUNNING, FRAME_INTERPRETED)] = {'o', "interpreted"},
	[LOOK(PART_PLAIN, FRAME_USER)] = {'u', "user", "waiting"},
	[LOOK(PART_PLAIN, FRAME_KERNEL)] = {'k', "kernel", "in the kernel"},
	[LOOK(PART_PLAIN, FRAME_INLINED)] = {'i', "inlined"},
	[LOOK(PART_PLAIN, FRAME_JIT)] = {'j', "JIT"},
	[LOOK(PART_PLAIN, FRAME_INTERPRETED)] = {'p', "interpreted"},
	[LOOK(PART_PLAIN, FRAME_NOTE)] = {'n', "command"},
	[LOOK(PART_PLAIN, FRAME_RUNNING)] = {'r', "on-CPU"},
	[LOOK(PART_PLAIN, FRAME_RUNNABLE)] = {'q', "waits for a CPU"},
	[LOOK(PART_PLAIN, FRAME_WAITING)] = {'w', "why it waits"},
	[LOOK(PART_WAKER, FRAME_SEPARATOR)] = {'s'},
	[LOOK(PART_WAKER, FRAME_USER)] = {'e', "waker"},
	[LOOK(PART_WAKER, FRAME_KERNEL)] = {'f', "its kernel"},
	[LOOK(PART_WAKER, FRAME_INLINED)] = {'g'},
	[LOOK(PART_WAKER, FRAME_JIT)] = {'h'},
	[LOOK(PART_WAKER, FRAME_INTERPRETED)] = {'l'},
	[LOOK(PART_WAKER, FRAME_NOTE)] = {'m'},
	[LOOK_ELIDED] = {'x', "elided"},
};

static enum palette_part part_of(const struct tree *tree, const struct tree_node *node)
{
	const struct stacks *stacks = tree->stacks;

	if (node->frame != TREE_ROOT && stacks->frames[node->frame].is_waker)
		return PART_WAKER;
	if (stacks->is_comparison || stacks->facts[SIDE_NEW].mode != PROFILE_WALL ||
	    tree_kind(tree, node) >= FRAME_NOTE)
		return PART_PLAIN;
	return node->sides[SIDE_RUNNING].total > node->sides[SIDE_WAITING].total ? PART_RUNNING
										 : PART_PLAIN;
}

/* A combination that our recordings don't have (a reason among wakers) looks like a note. */
unsigned int look_of(const struct tree *tree, const struct tree_node *node)
{
	enum palette_part part;
	unsigned int look;

	if (node->frame == TREE_ELIDED)
		return LOOK_ELIDED;
	part = part_of(tree, node);
	look = LOOK(part, tree_kind(tree, node));
	return looks[look].letter ? look : LOOK(part == PART_WAKER ? part : PART_PLAIN, FRAME_NOTE);
}

char look_letter(unsigned int look)
{
	return looks[look].letter;
}

unsigned int look_of_letter(char letter)
{
	unsigned int look = 0;

	while (look < LOOK_ELIDED && looks[look].letter != letter)
		look++;
	return look;
}

const char *look_text(unsigned int look, enum profile_mode mode)
{
	return mode == PROFILE_WALL && looks[look].wall_text ? looks[look].wall_text
							     : looks[look].text;
}
