/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli: how every command ends: exit codes, the one line of an error, and complete output. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/failure.h"

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_GATE = 3,
	EXIT_LOSSES = 4,
};

/* Prints "bpfflame: what (fix)" and returns @code. */
int cli_fail(const struct failure *failure, int code);

/* Writes the rest of standard output. Returns @code, or EXIT_FAILED if that fails. */
int cli_flush(int code);

/*
 * Under sudo, makes files from now on with the rights of the user who called it. Errors: -EINVAL,
 * -ENOMEM.
 */
int cli_write_as_caller(struct failure *failure);

#endif
