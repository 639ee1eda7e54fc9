/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/baseline.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/outputs.h"

#define DEFAULT_FOLDER ".bpfflame/baselines"
#define FIELD(field)   offsetof(struct baseline_options, field)

static const struct option_row common_rows[] = {
	{0, "dir", NULL, "DIR", "where they are ($BPFFLAME_BASELINES, .bpfflame/baselines)",
	 "All of them", option_text, FIELD(folder)},
	{'q', "quiet", NULL, NULL, "errors only", NULL, option_set, FIELD(quiet)},
	OPTION_HELP(FIELD(help)),
};

static const struct option_row branch_rows[] = {
	{0, "branch", NULL, "BRANCH", "save: where the commit is; show, compare: the newest of it",
	 "save, show, compare", option_text, FIELD(branch)},
};

static const struct option_row save_rows[] = {
	{0, "commit", NULL, "ID", "the commit (of the CI job, or the one checked out)", "save",
	 option_text, FIELD(commit)},
	{0, "note", NULL, "TEXT", "kept with it", NULL, option_text, FIELD(note)},
	{0, "replace", NULL, NULL, "replace the one of this commit, if any", NULL, option_set,
	 FIELD(replace)},
	{0, "mode", NULL, "MODE", "of its files, as in chmod (600)", NULL, option_mode,
	 .wanted = OPTION_MODE_WANTED},
	{0, "keep", NULL, "N", "of this name and branch, then remove all but the newest N", NULL,
	 option_size, FIELD(keep), 1, 1e9, "a number from 1"},
};

static const struct option_row read_rows[] = {
	{0, "json", NULL, NULL, "JSON instead of text", "list, show", option_set, FIELD(json)},
};

static const struct option_row compare_rows[] = {
	{0, "same-machine", NULL, NULL, "fail instead of warning if machines differ", "compare",
	 option_set, FIELD(same_machine)},
	{0, "missing-ok", NULL, NULL, "say so and exit with 0 if there is no such baseline", NULL,
	 option_set, FIELD(missing_ok)},
};

enum {
	ROWS_COMMON = 1,
	ROWS_BRANCH = 2,
	ROWS_SAVE = 4,
	ROWS_READ = 8,
	ROWS_COMPARE = 16,
	ROWS_ALL = 31,
};
#define N_TABLES 5

static const struct {
	const char *name;
	int (*run)(const struct baseline_options *options);
	unsigned int rows;
	size_t least, most; /* arguments */
	const char *wanted;
} actions[] = {
	{"save", baseline_save, ROWS_COMMON | ROWS_BRANCH | ROWS_SAVE, 2, SIZE_MAX,
	 "a name and the files to save"},
	{"list", baseline_list, ROWS_COMMON | ROWS_READ, 0, 1, "one name, or none"},
	{"show", baseline_show, ROWS_COMMON | ROWS_BRANCH | ROWS_READ, 1, 1, "one NAME[@COMMIT]"},
	{"compare", baseline_compare, ROWS_COMMON | ROWS_BRANCH | ROWS_COMPARE, 2, SIZE_MAX,
	 "NAME[@COMMIT] and the files to compare with it"},
	{"remove", baseline_remove, ROWS_COMMON, 1, 1, "one NAME[@COMMIT]"},
};

#define N_ACTIONS (sizeof actions / sizeof *actions)

static size_t list_tables(struct baseline_options *options, unsigned int rows,
			  struct option_table tables[N_TABLES])
{
#define TABLE(rows) ((struct option_table){rows, sizeof rows / sizeof *rows, options})
	size_t n = 0;

	if (rows & ROWS_COMMON)
		tables[n++] = TABLE(common_rows);
	if (rows & ROWS_BRANCH)
		tables[n++] = TABLE(branch_rows);
	if (rows & ROWS_SAVE)
		tables[n++] = TABLE(save_rows);
	if (rows & ROWS_READ)
		tables[n++] = TABLE(read_rows);
	if (rows & ROWS_COMPARE)
		tables[n++] = TABLE(compare_rows);
	return n;
#undef TABLE
}

