/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff: compares two recordings, or two sets of repeated ones, in pictures and tables, and decides
 * whether the changes are too much.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/confined.h"
#include "cli/cli.h"
#include "cmd/cmd.h"
#include "cmd/confine.h"
#include "cmd/diff.h"
#include "cmd/diff_files.h"
#include "cmd/diff_sides.h"
#include "cli/inputs.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "report/diff.h"

#define MAX_BASES 4096

struct command_options {
	struct outputs outputs;
	struct view_options view;
	struct diff_options diff;
	struct gate_options gate;
	const char *markdown, *junit; /* one more file each */
	const char *rules;	      /* the file */
	double fail_over;	      /* < 0: not given */
	bool by[N_GATE_BY];	      /* none: the default */
	unsigned int weights;	      /* GATE_BIT() of each */
	bool json;		      /* on standard output */
	bool normalized, absolute, per_second, quiet, help;
	bool no_files; /* only the words are checked */
	const char *kind;
	char *bases[MAX_BASES]; /* those of --base */
	size_t n_bases;
	struct diff_files files;
	const struct diff_caller *caller; /* NULL: the command line only */
};

#define FIELD(field) offsetof(struct command_options, field)

static int take_base(const struct option_row *row, void *field, const char *value,
		     struct failure *failure)
{
	struct command_options *options = field;

	if (options->n_bases == MAX_BASES)
		return option_bad(row, value, "possible: too many files", failure);
	options->bases[options->n_bases++] = (char *)value;
	return 0;
}

/* The field is an array of bool, one per enum gate_by. */
static int take_by(const struct option_row *row, void *field, const char *value,
		   struct failure *failure)
{
	bool *wanted = field;

	for (const char *list = value;;) {
		size_t n = strcspn(list, ",");
		int by = 0;

		while (by < N_GATE_BY &&
		       (strlen(gate_by_names[by]) != n || strncmp(gate_by_names[by], list, n) != 0))
			by++;
		if (by == N_GATE_BY)
			return option_bad(row, value, "a list of function, module, total", failure);
		wanted[by] = true;
		if (!list[n])
			return 0;
		list += n + 1;
	}
}

static int take_weight(const struct option_row *row, void *field, const char *value,
		       struct failure *failure)
{
	static const struct {
		const char *name;
		unsigned int weights;
	} known[] = {{"self", GATE_BIT(GATE_SELF)},
		     {"total", GATE_BIT(GATE_TOTAL)},
		     {"both", GATE_BOTH}};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(value, known[i].name) == 0) {
			*(unsigned int *)field = known[i].weights;
			return 0;
		}
	return option_bad(row, value, "self, total or both", failure);
}

static int take_limit(const struct option_row *row, void *field, const char *value,
		      struct failure *failure)
{
	struct diff_options *diff = field;
	int r = option_size(row, &diff->limit, value, failure);

	diff->json_limit = diff->limit;
	return r;
}

