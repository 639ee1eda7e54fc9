/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/parse.h"

#define DEFAULT_UNWIND_MEMORY (256ULL << 20)
#define MIN_UNWIND_MEMORY     (1ULL << 20)
#define MAX_WAKER_DEPTH	      8
#define MAX_OFFCPU_PERIOD     (4 * NSEC_PER_SEC)

enum option_id {
	OPTION_ALL,
	OPTION_PID,
	OPTION_TID,
	OPTION_CGROUP,
	OPTION_COMM,
	OPTION_CPU,
	OPTION_NO_CHILDREN,
	OPTION_ONCPU,
	OPTION_OFFCPU,
	OPTION_WALL,
	OPTION_FREQ,
	OPTION_MIN_BLOCK,
	OPTION_MAX_BLOCK,
	OPTION_OFFCPU_PERIOD,
	OPTION_WAKERS,
	OPTION_WAKER_DEPTH,
	OPTION_USER_ONLY,
	OPTION_KERNEL_ONLY,
	OPTION_CALL_GRAPH,
	OPTION_DURATION,
	OPTION_OUTPUT,
	OPTION_FORMAT,
	OPTION_OUT_DIR,
	OPTION_THREADS,
	OPTION_NO_REASON,
	OPTION_FOLD_IDLE,
	OPTION_NO_INLINE,
	OPTION_LINES,
	OPTION_ADDRESSES,
	OPTION_SYMFS,
	OPTION_TITLE,
	OPTION_SUBTITLE,
	OPTION_WIDTH,
	OPTION_MIN_WIDTH,
	OPTION_COLORS,
	OPTION_INVERTED,
	OPTION_REVERSE,
	OPTION_UNWIND_MEMORY,
	OPTION_MAX_LOSS,
	OPTION_QUIET,
	OPTION_VERBOSE,
	OPTION_JSON,
	OPTION_OFFCPU_HOOK,
	OPTION_HELP,
	N_OPTIONS,
};

/*
 * The order of the help; a row that starts a group names it. Help "": only listed, the manual tells
 * more. No help: accepted, not shown.
 */
