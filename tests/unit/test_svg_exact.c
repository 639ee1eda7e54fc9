/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The picture is true to its profile, on random trees: reads back what the file draws and the
 * numbers that its script reads, and compares both with each other and with the whole tree, counted
 * here from the stacks.
 */
#include "unit/made_svg.h"

#include <inttypes.h>

#include "base/text.h"
#include "core/tree.h"

#define WIDTH	   1180.0
#define ROUNDED	   0.0051 /* coordinates have two decimals */
#define MOST_NODES 16384

struct read_node {
	unsigned int depth, parent, line;
	uint64_t self[N_SIDES], total[N_SIDES], n_elided;
	double width, start, children;
};

struct read_picture {
	const char *text;
	char names[512][64]; /* indexed by line */
	char looks[512];
	size_t n_lines, n_nodes;
	struct read_node nodes[MOST_NODES];
};

static const char *after(const char *text, const char *what)
{
	const char *found = strstr(text, what);

	if (!found)
		fail_msg("there is no %s", what);
	return found + strlen(what);
}

static void read_lines(struct read_picture *picture)
{
	const char *at = after(picture->text, "<metadata id=\"frames\">");

	picture->n_lines = 0;
	for (; *at != '<'; at += *at == '\n') {
		size_t i = picture->n_lines++, class_end = strcspn(at, " "), end;

		assert_true(i < COUNT(picture->looks));
		picture->looks[i] = *at;
		at += class_end + 1;
		end = strcspn(at, "\n<");
		snprintf(picture->names[i], sizeof picture->names[i], "%.*s", (int)end, at);
		at += end;
	}
}

static uint64_t next_number(const char **at)
{
	char *end;
	uint64_t number = strtoull(*at, &end, 10);

	assert_ptr_not_equal(end, *at);
	*at = end;
	return number;
}

static void read_nodes(struct read_picture *picture, bool compared)
{
	const char *at = after(picture->text, "<metadata id=\"nodes\">");
	unsigned int path[MOST_NODES], depth = 0;

	picture->n_nodes = 0;
	do {
		struct read_node *node = &picture->nodes[picture->n_nodes];
		uint64_t up = next_number(&at);

		assert_true(up <= depth);
		depth -= up;
		*node = (struct read_node){.depth = depth, .parent = depth ? path[depth - 1] : 0};
		node->line = next_number(&at);
		assert_true(node->line < picture->n_lines);
		for (int side = 0; side <= compared; side++)
			node->self[side] = next_number(&at);
		if (compared)
			next_number(&at);
		if (picture->looks[node->line] == 'x')
			node->n_elided = next_number(&at);
		path[depth++] = picture->n_nodes++;
		assert_true(picture->n_nodes < MOST_NODES);
	} while (*at == '\n');
	assert_int_equal(*at, '<');
}

static void sum_up(struct read_picture *picture)
{
	for (size_t i = picture->n_nodes; i-- > 0;) {
		struct read_node *node = &picture->nodes[i];

		for (int side = 0; side < N_SIDES; side++) {
			node->total[side] += node->self[side];
			if (i)
				picture->nodes[node->parent].total[side] += node->total[side];
		}
	}
}

/* Where frames must be, by the script's rule: children side by side. */
static void place(struct read_picture *picture, const double scales[N_SIDES])
{
	for (size_t i = 0; i < picture->n_nodes; i++) {
		struct read_node *node = &picture->nodes[i], *parent;

		node->width = node->total[0] * scales[0] + node->total[1] * scales[1];
		if (!i)
			continue;
		parent = &picture->nodes[node->parent];
		node->start = parent->start + parent->children;
		parent->children += node->width;
	}
}

static struct read_picture *read_picture(const char *text, const struct stacks *stacks)
{
	struct read_picture *picture = calloc(1, sizeof *picture);
	bool compared = stacks->is_comparison, scaled = strstr(text, "data-compared=\"shares\"");
	double scales[N_SIDES];

	for (int side = 0; side < N_SIDES; side++)
		scales[side] = scaled ? WIDTH / 2 / stacks->totals[side]
				      : WIDTH / (stacks->totals[0] + stacks->totals[1]);
	picture->text = text;
	read_lines(picture);
	read_nodes(picture, compared);
	sum_up(picture);
	place(picture, scales);
	return picture;
}

/* Reads a rect, or a piece of a path. */
struct drawn {
	double from, to;
	char title[256];
};

