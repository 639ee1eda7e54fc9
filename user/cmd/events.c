/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events: lists what -e can name here, by kind, and why the rest is missing. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/reader.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cmd/cmd.h"
#include "cli/option_table.h"
#include "cli/parse.h"
#include "collect/event_list.h"

#define NAME_COLUMNS 34

struct events_command {
	const char *pattern, *path;
	uint32_t pid;
	bool json, help;
};

#define FIELD(field) offsetof(struct events_command, field)

static const struct option_row rows[] = {
	{'p', "pid", NULL, "PID", "the USDT probes of a process: its program and libraries",
	 "In place of the machine's events", option_unsigned, FIELD(pid), 1, 0, "a process id"},
	{0, "path", NULL, "FILE", "the USDT probes of a program or library", NULL, option_filled,
	 FIELD(path), .wanted = "a file"},
	{0, "json", NULL, NULL, "one JSON object", "Output", option_set, FIELD(json)},
	OPTION_HELP(FIELD(help)),
};

static void print_help(const struct option_table *table)
{
	puts("Usage: bpfflame events [OPTIONS] [PATTERN]\n"
	     "Lists what -e can name on this machine, by kind, and says why the rest is missing.\n"
	     "PATTERN: a glob (sched:*), or a part of the name.");
	option_tables_print(table, 1, stdout);
}

static int parse(int argc, char **argv, struct events_command *command, struct failure *failure)
{
	struct option_table table = {rows, sizeof rows / sizeof *rows, command};
	int rest, r = option_tables_parse(&table, 1, "events", argc, argv, &rest, failure);

	if (r != 0)
		return r;
	if (command->help) {
		print_help(&table);
		return 1;
	}
	if (argc - rest > 1)
		return failure_set(failure, -EINVAL, "one PATTERN only, not '%s' too",
				   argv[rest + 1]);
	if (command->pid && command->path)
		return failure_set(failure, -EINVAL, "-p and --path exclude each other");
	command->pattern = argv[rest];
	return 0;
}

static int make_list(const struct events_command *command, struct event_list *list,
		     struct failure *failure)
{
	struct reader reader = READER_NONE;
	int r = command->path  ? event_list_file(list, command->path, &reader, failure)
		: command->pid ? event_list_process(list, command->pid, &reader, failure)
			       : event_list_machine(list);

	reader_stop(&reader);
	event_list_sort(list);
	return r;
}

static bool matches_name(const char *pattern, const char *name)
{
	if (strpbrk(pattern, "*?["))
		return fnmatch(pattern, name, 0) == 0;
	return strstr(name, pattern);
}

static bool is_wanted(const struct events_command *command, const struct listed_event *event)
{
	const char *pattern = command->pattern;

	return !pattern || matches_name(pattern, event->name) ||
	       (event->alias && matches_name(pattern, event->alias)) ||
	       strcmp(pattern, listed_kind_name(event->kind)) == 0;
}

static void print_event(const struct listed_event *event)
{
	char name[128];

	if (event->alias)
		snprintf(name, sizeof name, "%s, %s", event->name, event->alias);
	if (*event->help)
		text_print(stdout, "  %-*s %s\n", NAME_COLUMNS, event->alias ? name : event->name,
			   event->help);
	else
		text_print(stdout, "  %s\n", event->name);
}

static const char *const titles[N_LISTED_KINDS] = {
	[LISTED_SOFTWARE] = "Counted by the kernel",
	[LISTED_HARDWARE] = "Counted by the processor",
	[LISTED_CACHE] = "Counted by the processor, of its caches",
	[LISTED_PMU] = "Counted by the processor, by its own names",
	[LISTED_TRACEPOINT] = "Tracepoints of the kernel",
	[LISTED_UPROBE] = "Functions of programs",
	[LISTED_KPROBE] = "Functions of the kernel",
	[LISTED_USDT] = "Probes that programs were built with",
};

static void print_missing(const struct failure *missing)
{
	text_print(stdout, "  none: %s\n", missing->what);
	if (missing->fix[0])
		text_print(stdout, "  %s\n", missing->fix);
}

/* Returns their number. */
static size_t print_kind(const struct events_command *command, const struct event_list *list,
			 enum listed_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct listed_event *event = &list->items[i];

		if (event->kind != kind || !is_wanted(command, event))
			continue;
		if (n++ == 0)
			text_print(stdout, "%s:\n", titles[kind]);
		print_event(event);
	}
	if (!n && list->missing[kind].what[0] &&
	    (!command->pattern || strcmp(command->pattern, listed_kind_name(kind)) == 0)) {
		text_print(stdout, "%s:\n", titles[kind]);
		print_missing(&list->missing[kind]);
		n++;
	}
	return n;
}

static void json_event(struct json *json, const struct listed_event *event)
{
	json_open(json, NULL, '{');
	json_text(json, "name", event->name);
	json_text(json, "kind", listed_kind_name(event->kind));
	if (event->alias)
		json_text(json, "alias", event->alias);
	json_text(json, "help", event->help);
	json_bool(json, "is_form", event->is_form);
	json_close(json, '}');
}

static void print_json(const struct events_command *command, const struct event_list *list)
{
	struct json json = {.stream = stdout};

	json_open(&json, NULL, '{');
	json_open(&json, "events", '[');
	for (size_t i = 0; i < list->n; i++)
		if (is_wanted(command, &list->items[i]))
			json_event(&json, &list->items[i]);
	json_close(&json, ']');
	json_open(&json, "missing", '[');
	for (int kind = 0; kind < N_LISTED_KINDS; kind++) {
		if (!list->missing[kind].what[0])
			continue;
		json_open(&json, NULL, '{');
		json_text(&json, "kind", listed_kind_name(kind));
		json_text(&json, "why", list->missing[kind].what);
		json_text(&json, "mend", list->missing[kind].fix);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	putchar('\n');
}

/* Errors: -ENOENT nothing to list. */
static int print_list(const struct events_command *command, const struct event_list *list,
		      struct failure *failure)
{
	size_t n = 0;

	if (command->json) {
		print_json(command, list);
		return 0;
	}
	for (int kind = 0; kind < N_LISTED_KINDS; kind++)
		n += print_kind(command, list, kind);
	if (n)
		return 0;
	if (command->pattern)
		return failure_set(failure, -ENOENT, "no event matches '%s'", command->pattern);
	if (command->path)
		return failure_set(failure, -ENOENT, "no USDT probes in %s", command->path);
	return failure_set(failure, -ENOENT, "no USDT probes in process %" PRIu32, command->pid);
}

int cmd_events(int argc, char **argv, uint64_t started_ns)
{
	struct events_command command = {};
	struct event_list list = {};
	struct failure failure = {};
	int r = parse(argc, argv, &command, &failure);

	if (r != 0)
		return r > 0 ? EXIT_DONE : cli_fail(&failure, EXIT_USAGE);
	r = make_list(&command, &list, &failure);
	if (r == 0)
		r = print_list(&command, &list, &failure);
	event_list_done(&list);
	return r < 0 ? cli_fail(&failure, EXIT_FAILED) : EXIT_DONE;
}