static const struct option_row {
	enum option_id id;
	char letter;
	const char *name, *alias, *argument, *help, *group;
} rows[] = {
	{OPTION_ALL, 'a', "all", NULL, NULL, "the whole machine", "What"},
	{OPTION_PID, 'p', "pid", NULL, "LIST", "processes, with threads and children", NULL},
	{OPTION_TID, 't', "tid", NULL, "LIST", "threads", NULL},
	{OPTION_CGROUP, 'G', "cgroup", NULL, "PATH", "a cgroup and all below it", NULL},
	{OPTION_COMM, 0, "comm", NULL, "GLOB", "commands of this name", NULL},
	{OPTION_CPU, 'C', "cpu", NULL, "LIST", "CPUs: 0,2-5", NULL},
	{OPTION_NO_CHILDREN, 0, "no-children", NULL, NULL, "do not follow children", NULL},
	{OPTION_ONCPU, 0, "oncpu", NULL, NULL, "running threads, sampled (default)", "How"},
	{OPTION_OFFCPU, 0, "offcpu", "off-cpu", NULL, "time threads spend not running", NULL},
	{OPTION_WALL, 0, "wall", NULL, NULL, "both of the same threads: all their time", NULL},
	{OPTION_FREQ, 'F', "freq", NULL, "HZ", "samples a second and CPU (99)", NULL},
	{OPTION_MIN_BLOCK, 'm', "min-block", NULL, "TIME",
	 "off-CPU periods of at least (us; 10ms, 2s)", NULL},
	{OPTION_MAX_BLOCK, 'M', "max-block", NULL, "TIME", "off-CPU periods of at most", NULL},
	{OPTION_OFFCPU_PERIOD, 0, "offcpu-period", NULL, "TIME",
	 "one off-CPU stack in so much time (us); 0: every one", NULL},
	{OPTION_WAKERS, 0, "wakers", NULL, NULL, "who woke the thread, above --", NULL},
	{OPTION_WAKER_DEPTH, 0, "waker-depth", NULL, "N", "and who woke that one, … (1 to 8)",
	 NULL},
	{OPTION_USER_ONLY, 'U', "user-stacks", NULL, NULL, "user stacks only", NULL},
	{OPTION_KERNEL_ONLY, 'K', "kernel-stacks", NULL, NULL, "kernel stacks only", NULL},
	{OPTION_CALL_GRAPH, 'g', "call-graph", NULL, NULL, NULL, NULL},
	{OPTION_DURATION, 'd', "duration", NULL, "TIME",
	 "how long (s); else until Ctrl-C or the target's end", NULL},
	{OPTION_OUTPUT, 'o', "output", NULL, "FILE",
	 ".svg, .folded, .txt; - is folded on stdout; repeatable", "Output"},
	{OPTION_FORMAT, 'f', "format", NULL, "LIST", "svg,folded: overrides the names", NULL},
	{OPTION_OUT_DIR, 0, "out-dir", NULL, "DIR", "where default-named files go", NULL},
	{OPTION_THREADS, 0, "threads", NULL, NULL, "one root per thread: comm-PID/TID", NULL},
	{OPTION_NO_REASON, 0, "no-reason", NULL, NULL, "off-CPU without [sleep], [disk], …", NULL},
	{OPTION_FOLD_IDLE, 0, "fold-idle", NULL, NULL, "waits for work under one root: [idle]",
	 NULL},
	{OPTION_NO_INLINE, 0, "no-inline", NULL, NULL, "leave inlined functions out", NULL},
	{OPTION_LINES, 0, "lines", NULL, NULL, "add file:line", NULL},
	{OPTION_ADDRESSES, 0, "addresses", NULL, NULL, "addresses in place of names", NULL},
	{OPTION_SYMFS, 0, "symfs", NULL, "DIR", "where files of symbols are looked for first",
	 NULL},
	{OPTION_TITLE, 0, "title", NULL, "TEXT", "", "Picture"},
	{OPTION_SUBTITLE, 0, "subtitle", NULL, "TEXT", "", NULL},
	{OPTION_WIDTH, 0, "width", NULL, "PIXELS", "", NULL},
	{OPTION_MIN_WIDTH, 0, "min-width", "minwidth", "PIXELS", "", NULL},
	{OPTION_COLORS, 0, "colors", NULL, "PALETTE", "", NULL},
	{OPTION_INVERTED, 0, "inverted", NULL, NULL, "", NULL},
	{OPTION_REVERSE, 0, "reverse", NULL, NULL, "", NULL},
	{OPTION_UNWIND_MEMORY, 0, "unwind-memory", NULL, "SIZE",
	 "the most that unwind tables may use (256M)", "Other"},
	{OPTION_MAX_LOSS, 0, "max-loss", NULL, "PCT", "exit with 4 above this loss (1)", NULL},
	{OPTION_QUIET, 'q', "quiet", NULL, NULL, "errors only", NULL},
	{OPTION_VERBOSE, 'v', "verbose", NULL, NULL, "say more", NULL},
	{OPTION_JSON, 0, "json", NULL, NULL, "the summary as JSON on stdout", NULL},
	{OPTION_OFFCPU_HOOK, 0, "offcpu-hook", NULL, "NAME", NULL, NULL},
	{OPTION_HELP, 'h', "help", NULL, NULL, "this text; --version", NULL},
};

#define N_ROWS (sizeof rows / sizeof *rows)

/* `--title TEXT  --width PIXELS …`, from row @i on. Returns the row after. */
static size_t print_list(FILE *stream, size_t i)
{
	int column = 0;

	for (; i < N_ROWS && rows[i].help && !rows[i].help[0]; i++) {
		const char *argument = rows[i].argument ? rows[i].argument : "";
		int width = strlen(rows[i].name) + strlen(argument) + 5;

		if (column + width > 78)
			column = 0, fputc('\n', stream);
		column +=
			fprintf(stream, "  --%s%s%s", rows[i].name, *argument ? " " : "", argument);
	}
	fputc('\n', stream);
	return i;
}