static int by_place(const void *a, const void *b)
{
	const struct drawn *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* Everything drawn in the row at @at except stripes and labels, with gaps closed. */
static size_t read_row(const char *at, struct drawn *drawn)
{
	const char *end = strstr(at, "<g class=\"labels\"");
	size_t n = 0;
	int length;
	double width;

	for (at = strchr(at, '<'); at < end; at = strchr(at + 1, '<')) {
		if (sscanf(at, "<rect class=\"%*[^\"]\" x=\"%lf\" width=\"%lf\"", &drawn[n].from,
			   &width) == 2) {
			/*
			 * A frame of width w leaves a gap of 1, or of (w - 2) / 2 if w is below 4.
			 */
			width = width >= 3 ? width + 1 : width > 2 ? 2 * width - 2 : width;
			drawn[n].to = drawn[n].from + width;
			sscanf(strstr(at, "<title>"), "<title>%255[^<]", drawn[n++].title);
		} else if (strncmp(at, "<path class=\"stripe", 19) != 0 &&
			   strncmp(at, "<path", 5) == 0) {
			for (const char *piece = strstr(at, "d=\"") + 3;
			     sscanf(piece, "M%lf 0H%lfv%*[0-9]H%*[0-9.]z%n", &drawn[n].from,
				    &drawn[n].to, &length) == 2;
			     piece += length)
				drawn[n++].title[0] = '\0';
		}
	}
	qsort(drawn, n, sizeof *drawn, by_place);
	return n;
}

static void expect_title(const struct read_picture *picture, const struct read_node *node,
			 const char *title)
{
	char expected[160], figure[TEXT_FIGURE_SIZE];
	size_t n = snprintf(expected, sizeof expected, "%s (", picture->names[node->line]);

	if (node->n_elided) {
		text_count(figure, node->n_elided);
		n += snprintf(expected + n, sizeof expected - n, "%s frame%s, ", figure,
			      node->n_elided == 1 ? "" : "s");
	}
	text_count(figure, node->total[0]);
	if (!node->total[1] && !strstr(title, "total "))
		n += snprintf(expected + n, sizeof expected - n, "%s sample", figure);
	else
		n += snprintf(expected + n, sizeof expected - n, "total ");
	if (strncmp(title, expected, n) != 0)
		fail_msg("\"%s\" does not begin with \"%s\"", title, expected);
	if (!strstr(expected, "total "))
		return;
	for (int side = 0; side < N_SIDES; side++) {
		text_count(figure, node->total[side]);
		snprintf(expected, sizeof expected, side ? " %s sample" : "\u2192 %s sample",
			 figure);
		if (!strstr(title, expected))
			fail_msg("\"%s\" has no \"%s\"", title, expected);
	}
}

/* The row shows the nodes of @depth, each in its place, and nothing else. */
static void expect_row(const struct read_picture *picture, unsigned int depth, const char *at)
{
	static struct drawn drawn[MOST_NODES];
	size_t n = read_row(at, drawn), k = 0;

	for (size_t i = 0; i < picture->n_nodes; i++) {
		const struct read_node *node = &picture->nodes[i];
		const struct read_node *parent = &picture->nodes[node->parent];

		if (node->depth != depth)
			continue;
		assert_true(node->start >= parent->start - 1e-6);
		assert_true(node->start + node->width <= parent->start + parent->width + 1e-6);
		if (node->width >= 1) {
			/* The pieces of a run that ends here. */
			while (k < n && !drawn[k].title[0])
				k++;
			assert_true(k < n);
			assert_true(drawn[k].from - node->start < ROUNDED &&
				    node->start - drawn[k].from < ROUNDED);
			assert_true(drawn[k].to - (node->start + node->width) < 4 * ROUNDED &&
				    node->start + node->width - drawn[k].to < 4 * ROUNDED);
			expect_title(picture, node, drawn[k++].title);
		} else {
			bool is_covered = false;

			for (size_t d = 0; d < n && !is_covered; d++)
				is_covered = !drawn[d].title[0] &&
					     drawn[d].from - ROUNDED < node->start &&
					     drawn[d].to + ROUNDED > node->start + node->width;
			assert_true(is_covered);
		}
	}
	for (; k < n; k++)
		assert_false(drawn[k].title[0]);
	/* No two boxes overlap. */
	for (size_t i = 1; i < n; i++)
		assert_true(drawn[i].from > drawn[i - 1].to - 4 * ROUNDED);
}

static void expect_rows(const struct read_picture *picture)
{
	unsigned int depth = 0;
	const char *at = picture->text;

	for (; (at = strstr(at, "<g class=\"row\"")); at++)
		expect_row(picture, depth++, at);
	for (size_t i = 0; i < picture->n_nodes; i++)
		assert_true(picture->nodes[i].depth < depth);
}

/* Compares with the tree of all nodes, where none is elided. */
static void expect_true(const struct read_picture *picture, const struct stacks *stacks)
{
	struct tree tree;
	size_t n = 0;

	assert_int_equal(tree_build(stacks, &(struct tree_limits){}, &tree), 0);
	for (int side = 0; side < N_SIDES; side++)
		assert_int_equal(picture->nodes[0].total[side],
				 stacks->is_comparison ? stacks->totals[side]
				 : side		       ? 0
						       : stacks->totals[0] + stacks->totals[1]);
	for (size_t i = 0; i < picture->n_nodes; i++)
		n += picture->nodes[i].n_elided ? picture->nodes[i].n_elided : 1;
	assert_int_equal(n, tree.n_nodes);
	/* The nodes that were kept are those of the tree, with its order and weights. */
	for (size_t i = 0, t = 0; i < picture->n_nodes; i++) {
		const struct read_node *node = &picture->nodes[i];

		if (node->n_elided)
			continue;
		for (; t < tree.n_nodes; t++)
			if (tree.nodes[t].depth == node->depth &&
			    strcmp(tree_name(&tree, &tree.nodes[t]), picture->names[node->line]) ==
				    0 &&
			    tree.nodes[t].sides[0].total +
					    (stacks->is_comparison
						     ? 0
						     : tree.nodes[t].sides[1].total) ==
				    node->total[0])
				break;
		assert_true(t < tree.n_nodes);
		assert_int_equal(tree.nodes[t].sides[0].self +
					 (stacks->is_comparison ? 0 : tree.nodes[t].sides[1].self),
				 node->self[0]);
		t++;
	}
	tree_done(&tree);
}

/* Names consist of letters only, so that they read back as they were written. */
static struct profile *random_letters(uint64_t seed, uint32_t n_names, uint64_t most)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	uint64_t random = seed * 7919 + 1;
	uint32_t locations[24];

	for (int i = 0; i < 250; i++) {
		struct made_sample sample = {"a", "", 1 + made_random(&random) % most};
		uint32_t n = made_random(&random) % COUNT(locations);

		for (uint32_t k = 0; k < n; k++) {
			char name[16];

			snprintf(name, sizeof name, "f%" PRIu64, made_random(&random) % n_names);
			locations[n - 1 - k] =
				made_location(profile, made_random(&random) % 2, name);
		}
		made_add_locations(profile, &sample, locations, n);
	}
	return profile;
}

