/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff: what changed between two recordings, as pictures and tables, and whether it is too much.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/inputs.h"
#include "cmd/outputs.h"
#include "report/diff.h"

struct command_options {
	struct outputs outputs;
	struct view_options view;
	struct diff_options diff;
	const char *markdown; /* one more file */
	bool json;	      /* on standard output */
	bool normalized, absolute, quiet, help;
	char **inputs;
	size_t n_inputs;
};

#define FIELD(field) offsetof(struct command_options, field)

static const struct option_row rows[] = {
	{'o', "output", NULL, "FILE", "svg, html, md, txt, json, by its ending; repeatable",
	 "Output", option_output, FIELD(outputs)},
	{'f', "format", NULL, "LIST", "svg, html, markdown, text, json: overrides the ending", NULL,
	 option_formats, FIELD(outputs)},
	{0, "markdown", NULL, "FILE", "a summary for a pull request, besides", NULL, option_text,
	 FIELD(markdown)},
	{0, "json", NULL, NULL, "JSON on standard output in place of text", NULL, option_set,
	 FIELD(json)},
	{0, "limit", NULL, "N", "rows of a table (20); 0: all", NULL, option_size,
	 FIELD(diff.limit), 0, 1e9, "a number of rows"},
	{'q', "quiet", NULL, NULL, "errors only", NULL, option_set, FIELD(quiet)},
	{'h', "help", NULL, NULL, "this text", NULL, option_set, FIELD(help)},
	{0, "normalized", NULL, NULL, "compare shares of each side's total (the default)",
	 "Comparison", option_set, FIELD(normalized)},
	{0, "absolute", NULL, NULL, "compare samples or times as they are", NULL, option_set,
	 FIELD(absolute)},
	{0, "confidence", NULL, "PERCENT", "that no change is chance, of all together (99)", NULL,
	 option_decimal, FIELD(diff.confidence), 1, 99.999999999,
	 "a percentage from 1 to below 100"},
	{0, "threshold", NULL, "POINTS", "leave out changes of fewer percent of all", NULL,
	 option_decimal, FIELD(diff.threshold), 0, 100, "a percentage"},
	{0, "fail-over", NULL, "PERCENT", "exit 3 if a function grew by more, beyond chance", NULL,
	 option_decimal, FIELD(diff.fail_over), 0, 0, "a percentage"},
};

#define N_TABLES 4

static void list_tables(struct command_options *options, struct option_table tables[N_TABLES])
{
	tables[0] = (struct option_table){rows, sizeof rows / sizeof *rows, options};
	tables[1] = view_unfold_options(&options->view);
	tables[2] = view_stack_options(&options->view, false);
	tables[3] = view_picture_options(&options->view, true);
}

static void print_help(FILE *stream)
{
	struct command_options none;
	struct option_table tables[N_TABLES];

	list_tables(&none, tables);
	fputs("Usage: bpfflame diff [OPTIONS] BASE NEW [-o OUT]…\n"
	      "Compares two recordings: folded lines, pprof or text of `perf script`, gzip or not; "
	      "- "
	      "is\n"
	      "standard input. A folded file with two columns of values is both. Without -o: text "
	      "on\n"
	      "standard output.\n",
	      stream);
	option_tables_print(tables, N_TABLES, stream);
}

/* Which of the inputs is which: their number will grow. */
static int check_inputs(const struct command_options *options, struct failure *failure)
{
	if (options->n_inputs < 1 || options->n_inputs > 2) {
		failure_set(failure, -EINVAL,
			    options->n_inputs ? "more than two files to compare"
					      : "nothing to compare");
		return failure_mend(failure, -EINVAL,
				    "name BASE and NEW; see bpfflame diff --help");
	}
	if (options->n_inputs == 2 && strcmp(options->inputs[0], "-") == 0 &&
	    strcmp(options->inputs[1], "-") == 0)
		return failure_set(failure, -EINVAL,
				   "standard input can be read only once, but - stands twice");
	return 0;
}

static int check_options(struct command_options *options, struct failure *failure)
{
	if (options->normalized && options->absolute)
		return failure_set(failure, -EINVAL,
				   "--normalized and --absolute exclude each other");
	options->diff.scale = options->absolute ? SCALE_ABSOLUTE : SCALE_NORMALIZED;
	options->view.picture.confidence = options->diff.confidence;
	options->view.stacks.merge_modules = true;
	/* Thread ids are others in each recording. */
	options->view.stacks.unfold.no_threads = !options->view.stacks.unfold.threads;
	return view_options_check(&options->view, failure);
}

/* Returns 1 if help was asked for. */
static int parse(int argc, char **argv, struct command_options *ret, struct failure *failure)
{
	struct option_table tables[N_TABLES];
	int rest, r;

	*ret = (struct command_options){.outputs = {.known = comparison_formats},
					.view = VIEW_OPTIONS_OF_FILES,
					.diff = DIFF_OPTIONS_DEFAULT};
	list_tables(ret, tables);
	r = option_tables_parse(tables, N_TABLES, argc, argv, false, &rest, failure);
	if (r < 0)
		return r;
	if (ret->help) {
		print_help(stdout);
		return 1;
	}
	ret->inputs = argv + rest;
	ret->n_inputs = argc - rest;
	r = check_inputs(ret, failure);
	return r < 0 ? r : check_options(ret, failure);
}