static void print_row(FILE *stream, const struct option_row *row)
{
	char left[64], letter[8] = "    ";

	if (row->letter)
		snprintf(letter, sizeof letter, "-%c, ", row->letter);
	snprintf(left, sizeof left, "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
		 row->argument ? row->argument : "");
	fprintf(stream, "  %-24s %s\n", left, row->help);
}

void options_print_help(FILE *stream)
{
	fputs("Usage: bpfflame [OPTIONS] (-a | -p PID[,PID…] | -t TID[,TID…] | -G CGROUP |\n"
	      "                --comm GLOB | -- COMMAND [ARG…])\n"
	      "Flame graphs of where time goes: running (on-CPU), waiting (off-CPU), or both.\n",
	      stream);
	for (size_t i = 0; i < N_ROWS;) {
		if (rows[i].group)
			fprintf(stream, "%s:\n", rows[i].group);
		if (rows[i].help && !rows[i].help[0]) {
			i = print_list(stream, i);
			continue;
		}
		if (rows[i].help)
			print_row(stream, &rows[i]);
		i++;
	}
	fputs("Writes oncpu.svg and oncpu.folded, offcpu.* or wall.*, unless -o names files.\n"
	      "Exit status: 0 done, 1 failed, 2 wrong usage, 4 too many losses.\n",
	      stream);
}

enum output_format format_of_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	if (strcmp(path, "-") == 0)
		return FORMAT_FOLDED;
	if (!dot || strchr(dot, '/'))
		return FORMAT_NONE;
	if (strcmp(dot, ".svg") == 0)
		return FORMAT_SVG;
	if (strcmp(dot, ".folded") == 0 || strcmp(dot, ".txt") == 0)
		return FORMAT_FOLDED;
	return FORMAT_NONE;
}

const char *format_extension(enum output_format format)
{
	return format == FORMAT_SVG ? "svg" : "folded";
}

#define OPTION_NAME_SIZE 32

/* `-m, --min-block` */
static const char *option_name(const struct option_row *row, char text[static OPTION_NAME_SIZE])
{
	if (row->letter)
		snprintf(text, OPTION_NAME_SIZE, "-%c, --%s", row->letter, row->name);
	else
		snprintf(text, OPTION_NAME_SIZE, "--%s", row->name);
	return text;
}

static int bad(struct failure *failure, const struct option_row *row, const char *value,
	       const char *wanted)
{
	char name[OPTION_NAME_SIZE];

	return failure_set(failure, -EINVAL, "%s: '%s' is not %s", option_name(row, name), value,
			   wanted);
}

static int parse_formats(struct record_options *options, const char *list)
{
	options->n_formats = 0;
	for (;;) {
		size_t n = strcspn(list, ",");

		if (options->n_formats == MAX_OUTPUTS)
			return -EINVAL;
		if (n == 3 && strncmp(list, "svg", n) == 0)
			options->formats[options->n_formats++] = FORMAT_SVG;
		else if ((n == 6 && strncmp(list, "folded", n) == 0) ||
			 (n == 3 && strncmp(list, "txt", n) == 0))
			options->formats[options->n_formats++] = FORMAT_FOLDED;
		else
			return -EINVAL;
		if (!list[n])
			return 0;
		list += n + 1;
	}
}

static bool is_palette(const char *name)
{
	for (size_t i = 0; svg_palettes[i]; i++)
		if (strcmp(svg_palettes[i], name) == 0)
			return true;
	return false;
}

