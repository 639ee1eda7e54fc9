/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpfflame: where the time goes. Subcommands are rows of a table; without one, it records.
 */
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "cmd/cmd.h"
#include "cmd/options.h"

static int help(int argc, char **argv, uint64_t started_ns)
{
	options_print_help(stdout);
	return EXIT_DONE;
}

static int version(int argc, char **argv, uint64_t started_ns)
{
	puts("bpfflame " BPFFLAME_VERSION);
	return EXIT_DONE;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv, uint64_t started_ns);
} commands[] = {
	{"help", help},
	{"--version", version},
};

int cmd_fail(const struct failure *failure, int code)
{
	const char *what = failure->what[0] ? failure->what : "out of memory";

	fprintf(stderr, "bpfflame: %s", what);
	if (failure->mend[0])
		fprintf(stderr, " (%s)", failure->mend);
	fputc('\n', stderr);
	return code;
}

int main(int argc, char **argv)
{
	uint64_t started_ns = monotonic_ns();

	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc, argv, started_ns);
	return cmd_record(argc, argv, started_ns);
}
