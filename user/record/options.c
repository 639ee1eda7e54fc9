/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/system.h"
#include "cli/parse.h"
#include "symbol/names_job.h"

#define DEFAULT_UNWIND_MEMORY (256ULL << 20)
#define MIN_UNWIND_MEMORY     (1ULL << 20)
#define MAX_WAKER_DEPTH	      8
#define MAX_OFFCPU_PERIOD     (4 * NSEC_PER_SEC)
#define MIN_EVERY	      (NSEC_PER_SEC / 10)

/* Handlers here get the whole struct record_options, offset 0, unless a row names a field. */
#define FIELD(field) offsetof(struct record_options, field)

static int take_pids(const struct option_row *row, void *field, const char *value,
		     struct failure *failure)
{
	struct record_options *options = field;
	int r = parse_ids(value, &options->pids, &options->collect.n_pids);

	options->collect.pids = options->pids;
	return r == -EINVAL ? option_bad(row, value, "a list of process ids", failure) : r;
}

static int take_tids(const struct option_row *row, void *field, const char *value,
		     struct failure *failure)
{
	struct record_options *options = field;
	int r = parse_ids(value, &options->tids, &options->collect.n_tids);

	options->collect.tids = options->tids;
	return r == -EINVAL ? option_bad(row, value, "a list of thread ids", failure) : r;
}

static int take_cpus(const struct option_row *row, void *field, const char *value,
		     struct failure *failure)
{
	struct record_options *options = field;

	if (cpu_list_parse(value, &options->cpus) < 0)
		return option_bad(row, value, "a list of CPUs such as 0,2-5", failure);
	options->collect.cpus = &options->cpus;
	return 0;
}

static int take_frequency(const struct option_row *row, void *field, const char *value,
			  struct failure *failure)
{
	struct record_options *options = field;

	options->has_frequency = true;
	return option_unsigned(row, &options->collect.frequency, value, failure);
}

static int take_oncpu(const struct option_row *row, void *field, const char *value,
		      struct failure *failure)
{
	*(unsigned int *)field |= 1 << PROFILE_ONCPU;
	return 0;
}

static int take_offcpu(const struct option_row *row, void *field, const char *value,
		       struct failure *failure)
{
	*(unsigned int *)field |= 1 << PROFILE_OFFCPU;
	return 0;
}

static int take_wall(const struct option_row *row, void *field, const char *value,
		     struct failure *failure)
{
	*(unsigned int *)field |= 1 << PROFILE_WALL;
	return 0;
}

/* An option that only applies off-CPU; the mode is known at the end of the line. */
static void note_offcpu(struct record_options *options, const struct option_row *row)
{
	if (!options->offcpu_option)
		options->offcpu_option = row;
}

/* -m and -M */
static int take_block(const struct option_row *row, void *field, const char *value,
		      struct failure *failure)
{
	struct record_options *options = field;
	uint64_t *limit_ns = row->letter == 'm' ? &options->collect.min_block_ns
						: &options->collect.max_block_ns;

	note_offcpu(options, row);
	return parse_time(value, 1000, limit_ns) < 0 ? option_bad(row, value, row->wanted, failure)
						     : 0;
}

static int take_offcpu_period(const struct option_row *row, void *field, const char *value,
			      struct failure *failure)
{
	struct record_options *options = field;
	uint64_t *period_ns = &options->collect.offcpu_period_ns;

	note_offcpu(options, row);
	return parse_time(value, 1000, period_ns) < 0 || *period_ns > MAX_OFFCPU_PERIOD
		       ? option_bad(row, value, row->wanted, failure)
		       : 0;
}

static int take_wakers(const struct option_row *row, void *field, const char *value,
		       struct failure *failure)
{
	struct record_options *options = field;

	note_offcpu(options, row);
	if (!options->collect.waker_depth)
		options->collect.waker_depth = 1;
	return 0;
}

static int take_waker_depth(const struct option_row *row, void *field, const char *value,
			    struct failure *failure)
{
	struct record_options *options = field;

	note_offcpu(options, row);
	return option_unsigned(row, &options->collect.waker_depth, value, failure);
}