/* Options whose value is looked at. */
static int apply_value(struct record_options *options, const struct option_row *row,
		       const char *value, struct failure *failure)
{
	struct collect_options *collect = &options->collect;
	struct stat st;
	uint64_t number;
	double decimal;
	int r;

	switch (row->id) {
	case OPTION_PID:
		r = parse_ids(value, &options->pids, &collect->n_pids);
		collect->pids = options->pids;
		return r == -EINVAL ? bad(failure, row, value, "a list of process ids") : r;
	case OPTION_TID:
		r = parse_ids(value, &options->tids, &collect->n_tids);
		collect->tids = options->tids;
		return r == -EINVAL ? bad(failure, row, value, "a list of thread ids") : r;
	case OPTION_CPU:
		if (cpu_list_parse(value, &options->cpus) < 0)
			return bad(failure, row, value, "a list of CPUs such as 0,2-5");
		collect->cpus = &options->cpus;
		return 0;
	case OPTION_FREQ:
		if (parse_unsigned(value, UINT32_MAX, &number) < 0 || number == 0)
			return bad(failure, row, value, "a rate in Hz, 1 or more");
		collect->frequency = number;
		return 0;
	case OPTION_MIN_BLOCK:
		if (parse_time(value, 1000, &collect->min_block_ns) < 0)
			return bad(failure, row, value, "a time such as 500us or 10ms");
		return 0;
	case OPTION_MAX_BLOCK:
		if (parse_time(value, 1000, &collect->max_block_ns) < 0)
			return bad(failure, row, value, "a time such as 500us or 10ms");
		return 0;
	case OPTION_OFFCPU_PERIOD:
		if (parse_time(value, 1000, &collect->offcpu_period_ns) < 0 ||
		    collect->offcpu_period_ns > MAX_OFFCPU_PERIOD)
			return bad(failure, row, value, "a time up to 4s, such as 100us, or 0");
		return 0;
	case OPTION_WAKER_DEPTH:
		if (parse_unsigned(value, MAX_WAKER_DEPTH, &number) < 0 || number == 0)
			return bad(failure, row, value, "a number from 1 to 8");
		collect->waker_depth = number;
		return 0;
	case OPTION_DURATION:
		if (parse_time(value, NSEC_PER_SEC, &options->duration_ns) < 0 ||
		    options->duration_ns == 0)
			return bad(failure, row, value, "a time above 0 such as 30, 500ms or 5m");
		return 0;
	case OPTION_OUTPUT:
		if (!*value || options->n_outputs == MAX_OUTPUTS)
			return bad(failure, row, value, *value ? "possible: too many" : "a file");
		options->outputs[options->n_outputs++] = value;
		return 0;
	case OPTION_SYMFS:
		if (stat(value, &st) < 0 || !S_ISDIR(st.st_mode))
			return bad(failure, row, value, "a folder");
		options->symbolize.symfs = value;
		return 0;
	case OPTION_FORMAT:
		if (parse_formats(options, value) < 0)
			return bad(failure, row, value, "a list of svg, folded");
		return 0;
	case OPTION_WIDTH:
		if (parse_unsigned(value, 100000, &number) < 0 || number < 100)
			return bad(failure, row, value, "a width of 100 pixels or more");
		options->svg.width = number;
		return 0;
	case OPTION_MIN_WIDTH:
		if (parse_decimal(value, &options->svg.min_width) < 0)
			return bad(failure, row, value, "a width in pixels");
		return 0;
	case OPTION_COLORS:
		if (!is_palette(value))
			return bad(failure, row, value, "a palette");
		options->svg.colors = value;
		return 0;
	case OPTION_UNWIND_MEMORY:
		if (parse_size(value, &collect->unwind_memory) < 0 ||
		    collect->unwind_memory < MIN_UNWIND_MEMORY)
			return bad(failure, row, value, "a size of 1M or more, such as 64M or 1G");
		return 0;
	case OPTION_MAX_LOSS:
		if (parse_decimal(value, &decimal) < 0 || decimal > 100)
			return bad(failure, row, value, "a percentage");
		options->max_loss = decimal;
		return 0;
	default: return 0;
	}
}

