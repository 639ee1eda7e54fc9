/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_child(char **argv, int hold_fd, int error_fd)
{
	sigset_t none;
	char byte;
	int error;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* A byte means go; the end of the pipe alone, that bpfflame gave up. */
	if (read(hold_fd, &byte, 1) != 1)
		_exit(125);
	execvp(argv[0], argv);
	error = errno;
	(void)!write(error_fd, &error, sizeof error);
	_exit(127);
}

int command_hold(char **argv, struct command *ret, struct failure *failure)
{
	int hold[2], error[2];

	*ret = (struct command){.release_fd = -1, .error_fd = -1, .pid_fd = -1};
	if (pipe2(hold, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0)
		return failure_set(failure, -errno, "cannot make a pipe: %s", strerror(errno));
	ret->pid = fork();
	if (ret->pid < 0) {
		ret->pid = 0;
		return failure_set(failure, -errno, "cannot fork: %s", strerror(errno));
	}
	if (ret->pid == 0) {
		close(hold[1]);
		run_child(argv, hold[0], error[1]);
	}
	close(hold[0]);
	close(error[1]);
	ret->release_fd = hold[1];
	ret->error_fd = error[0];
	ret->pid_fd = syscall(SYS_pidfd_open, ret->pid, 0);
	return 0;
}

int command_release(struct command *command, char **argv, struct failure *failure)
{
	int error;
	ssize_t n;

	if (write(command->release_fd, "g", 1) != 1)
		return failure_set(failure, -errno, "cannot start %s: %s", argv[0],
				   strerror(errno));
	close(command->release_fd);
	command->release_fd = -1;
	n = read(command->error_fd, &error, sizeof error); /* ends at the exec */
	if (n == sizeof error)
		return failure_set(failure, -error, "cannot run %s: %s", argv[0], strerror(error));
	return 0;
}

bool command_poll(struct command *command)
{
	if (command->pid && !command->ended)
		command->ended = waitpid(command->pid, &command->status, WNOHANG) == command->pid;
	return command->ended;
}

void command_done(struct command *command)
{
	if (!command->pid)
		return;
	if (command->release_fd >= 0) {
		close(command->release_fd);
		waitpid(command->pid, &command->status, 0);
	}
	if (command->error_fd >= 0)
		close(command->error_fd);
	if (command->pid_fd >= 0)
		close(command->pid_fd);
	*command = (struct command){};
}
