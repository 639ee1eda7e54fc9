/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/cmd.h"

#include <stdio.h>

#include "cmd/options.h"

int cmd_fail(const struct failure *failure, int code)
{
	const char *what = failure->what[0] ? failure->what : "out of memory";

	fprintf(stderr, "bpfflame: %s", what);
	if (failure->mend[0])
		fprintf(stderr, " (%s)", failure->mend);
	fputc('\n', stderr);
	return code;
}

int cmd_help(int argc, char **argv, uint64_t started_ns)
{
	options_print_help(stdout);
	return EXIT_DONE;
}

int cmd_version(int argc, char **argv, uint64_t started_ns)
{
	puts("bpfflame " BPFFLAME_VERSION);
	return EXIT_DONE;
}
