/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/confine.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/confined.h"
#include "cli/cli.h"
#include "cli/store_input.h"
#include "cmd/cmd.h"

/* A signal that was meant for us, or a closed pipe, also ends us. */
static void end_by(int number)
{
	const int shared[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
		if (shared[i] == number) {
			signal(number, SIG_DFL);
			raise(number);
		}
}

static int report_death(const struct confine_files *files, int error, int number)
{
	const char *input = files->inputs[0].n ? files->inputs[0].paths[0] : "the input";
	struct failure failure = {};

	if (error == -ECHILD) {
		end_by(number);
		failure_set(&failure, error, "cannot go on with %s: the process that reads it %s",
			    input,
			    number == SIGKILL ? "was killed, maybe for lack of memory"
					      : "crashed, which is a bug in bpfflame");
	} else {
		failure_set(&failure, error, "cannot start a process to read %s: %s", input,
			    strerror(-error));
	}
	return cli_fail(&failure, EXIT_FAILED);
}

/* A store is a folder of files, which are found while they are read. */
static bool reads_store(const struct confine_files *files)
{
	for (size_t i = 0; i < CONFINED_LISTS; i++)
		for (size_t k = 0; k < files->inputs[i].n; k++)
			if (store_input_is(files->inputs[i].paths[k]))
				return true;
	return false;
}

int cmd_confine(const struct confine_files *files, int (*work)(void *data), void *data)
{
	struct confined confined = {.serve = files->outputs ? output_files_serve : NULL,
				    .context = files->outputs};
	int code, number = 0;

	if (reads_store(files))
		return work(data);
	for (size_t i = 0; i < CONFINED_LISTS; i++) {
		confined.inputs[i].paths = files->inputs[i].paths;
		confined.inputs[i].n = files->inputs[i].n;
	}
	code = confined_run(&confined, work, data, &number);
	if (files->outputs)
		output_files_abort(files->outputs);
	return code < 0 ? report_death(files, code, number) : code;
}