/* Options that switch something or keep their text. */
static void apply(struct record_options *options, const struct option_row *row, const char *value)
{
	struct collect_options *collect = &options->collect;

	switch (row->id) {
	case OPTION_ALL: options->all = true; break;
	case OPTION_CGROUP: collect->cgroup = value; break;
	case OPTION_COMM: collect->comm = value; break;
	case OPTION_NO_CHILDREN: collect->no_children = true; break;
	case OPTION_ONCPU: options->modes |= 1 << PROFILE_ONCPU; break;
	case OPTION_OFFCPU: options->modes |= 1 << PROFILE_OFFCPU; break;
	case OPTION_WALL: options->modes |= 1 << PROFILE_WALL; break;
	case OPTION_WAKERS:
		if (!collect->waker_depth)
			collect->waker_depth = 1;
		break;
	case OPTION_USER_ONLY: collect->no_kernel = true; break;
	case OPTION_KERNEL_ONLY: collect->no_user = true; break;
	case OPTION_OUT_DIR: options->out_dir = value; break;
	case OPTION_THREADS: collect->threads = options->unfold.threads = true; break;
	case OPTION_NO_REASON: options->unfold.no_reason = true; break;
	case OPTION_FOLD_IDLE: options->unfold.fold_idle = true; break;
	case OPTION_NO_INLINE:
		options->unfold.no_inline = options->symbolize.no_inline = true;
		break;
	case OPTION_LINES: options->unfold.lines = options->symbolize.lines = true; break;
	case OPTION_ADDRESSES: options->symbolize.addresses = true; break;
	case OPTION_TITLE: options->svg.title = value; break;
	case OPTION_SUBTITLE: options->svg.subtitle = value; break;
	case OPTION_INVERTED: options->svg.inverted = true; break;
	case OPTION_REVERSE: options->svg.reverse = true; break;
	case OPTION_QUIET: options->quiet = true; break;
	case OPTION_VERBOSE: options->verbose++; break;
	case OPTION_JSON: options->json = true; break;
	case OPTION_OFFCPU_HOOK: collect->hook = value; break;
	default: break;
	}
}

static bool needs_offcpu(enum option_id id)
{
	return id == OPTION_MIN_BLOCK || id == OPTION_MAX_BLOCK || id == OPTION_OFFCPU_PERIOD ||
	       id == OPTION_WAKERS || id == OPTION_WAKER_DEPTH || id == OPTION_FOLD_IDLE;
}

/* What getopt_long() wants: rows[i] is found by val = i. */
static void make_getopt_tables(struct option *longs, char *shorts)
{
	*shorts++ = '+'; /* stop at COMMAND */
	*shorts++ = ':'; /* tell a missing value apart */
	for (size_t i = 0; i < N_ROWS; i++) {
		int has_argument = rows[i].argument ? required_argument : no_argument;

		*longs++ = (struct option){rows[i].name, has_argument, NULL, 256 + i};
		if (rows[i].alias)
			*longs++ = (struct option){rows[i].alias, has_argument, NULL, 256 + i};
		if (rows[i].letter) {
			*shorts++ = rows[i].letter;
			if (rows[i].argument)
				*shorts++ = ':';
		}
	}
	*longs = (struct option){};
	*shorts = '\0';
}

static const struct option_row *row_of(int value)
{
	if (value >= 256)
		return &rows[value - 256];
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].letter == value)
			return &rows[i];
	return NULL;
}

static int check_target(const struct record_options *options, struct failure *failure)
{
	const struct collect_options *collect = &options->collect;
	bool filtered = collect->n_pids || collect->n_tids || collect->cgroup || collect->comm ||
			collect->cpus;

	if (!options->all && !filtered && !options->command) {
		failure_set(failure, -EINVAL, "nothing to record");
		return failure_mend(failure, -EINVAL,
				    "give -a for the whole machine, -p PID, or -- COMMAND; "
				    "see bpfflame --help");
	}
	if (options->all && (collect->n_pids || collect->n_tids || options->command))
		return failure_set(
			failure, -EINVAL,
			"-a is the whole machine: it does not go with -p, -t or COMMAND");
	if (options->command && (collect->n_pids || collect->n_tids))
		return failure_set(failure, -EINVAL, "-p and -t do not go with COMMAND");
	if (collect->no_user && collect->no_kernel)
		return failure_set(failure, -EINVAL, "-U and -K exclude each other");
	return 0;
}

static int set_mode(struct record_options *options, struct failure *failure)
{
	switch (options->modes) {
	case 0:
	case 1 << PROFILE_ONCPU: options->collect.mode = PROFILE_ONCPU; return 0;
	case 1 << PROFILE_OFFCPU: options->collect.mode = PROFILE_OFFCPU; return 0;
	case 1 << PROFILE_WALL: options->collect.mode = PROFILE_WALL; return 0;
	default:
		failure_set(failure, -EINVAL, "--oncpu, --offcpu and --wall exclude each other");
		return failure_mend(failure, -EINVAL, "--wall alone is both");
	}
}

