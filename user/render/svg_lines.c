/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_lines: the looks of frames, and the data that the script draws from.
 *
 * <metadata id="frames"> has a line `CLASS NAME` for each distinct frame; CLASS is the letter of
 * its look and its shade. <metadata id="nodes"> has the tree in depth-first order, a line of numbers
 * for each node:
 *
 *	UP FRAME SELF			UP: how many levels above where the previous node would
 *					have a child; FRAME: its line, from 0; SELF: its own weight
 *	UP FRAME NEW BASE TONES		in a comparison: its own weight on both sides, and the tones
 *					of its total and its self weight as two digits
 *	… N				appended for an elided node: how many nodes it replaces
 *
 * In a picture of C++, names are most of the file: each occurs once here, and once in every
 * tooltip. So the longest ones are cut to fit NAMES_BYTES.
 */
#include "render/svg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/system.h"

#define NAMES_BYTES	   1200000
#define MOST_NAME_COLUMNS  1200
#define LEAST_NAME_COLUMNS 60

static const char *module_of(const struct svg *svg, uint32_t frame)
{
	return frame >= TREE_ELIDED
		       ? ""
		       : strings_get(&svg->stacks->strings, svg->stacks->frames[frame].module);
}

static int add_line(struct svg *svg, const struct tree_node *node, unsigned int look,
		    uint32_t *ret_line)
{
	const char *name = tree_name(&svg->tree, node);
	unsigned int shade = 0;
	int r = array_reserve(svg->lines, svg->lines_capacity, svg->n_lines, 1);

	if (r < 0)
		return r;
	if (look != LOOK_ELIDED) {
		const struct palette *palette = svg->palettes[look_part(look)];

		shade = palette_shade(palette, look_kind(look), name, module_of(svg, node->frame));
		svg->drawn[look][palette_middle(palette, look_kind(look), shade)] = true;
	}
	svg->drawn[look][shade] = true;
	svg->lines[svg->n_lines] = (struct svg_line){node->frame, look, shade};
	*ret_line = svg->n_lines++;
	return 0;
}

/*
 * The slot for the number of a node's line, plus 1: by frame and part; root and elided ones last.
 */
static uint32_t *slot_of(const struct svg *svg, uint32_t *slots, const struct tree_node *node,
			 unsigned int look)
{
	size_t n = svg->stacks->n_frames * N_PALETTE_PARTS;

	if (node->frame >= TREE_ELIDED)
		return &slots[n + (node->frame == TREE_ROOT)];
	return &slots[node->frame * (size_t)N_PALETTE_PARTS + look_part(look)];
}

static int find_lines(struct svg *svg, uint32_t *slots)
{
	for (size_t i = 0; i < svg->tree.n_nodes; i++) {
		const struct tree_node *node = &svg->tree.nodes[i];
		unsigned int look = look_of(&svg->tree, node);
		uint32_t *slot = slot_of(svg, slots, node, look);

		if (!*slot) {
			int r = add_line(svg, node, look, slot);

			if (r < 0)
				return r;
			++*slot;
		}
		svg->node_lines[i] = *slot - 1;
	}
	return 0;
}

static size_t name_bytes(const struct svg *svg, uint32_t frame, size_t limit)
{
	size_t n = frame >= TREE_ELIDED
			   ? 0
			   : strings_length(&svg->stacks->strings, svg->stacks->frames[frame].name);

	return n < limit ? n : limit;
}

static size_t bytes_of_names(const struct svg *svg, size_t limit)
{
	size_t sum = 0;

	for (size_t i = 0; i < svg->n_lines; i++)
		sum += name_bytes(svg, svg->lines[i].frame, limit);
	for (size_t i = 0; i < svg->tree.n_nodes; i++)
		if (!svg_is_narrow(svg, &svg->tree.nodes[i]))
			sum += name_bytes(svg, svg->tree.nodes[i].frame, limit);
	return sum;
}

int svg_make_lines(struct svg *svg)
{
	_cleanup_free_ uint32_t *slots =
		calloc(svg->stacks->n_frames * N_PALETTE_PARTS + 2, sizeof *slots);
	int r;

	svg->node_lines = calloc(svg->tree.n_nodes, sizeof *svg->node_lines);
	if (!slots || !svg->node_lines)
		return -ENOMEM;
	r = find_lines(svg, slots);
	if (r < 0)
		return r;
	svg->name_columns = MOST_NAME_COLUMNS;
	while (svg->name_columns > LEAST_NAME_COLUMNS &&
	       bytes_of_names(svg, svg->name_columns) > NAMES_BYTES)
		svg->name_columns = svg->name_columns * 3 / 4;
	return 0;
}

static const char *line_name(const struct svg *svg, const struct svg_line *line)
{
	return tree_name(&svg->tree, &(struct tree_node){.frame = line->frame});
}

static void write_lines(const struct svg *svg)
{
	fputs("<metadata id=\"frames\">", svg->out);
	for (size_t i = 0; i < svg->n_lines; i++) {
		const struct svg_line *line = &svg->lines[i];

		fprintf(svg->out, "%s%c%u ", i ? "\n" : "", look_letter(line->look), line->shade);
		svg_write_text(svg, svg->out, line_name(svg, line), svg->name_columns);
	}
	fputs("</metadata>\n", svg->out);
}

static void write_node(const struct svg *svg, size_t i)
{
	const struct tree_node *node = &svg->tree.nodes[i];
	uint32_t up = i ? node[-1].depth + 1 - node->depth : 0;

	fprintf(svg->out, "%s%" PRIu32 " %" PRIu32, i ? "\n" : "", up, svg->node_lines[i]);
	if (svg->tones)
		fprintf(svg->out, " %" PRIu64 " %" PRIu64 " %d%d", node->sides[SIDE_NEW].self,
			node->sides[SIDE_BASE].self, svg->tones[i].total, svg->tones[i].self);
	else
		fprintf(svg->out, " %" PRIu64, tree_self(node));
	if (node->frame == TREE_ELIDED)
		fprintf(svg->out, " %" PRIu64, node->n_elided);
}

void svg_write_data(const struct svg *svg)
{
	write_lines(svg);
	fputs("<metadata id=\"nodes\">", svg->out);
	for (size_t i = 0; i < svg->tree.n_nodes; i++)
		write_node(svg, i);
	fputs("</metadata>\n", svg->out);
}