static void print_help(FILE *stream)
{
	struct baseline_options none;
	struct option_table tables[N_TABLES];

	fputs("Usage: bpfflame baseline save NAME FILE… [--commit ID] [--branch BRANCH] [--keep "
	      "N]\n"
	      "       bpfflame baseline list [NAME]\n"
	      "       bpfflame baseline show NAME[@COMMIT]\n"
	      "       bpfflame baseline compare NAME[@COMMIT] NEW… [OPTIONS of bpfflame diff]\n"
	      "       bpfflame baseline remove NAME[@COMMIT]\n"
	      "Keeps profiles, by name and commit, in a folder that a CI cache can carry, and "
	      "compares\n"
	      "new ones with them. A FILE is a run, a folder all that are in it. COMMIT may be "
	      "what a\n"
	      "commit begins with, or a branch; without it, the newest is taken.\n",
	      stream);
	option_tables_print(tables, list_tables(&none, ROWS_ALL, tables), stream);
}

static const char *default_folder(void)
{
	const char *folder = getenv("BPFFLAME_BASELINES");

	return folder && *folder ? folder : DEFAULT_FOLDER;
}

static int find_action(const char *name)
{
	for (size_t i = 0; i < N_ACTIONS; i++)
		if (strcmp(actions[i].name, name) == 0)
			return i;
	return -EINVAL;
}

/* Parses the options of an action; of none (-EINVAL), all there are. */
static int parse(int action, int argc, char **argv, struct baseline_options *options,
		 struct failure *failure)
{
	struct option_table tables[N_TABLES];
	size_t n = list_tables(options, action < 0 ? ROWS_ALL : actions[action].rows, tables);
	int rest, r;

	if (action >= 0 && actions[action].run == baseline_compare)
		return baseline_take_compare(argc, argv, tables, n, options, failure);
	r = option_tables_parse(tables, n, "baseline", argc, argv, &rest, failure);
	if (r != 0)
		return r;
	options->arguments = argv + rest;
	options->n_arguments = argc - rest;
	return 0;
}

static int check(int action, const struct baseline_options *options, struct failure *failure)
{
	if (action < 0) {
		failure_set(failure, -EINVAL,
			    options->n_arguments ? "there is no 'bpfflame baseline %.100s'"
						 : "baseline: nothing to do",
			    options->n_arguments ? options->arguments[0] : "");
		return failure_fix(failure, -EINVAL,
				   "one of save, list, show, compare, remove; see bpfflame "
				   "baseline --help");
	}
	if (options->n_arguments < actions[action].least ||
	    options->n_arguments > actions[action].most) {
		failure_set(failure, -EINVAL, "baseline %s takes %s", actions[action].name,
			    actions[action].wanted);
		return failure_fix(failure, -EINVAL, "see bpfflame baseline --help");
	}
	if (!*options->folder)
		return failure_set(failure, -EINVAL, "--dir: the name is empty");
	return 0;
}

int cmd_baseline(int argc, char **argv, uint64_t started_ns)
{
	struct baseline_options options = {.folder = default_folder(), .started_ns = started_ns};
	struct failure failure = {};
	int action = argc > 1 ? find_action(argv[1]) : -EINVAL;
	int is_named = action >= 0;
	int r = parse(action, argc - is_named, argv + is_named, &options, &failure);

	if (r == 0 && options.help) {
		print_help(stdout);
		r = 1;
	}
	if (r > 0)
		return EXIT_DONE;
	if (r < 0 || check(action, &options, &failure) < 0 || cli_write_as_caller(&failure) < 0)
		return cli_fail(&failure, EXIT_USAGE);
	return actions[action].run(&options);
}

/* Shared by the actions */

