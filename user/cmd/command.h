/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * command: the COMMAND of `bpfflame … -- COMMAND`: forked at once, so that it can be recorded from
 * its first instruction, and held back until the recording runs.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

struct command {
	int32_t pid;	/* 0: none */
	int release_fd; /* closing it lets the child exec */
	int error_fd;	/* carries errno of a failed exec */
	int pid_fd;	/* readable when the child has ended */
	bool ended;
	int status; /* of waitpid(), once ended */
};

/* Forks. The child starts with no signal blocked. */
int command_hold(char **argv, struct command *ret, struct failure *failure);
/* Lets it exec. Errors: what exec said. */
int command_release(struct command *command, char **argv, struct failure *failure);
/* Whether the child has ended; fetches its status. */
bool command_poll(struct command *command);
/* Ends a child that was never released. */
void command_done(struct command *command);

#endif
