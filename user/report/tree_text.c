/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/tree_text.h"

#include <errno.h>
#include <stdlib.h>

#include "report/call_tree.h"
#include "report/head.h"

#define PERCENT_COLUMNS 7
#define SELF_COLUMNS	6
#define LEVEL_COLUMNS	2

struct tree_drawer {
	struct page *page;
	const struct report_source *source;
	const struct call_tree *tree;
	bool is_callers;
	bool *goes_on; /* by level: the open branch there is not the last one */
	size_t figure_columns;
	size_t max_level; /* deepest one with a line of its own */
};

static const struct tree_node *node_of(const struct tree_drawer *drawer, uint32_t node)
{
	return &drawer->tree->tree.nodes[node];
}

/* Returns the columns used. Too many levels would leave no room for names: leave out the first. */
static size_t draw_levels(const struct tree_drawer *drawer, const struct call_line *line)
{
	struct page *page = drawer->page;
	size_t first = 1, columns = 0;

	if (line->level > drawer->max_level) {
		first = line->level - drawer->max_level + 2;
		page_text(page, STYLE_DIM, "┆ ");
		columns = LEVEL_COLUMNS;
	}
	for (size_t level = first; level <= line->level; level++) {
		bool is_own = level == line->level && line->is_branch;
		const char *text = is_own && line->is_last  ? "└ "
				   : is_own		    ? "├ "
				   : drawer->goes_on[level] ? "│ "
							    : "  ";

		page_text(page, STYLE_DIM, text);
		columns += LEVEL_COLUMNS;
	}
	return columns;
}

static void format_elided(char *text, size_t size, const struct tree_node *node,
			  const char *percent)
{
	char figure[TEXT_FIGURE_SIZE];

	text_count(figure, node->n_elided);
	snprintf(text, size, "… %s other%s%s", figure, node->n_elided == 1 ? "" : "s", percent);
}

/* Writes the name, then what was elided below the node. */
static void draw_name(const struct tree_drawer *drawer, const struct call_line *line,
		      size_t columns)
{
	const struct tree *tree = &drawer->tree->tree;
	const struct tree_node *node = &tree->nodes[line->node];
	enum frame_kind kind = tree_kind(tree, node);
	bool is_command = !drawer->is_callers && line->level == 0 && line->is_branch;
	enum page_style style = is_command ? STYLE_STRONG : page_style_of_kind(kind);
	char percent[32], note[128] = "";
	size_t taken = 0;

	if (line->elided != TREE_NONE) {
		const struct tree_node *elided = node_of(drawer, line->elided);
		double share = head_percent(tree_total(elided), drawer->source->whole);

		snprintf(percent, sizeof percent, ", %.1f %%", share);
		format_elided(note, sizeof note, elided, percent);
		/* Almost nothing is not worth a note. */
		taken = share < 0.05 ? 0 : text_columns(note) + 2;
	}
	if (taken && columns < taken + 20)
		taken = 0;
	page_name(drawer->page, style, tree_name(tree, node), frame_kind_suffix(kind),
		  columns - taken);
	if (taken) {
		page_spaces(drawer->page, 2);
		page_text(drawer->page, STYLE_DIM, note);
	}
}

/* Whether the line continues its parent with the same weight: the weight is not repeated. */
static bool is_repeated(const struct tree_drawer *drawer, const struct call_line *line)
{
	const struct tree_node *node = node_of(drawer, line->node);

	return !line->is_branch && tree_total(node) == tree_total(node_of(drawer, node->parent));
}

static void draw_figures(const struct tree_drawer *drawer, const struct call_line *line)
{
	const struct tree_node *node = node_of(drawer, line->node);
	double self = head_percent(tree_self(node), drawer->source->whole);
	bool has_self = node->frame != TREE_ELIDED && self >= 0.05;
	bool is_new = !is_repeated(drawer, line);
	struct page *page = drawer->page;
	char figure[TEXT_FIGURE_SIZE] = "";

	if (is_new)
		page_percent(page, head_percent(tree_total(node), drawer->source->whole),
			     PERCENT_COLUMNS);
	else
		page_spaces(page, PERCENT_COLUMNS);
	page_spaces(page, 2);
	if (drawer->is_callers) {
		if (is_new)
			head_figure(figure, drawer->source->stacks, tree_total(node));
		page_right(page, STYLE_PLAIN, figure, drawer->figure_columns);
	} else if (has_self) {
		page_percent(page, self, SELF_COLUMNS);
	} else {
		page_spaces(page, SELF_COLUMNS);
	}
	page_spaces(page, 2);
}

