/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpfflame: where the time goes. Without the name of a command, it records.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/broker.h"
#include "base/foreign.h"
#include "base/reader.h"
#include "base/system.h"
#include "cli/cli.h"
#include "cmd/cmd.h"

/* None of our files takes the place of a standard stream that was closed: using it fails. */
static void cover_closed_streams(void)
{
	bool has_input = fcntl(STDIN_FILENO, F_GETFD) >= 0;
	int fd;

	do {
		fd = open("/dev/null", (has_input ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
		has_input = true;
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static void ignore(int number)
{
}

/*
 * A write above RLIMIT_FSIZE is to fail with EFBIG. By a handler, which an exec removes: our
 * children see the signal as it was.
 */
static void survive_file_limit(void)
{
	const struct sigaction survive = {.sa_handler = ignore, .sa_flags = SA_RESTART};
	struct sigaction before;

	if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &survive, NULL);
}

#define LEAST_STACK (512 << 10)

/* A stack that can't grow ends us by a signal, without a word. Root may raise the limit. */
static bool has_stack(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= LEAST_STACK)
		return true;
	limit.rlim_cur = LEAST_STACK;
	if (limit.rlim_max < LEAST_STACK)
		limit.rlim_max = LEAST_STACK;
	return setrlimit(RLIMIT_STACK, &limit) == 0;
}

int main(int argc, char **argv)
{
	uint64_t started_ns = monotonic_ns();
	cmd_fn run = argc > 1 ? cmd_find(argv[1]) : NULL;

	if (argc == 1 && strcmp(argv[0], READER_NAME) == 0)
		return cmd_reader(argc, argv, started_ns);
	if (argc == 1 && strcmp(argv[0], BROKER_NAME) == 0)
		return broker_run(foreign_serve);

	/* perf's users type it. */
	if (argc > 1 && strcmp(argv[1], "record") == 0) {
		argv[1] = argv[0];
		argv++;
		argc--;
	}
	cover_closed_streams();
	survive_file_limit();
	if (!has_stack())
		return cli_fail(
			&(struct failure){.what = "the stack is limited to less than 512 kB",
					  .fix = "ulimit -s 8192"},
			EXIT_FAILED);
	return cli_flush(run ? cmd_run(run, argc - 1, argv + 1, started_ns)
			     : cmd_record(argc, argv, started_ns));
}
