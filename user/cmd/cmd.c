/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/options.h"
#include "cmd/outputs.h"

int cmd_fail(const struct failure *failure, int code)
{
	const char *what = failure->what[0] ? failure->what : "out of memory";

	fprintf(stderr, "bpfflame: %s", what);
	if (failure->mend[0])
		fprintf(stderr, " (%s)", failure->mend);
	fputc('\n', stderr);
	return code;
}

int cmd_flush(int code)
{
	struct failure failure = {};
	int r = output_flush(stdout);

	if (r == 0 || (code != EXIT_DONE && code != EXIT_LOSSES))
		return code;
	output_failed("-", r, &failure);
	return cmd_fail(&failure, EXIT_FAILED);
}

static const struct {
	const char *name;
	cmd_fn run;
} commands[] = {
	{"render", cmd_render},	    {"report", cmd_report}, {"diff", cmd_diff},
	{"baseline", cmd_baseline}, {"events", cmd_events}, {"help", cmd_help},
	{"--version", cmd_version},
};

cmd_fn cmd_find(const char *name)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(commands[i].name, name) == 0)
			return commands[i].run;
	return NULL;
}

/* `bpfflame help COMMAND` is `bpfflame COMMAND --help`. */
int cmd_help(int argc, char **argv, uint64_t started_ns)
{
	cmd_fn run = argc > 1 ? cmd_find(argv[1]) : NULL;
	char *arguments[] = {argc > 1 ? argv[1] : NULL, "--help", NULL};
	struct failure failure;

	if (run && run != cmd_help && run != cmd_version)
		return run(2, arguments, started_ns);
	if (argc > 1 && !run) {
		failure_set(&failure, -EINVAL, "unknown command '%s'", argv[1]);
		failure_mend(&failure, -EINVAL, "see bpfflame --help");
		return cmd_fail(&failure, EXIT_USAGE);
	}
	options_print_help(stdout);
	return EXIT_DONE;
}

int cmd_version(int argc, char **argv, uint64_t started_ns)
{
	puts("bpfflame " BPFFLAME_VERSION);
	return EXIT_DONE;
}
