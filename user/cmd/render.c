/* SPDX-License-Identifier: GPL-2.0-or-later */
/* render: draws or converts recorded profiles, from here or other tools, in any format. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cmd/cmd.h"
#include "cmd/confine.h"
#include "cli/inputs.h"
#include "cli/outputs.h"

struct render_options {
	struct outputs outputs;
	struct view_options view;
	bool quiet, help;
	char **inputs;
	size_t n_inputs;
};

static const struct option_row rows[] = {
	{'o', "output", NULL, "FILE", "svg, html, folded …, by its ending; repeatable", "Output",
	 option_output, offsetof(struct render_options, outputs)},
	{'f', "format", NULL, "LIST", "svg, folded, html …: overrides the ending", NULL,
	 option_formats, offsetof(struct render_options, outputs)},
	{0, "header", NULL, NULL, "folded files begin with comments: modules, host …", NULL,
	 option_set, offsetof(struct render_options, view.stacks.header)},
	{0, "mode", NULL, "MODE", "of the files, as in chmod (600)", NULL, option_mode,
	 .wanted = OPTION_MODE_WANTED},
	{'q', "quiet", NULL, NULL, "errors only", NULL, option_set,
	 offsetof(struct render_options, quiet)},
	OPTION_HELP(offsetof(struct render_options, help)),
};

#define N_TABLES 4

static void list_tables(struct render_options *options, struct option_table tables[N_TABLES])
{
	tables[0] = (struct option_table){rows, sizeof rows / sizeof *rows, options};
	tables[1] = view_unfold_options(&options->view);
	tables[2] = view_stack_options(&options->view, false);
	tables[3] = view_picture_options(&options->view, false);
}

static void print_help(FILE *stream)
{
	struct render_options none;
	struct option_table tables[N_TABLES];

	list_tables(&none, tables);
	fputs("Usage: bpfflame render [OPTIONS] [IN…] [-o OUT]…\n"
	      "Draws or converts what was recorded; several files add up. Without -o: SVG on "
	      "standard\n"
	      "output.\n" INPUTS_HELP,
	      stream);
	option_tables_print(tables, N_TABLES, stream);
}

static int parse(int argc, char **argv, struct render_options *ret, struct failure *failure)
{
	struct option_table tables[N_TABLES];
	int rest, r;

	*ret = (struct render_options){.outputs = {.known = profile_formats},
				       .view = VIEW_OPTIONS_OF_FILES};
	list_tables(ret, tables);
	r = option_tables_parse(tables, N_TABLES, "render", argc, argv, &rest, failure);
	if (r != 0)
		return r;
	if (ret->help) {
		print_help(stdout);
		return 1;
	}
	ret->inputs = argv + rest;
	ret->n_inputs = argc - rest;
	if (!ret->n_inputs && isatty(STDIN_FILENO)) {
		failure_set(failure, -EINVAL, "nothing to render");
		return failure_fix(failure, -EINVAL, "name files; see bpfflame render --help");
	}
	if (!ret->outputs.n_paths && isatty(STDOUT_FILENO)) {
		failure_set(failure, -EINVAL, "no file to write");
		return failure_fix(failure, -EINVAL, "add -o FILE.svg");
	}
	r = inputs_check(ret->inputs, ret->n_inputs, failure);
	if (r < 0)
		return r;
	return view_options_check(&ret->view, failure);
}

/* A picture of nothing is written all the same: scripts go on, people wonder. */
static void warn_of_nothing(const struct render_options *options)
{
	const struct select_options *select = &options->view.stacks.select;

	if (!options->quiet)
		text_print(stderr, "bpfflame: nothing to draw: the input has no stacks%s\n",
			   select->include || select->exclude
				   ? " that --include and --exclude leave"
				   : "");
}

static int write_all(struct render_options *options, struct output_files *files,
		     struct failure *failure)
{
	struct profile_view view = {.options = &options->view};
	struct input input;
	int r = inputs_read(options->inputs, options->n_inputs, &options->view.stacks,
			    options->quiet, &input, failure);

	if (r < 0)
		return r;
	if (input.base) {
		r = failure_set(
			failure, -EINVAL,
			"%s has two columns of values: it is a comparison (see bpfflame diff)",
			options->n_inputs ? options->inputs[0] : "the input");
	} else {
		if (!input.profile->n_samples)
			warn_of_nothing(options);
		view.profile = input.profile;
		r = output_files_write(files, write_profile, &view, failure);
	}
	profile_view_done(&view);
	input_done(&input);
	return r;
}

struct render_job {
	struct render_options options;
	struct output_files files;
};

/* The confined process's work: returns its exit code. */
static int render(void *data)
{
	struct render_job *job = data;
	struct failure failure = {};
	int r = write_all(&job->options, &job->files, &failure);

	return cli_flush(r < 0 ? cli_fail(&failure, EXIT_FAILED) : EXIT_DONE);
}

static int run(struct render_job *job, struct failure *failure)
{
	static const enum output_format defaults[] = {FORMAT_SVG, FORMAT_NONE};
	const struct render_options *options = &job->options;
	const struct confine_files files = {.inputs = {{options->inputs, options->n_inputs}},
					    .outputs = &job->files};

	if (outputs_plan(&options->outputs, NULL, defaults, &job->files, failure) < 0)
		return cli_fail(failure, EXIT_USAGE);
	if (cli_write_as_caller(failure) < 0 || output_files_check(&job->files, failure) < 0)
		return cli_fail(failure, EXIT_FAILED);
	return cmd_confine(&files, render, job);
}

int cmd_render(int argc, char **argv, uint64_t started_ns)
{
	struct render_job job = {};
	struct failure failure = {};
	int code, r = parse(argc, argv, &job.options, &failure);

	if (r != 0)
		return r > 0 ? EXIT_DONE : cli_fail(&failure, EXIT_USAGE);
	code = run(&job, &failure);
	output_files_done(&job.files);
	return code;
}