static int take_fold_idle(const struct option_row *row, void *field, const char *value,
			  struct failure *failure)
{
	struct record_options *options = field;

	note_offcpu(options, row);
	options->view.stacks.unfold.fold_idle = true;
	return 0;
}

static int add_event(struct record_options *options, const char *text, struct failure *failure)
{
	struct collect_options *collect = &options->collect;
	int r;

	if (collect->n_events == PROFILE_MAX_EVENTS)
		return failure_set(failure, -EINVAL, "-e %s: more than %d events", text,
				   PROFILE_MAX_EVENTS);
	r = event_parse(text, &options->events[collect->n_events], failure);
	collect->events = options->events;
	collect->n_events += r == 0;
	return r;
}

/* Names of files may contain commas, and so do the terms of a PMU, between slashes. */
static size_t event_length(const char *list)
{
	static const char *const of_files[] = {"uprobe:", "uretprobe:", "usdt:"};
	bool in_terms = false;
	size_t n = 0;

	for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++) {
		size_t start = strlen(of_files[i]);

		if (strncmp(list, of_files[i], start) == 0)
			n = start + strcspn(list + start, ":");
	}
	for (; list[n] && (in_terms || list[n] != ','); n++)
		in_terms ^= list[n] == '/';
	return n;
}

static int take_events(const struct option_row *row, void *field, const char *value,
		       struct failure *failure)
{
	for (const char *list = value;;) {
		size_t n = event_length(list);
		_cleanup_free_ char *text = strndup(list, n);
		int r = text ? add_event(field, text, failure) : -ENOMEM;

		if (r < 0 || !list[n])
			return r;
		list += n + 1;
	}
}

static int take_duration(const struct option_row *row, void *field, const char *value,
			 struct failure *failure)
{
	uint64_t *duration_ns = field;

	return parse_time(value, NSEC_PER_SEC, duration_ns) < 0 || *duration_ns == 0
		       ? option_bad(row, value, row->wanted, failure)
		       : 0;
}

static int take_every(const struct option_row *row, void *field, const char *value,
		      struct failure *failure)
{
	uint64_t *every_ns = field;

	return parse_time(value, NSEC_PER_SEC, every_ns) < 0 || *every_ns < MIN_EVERY
		       ? option_bad(row, value, row->wanted, failure)
		       : 0;
}

/* One limit of each kind: `100` sets, `7d` (small letter: time), `2G` (capital letter: bytes). */
static int take_keep(const struct option_row *row, void *field, const char *value,
		     struct failure *failure)
{
	struct set_limits *keep = field;
	uint64_t *limit = &keep->sets, number = 0;
	int r;

	if (value[strspn(value, "0123456789")] == '\0') {
		r = parse_unsigned(value, UINT64_MAX, &number);
	} else if (parse_bytes(value, &number) == 0) {
		limit = &keep->bytes;
		r = 0;
	} else {
		limit = &keep->age_ns;
		r = islower((unsigned char)value[strlen(value) - 1])
			    ? parse_time(value, NSEC_PER_SEC, &number)
			    : -EINVAL;
	}
	if (r < 0 || number == 0)
		return option_bad(row, value, row->wanted, failure);
	if (*limit)
		return failure_set(failure, -EINVAL, "--keep %s: there is such a limit already",
				   value);
	*limit = number;
	return 0;
}

static int take_folder(const struct option_row *row, void *field, const char *value,
		       struct failure *failure)
{
	struct stat st;

	if (stat(value, &st) < 0 || !S_ISDIR(st.st_mode))
		return option_bad(row, value, "a folder", failure);
	return option_text(row, field, value, failure);
}

/* An empty one, as of a script's unset variable, matches nobody. */
static int take_comm(const struct option_row *row, void *field, const char *value,
		     struct failure *failure)
{
	if (!*value)
		return option_bad(row, value, "a command name such as 'postgres*'", failure);
	return option_text(row, field, value, failure);
}

static int take_threads(const struct option_row *row, void *field, const char *value,
			struct failure *failure)
{
	struct record_options *options = field;

	options->collect.threads = options->view.stacks.unfold.threads = true;
	return 0;
}

static int take_no_inline(const struct option_row *row, void *field, const char *value,
			  struct failure *failure)
{
	struct record_options *options = field;