static int check_mode(struct record_options *options, struct failure *failure)
{
	struct collect_options *collect = &options->collect;
	char name[OPTION_NAME_SIZE];
	int r = set_mode(options, failure);

	if (r < 0)
		return r;
	if (collect->mode == PROFILE_ONCPU && options->offcpu_option)
		return failure_set(failure, -EINVAL, "%s is for --offcpu and --wall",
				   option_name(options->offcpu_option, name));
	if (collect->mode == PROFILE_ONCPU)
		return 0;
	if (collect->min_block_ns > collect->max_block_ns)
		return failure_set(failure, -EINVAL, "-m is above -M: no period is in that range");
	options->unfold.waker_depth = collect->waker_depth;
	/* Kernel stacks tell why threads wait; they are only not shown. */
	options->unfold.no_kernel = collect->no_kernel;
	return 0;
}

static int check_outputs(const struct record_options *options, struct failure *failure)
{
	for (size_t i = 0; i < options->n_outputs; i++) {
		const char *path = options->outputs[i];

		if (options->json && strcmp(path, "-") == 0)
			return failure_set(failure, -EINVAL,
					   "--json and -o - both want standard output");
		if (!options->n_formats && format_of_name(path) == FORMAT_NONE) {
			failure_set(failure, -EINVAL, "-o %s: no format of that name", path);
			return failure_mend(failure, -EINVAL,
					    "end it in .svg, .folded or .txt, or add -f");
		}
	}
	if (options->symbolize.addresses && options->symbolize.lines)
		return failure_set(failure, -EINVAL, "--addresses and --lines exclude each other");
	if (options->n_outputs && options->n_formats > 1 &&
	    options->n_formats != options->n_outputs)
		return failure_set(
			failure, -EINVAL,
			"-f names %zu formats for %zu files of -o: give one, or one each",
			options->n_formats, options->n_outputs);
	return 0;
}

int options_parse(int argc, char **argv, struct record_options *ret, struct failure *failure)
{
	struct option longs[2 * N_ROWS + 1];
	char shorts[2 * N_ROWS + 3];
	int value, r;

	*ret = (struct record_options){
		.collect = {.frequency = 99,
			    .max_block_ns = UINT64_MAX,
			    .offcpu_period_ns = PERIOD_AUTO,
			    .unwind_memory = DEFAULT_UNWIND_MEMORY},
		.svg = {.min_width = -1},
		.out_dir = ".",
		.max_loss = 1,
	};
	make_getopt_tables(longs, shorts);
	opterr = 0;
	optind = 0; /* forgets what it parsed before */
	while ((value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct option_row *row;

		if (value == '?' || value == ':') {
			const char *text = argv[optind - 1];

			if (value == '?' && optopt > 0 && optopt < 256 && text[1] != '-')
				failure_set(failure, -EINVAL, "unknown option -%c", optopt);
			else
				failure_set(failure, -EINVAL, "%s %s",
					    value == ':' ? "a value is missing after"
							 : "unknown or unclear option",
					    text);
			return failure_mend(failure, -EINVAL, "see bpfflame --help");
		}
		row = row_of(value);
		if (row->id == OPTION_HELP) {
			options_print_help(stdout);
			return 1;
		}
		if (needs_offcpu(row->id) && !ret->offcpu_option)
			ret->offcpu_option = row;
		apply(ret, row, optarg);
		r = apply_value(ret, row, optarg, failure);
		if (r < 0)
			return r;
	}
	if (optind < argc && strcmp(argv[optind - 1], "--") != 0) {
		failure_set(failure, -EINVAL, "unknown command '%s'", argv[optind]);
		return failure_mend(failure, -EINVAL,
				    "to record a command, write -- before it: "
				    "bpfflame … -- COMMAND");
	}
	ret->command = optind < argc ? argv + optind : NULL;
	r = check_target(ret, failure);
	r = r < 0 ? r : check_mode(ret, failure);
	return r < 0 ? r : check_outputs(ret, failure);
}

void options_done(struct record_options *options)
{
	free(options->pids);
	free(options->tids);
}
