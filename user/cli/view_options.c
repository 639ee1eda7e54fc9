/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/view_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/parse.h"

#define SELECT(field)  offsetof(struct view_options, stacks.select.field)
#define STACKS(field)  offsetof(struct view_options, stacks.field)
#define UNFOLD(field)  offsetof(struct view_options, stacks.unfold.field)
#define PICTURE(field) offsetof(struct view_options, picture.field)

static bool is_named(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static bool is_colour(const char *text)
{
	return text[0] == '#' && strlen(text) == 7 &&
	       strspn(text + 1, "0123456789abcdefABCDEF") == 6;
}

static int take_palette(const struct option_row *row, void *field, const char *value,
			struct failure *failure)
{
	char wanted[512] = "a palette: ";

	if (is_named(picture_palettes, value))
		return option_text(row, field, value, failure);
	for (size_t i = 0; picture_palettes[i]; i++) {
		size_t n = strlen(wanted);

		snprintf(wanted + n, sizeof wanted - n, "%s%s", i ? ", " : "", picture_palettes[i]);
	}
	return option_bad(row, value, wanted, failure);
}

static int take_background(const struct option_row *row, void *field, const char *value,
			   struct failure *failure)
{
	if (!is_colour(value) && !is_named(picture_backgrounds, value))
		return option_bad(row, value, "yellow, blue, green, grey or #rrggbb", failure);
	return option_text(row, field, value, failure);
}

static int take_colour(const struct option_row *row, void *field, const char *value,
		       struct failure *failure)
{
	if (!is_colour(value))
		return option_bad(row, value, "a colour: #rrggbb", failure);
	return option_text(row, field, value, failure);
}

static int take_cut(const struct option_row *row, void *field, const char *value,
		    struct failure *failure)
{
	if (strcmp(value, "left") != 0 && strcmp(value, "right") != 0)
		return option_bad(row, value, "left or right", failure);
	*(bool *)field = value[0] == 'l';
	return 0;
}

/* inferno's switch for the default. */
static int take_cut_right(const struct option_row *row, void *field, const char *value,
			  struct failure *failure)
{
	*(bool *)field = false;
	return 0;
}

/* Pixels, or with a % a share, as flamegraph.pl has it. The last one given counts. */
static int take_min_width(const struct option_row *row, void *field, const char *value,
			  struct failure *failure)
{
	struct picture_options *picture = field;
	size_t n = strcspn(value, "%");
	char number[32];
	double width;

	if (n >= sizeof number || (value[n] && value[n + 1]))
		return option_bad(row, value, row->wanted, failure);
	snprintf(number, sizeof number, "%.*s", (int)n, value);
	if (parse_decimal(number, &width) < 0 || (value[n] && width > 100))
		return option_bad(row, value, row->wanted, failure);
	picture->min_width = value[n] ? PICTURE_OPTIONS_DEFAULT.min_width : width;
	picture->min_percent = value[n] ? width : 0;
	return 0;
}

static const struct option_row unfold_rows[] = {
	{0, "sample-type", NULL, "NAME", "of a pprof file's values: cpu, alloc_space, …", "Stacks",
	 option_text, SELECT(sample_type)},
	{0, "event", NULL, "NAME", "of perf script's events (the first)", NULL, option_text,
	 SELECT(event)},
	{0, "threads", NULL, NULL, "one root per thread: comm-PID/TID", NULL, option_set,
	 UNFOLD(threads)},
	{0, "no-threads", NULL, NULL, "one per command, though the input is by thread", NULL,
	 option_set, UNFOLD(no_threads)},
	{0, "no-reason", NULL, NULL, "off-CPU without [sleep], [disk], …", NULL, option_set,
	 UNFOLD(no_reason)},
	{0, "no-kernel", NULL, NULL, "leave kernel functions out", NULL, option_set,
	 UNFOLD(no_kernel)},
	{0, "fold-idle", NULL, NULL, "waits for work under one root: [idle]", NULL, option_set,
	 UNFOLD(fold_idle)},
	{0, "idle", NULL, NULL, "draw waits for work (they are)", NULL, option_clear,
	 STACKS(no_idle)},
	{0, "no-idle", NULL, NULL, "leave them out of pictures and tables", NULL, option_set,
	 STACKS(no_idle)},
	{0, "no-inline", NULL, NULL, "leave inlined functions out", NULL, option_set,
	 UNFOLD(no_inline)},
	{0, "lines", NULL, NULL, "add file:line, where it is known", NULL, option_set,
	 UNFOLD(lines)},
};

static const struct option_row stack_rows[] = {
	{0, "include", NULL, "REGEX", "only stacks with such a function", NULL, option_expression,
	 SELECT(include)},
	{0, "exclude", NULL, "REGEX", "none with such a function", NULL, option_expression,
	 SELECT(exclude)},
	{0, "base", NULL, "REGEX", "stacks begin at such a function", NULL, option_expression,
	 STACKS(base)},
	{0, "merge-recursion", NULL, NULL, "a function that calls itself is one frame", NULL,
	 option_set, STACKS(merge_recursion)},
	{0, "reverse", NULL, NULL, "merge from the leaves", NULL, option_set, STACKS(reverse)},
	{0, "flamechart", "flame-chart", NULL, "in the order of the input, merging only neighbours",
	 NULL, option_set, STACKS(in_order)},
	{0, "no-sort", NULL, NULL, "the same: for input in the order of time", NULL, option_set,
	 STACKS(in_order)},
};

static const struct option_row picture_rows[] = {
	{0, "title", NULL, "TEXT", "the heading", "Picture", option_text, PICTURE(title)},
	{0, "subtitle", NULL, "TEXT", "the line below it", NULL, option_text, PICTURE(subtitle)},
	{0, "notes", NULL, "TEXT", "a note for the reader", NULL, option_text, PICTURE(notes)},
	{0, "width", NULL, "PIXELS", "of the picture (1200; it fits its window)", NULL,
	 option_unsigned, PICTURE(width), 100, 100000, "a width of 100 pixels or more"},
	{0, "height", NULL, "PIXELS", "of a frame (18)", NULL, option_unsigned,
	 PICTURE(frame_height), 8, 200, "a height of 8 to 200 pixels"},
	{0, "min-width", "minwidth", "PIXELS", "narrower frames are elided (0.1)", NULL,
	 take_min_width, offsetof(struct view_options, picture), 0, 0,
	 "a width in pixels, or in percent such as 0.5%"},
	{0, "max-frames", NULL, "N", "the widest ones are drawn, the rest elided", NULL,
	 option_size, PICTURE(max_frames), 1, 4e9, "a number of frames, 1 or more"},
	{0, "inverted", "icicle", NULL, "root on top", NULL, option_set, PICTURE(inverted)},
	{0, "colors", "colours", "PALETTE", "hot, mem, io, java, module, language, …", NULL,
	 take_palette, PICTURE(colors)},
	{0, "bgcolors", NULL, "COLOUR", "yellow, blue, green, grey, #rrggbb", NULL, take_background,
	 PICTURE(background)},
	{0, "searchcolor", "search-color", "COLOUR", "of what was found: #rrggbb", NULL,
	 take_colour, PICTURE(search_color)},
	{0, "negate", NULL, NULL, "of a comparison: blue frames grew", NULL, option_set,
	 PICTURE(negate)},
	{0, "fonttype", NULL, "NAME", "of labels", NULL, option_text, PICTURE(font_type)},
	{0, "fontsize", NULL, "PIXELS", "of labels (11)", NULL, option_decimal, PICTURE(font_size),
	 4, 100, "a size of 4 to 100 pixels"},
	{0, "fontwidth", NULL, "RATIO", "of a character to the size (0.6)", NULL, option_decimal,
	 PICTURE(font_width), 0.1, 2, "a ratio from 0.1 to 2"},
	{0, "text-truncate-direction", NULL, "SIDE", "labels lose their left or right end (right)",
	 NULL, take_cut, PICTURE(cut_left)},
	{0, "truncate-text-right", NULL, NULL, NULL, NULL, take_cut_right, PICTURE(cut_left)},
	{0, "countname", NULL, "TEXT", "what values count (samples)", NULL, option_text,
	 PICTURE(count_name)},
	{0, "nametype", NULL, "TEXT", "what frames are (Function:)", NULL, option_text,
	 PICTURE(name_type)},
	{0, "factor", NULL, "NUMBER", "multiplies shown values (1)", NULL, option_decimal,
	 PICTURE(factor), 0, 0, "a number"},
	{0, "total", NULL, "NUMBER", "the value of 100 %, if not the sum", NULL, option_decimal,
	 PICTURE(total), 0, 0, "a number"},
	{0, "no-javascript", NULL, NULL, "an SVG without interaction", NULL, option_set,
	 PICTURE(no_script)},
	{0, "hash", NULL, NULL, "colours by name (they always are)", NULL, option_set,
	 PICTURE(hash_colors)},
	/* Other tools need these for equal colours in two pictures, or pretty files. */
	{0, "cp", NULL, NULL, NULL, NULL, option_ignore},
	{0, "random", NULL, NULL, NULL, NULL, option_ignore},
	{0, "deterministic", NULL, NULL, NULL, NULL, option_ignore},
	{0, "pretty", NULL, NULL, NULL, NULL, option_ignore},
	{0, "encoding", NULL, "NAME", NULL, NULL, option_ignore},
};

#define N_STACK_ROWS   (sizeof stack_rows / sizeof *stack_rows)
#define N_PICTURE_ROWS (sizeof picture_rows / sizeof *picture_rows)

struct option_table view_unfold_options(struct view_options *view)
{
	return (struct option_table){unfold_rows, sizeof unfold_rows / sizeof *unfold_rows, view};
}

/* The same rows: the most important are listed by name, the others not at all. */
static struct option_table listed_rows(const struct option_row *rows, struct option_row *listed,
				       size_t n, struct view_options *view)
{
	static const char *const wanted[] = {"include",	   "exclude",  "reverse", "title",
					     "subtitle",   "notes",    "width",	  "min-width",
					     "max-frames", "inverted", "colors",  NULL};

	memcpy(listed, rows, n * sizeof *rows);
	for (size_t i = 0; i < n; i++)
		listed[i].help = is_named(wanted, listed[i].name) ? "" : NULL;
	return (struct option_table){listed, n, view};
}

struct option_table view_stack_options(struct view_options *view, bool listed)
{
	static struct option_row listed_stacks[N_STACK_ROWS];

	return listed ? listed_rows(stack_rows, listed_stacks, N_STACK_ROWS, view)
		      : (struct option_table){stack_rows, N_STACK_ROWS, view};
}

struct option_table view_picture_options(struct view_options *view, bool listed)
{
	static struct option_row listed_pictures[N_PICTURE_ROWS];

	return listed ? listed_rows(picture_rows, listed_pictures, N_PICTURE_ROWS, view)
		      : (struct option_table){picture_rows, N_PICTURE_ROWS, view};
}

int view_options_check(const struct view_options *view, struct failure *failure)
{
	if (view->stacks.in_order && view->stacks.reverse)
		return failure_set(failure, -EINVAL,
				   "--flamechart and --reverse exclude each other");
	return 0;
}
