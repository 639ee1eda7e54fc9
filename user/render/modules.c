/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/modules.h"

#include <errno.h>
#include <stdlib.h>

static bool is_listed(const struct modules *modules, unsigned int shade)
{
	for (unsigned int i = 0; i < modules->n; i++)
		if (modules->of[i].shade == shade)
			return true;
	return false;
}

static void add_widest(const struct stacks *stacks, const struct palette *palette, uint64_t *widths,
		       struct modules *modules)
{
	const struct strings *strings = &stacks->strings;
	uint32_t widest = 0;
	unsigned int shade;
	const char *name;

	for (uint32_t id = 1; id < strings->n_strings; id++)
		if (widths[id] > widths[widest])
			widest = id;
	if (!widths[widest])
		return;
	widths[widest] = 0;
	name = strings_get(strings, widest);
	shade = palette_middle(palette, FRAME_USER, palette_shade(palette, FRAME_USER, "", name));
	if (is_listed(modules, shade))
		return;
	modules->of[modules->n].name = name;
	modules->of[modules->n++].shade = shade;
}

int modules_find(const struct tree *tree, const struct palette *palette, struct modules *ret)
{
	const struct stacks *stacks = tree->stacks;
	struct modules modules = {};
	uint64_t *widths;

	*ret = modules;
	if (!palette_is_by_module(palette, FRAME_USER))
		return 0;
	widths = calloc(stacks->strings.n_strings, sizeof *widths);
	if (!widths)
		return -ENOMEM;
	for (size_t i = 0; i < tree->n_nodes; i++) {
		const struct tree_node *node = &tree->nodes[i];
		const struct stacks_frame *frame;

		if (node->frame >= TREE_ELIDED)
			continue;
		frame = &stacks->frames[node->frame];
		/* Wakers have a palette of their own. */
		if (!frame->is_waker && palette_is_by_module(palette, frame->kind))
			widths[frame->module] += node->width;
	}
	widths[0] = 0; /* unknown */
	/* Some may share a range. */
	for (int i = 0; i < 4 * MOST_MODULES && modules.n < MOST_MODULES; i++)
		add_widest(stacks, palette, widths, &modules);
	free(widths);
	*ret = modules;
	return 0;
}

bool modules_have(const struct modules *modules, const struct palette *palette,
		  enum frame_kind kind, unsigned int shade)
{
	return palette_is_by_module(palette, kind) &&
	       is_listed(modules, palette_middle(palette, kind, shade));
}