	options->view.stacks.unfold.no_inline = options->symbolize.no_inline = true;
	return 0;
}

static int take_lines(const struct option_row *row, void *field, const char *value,
		      struct failure *failure)
{
	struct record_options *options = field;

	options->view.stacks.unfold.lines = options->symbolize.lines = true;
	return 0;
}

static int take_unwind_memory(const struct option_row *row, void *field, const char *value,
			      struct failure *failure)
{
	uint64_t *bytes = field;

	return parse_size(value, bytes) < 0 || *bytes < MIN_UNWIND_MEMORY
		       ? option_bad(row, value, row->wanted, failure)
		       : 0;
}

static const char a_range[] = "a time such as 500us or 10ms";

static const struct option_row rows[] = {
	{'a', "all", NULL, NULL, "the whole machine", "What", option_set, FIELD(all)},
	{'p', "pid", NULL, "LIST", "processes, with threads and children", NULL, take_pids},
	{'t', "tid", NULL, "LIST", "threads", NULL, take_tids},
	{'G', "cgroup", NULL, "PATH", "a cgroup and all below it", NULL, option_text,
	 FIELD(collect.cgroup)},
	{0, "comm", NULL, "GLOB", "commands of this name", NULL, take_comm, FIELD(collect.comm)},
	{'C', "cpu", NULL, "LIST", "CPUs: 0,2-5", NULL, take_cpus},
	{0, "no-children", NULL, NULL, "", NULL, option_set, FIELD(collect.no_children)},
	{0, "exit-status", NULL, NULL, "", NULL, option_set, FIELD(exit_status)},
	{0, "as-root", NULL, NULL, "", NULL, option_set, FIELD(as_root)},
	{0, "user", NULL, "NAME", "", NULL, option_text, FIELD(user)},
	{0, "environment", NULL, "FILE", "", NULL, option_filled, FIELD(environment),
	 .wanted = "a file"},

	{0, "oncpu", NULL, NULL, "running threads, sampled (default)", "How", take_oncpu,
	 FIELD(modes)},
	{0, "offcpu", "off-cpu", NULL, "time threads spend not running", NULL, take_offcpu,
	 FIELD(modes)},
	{0, "wall", NULL, NULL, "both of the same threads: all their time", NULL, take_wall,
	 FIELD(modes)},
	{'F', "freq", NULL, "HZ", "samples a second and CPU (99)", NULL, take_frequency, 0, 1, 0,
	 "a rate in Hz, 1 or more"},
	{'e', "event", NULL, "EVENT", "page-faults, sched:sched_switch, …: bpfflame events", NULL,
	 take_events},
	{'m', "min-block", NULL, "TIME", "off-CPU periods of at least (us; 10ms, 2s)", NULL,
	 take_block, .wanted = a_range},
	{'M', "max-block", NULL, "TIME", "off-CPU periods of at most", NULL, take_block,
	 .wanted = a_range},
	{0, "offcpu-period", NULL, "TIME", "one off-CPU stack in so much time (us); 0: every one",
	 NULL, take_offcpu_period, .wanted = "a time up to 4s, such as 100us, or 0"},
	{0, "wakers", NULL, NULL, "who woke the thread, above --", NULL, take_wakers},
	{0, "waker-depth", NULL, "N", "and who woke that one, … (1 to 8)", NULL, take_waker_depth,
	 0, 1, MAX_WAKER_DEPTH, "a number from 1 to 8"},
	{'U', "user-stacks", NULL, NULL, "user stacks only", NULL, option_set,
	 FIELD(collect.no_kernel)},
	{'K', "kernel-stacks", NULL, NULL, "kernel stacks only", NULL, option_set,
	 FIELD(collect.no_user)},
	{'g', "call-graph", NULL, NULL, NULL, NULL, option_ignore},
	{'d', "duration", NULL, "TIME", "how long (s); else until Ctrl-C or the target's end", NULL,
	 take_duration, FIELD(duration_ns), .wanted = "a time above 0 such as 30, 500ms or 5m"},

	{0, "every", NULL, "TIME", "a set of files for each such time (s), without gaps",
	 "Snapshots", take_every, FIELD(collect.every_ns),
	 .wanted = "a time of 100ms or more such as 60 or 5m"},
	{0, "keep", NULL, "LIMIT", "remove old sets: 100 of them, 7d of age, 2G of files", NULL,
	 take_keep, FIELD(keep),
	 .wanted = "a number of sets (100), their age (30s, 90m, 12h, 7d) or their bytes "
		   "(500M, 2G, 4096B)"},

	{'o', "output", NULL, "FILE",
	 ".svg .html .folded .pb.gz …; - is folded on stdout; repeatable", "Output", option_output,
	 FIELD(outputs)},
	{'f', "format", NULL, "LIST", "svg,folded: overrides the names", NULL, option_formats,
	 FIELD(outputs)},
	{0, "out-dir", NULL, "DIR", "where default-named files go", NULL, option_filled,
	 FIELD(outputs.folder), .wanted = "a folder"},
	{0, "threads", NULL, NULL, "one root per thread: comm-PID/TID", NULL, take_threads},
	{0, "header", NULL, NULL, "", NULL, option_set, FIELD(view.stacks.header)},
	{0, "fold-idle", NULL, NULL, "", NULL, take_fold_idle},
	{0, "idle", NULL, NULL, "", NULL, option_set, FIELD(idle)},
	{0, "no-idle", NULL, NULL, "", NULL, option_set, FIELD(no_idle)},
	{0, "mode", NULL, "MODE", "", NULL, option_mode, .wanted = OPTION_MODE_WANTED},
	{0, "no-reason", NULL, NULL, "", NULL, option_set, FIELD(view.stacks.unfold.no_reason)},
	{0, "no-inline", NULL, NULL, "", NULL, take_no_inline},
	{0, "no-runtimes", NULL, NULL, "", NULL, option_set, FIELD(collect.no_runtimes)},
	{0, "native-frames", NULL, NULL, "", NULL, option_set, FIELD(collect.native_frames)},
	{0, "lines", NULL, NULL, "", NULL, take_lines},
	{0, "no-demangle", NULL, NULL, "", NULL, option_set, FIELD(symbolize.no_demangle)},
	{0, "addresses", NULL, NULL, "", NULL, option_set, FIELD(symbolize.addresses)},
	{0, "symfs", NULL, "DIR", "", NULL, take_folder, FIELD(symbolize.symfs)},
	{0, "top", NULL, "N", "", NULL, option_size, FIELD(top), 0, 0, "a number of lines"},
	{0, "no-sandbox", NULL, NULL, "", NULL, option_set, FIELD(no_sandbox)},
};