static const struct option_row rows[] = {
	{0, "base", NULL, "FILE", "a run of the base; repeatable: all others are new", "Input",
	 take_base, 0},
	{0, "kind", NULL, "NAME", "which recordings of a folder: oncpu, offcpu, …", NULL,
	 option_text, FIELD(kind)},
	{'o', "output", NULL, "FILE", "svg, html, md, txt, json, xml, by its ending; repeatable",
	 "Output", option_output, FIELD(outputs)},
	{'f', "format", NULL, "LIST", "svg, html, markdown, text, json, junit: overrides it", NULL,
	 option_formats, FIELD(outputs)},
	{0, "markdown", NULL, "FILE", "a summary for a pull request, besides", NULL, option_filled,
	 FIELD(markdown), .wanted = "a file"},
	{0, "junit", NULL, "FILE", "the gate's judgements as JUnit XML, besides", NULL, option_filled,
	 FIELD(junit), .wanted = "a file"},
	{0, "mode", NULL, "MODE", "of the files, as in chmod (600)", NULL, option_mode,
	 .wanted = OPTION_MODE_WANTED},
	{0, "json", NULL, NULL, "JSON instead of text on standard output", NULL, option_set,
	 FIELD(json)},
	{0, "limit", NULL, "N", "rows of a table (20; in JSON: all); 0: all", NULL, take_limit,
	 FIELD(diff), 0, 1e9, "a number of rows"},
	{0, "grown", NULL, NULL, "list what grew, and nothing else", NULL, option_set,
	 FIELD(diff.only_grown)},
	{'q', "quiet", NULL, NULL, "errors only", NULL, option_set, FIELD(quiet)},
	OPTION_HELP(FIELD(help)),
	{0, "normalized", NULL, NULL, "compare shares of each side's total (the default)",
	 "Comparison", option_set, FIELD(normalized)},
	{0, "absolute", NULL, NULL, "compare samples or times of a run as they are", NULL,
	 option_set, FIELD(absolute)},
	{0, "per-second", NULL, NULL, "compare times per second of recording", NULL, option_set,
	 FIELD(per_second)},
	{0, "confidence", NULL, "PERCENT", "that no change is by chance (99)", NULL, option_percent,
	 FIELD(diff.confidence), 1, 99.999999999, "a percentage from 1 to below 100"},
	{0, "threshold", NULL, "POINTS", "leave out smaller changes, in percent of all", NULL,
	 option_percent, FIELD(diff.threshold), 0, 100, "a percentage"},
	{0, "fail-over", NULL, "PERCENT", "exit 3 if a function grew by more, beyond noise", "Gate",
	 option_percent, FIELD(fail_over), 0, 0, "a percentage"},
	{0, "by", NULL, "LIST", "what may not: function (default), module, total", NULL, take_by,
	 FIELD(by)},
	{0, "weight", NULL, "WHICH", "self, total (with all it calls) or both (default)", NULL,
	 take_weight, FIELD(weights)},
	{0, "rules", NULL, "FILE", "limits of single functions and modules", NULL, option_filled,
	 FIELD(rules), .wanted = "a file"},
	{0, "noise", NULL, "PERCENT", "how much a share varies between runs, at least (1)", NULL,
	 option_percent, FIELD(gate.noise), 0, 100, "a percentage"},
};

#define N_TABLES       4
#define MAX_STACK_ROWS 16

/* --base means something else in other commands; their --base is called --from here. */
static struct option_table stack_options(struct view_options *view)
{
	static struct option_row copies[MAX_STACK_ROWS];
	struct option_table table = view_stack_options(view, false);
	size_t n = table.n_rows < MAX_STACK_ROWS ? table.n_rows : MAX_STACK_ROWS;

	memcpy(copies, table.rows, n * sizeof *copies);
	for (size_t i = 0; i < n; i++)
		if (strcmp(copies[i].name, "base") == 0)
			copies[i].name = "from";
	return (struct option_table){copies, n, table.target};
}

static void list_tables(struct command_options *options, struct option_table tables[N_TABLES])
{
	tables[0] = (struct option_table){rows, sizeof rows / sizeof *rows, options};
	tables[1] = view_unfold_options(&options->view);
	tables[2] = stack_options(&options->view);
	tables[3] = view_picture_options(&options->view, true);
}

static void print_help(FILE *stream)
{
	static struct command_options none;
	struct option_table tables[N_TABLES];

	list_tables(&none, tables);
	fputs("Usage: bpfflame diff [OPTIONS] BASE NEW [-o OUT]…\n"
	      "       bpfflame diff [OPTIONS] BASE… -- NEW… [-o OUT]…\n"
	      "Compares two recordings. Several files, or a folder of them, are repeated runs: "
	      "their\n"
	      "spread is used. A folded file with two columns of values is both. Without -o: text "
	      "on\n"
	      "standard output.\n" INPUTS_HELP,
	      stream);
	option_tables_print(tables, N_TABLES, stream);
}

static bool has_gate(const struct command_options *options)
{
	return options->fail_over >= 0 || options->rules;
}

static int check_gate(struct command_options *options, struct failure *failure)
{
	bool has_by = false, wants_junit = options->junit;
	const char *what = NULL;

	for (int by = 0; by < N_GATE_BY; by++)
		has_by |= options->by[by];
	for (size_t i = 0; i < options->outputs.n_formats; i++)
		wants_junit |= options->outputs.formats[i] == FORMAT_JUNIT;
	if (has_by && options->fail_over < 0)
		what = "--by";
	else if (wants_junit && !has_gate(options))
		what = "--junit";
	if (what) {
		failure_set(failure, -EINVAL, "%s is about a gate, and there is none", what);
		return failure_fix(failure, -EINVAL, "add --fail-over PERCENT%s",
				   options->fail_over < 0 && what[2] == 'j' ? " or --rules FILE"
									    : "");
	}
	if (!has_by)
		options->by[GATE_FUNCTION] = true;
	if (!has_by && options->absolute)
		options->by[GATE_ALL] = true;
	return 0;
}

