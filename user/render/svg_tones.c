/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_tones: what changed, node by node. All nodes are looked at together, so the more there are,
 * the better the evidence for each must be; see compare.h.
 */
#include "render/svg.h"

#include <errno.h>
#include <stdlib.h>

/* What changes are parts of. */
static double whole_of(const struct svg *svg)
{
	const uint64_t *totals = svg->stacks->totals;

	if (svg->compared == SCALE_NORMALIZED)
		return 1;
	return totals[SIDE_NEW] > totals[SIDE_BASE] ? totals[SIDE_NEW] : totals[SIDE_BASE];
}

static void set_tones(struct svg *svg, const struct compare_options *options)
{
	double whole = whole_of(svg);

	for (size_t i = 0; i < svg->tree.n_nodes; i++) {
		const struct tree_node *node = &svg->tree.nodes[i];
		struct change total, self;

		compare_totals(svg->stacks, options, node->sides, &total);
		compare_selfs(svg->stacks, options, node->sides, &self);
		svg->tones[i] = (struct svg_tones){tone_of(&total, whole), tone_of(&self, whole)};
		svg->tone_drawn[svg->tones[i].total] = true;
	}
}

int svg_make_tones(struct svg *svg)
{
	struct compare_options options = {.confidence = svg->options->confidence,
					  .scale = svg->compared};
	struct compare_family family = {};

	svg->tones = calloc(svg->tree.n_nodes, sizeof *svg->tones);
	if (!svg->tones)
		return -ENOMEM;
	compare_read_variances(svg->stacks, &options);
	for (size_t i = 0; i < svg->tree.n_nodes; i++)
		compare_family_add(&family, svg->stacks, &options, svg->tree.nodes[i].sides);
	options.n_compared = compare_family_size(&family, options.confidence);
	set_tones(svg, &options);
	return 0;
}