static int add_file(struct output_files *files, const char *path, enum output_format format,
		    struct failure *failure)
{
	char *copy = files->n < MAX_OUTPUTS ? strdup(path) : NULL;

	if (!copy)
		return files->n < MAX_OUTPUTS
			       ? -ENOMEM
			       : failure_set(failure, -EINVAL, "too many files to write");
	files->files[files->n++] = (struct output_file){copy, format};
	return 0;
}

static int plan(const struct command_options *options, struct output_files *files,
		struct failure *failure)
{
	const enum output_format defaults[] = {options->json ? FORMAT_JSON : FORMAT_TEXT,
					       FORMAT_NONE};
	bool to_stdout = !options->markdown || strcmp(options->markdown, "-") != 0;
	size_t n = 0;
	int r = 0;

	/* Without -o, standard output is for whichever was asked for. */
	if (options->outputs.n_paths || options->json || to_stdout)
		r = outputs_plan(&options->outputs, NULL, defaults, files, failure);
	if (r == 0 && options->json && options->outputs.n_paths)
		r = add_file(files, "-", FORMAT_JSON, failure);
	if (r == 0 && options->markdown)
		r = add_file(files, options->markdown, FORMAT_MARKDOWN, failure);
	for (size_t i = 0; i < files->n; i++)
		n += strcmp(files->files[i].path, "-") == 0;
	if (r == 0 && n > 1)
		r = failure_set(failure, -EINVAL, "standard output is wanted for two formats");
	return r;
}

/* What was read: two profiles, of one file or of two. */
struct sides {
	struct input inputs[2];
	size_t n_inputs;
	struct profile *profiles[N_SIDES];
};

static int read_one(const struct command_options *options, size_t i, struct sides *sides,
		    struct failure *failure)
{
	int r = inputs_read(&options->inputs[i], 1, &options->view.stacks, options->quiet,
			    &sides->inputs[i], failure);

	if (r == 0)
		sides->n_inputs++;
	return r;
}

static int read_single(const struct command_options *options, struct sides *sides,
		       struct failure *failure)
{
	int r = read_one(options, 0, sides, failure);

	if (r < 0)
		return r;
	if (!sides->inputs[0].base) {
		failure_set(failure, -EINVAL,
			    "%s has one column of values: nothing to compare with",
			    options->inputs[0]);
		return failure_mend(failure, -EINVAL, "name BASE and NEW");
	}
	sides->profiles[SIDE_BASE] = sides->inputs[0].base;
	sides->profiles[SIDE_NEW] = sides->inputs[0].profile;
	return 0;
}

static int read_both(const struct command_options *options, struct sides *sides,
		     struct failure *failure)
{
	int r = 0;

	for (size_t i = 0; i < 2 && r == 0; i++) {
		r = read_one(options, i, sides, failure);
		if (r == 0 && sides->inputs[i].base) {
			r = failure_set(
				failure, -EINVAL,
				"%s has two columns of values: it is a comparison by itself",
				options->inputs[i]);
			failure_mend(failure, -EINVAL, "name it alone");
		}
	}
	if (r < 0)
		return r;
	sides->profiles[SIDE_BASE] = sides->inputs[0].profile;
	sides->profiles[SIDE_NEW] = sides->inputs[1].profile;
	return 0;
}

/* Samples and times can't be compared. Of an empty file nobody knows what it would hold. */
static int match_modes(const struct command_options *options, struct sides *sides,
		       struct failure *failure)
{
	struct profile *base = sides->profiles[SIDE_BASE], *new_ = sides->profiles[SIDE_NEW];

	if (!base->n_samples)
		base->mode = new_->mode;
	if (!new_->n_samples)
		new_->mode = base->mode;
	if (base->mode == new_->mode)
		return 0;
	return failure_set(failure, -EINVAL, "%s is %s and %s is %s: they can't be compared",
			   options->inputs[0], profile_mode_name(base->mode),
			   options->inputs[options->n_inputs - 1], profile_mode_name(new_->mode));
}

static int read_sides(const struct command_options *options, struct sides *sides,
		      struct failure *failure)
{
	int r = options->n_inputs == 1 ? read_single(options, sides, failure)
				       : read_both(options, sides, failure);

	return r < 0 ? r : match_modes(options, sides, failure);
}

static void sides_done(struct sides *sides)
{
	for (size_t i = 0; i < sides->n_inputs; i++)
		input_done(&sides->inputs[i]);
}

static int make_stacks(const struct sides *sides, const struct stacks_options *reading,
		       enum stacks_scale scale, struct stacks *ret)
{
	int r = stacks_init(ret, reading);