static int check_options(struct command_options *options, struct failure *failure)
{
	if (options->normalized + options->absolute + options->per_second > 1)
		return failure_set(failure, -EINVAL,
				   "--normalized, --absolute and --per-second exclude each other");
	options->absolute |= options->per_second;
	options->view.stacks.per_second = options->per_second;
	options->diff.scale = options->absolute ? SCALE_ABSOLUTE : SCALE_NORMALIZED;
	options->gate.scale = options->diff.scale;
	options->gate.confidence = options->diff.confidence;
	options->view.picture.confidence = options->diff.confidence;
	options->view.stacks.merge_modules = true;
	/* Thread ids differ between recordings. */
	options->view.stacks.unfold.no_threads = !options->view.stacks.unfold.threads;
	return view_options_check(&options->view, failure);
}

/*
 * For getopt `--` ends the options. Here it separates the sides, and options may follow it like any
 * file. So getopt sees another word, which is found again afterwards.
 */
static char separator[] = " --";

/* @words: argv with the separator. Returns 1 if help was requested. */
static int parse_words(int argc, char **words, struct command_options *ret, struct failure *failure)
{
	struct option_table tables[N_TABLES];
	struct diff_words files = {.bases = ret->bases};
	int rest, n = 0, r;

	list_tables(ret, tables);
	r = option_tables_parse(tables, N_TABLES, "diff", argc, words, &rest, failure);
	if (r != 0)
		return r;
	if (ret->help) {
		print_help(stdout);
		return 1;
	}
	for (int i = rest; i < argc; i++) {
		if (words[i] == separator)
			files.n_after = argc - 1 - i;
		else
			words[rest + n++] = words[i];
	}
	files.arguments = words + rest;
	files.n = n;
	files.n_bases = ret->n_bases;
	files.kind = ret->kind;
	r = check_options(ret, failure);
	if (r < 0)
		return r;
	r = check_gate(ret, failure);
	if (r < 0 || ret->no_files)
		return r;
	r = diff_files_find(&files, &ret->files, failure);
	if (r < 0)
		return r;
	for (int side = 0; side < N_SIDES; side++) {
		r = inputs_check(ret->files.sides[side].paths, ret->files.sides[side].n, failure);
		if (r < 0)
			return r;
	}
	return 0;
}

static int parse(int argc, char **argv, struct command_options *ret, struct failure *failure)
{
	char **words = calloc(argc + 1, sizeof *words);
	bool has_separator = false;
	int r;

	*ret = (struct command_options){.outputs = {.known = comparison_formats},
					.view = VIEW_OPTIONS_OF_FILES,
					.diff = DIFF_OPTIONS_DEFAULT,
					.fail_over = -1,
					.weights = GATE_BOTH,
					.gate = {.noise = -1},
					.caller = ret->caller,
					.no_files = ret->no_files};
	if (!words)
		return -ENOMEM;
	for (int i = 0; i < argc; i++) {
		bool is_separator = i > 0 && !has_separator && strcmp(argv[i], "--") == 0;

		words[i] = is_separator ? separator : argv[i];
		has_separator |= is_separator;
	}
	r = parse_words(argc, words, ret, failure);
	free(words);
	return r;
}

static int add_file(struct output_files *files, const char *path, enum output_format format,
		    struct failure *failure)
{
	char *copy;

	if (files->n == MAX_OUTPUTS)
		return failure_set(failure, -EINVAL, "too many files to write");
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	files->files[files->n++] = (struct output_file){.path = copy, .format = format};
	return 0;
}

