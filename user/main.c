/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpfflame: where the time goes. Subcommands are rows of a table; without one, it records.
 */
#include <string.h>

#include "base/system.h"
#include "cmd/cmd.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv, uint64_t started_ns);
} commands[] = {
	{"help", cmd_help},
	{"--version", cmd_version},
};

int main(int argc, char **argv)
{
	uint64_t started_ns = monotonic_ns();

	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc, argv, started_ns);
	return cmd_record(argc, argv, started_ns);
}