static void check(uint64_t seed, struct profile *base, enum stacks_scale scale)
{
	static const double min_widths[] = {0, 0.1, 2, 20};
	static const size_t max_frames[] = {0, 4000, 300, 40, 3, 1};
	const struct stacks_options reading = {.reverse = seed % 3 == 1,
					       .in_order = seed % 5 == 2 && !base};
	struct picture_options options = {.min_width = min_widths[seed % COUNT(min_widths)],
					  .max_frames = max_frames[seed % COUNT(max_frames)],
					  .inverted = seed % 2};
	struct read_picture *picture;
	struct stacks stacks;
	char *text;

	made_stacks(&stacks, &reading, random_letters(seed, 2 + seed % 7, seed % 4 ? 40 : 5000),
		    base, scale);
	text = svg_of_stacks(&stacks, &options);
	picture = read_picture(text, &stacks);
	if (options.max_frames)
		assert_true(picture->n_nodes <= (options.max_frames < 2 ? 2 : options.max_frames));
	expect_rows(picture);
	expect_true(picture, &stacks);
	free(picture);
	free(text);
	stacks_done(&stacks);
}

static void pictures_are_exact(void **state)
{
	for (uint64_t seed = 0; seed < 60; seed++)
		check(seed, NULL, SCALE_NORMALIZED);
}

static void comparisons_are_exact(void **state)
{
	for (uint64_t seed = 0; seed < 40; seed++)
		check(seed, random_letters(seed + 1000, 2 + seed % 7, 40), seed % 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pictures_are_exact),
		cmocka_unit_test(comparisons_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