static int plan(const struct command_options *options, struct output_files *files,
		struct failure *failure)
{
	const enum output_format defaults[] = {options->json ? FORMAT_JSON : FORMAT_TEXT,
					       FORMAT_NONE};
	const struct {
		const char *path; /* NULL: not wanted */
		enum output_format format;
	} more[] = {
		{options->json && options->outputs.n_paths ? "-" : NULL, FORMAT_JSON},
		{options->markdown, FORMAT_MARKDOWN},
		{options->junit, FORMAT_JUNIT},
	};
	bool to_stdout = !(options->markdown && strcmp(options->markdown, "-") == 0) &&
			 !(options->junit && strcmp(options->junit, "-") == 0);
	int r = 0;

	/* Without -o, standard output is for whichever was requested. */
	if (options->outputs.n_paths || options->json || to_stdout)
		r = outputs_plan(&options->outputs, NULL, defaults, files, failure);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
		r = more[i].path ? add_file(files, more[i].path, more[i].format, failure) : 0;
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < files->n; i++)
		if (files->files[i].format == FORMAT_JUNIT && !has_gate(options))
			return failure_set(failure, -EINVAL,
					   "%s is about a gate, and there is none: add --fail-over "
					   "PERCENT or --rules FILE",
					   files->files[i].path);
	return outputs_check_distinct(files, failure);
}

/* Returns 1 if help was requested. */
static int parse_and_plan(int argc, char **argv, struct command_options *options,
			  struct output_files *files, struct failure *failure)
{
	int r = parse(argc, argv, options, failure);

	if (r != 0)
		return r;
	return plan(options, files, failure);
}

/* Names of the sides */

#define NAME_SIZE 512

static void name_side(const struct run_files *files, char name[static NAME_SIZE])
{
	const char *first = files->n ? files->paths[0] : "";

	if (files->n > 1)
		snprintf(name, NAME_SIZE, "%.400s and %zu more", first, files->n - 1);
	else
		snprintf(name, NAME_SIZE, "%.500s", first);
}

/* What outputs are written from. */
struct comparison {
	struct command_options *options;
	struct diff_sides sides;
	struct gate_rules rules;
	struct gate gate;
	struct diff diff;
	char names[N_SIDES][NAME_SIZE];
};

static int read_rules(struct command_options *options, struct gate_rules *rules,
		      struct failure *failure)
{
	FILE *stream;
	int r;

	for (int by = 0; by < N_GATE_BY; by++) {
		if (options->fail_over < 0 || !options->by[by])
			continue;
		r = gate_rules_add(rules, by, options->weights, options->fail_over);
		if (r < 0)
			return r;
	}
	if (!options->rules)
		return 0;
	r = confined_open(options->rules);
	if (r < 0)
		return failure_set(failure, r, "cannot read %s: %s", options->rules, strerror(-r));
	stream = fdopen(r, "r");
	if (!stream) {
		close(r);
		return -ENOMEM;
	}
	r = gate_rules_read(rules, stream, options->rules, options->weights, failure);
	fclose(stream);
	return r;
}

/* The noise of the runs is what the gate has learned, or would have. */
static int judge_runs(struct comparison *comparison)
{
	struct command_options *options = comparison->options;
	const struct gate_sums *sums = &comparison->sides.sums;
	int r;

	if (!sums->sides[0].n_runs)
		return 0;
	r = gate_judge(sums, &comparison->rules, &options->gate, &comparison->gate);
	if (r < 0)
		return r;
	options->diff.sums = &comparison->sides.sums;
	options->diff.rules = &comparison->rules;
	options->diff.judged = &options->gate;
	if (has_gate(options))
		options->diff.gate = &comparison->gate;
	/* The gate and its tables make the same assumptions. */
	if (comparison->gate.has_runs || has_gate(options))
		options->diff.noise = &comparison->gate;
	return 0;
}

/* Calls the calling command's hook. */
static int ask_caller(struct comparison *comparison, struct failure *failure)
{
	struct command_options *options = comparison->options;
	const struct diff_caller *caller = options->caller;

	if (!caller)
		return 0;
	if (caller->base_name)
		options->diff.base_name = caller->base_name;
	return caller->remark(caller->data, &comparison->sides.plain, &options->diff.remarks,
			      failure);
}