static void draw_line(const struct tree_drawer *drawer, const struct call_line *line)
{
	const struct tree_node *node = node_of(drawer, line->node);
	size_t second = drawer->is_callers ? drawer->figure_columns : SELF_COLUMNS;
	size_t columns = drawer->page->columns - PERCENT_COLUMNS - second - 4;
	char text[128];

	draw_figures(drawer, line);
	if (line->is_branch)
		drawer->goes_on[line->level] = !line->is_last;
	columns -= draw_levels(drawer, line);
	if (node->frame == TREE_ELIDED) {
		format_elided(text, sizeof text, node, "");
		page_name(drawer->page, STYLE_DIM, text, "", columns);
	} else {
		draw_name(drawer, line, columns);
	}
	page_line(drawer->page);
}

static bool is_top(const struct call_tree *tree, size_t line)
{
	return line >= tree->n_lines ||
	       (tree->lines[line].level == 0 && tree->lines[line].is_branch);
}

static void draw_header(const struct tree_drawer *drawer)
{
	struct page *page = drawer->page;
	const char *unit = head_unit(drawer->source->stacks);

	page_line(page);
	page_right(page, STYLE_STRONG, "total %", PERCENT_COLUMNS);
	page_spaces(page, 2);
	if (drawer->is_callers)
		page_right(page, STYLE_STRONG, unit, drawer->figure_columns);
	else
		page_right(page, STYLE_STRONG, "self %", SELF_COLUMNS);
	page_spaces(page, 2);
	page_text(page, STYLE_STRONG, drawer->is_callers ? "callers" : "call tree");
	page_line(page);
}

static int draw(struct tree_drawer *drawer)
{
	const struct call_tree *tree = drawer->tree;
	char figure[TEXT_FIGURE_SIZE];

	head_figure(figure, drawer->source->stacks, drawer->source->whole);
	drawer->figure_columns = text_columns(figure) > 7 ? text_columns(figure) : 7;
	drawer->max_level = drawer->page->columns / 3 / LEVEL_COLUMNS;
	drawer->goes_on = calloc(tree->tree.max_depth + 2, sizeof *drawer->goes_on);
	if (!drawer->goes_on)
		return -ENOMEM;
	draw_header(drawer);
	for (size_t i = 0; i < tree->n_lines; i++) {
		/* Separate trees by an empty line, except those of a single line. */
		if (i > 0 && is_top(tree, i) && !(is_top(tree, i - 1) && is_top(tree, i + 1)))
			page_line(drawer->page);
		draw_line(drawer, &tree->lines[i]);
	}
	free(drawer->goes_on);
	return 0;
}

static void print_shown(struct page *page, const struct call_tree *tree, double percent,
			const char *of_what)
{
	char figure[TEXT_FIGURE_SIZE], text[128];

	if (tree->tree.n_nodes >= REPORT_MAX_NODES / 2) {
		text_count(figure, tree->tree.n_nodes);
		snprintf(text, sizeof text, "the %s calls that take most", figure);
	} else {
		snprintf(text, sizeof text, "calls that take %g %% or more%s", percent, of_what);
	}
	if (tree->tree.n_elided)
		head_fact(page, "shown", STYLE_PLAIN, text);
}

int tree_text(struct page *page, const struct report_source *source, double percent)
{
	struct call_tree tree;
	struct tree_drawer drawer = {.page = page, .source = source, .tree = &tree};
	int r = call_tree_make(source, percent, &tree);

	if (r < 0)
		return r;
	head_print(page, source, SIZE_MAX, 0);
	print_shown(page, &tree, percent, "");
	if (tree.n_lines)
		r = draw(&drawer);
	call_tree_done(&tree);
	return r;
}

static void print_matches(struct page *page, const struct report_source *source,
			  const struct call_tree *tree, const char *pattern)
{
	uint64_t weight = tree_total(&tree->tree.nodes[0]);
	char figure[TEXT_FIGURE_SIZE], text[512];

	head_figure(figure, source->stacks, weight);
	if (weight)
		snprintf(text, sizeof text, "%s, %.1f %%, in functions like %s", figure,
			 head_percent(weight, source->whole), pattern);
	else
		snprintf(text, sizeof text, "no function is like %s", pattern);
	head_fact(page, "callers", STYLE_STRONG, text);
}

int tree_text_callers(struct page *page, const struct report_source *source, const char *pattern,
		      double percent)
{
	struct call_tree tree;
	struct tree_drawer drawer = {
		.page = page, .source = source, .tree = &tree, .is_callers = true};
	int r = call_tree_make_callers(source, pattern, percent, &tree);

	if (r < 0)
		return r;
	head_print(page, source, SIZE_MAX, 0);
	print_matches(page, source, &tree, pattern);
	print_shown(page, &tree, percent, " of that");
	if (tree.n_lines)
		r = draw(&drawer);
	call_tree_done(&tree);
	return r;
}
