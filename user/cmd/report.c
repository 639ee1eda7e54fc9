/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report: shows recorded profiles, from here or other tools, as text in a terminal. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cmd/cmd.h"
#include "cmd/confine.h"
#include "cli/inputs.h"
#include "cli/terminal.h"
#include "cli/view_options.h"

#define DEFAULT_LIMIT	    20 /* of functions, in text */
#define DEFAULT_GROUP_LIMIT 10
#define DEFAULT_PERCENT	    1

struct report_command {
	struct view_options view;
	struct report_options report;
	bool has_limit, json, no_colour, quiet, help;
	char **inputs;
	size_t n_inputs;
};

static int take_sort(const struct option_row *row, void *field, const char *value,
		     struct failure *failure)
{
	if (strcmp(value, "self") != 0 && strcmp(value, "total") != 0)
		return option_bad(row, value, "self or total", failure);
	*(bool *)field = value[0] == 't';
	return 0;
}

static int take_limit(const struct option_row *row, void *field, const char *value,
		      struct failure *failure)
{
	struct report_command *command = field;
	int r = option_size(row, &command->report.limit, value, failure);

	command->report.group_limit = command->report.limit;
	command->has_limit = true;
	return r;
}

static int take_table(const struct option_row *row, bool *by, const char *value, size_t n,
		      struct failure *failure)
{
	char name[64];

	for (int i = 0; i < N_REPORT_BY; i++)
		if (strlen(report_by_names[i]) == n && strncmp(report_by_names[i], value, n) == 0) {
			by[i] = true;
			return 0;
		}
	snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : (int)sizeof name, value);
	return option_bad(row, name, "one of functions, waits, commands, modules, threads, reasons",
			  failure);
}

static int take_by(const struct option_row *row, void *field, const char *value,
		   struct failure *failure)
{
	for (;; value++) {
		size_t n = strcspn(value, ",");
		int r = take_table(row, field, value, n, failure);

		if (r < 0)
			return r;
		value += n;
		if (!*value)
			return 0;
	}
}

#define REPORT(field) offsetof(struct report_command, report.field)
#define STACKS(field) offsetof(struct report_command, view.stacks.field)

static const struct option_row rows[] = {
	{0, "sort", NULL, "KEY", "self (default) or total", "Tables", take_sort, REPORT(by_total)},
	{0, "limit", NULL, "N", "rows of a table (20 functions, 10 others); 0: all", NULL,
	 take_limit, 0, 0, 0, "a number of rows"},
	{0, "by", NULL, "LIST", "functions,waits,commands,modules,threads,reasons", NULL, take_by,
	 REPORT(by)},
	{0, "tree", NULL, NULL, "the tree of calls instead of tables", "Trees", option_set,
	 REPORT(tree)},
	{0, "callers", NULL, "REGEX", "callers of such functions, instead of tables", NULL,
	 option_expression, REPORT(callers)},
	{0, "threshold", NULL, "PCT", "trees leave out smaller calls (1)", NULL, option_percent,
	 REPORT(tree_percent), 0, 100, "a percentage"},
	{0, "include", NULL, "REGEX", "only stacks with such a function", "Which stacks",
	 option_expression, STACKS(select.include)},
	{0, "exclude", NULL, "REGEX", "none with such a function", NULL, option_expression,
	 STACKS(select.exclude)},
	{0, "json", NULL, NULL, "one JSON object", "Output", option_set,
	 offsetof(struct report_command, json)},
	{0, "columns", NULL, "N", "how wide (the terminal, or 100)", NULL, option_unsigned,
	 REPORT(columns), 40, 10000, "40 columns or more"},
	{0, "no-color", "no-colour", NULL, "as with NO_COLOR set, or no terminal", NULL, option_set,
	 offsetof(struct report_command, no_colour)},
	{'q', "quiet", NULL, NULL, "no warnings about the input", NULL, option_set,
	 offsetof(struct report_command, quiet)},
	OPTION_HELP(offsetof(struct report_command, help)),
};

#define N_TABLES 2

static void list_tables(struct report_command *command, struct option_table tables[N_TABLES])
{
	tables[0] = (struct option_table){rows, sizeof rows / sizeof *rows, command};
	tables[1] = view_unfold_options(&command->view);
}

static void print_help(FILE *stream)
{
	struct report_command none;
	struct option_table tables[N_TABLES];

	list_tables(&none, tables);
	fputs("Usage: bpfflame report [OPTIONS] [IN…]\n"
	      "Says where the time goes; several files add up.\n" INPUTS_HELP,
	      stream);
	option_tables_print(tables, N_TABLES, stream);
}