/* Without a measure of chance there can be no gate. */
static int refuse_gate(const struct stacks *stacks, struct failure *failure)
{
	failure_set(failure, -EINVAL,
		    "no gate: values are %.64s without a number of samples, so chance has no "
		    "measure",
		    strings_get(&stacks->strings, stacks->facts[SIDE_NEW].event));
	return failure_fix(failure, -EINVAL,
			   "choose values of samples by --sample-type, or compare without a gate");
}

static int make_comparison(struct comparison *comparison, struct failure *failure)
{
	struct command_options *options = comparison->options;
	const struct sides_options wanted = {.stacks = options->view.stacks,
					     .scale = options->diff.scale,
					     .quiet = options->quiet,
					     .wants_sums = has_gate(options)};
	int r = read_rules(options, &comparison->rules, failure);

	if (r < 0)
		return r;
	r = diff_sides_read(&options->files, &wanted, &comparison->sides, failure);
	if (r < 0)
		return r;
	if (has_gate(options) && stacks_is_unsampled(&comparison->sides.plain))
		return refuse_gate(&comparison->sides.plain, failure);
	r = judge_runs(comparison);
	if (r < 0)
		return r;
	for (int side = 0; side < N_SIDES; side++)
		name_side(&options->files.sides[options->files.is_single ? SIDE_NEW : side],
			  comparison->names[side]);
	options->diff.base_name = comparison->names[SIDE_BASE];
	options->diff.new_name = comparison->names[SIDE_NEW];
	r = ask_caller(comparison, failure);
	if (r < 0)
		return r;
	return diff_make(&comparison->sides.plain, &options->diff, &comparison->diff);
}

static void comparison_done(struct comparison *comparison)
{
	diff_done(&comparison->diff);
	gate_done(&comparison->gate);
	gate_rules_done(&comparison->rules);
	diff_sides_done(&comparison->sides);
}

static int draw(const struct comparison *comparison, enum output_format format, FILE *stream)
{
	struct picture_options picture = comparison->options->view.picture;
	const struct diff_sides *sides = &comparison->sides;
	const struct stacks *stacks = sides->has_drawn ? &sides->drawn : &sides->plain;

	picture.judgement = &comparison->diff.judgement;
	return format == FORMAT_HTML ? render_html(stacks, &picture, stream)
				     : render_svg(stacks, &picture, stream);
}

static int write_text(struct comparison *comparison, FILE *stream)
{
	struct diff_options *options = &comparison->diff.options;
	struct terminal terminal = terminal_of(stream);

	options->colour = terminal.has_colour;
	options->columns = terminal.columns;
	return diff_text(&comparison->diff, stream);
}

static int write_format(void *data, enum output_format format, FILE *stream)
{
	struct comparison *comparison = data;

	switch (format) {
	case FORMAT_TEXT: return write_text(comparison, stream);
	case FORMAT_MARKDOWN: return diff_markdown(&comparison->diff, stream);
	case FORMAT_JSON: return diff_json(&comparison->diff, stream);
	case FORMAT_JUNIT: return diff_junit(&comparison->diff, stream);
	default: return draw(comparison, format, stream);
	}
}

/* A gate must not pass because nothing was recorded, or nothing that it covers. */
static int judge_nothing(const struct diff *diff, struct failure *failure)
{
	const struct diff_options *options = &diff->options;

	if (diff_is_empty(diff)) {
		failure_set(failure, -EINVAL, "%s holds nothing to compare",
			    diff->stacks->totals[SIDE_BASE] ? options->new_name
							    : options->base_name);
		failure_fix(failure, -EINVAL, "a gate needs two recordings");
	} else {
		failure_set(failure, -EINVAL, "nothing that the gate is about was recorded");
		failure_fix(failure, -EINVAL,
			    "record for longer, or see the names in bpfflame report");
	}
	return cli_fail(failure, EXIT_FAILED);
}

static void warn(const struct comparison *comparison)
{
	const struct diff *diff = &comparison->diff;
	const struct gate_side *sides = comparison->sides.sums.sides;

	if (comparison->options->quiet)
		return;
	diff_write_machines(diff, "bpfflame: ", stderr);
	if (diff->options.gate)
		diff_write_unused_rules(diff, "bpfflame: ", stderr);
	if (comparison->options->absolute && sides[0].n_runs != sides[1].n_runs)
		fputs("bpfflame: pictures add up all runs of a side, and the sides have not as "
		      "many\n",
		      stderr);
}

