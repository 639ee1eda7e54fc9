/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/sandbox.h"
#include "cli/cli.h"
#include "record/record.h"

static const struct {
	const char *name;
	cmd_fn run;
} commands[] = {
	{"render", cmd_render},	    {"report", cmd_report},	{"diff", cmd_diff},
	{"query", cmd_query},	    {"baseline", cmd_baseline}, {"events", cmd_events},
	{"help", cmd_help},	    {"doctor", cmd_doctor},	{"daemon", cmd_daemon},
	{"--version", cmd_version}, {"-V", cmd_version},
};

cmd_fn cmd_find(const char *name)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(commands[i].name, name) == 0)
			return commands[i].run;
	return NULL;
}

void cmd_offer(struct nearest *nearest)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (commands[i].name[0] != '-')
			nearest_offer(nearest, commands[i].name);
	nearest_offer(nearest, "record");
}

int cmd_run(cmd_fn run, int argc, char **argv, uint64_t started_ns)
{
	struct failure failure = {};
	bool asks_for_rights = run == cmd_events || run == cmd_doctor || run == cmd_daemon;
	/* A confined process (base/confined.h), which is another user, is killed when we die. */
	uint64_t kept = geteuid() ? 0 : SANDBOX_FOR_FILES | SANDBOX_CAPABILITY(CAP_KILL);
	int r = asks_for_rights ? 0 : sandbox_restrict(kept);

	if (r == 0)
		return run(argc, argv, started_ns);
	failure_set(&failure, r, "cannot give up capabilities: %s", strerror(-r));
	return cli_fail(&failure, EXIT_FAILED);
}

int cmd_record(int argc, char **argv, uint64_t started_ns)
{
	return record_run(argc, argv, started_ns, cmd_offer);
}

/* `bpfflame help COMMAND` is `bpfflame COMMAND --help`. */
int cmd_help(int argc, char **argv, uint64_t started_ns)
{
	cmd_fn run = argc > 1 ? cmd_find(argv[1]) : NULL;
	char *arguments[] = {argc > 1 ? argv[1] : NULL, "--help", NULL};
	struct nearest nearest = {.wanted = arguments[0]};
	char meant[NEAREST_TEXT_SIZE];
	struct failure failure;

	if (run && run != cmd_help && run != cmd_version)
		return run(2, arguments, started_ns);
	if (argc > 1 && !run && strcmp(argv[1], "record") != 0) {
		cmd_offer(&nearest);
		failure_set(&failure, -EINVAL, "unknown command '%s'", argv[1]);
		failure_fix(&failure, -EINVAL, "%s",
			    *nearest_text(&nearest, meant) ? meant : "see bpfflame --help");
		return cli_fail(&failure, EXIT_USAGE);
	}
	return cmd_record(2, (char *[]){"bpfflame", "--help", NULL}, started_ns);
}

int cmd_version(int argc, char **argv, uint64_t started_ns)
{
	puts("bpfflame " BPFFLAME_VERSION);
	return EXIT_DONE;
}