static const struct option_row other_rows[] = {
	{0, "unwind-memory", NULL, "SIZE", "the most that unwind tables may use (256M)", "Other",
	 take_unwind_memory, FIELD(collect.unwind_memory),
	 .wanted = "a size of 1M or more, such as 64M or 1G"},
	{0, "max-loss", NULL, "PCT", "exit with 4 above this loss (1)", NULL, option_percent,
	 FIELD(max_loss), 0, 100, "a percentage"},
	{'q', "quiet", NULL, NULL, "errors only", NULL, option_set, FIELD(quiet)},
	OPTION_VERBOSE(FIELD(verbose)),
	{0, "json", NULL, NULL, "the summary as JSON on stdout", NULL, option_set, FIELD(json)},
	{0, "offcpu-hook", NULL, "NAME", NULL, NULL, option_text, FIELD(collect.hook)},
	{'h', "help", NULL, NULL, "this text; --version", NULL, option_set, FIELD(help)},
};

#define N_TABLES 4

static void list_tables(struct record_options *options, struct option_table tables[N_TABLES])
{
	tables[0] = (struct option_table){rows, sizeof rows / sizeof *rows, options};
	tables[1] = view_stack_options(&options->view, true);
	tables[2] = view_picture_options(&options->view, true);
	tables[3] =
		(struct option_table){other_rows, sizeof other_rows / sizeof *other_rows, options};
}