void baseline_say(const char *format, ...)
{
	char line[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	fputs("bpfflame: ", stderr);
	text_put_line(stderr, line);
	fputc('\n', stderr);
}

int baseline_parse_choice(const struct baseline_options *options, const char *text,
			  struct baseline_choice *ret, struct failure *failure)
{
	const char *at = strchr(text, '@');
	size_t n = at ? (size_t)(at - text) : strlen(text);
	struct baseline_choice choice = {.which = at ? at + 1 : NULL};

	if (n >= sizeof choice.name)
		return baselines_check_key("name", text, failure);
	memcpy(choice.name, text, n);
	if (at && !at[1])
		return failure_set(failure, -EINVAL,
				   "'%s': a commit or a branch is missing after @", text);
	if (at && options->branch)
		return failure_set(failure, -EINVAL, "--branch and '@%s' exclude each other",
				   at + 1);
	*ret = choice;
	return baselines_check_key("name", choice.name, failure);
}

/* Lists the names in the folder: `bench, parser …`. */
static void list_names(const struct baselines_list *list, char *text, size_t size)
{
	size_t n = 0, n_names = 0;

	text[0] = '\0';
	for (size_t i = 0; i < list->n; i++) {
		size_t before = 0;

		while (before < i && strcmp(list->items[before].name, list->items[i].name) != 0)
			before++;
		if (before < i)
			continue;
		if (n + strlen(list->items[i].name) + 8 > size) {
			snprintf(text + n, size - n, " …");
			return;
		}
		n += snprintf(text + n, size - n, "%s%s", n_names++ ? ", " : "",
			      list->items[i].name);
	}
}

/* The name does not exist, or none of its baselines matches. */
static int say_missing(const struct baseline_options *options, const char *name,
		       struct failure *failure)
{
	struct baselines_list all;
	char names[160], what[200];
	int r = baselines_list(options->folder, NULL, &all, failure);

	if (r < 0)
		return r;
	list_names(&all, names, sizeof names);
	baselines_list_done(&all);
	snprintf(what, sizeof what, "%.190s", failure->what);
	if (*names)
		failure_set(failure, -ENOENT, "%s in %.100s, which has %s", what, options->folder,
			    names);
	else
		failure_set(failure, -ENOENT, "%s in %.100s, which has none", what,
			    options->folder);
	return failure_fix(failure, -ENOENT, "save one: bpfflame baseline save %s FILE…", name);
}

int baseline_choose(const struct baseline_options *options, const struct baseline_choice *choice,
		    struct baselines_list *ret_list, const struct baseline **ret,
		    struct failure *failure)
{
	struct baselines_wanted wanted = {choice->name, choice->which, options->branch};
	size_t n_skipped = 0;
	int r = baselines_list(options->folder, choice->name, ret_list, failure);

	if (r < 0) {
		*ret_list = (struct baselines_list){};
		return r;
	}
	r = baselines_find(ret_list, &wanted, ret, &n_skipped, failure);
	if (r == -ENOENT)
		r = say_missing(options, choice->name, failure);
	if (r == 0 && n_skipped && !options->quiet)
		baseline_say("%zu of '%s' %s damaged; see bpfflame baseline list", n_skipped,
			     choice->name, n_skipped == 1 ? "is" : "are");
	return r;
}

bool baseline_take_place(const char *host, const char *kernel, struct machine *machine)
{
	if ((!*host || strcmp(host, machine->host) == 0) &&
	    (!*kernel || strcmp(kernel, machine->kernel) == 0))
		return false;
	*machine = (struct machine){};
	baseline_copy(machine->host, host);
	baseline_copy(machine->kernel, kernel);
	return true;
}

static size_t add_part(char *text, size_t n, size_t size, const char *format, const char *part)
{
	if (!*part || n >= size)
		return n;
	n += snprintf(text + n, size - n, "%s", n ? ", " : "");
	return n < size ? n + snprintf(text + n, size - n, format, part) : n;
}

void baseline_machine_text(const struct machine *machine, char text[static BASELINE_MACHINE_SIZE])
{
	char cpus[32] = "";
	size_t n;

	if (machine->cpus)
		snprintf(cpus, sizeof cpus, "%u CPU%s", machine->cpus,
			 machine->cpus == 1 ? "" : "s");
	text[0] = '\0';
	n = add_part(text, 0, BASELINE_MACHINE_SIZE, "%s", machine->cpu_model);
	n = add_part(text, n, BASELINE_MACHINE_SIZE, "%s", cpus);
	n = add_part(text, n, BASELINE_MACHINE_SIZE, "%s", machine->architecture);
	n = add_part(text, n, BASELINE_MACHINE_SIZE, "Linux %s", machine->kernel);
}
