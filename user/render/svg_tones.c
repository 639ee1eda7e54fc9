/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_tones: the changes node by node, as in the tables of the same comparison; a picture alone
 * tests all its nodes together. See judgement.h.
 */
#include "render/svg.h"

#include <errno.h>
#include <stdlib.h>

/* The whole that shares refer to. */
static double whole_of(const struct svg *svg)
{
	const uint64_t *totals = svg->stacks->totals;

	if (svg->compared == SCALE_NORMALIZED)
		return 1;
	return totals[SIDE_NEW] > totals[SIDE_BASE] ? totals[SIDE_NEW] : totals[SIDE_BASE];
}

static enum tone find_tone(const struct svg *svg, const struct judgement *judgement,
			   const struct tree_node *node, enum gate_weight weight)
{
	struct change change;

	judgement_compare(judgement, svg->stacks,
			  judgement_frame(judgement, svg->stacks, node->frame), node->sides, weight,
			  &change);
	return tone_of(&change, whole_of(svg));
}

int svg_make_tones(struct svg *svg)
{
	struct judgement own;
	const struct judgement *judgement = svg->options->judgement;

	svg->tones = calloc(svg->tree.n_nodes, sizeof *svg->tones);
	if (!svg->tones)
		return -ENOMEM;
	if (!judgement) {
		judgement_of_tree(&svg->tree, svg->options->confidence, &own);
		judgement = &own;
	}
	for (size_t i = 0; i < svg->tree.n_nodes; i++) {
		const struct tree_node *node = &svg->tree.nodes[i];

		svg->tones[i] = (struct svg_tones){find_tone(svg, judgement, node, GATE_TOTAL),
						   find_tone(svg, judgement, node, GATE_SELF)};
		svg->tone_drawn[svg->tones[i].total] = true;
	}
	return 0;
}
