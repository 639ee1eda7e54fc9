/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * command: the COMMAND of `bpfflame … -- COMMAND`: forked at once, so that it can be recorded from
 * its first instruction, and held until the recording runs.
 *
 * It sees what it would see without us: descriptors, environment, folder, limits, priority,
 * signals, terminal and process group are those that bpfflame was started with, not what bpfflame
 * has changed for itself since. It is forked before, or restores them.
 */
#ifndef RECORD_COMMAND_H
#define RECORD_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "cli/account.h"

struct signals;

struct command {
	int32_t pid;	/* 0: none */
	int release_fd; /* a byte lets the child exec; closing it ends the child */
	int report_fd;	/* errors of the child; closed at the exec */
	int pid_fd;	/* readable once the child has ended */
	bool released;	/* it has run */
	bool ended;
	int status; /* of waitpid(), once ended */
};

/* What to start, and how. */
struct command_start {
	char **argv;		       /* NULL-terminated */
	const struct account *account; /* the user to become; NULL: as we are */
	const char *environment;       /* a file of its variables, as `env -0` writes; NULL: ours */
	const struct signals *signals; /* as before us */
};

/*
 * Forks; the child prepares itself and finds the program. Errors: -ENOENT, -EACCES, others of the
 * system; nothing is left running.
 */
int command_hold(const struct command_start *start, struct command *ret, struct failure *failure);
/* Lets it exec. It is no error if a signal has ended it meanwhile. Errors: those of exec. */
int command_release(struct command *command, char **argv, struct failure *failure);
/* Whether the child has ended; fetches its status. */
bool command_poll(struct command *command);
/* Ends a child that was never released. */
void command_done(struct command *command);

/* As shells report it: its exit status, or 128 and the signal that ended it. */
int command_exit_code(const struct command *command);

#endif