/* Everything in JSON; what fits a screen as text. */
static void set_defaults(struct report_command *command)
{
	struct report_options *report = &command->report;

	if (!command->has_limit && !command->json) {
		report->limit = DEFAULT_LIMIT;
		report->group_limit = DEFAULT_GROUP_LIMIT;
	}
}

static int parse(int argc, char **argv, struct report_command *ret, struct failure *failure)
{
	struct option_table tables[N_TABLES];
	int rest, r;

	*ret = (struct report_command){.view = VIEW_OPTIONS_OF_FILES,
				       .report.tree_percent = DEFAULT_PERCENT};
	list_tables(ret, tables);
	r = option_tables_parse(tables, N_TABLES, "report", argc, argv, &rest, failure);
	if (r != 0)
		return r;
	if (ret->help) {
		print_help(stdout);
		return 1;
	}
	ret->inputs = argv + rest;
	ret->n_inputs = argc - rest;
	if (!ret->n_inputs && isatty(STDIN_FILENO)) {
		failure_set(failure, -EINVAL, "nothing to report on");
		return failure_fix(failure, -EINVAL, "name files; see bpfflame report --help");
	}
	set_defaults(ret);
	r = inputs_check(ret->inputs, ret->n_inputs, failure);
	if (r < 0)
		return r;
	return view_options_check(&ret->view, failure);
}

static void look_at_terminal(struct report_command *command)
{
	struct report_options *report = &command->report;
	struct terminal terminal = terminal_of(stdout);

	report->colour = terminal.has_colour && !command->no_colour;
	if (!report->columns)
		report->columns = terminal.columns;
}

static bool has_threads(const struct profile *profile)
{
	for (size_t i = 0; i < profile->n_samples; i++)
		if (profile->samples[i].tid)
			return true;
	return false;
}

static int add_input(struct report_command *command, const struct input *input,
		     struct stacks *stacks, struct failure *failure)
{
	struct stacks_options *options = &command->view.stacks;
	int r;

	if (input->base) {
		failure_set(failure, -EINVAL, "%s has two columns of values: it is a comparison",
			    command->n_inputs ? command->inputs[0] : "the input");
		return failure_fix(failure, -EINVAL, "use bpfflame diff");
	}
	/* Threads have a table; trees are by command, unless requested otherwise. */
	if (!command->report.tree && !command->report.callers && !options->unfold.no_threads)
		options->unfold.threads |= has_threads(input->profile);
	options->unfold.no_threads = !options->unfold.threads;
	r = stacks_init(stacks, options);
	if (r < 0)
		return r;
	return stacks_add(stacks, input->profile, SIDE_NEW);
}

static int read_stacks(struct report_command *command, struct stacks *stacks,
		       struct failure *failure)
{
	struct input input;
	int r = inputs_read(command->inputs, command->n_inputs, &command->view.stacks,
			    command->quiet, &input, failure);

	if (r < 0)
		return r;
	r = add_input(command, &input, stacks, failure);
	input_done(&input);
	if (r < 0)
		return r;
	return stacks_finish(stacks, SCALE_ABSOLUTE);
}

static int write_report(const struct report_command *command, const struct stacks *stacks)
{
	return command->json ? report_json(stacks, &command->report, stdout)
			     : report_text(stacks, &command->report, stdout);
}

/* The confined process's work: returns its exit code. */
static int report(void *data)
{
	struct report_command *command = data;
	struct failure failure = {};
	struct stacks stacks = {};
	int r = read_stacks(command, &stacks, &failure);

	if (r == 0)
		r = write_report(command, &stacks);
	stacks_done(&stacks);
	if (r < 0 && !failure.what[0] && r != -ENOMEM)
		failure_set(&failure, r, "cannot report: %s", strerror(-r));
	return cli_flush(r < 0 ? cli_fail(&failure, EXIT_FAILED) : EXIT_DONE);
}

int cmd_report(int argc, char **argv, uint64_t started_ns)
{
	struct report_command command;
	struct failure failure = {};
	int r = parse(argc, argv, &command, &failure);

	if (r != 0)
		return r > 0 ? EXIT_DONE : cli_fail(&failure, EXIT_USAGE);
	look_at_terminal(&command);
	return cmd_confine(&(struct confine_files){.inputs = {{command.inputs, command.n_inputs}}},
			   report, &command);
}