static void print_help(FILE *stream)
{
	struct record_options none;
	struct option_table tables[N_TABLES];

	list_tables(&none, tables);
	fputs("Usage: bpfflame [OPTIONS] (-a | -p PID[,PID…] | -t TID[,TID…] | -G CGROUP |\n"
	      "                --comm GLOB | -- COMMAND [ARG…])\n"
	      "       bpfflame daemon | query | render | report | diff | baseline | events | "
	      "doctor …\n"
	      "Flame graphs of where time goes: running (on-CPU), waiting (off-CPU), or both.\n",
	      stream);
	option_tables_print(tables, N_TABLES, stream);
	fputs("More: bpfflame help COMMAND; of pictures, help render. Without -o it writes "
	      "oncpu.svg\n"
	      "and .folded, offcpu.* or wall.*. Exit status: 0 done, 1 failed, 2 usage, 4 "
	      "losses.\n",
	      stream);
}

static int check_target(const struct record_options *options, struct failure *failure)
{
	const struct collect_options *collect = &options->collect;
	bool filtered = collect->n_pids || collect->n_tids || collect->cgroup || collect->comm ||
			collect->cpus;

	if (!options->all && !filtered && !options->command) {
		failure_set(failure, -EINVAL, "nothing to record");
		return failure_fix(failure, -EINVAL,
				   "give -a for the whole machine, -p PID, or -- COMMAND; "
				   "see bpfflame --help");
	}
	if (options->all && (collect->n_pids || collect->n_tids))
		return failure_set(failure, -EINVAL,
				   "-a is the whole machine: it does not go with -p or -t");
	/* perf records these while COMMAND runs: sleep 10. */
	if (options->command && (options->all || collect->n_pids || collect->n_tids)) {
		failure_set(failure, -EINVAL, "-a, -p and -t do not go with COMMAND");
		return failure_fix(failure, -EINVAL, "-d TIME says how long to record");
	}
	if (!options->command &&
	    (options->user || options->as_root || options->exit_status || options->environment))
		return failure_set(failure, -EINVAL,
				   "--exit-status, --user, --as-root and --environment are for "
				   "-- COMMAND");
	if (options->user && options->as_root)
		return failure_set(failure, -EINVAL, "--user and --as-root exclude each other");
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
		return failure_fix(failure, -EINVAL, "--wall alone is both");
	}
}

/*
 * Decides how pictures show waits for work: not at all for a crowd, and beside the rest for
 * selected threads, whose waits the user wants to see.
 */
static void place_idle(struct record_options *options)
{
	const struct collect_options *collect = &options->collect;
	bool is_crowd = (options->all || collect->cgroup) && !collect->n_pids && !collect->n_tids &&
			!collect->comm;
	bool is_given = options->idle || options->view.stacks.unfold.fold_idle;

	options->view.stacks.no_idle = options->no_idle || (is_crowd && !is_given);
	options->view.gathers_idle = !options->view.stacks.no_idle && !is_given;
}

static int check_mode(struct record_options *options, struct failure *failure)
{
	struct collect_options *collect = &options->collect;
	struct unfold_options *unfold = &options->view.stacks.unfold;
	char name[OPTION_NAME_SIZE];
	int r = set_mode(options, failure);

	if (r < 0)
		return r;
	if (options->view.stacks.in_order) {
		failure_set(
			failure, -EINVAL,
			"--flamechart: stacks are counted, so a recording has no order in time");
		return failure_fix(failure, -EINVAL,
				   "perf script | bpfflame render --flamechart has one");
	}
	if (options->idle && options->no_idle)
		return failure_set(failure, -EINVAL, "--idle and --no-idle exclude each other");
	if (collect->mode == PROFILE_ONCPU && options->offcpu_option)
		return failure_set(failure, -EINVAL, "%s is for --offcpu and --wall",
				   option_name(options->offcpu_option, name));
	if (collect->mode == PROFILE_ONCPU)
		return 0;
	if (collect->mode == PROFILE_WALL && collect->cpus) {
		failure_set(failure, -EINVAL,
			    "-C does not go with --wall: threads wait on no CPU, so their times "
			    "would not add up");
		return failure_fix(failure, -EINVAL, "use -C with --oncpu or --offcpu");
	}
	if (collect->n_events)
		return failure_set(failure, -EINVAL, "-e %s does not go with --%s",
				   collect->events[0].name,
				   collect->mode == PROFILE_WALL ? "wall" : "offcpu");
	if (collect->min_block_ns > collect->max_block_ns)
		return failure_set(failure, -EINVAL, "-m is above -M: no period is in that range");
	place_idle(options);
	unfold->waker_depth = collect->waker_depth;
	/* Kernel stacks give the reason for waiting; they are only hidden. */
	unfold->no_kernel = collect->no_kernel;
	return 0;
}