/* The exit code for what was written. */
static int judge(const struct comparison *comparison, struct failure *failure)
{
	const struct diff *diff = &comparison->diff;
	const struct gate *gate = diff->options.gate;

	warn(comparison);
	if (!gate)
		return EXIT_DONE;
	if (diff_is_empty(diff) || !gate->n_answers)
		return judge_nothing(diff, failure);
	diff_write_offenders(diff, "bpfflame: ", stderr);
	return gate->n_failed ? EXIT_GATE : EXIT_DONE;
}

struct diff_job {
	struct command_options *options;
	struct output_files files;
};

/* The confined process's work: returns its exit code. */
static int compare(void *data)
{
	struct diff_job *job = data;
	struct comparison *comparison = calloc(1, sizeof *comparison);
	struct failure failure = {};
	int code;

	if (!comparison)
		return cli_fail(&failure, EXIT_FAILED);
	comparison->options = job->options;
	if (make_comparison(comparison, &failure) < 0 ||
	    output_files_write(&job->files, write_format, comparison, &failure) < 0)
		code = cli_fail(&failure, EXIT_FAILED);
	else
		code = judge(comparison, &failure);
	comparison_done(comparison);
	free(comparison);
	return cli_flush(code);
}

static int compare_confined(struct diff_job *job)
{
	struct command_options *options = job->options;
	char *rules = (char *)options->rules;
	struct confine_files files = {.inputs = {{&rules, rules != NULL}}, .outputs = &job->files};

	for (int side = 0; side < N_SIDES; side++) {
		files.inputs[1 + side].paths = options->files.sides[side].paths;
		files.inputs[1 + side].n = options->files.sides[side].n;
	}
	return cmd_confine(&files, compare, job);
}

static int run_diff(int argc, char **argv, struct command_options *options)
{
	struct diff_job job = {.options = options};
	struct output_files *files = &job.files;
	struct failure failure = {};
	int code, r = parse_and_plan(argc, argv, options, files, &failure);

	if (r > 0)
		return EXIT_DONE;
	if (r < 0)
		code = cli_fail(&failure, r == -EINVAL ? EXIT_USAGE : EXIT_FAILED);
	else if (options->no_files)
		code = EXIT_DONE;
	else if (cli_write_as_caller(&failure) < 0 || output_files_check(files, &failure) < 0)
		code = cli_fail(&failure, EXIT_FAILED);
	else
		code = compare_confined(&job);
	diff_files_done(&options->files);
	output_files_done(files);
	return code;
}

static int run_or_check(int argc, char **argv, const struct diff_caller *caller, bool no_files)
{
	/* Too large for a stack: it holds the names of many runs. */
	struct command_options *options = calloc(1, sizeof *options);
	int code = EXIT_FAILED;

	if (options) {
		options->caller = caller;
		options->no_files = no_files;
		code = run_diff(argc, argv, options);
	}
	free(options);
	return code;
}

int diff_run(int argc, char **argv, const struct diff_caller *caller)
{
	return run_or_check(argc, argv, caller, false);
}

int diff_check(int argc, char **argv)
{
	return run_or_check(argc, argv, NULL, true);
}

static int write_answer(const struct command_options *options, struct comparison *comparison,
			FILE *stream, struct failure *failure)
{
	enum output_format format = options->outputs.n_formats ? options->outputs.formats[0]
				    : options->json	       ? FORMAT_JSON
							       : FORMAT_TEXT;
	int r = make_comparison(comparison, failure);

	if (r < 0)
		return r;
	return write_format(comparison, format, stream);
}

int diff_answer(int argc, char **argv, FILE *stream, struct failure *failure)
{
	struct command_options *options = calloc(1, sizeof *options);
	struct comparison *comparison = calloc(1, sizeof *comparison);
	int r = options && comparison ? parse(argc, argv, options, failure) : -ENOMEM;

	if (r == 0) {
		comparison->options = options;
		r = write_answer(options, comparison, stream, failure);
		comparison_done(comparison);
	}
	if (options)
		diff_files_done(&options->files);
	free(options);
	free(comparison);
	return r > 0 ? -EINVAL : r;
}

int cmd_diff(int argc, char **argv, uint64_t started_ns)
{
	return diff_run(argc, argv, NULL);
}