	/* The base first: from then on it is a comparison. */
	r = r < 0 ? r : stacks_add(ret, sides->profiles[SIDE_BASE], SIDE_BASE);
	r = r < 0 ? r : stacks_add(ret, sides->profiles[SIDE_NEW], SIDE_NEW);
	r = r < 0 ? r : stacks_finish(ret, scale);
	if (r < 0)
		stacks_done(ret);
	return r;
}

/* What outputs are written from. */
struct comparison {
	const struct command_options *options;
	const struct sides *sides;
	struct stacks plain, drawn; /* drawn: only if it is another order of stacks */
	bool has_drawn;
	struct diff diff;
};

/* Tables want stacks as they are, whatever pictures want. */
static int make_comparison(struct comparison *comparison)
{
	struct stacks_options reading = comparison->options->view.stacks;
	int r;

	reading.reverse = reading.in_order = false;
	r = make_stacks(comparison->sides, &reading, comparison->options->diff.scale,
			&comparison->plain);
	return r < 0 ? r
		     : diff_make(&comparison->plain, &comparison->options->diff, &comparison->diff);
}

static void comparison_done(struct comparison *comparison)
{
	diff_done(&comparison->diff);
	stacks_done(&comparison->plain);
	if (comparison->has_drawn)
		stacks_done(&comparison->drawn);
}

/* The stacks in the order in which they are drawn. */
static int order_stacks(struct comparison *comparison, const struct stacks **ret)
{
	const struct stacks_options *reading = &comparison->options->view.stacks;
	int r = 0;

	if (!reading->reverse && !reading->in_order) {
		*ret = &comparison->plain;
		return 0;
	}
	if (!comparison->has_drawn)
		r = make_stacks(comparison->sides, reading, comparison->options->diff.scale,
				&comparison->drawn);
	if (r < 0)
		return r;
	comparison->has_drawn = true;
	*ret = &comparison->drawn;
	return 0;
}

static int draw(struct comparison *comparison, enum output_format format, FILE *stream)
{
	const struct picture_options *picture = &comparison->options->view.picture;
	const struct stacks *stacks;
	int r = order_stacks(comparison, &stacks);

	if (r < 0)
		return r;
	return format == FORMAT_HTML ? render_html(stacks, picture, stream)
				     : render_svg(stacks, picture, stream);
}

static int write_text(struct comparison *comparison, FILE *stream)
{
	struct diff_options *options = &comparison->diff.options;
	const char *no_color = getenv("NO_COLOR");
	struct winsize window;

	if (isatty(fileno(stream))) {
		options->colour = !no_color || !*no_color;
		if (ioctl(fileno(stream), TIOCGWINSZ, &window) == 0)
			options->columns = window.ws_col;
	}
	return diff_text(&comparison->diff, stream);
}

static int write_format(void *data, enum output_format format, FILE *stream)
{
	struct comparison *comparison = data;

	switch (format) {
	case FORMAT_TEXT: return write_text(comparison, stream);
	case FORMAT_MARKDOWN: return diff_markdown(&comparison->diff, stream);
	case FORMAT_JSON: return diff_json(&comparison->diff, stream);
	default: return draw(comparison, format, stream);
	}
}

/* Exit code of what was written. A gate does not open because nothing was recorded. */
static int judge(const struct diff *diff, struct failure *failure)
{
	const struct diff_options *options = &diff->options;

	if (options->fail_over >= 0 && diff_is_empty(diff)) {
		failure_set(failure, -EINVAL, "%s holds nothing to compare",
			    diff->stacks->totals[SIDE_BASE] ? options->new_name
							    : options->base_name);
		failure_mend(failure, -EINVAL, "--fail-over needs two recordings");
		return cmd_fail(failure, EXIT_FAILED);
	}
	if (!diff->n_offenders)
		return EXIT_DONE;
	diff_write_offenders(diff, "bpfflame: grew too much: ", stderr);
	return EXIT_GATE;
}

static int compare(struct command_options *options, const struct output_files *files,
		   struct failure *failure)
{
	struct sides sides = {0};
	struct comparison comparison = {.options = options, .sides = &sides};
	int r = read_sides(options, &sides, failure), code = EXIT_FAILED;

	options->diff.base_name = options->inputs[0];
	options->diff.new_name = options->inputs[options->n_inputs - 1];
	r = r < 0 ? r : make_comparison(&comparison);
	r = r < 0 ? r : output_files_write(files, write_format, &comparison, failure);
	if (r == 0)
		code = judge(&comparison.diff, failure);
	else
		cmd_fail(failure, code);
	comparison_done(&comparison);
	sides_done(&sides);
	return code;
}

int cmd_diff(int argc, char **argv, uint64_t started_ns)
{
	struct command_options options;
	struct output_files files = {};
	struct failure failure = {};
	int code, r = parse(argc, argv, &options, &failure);

	if (r > 0)
		return EXIT_DONE;
	r = r < 0 ? r : plan(&options, &files, &failure);
	if (r < 0)
		code = cmd_fail(&failure, EXIT_USAGE);
	else if (output_files_check(&files, &failure) < 0)
		code = cmd_fail(&failure, EXIT_FAILED);
	else
		code = compare(&options, &files, &failure);
	output_files_done(&files);
	return code;
}