static int check_sets(const struct record_options *options, struct failure *failure)
{
	const struct set_limits *keep = &options->keep;

	if (!options->collect.every_ns && (keep->sets || keep->age_ns || keep->bytes))
		return failure_set(failure, -EINVAL,
				   "--keep removes old sets of --every, which is not given");
	if (options->collect.every_ns && options->outputs.n_paths) {
		failure_set(failure, -EINVAL, "-o names one file, and --every writes many");
		return failure_fix(failure, -EINVAL,
				   "say where with --out-dir DIR, and which with -f svg,folded,…");
	}
	return 0;
}

static int check_outputs(const struct record_options *options, struct failure *failure)
{
	if (options->quiet && options->verbose)
		return failure_set(failure, -EINVAL, "-q and -v exclude each other");
	for (size_t i = 0; i < options->outputs.n_paths; i++)
		if (options->json && output_descriptor(options->outputs.paths[i]) == STDOUT_FILENO)
			return failure_set(failure, -EINVAL,
					   "--json and -o %s both want standard output",
					   options->outputs.paths[i]);
	if (options->symbolize.addresses && options->symbolize.lines)
		return failure_set(failure, -EINVAL, "--addresses and --lines exclude each other");
	return view_options_check(&options->view, failure);
}

/* Refuses an operand that is not a command of ours. */
static int refuse_operand(const char *text, offer_commands_fn offer_commands,
			  struct failure *failure)
{
	struct nearest nearest = {.wanted = text};
	char meant[NEAREST_TEXT_SIZE];

	failure_set(failure, -EINVAL, "unknown command '%s'", text);
	if (text[strspn(text, "0123456789,")] == '\0')
		return failure_fix(failure, -EINVAL, "to record a process: bpfflame -p %s", text);
	if (offer_commands)
		offer_commands(&nearest);
	if (*nearest_text(&nearest, meant))
		return failure_fix(failure, -EINVAL, "%s to record a program: bpfflame … -- %s",
				   meant, text);
	return failure_fix(failure, -EINVAL,
			   "to record a command, write -- before it: bpfflame … -- %s", text);
}

int options_parse(int argc, char **argv, offer_commands_fn offer_commands,
		  struct record_options *ret, struct failure *failure)
{
	struct option_table tables[N_TABLES];
	int rest, r;

	*ret = (struct record_options){
		.collect = {.frequency = 99,
			    .max_block_ns = UINT64_MAX,
			    .offcpu_period_ns = PERIOD_AUTO,
			    .unwind_memory = DEFAULT_UNWIND_MEMORY,
			    .debug = &names_job_debug},
		.outputs = {.known = profile_formats},
		.view = VIEW_OPTIONS_DEFAULT,
		.max_loss = 1,
		.top = 5,
	};
	list_tables(ret, tables);
	r = option_tables_parse(tables, N_TABLES, NULL, argc, argv, &rest, failure);
	if (r != 0)
		return r;
	if (ret->help) {
		print_help(stdout);
		return 1;
	}
	if (rest < argc && strcmp(argv[rest - 1], "--") != 0)
		return refuse_operand(argv[rest], offer_commands, failure);
	ret->command = rest < argc ? argv + rest : NULL;
	r = check_target(ret, failure);
	if (r < 0)
		return r;
	r = check_mode(ret, failure);
	if (r < 0)
		return r;
	r = check_sets(ret, failure);
	if (r < 0)
		return r;
	return check_outputs(ret, failure);
}

void options_done(struct record_options *options)
{
	for (size_t i = 0; i < PROFILE_MAX_EVENTS; i++)
		event_request_done(&options->events[i]);
	free(options->pids);
	free(options->tids);
}
