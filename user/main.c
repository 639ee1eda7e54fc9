/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpfflame: where the time goes. Without the name of a command, it records.
 */
#include <stddef.h>

#include "base/system.h"
#include "cmd/cmd.h"

int main(int argc, char **argv)
{
	uint64_t started_ns = monotonic_ns();
	cmd_fn run = argc > 1 ? cmd_find(argv[1]) : NULL;

	return run ? run(argc - 1, argv + 1, started_ns) : cmd_record(argc, argv, started_ns);
}
