/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sandbox.h"
#include "base/system.h"
#include "record/signals.h"

/* The exit status of our child if it was never released. Nobody sees it. */
#define EXIT_NOT_RELEASED 125
/* As in execvp(). */
#define DEFAULT_PATH "/bin:/usr/bin"

/* The child's progress. */
enum stage {
	STAGE_ACCOUNT,
	STAGE_ENVIRONMENT,
	STAGE_FIND,
	STAGE_READY, /* no error: it waits */
	STAGE_EXEC,
};

struct report {
	enum stage stage;
	int error;
};

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Why exec would refuse this file, or 0. */
static int check_program(const char *path)
{
	if (access(path, F_OK) < 0)
		return -errno;
	if (is_folder(path))
		return -EISDIR;
	return access(path, X_OK) < 0 ? -errno : 0;
}

/* Searches like execvp(), but remembers why it finds nothing. */
static int find_program(const char *name)
{
	const char *list = getenv("PATH");
	int found = -ENOENT;
	char path[PATH_MAX];

	if (strchr(name, '/') || !*name)
		return check_program(name);
	for (list = list ? list : DEFAULT_PATH;; list++) {
		int length = strcspn(list, ":"), r;

		snprintf(path, sizeof path, "%.*s%s%s", length, list, length ? "/" : "", name);
		r = check_program(path);
		if (r == 0)
			return 0;
		/* A folder of that name is no reason: shells skip it, too. */
		if (r == -EACCES && access(path, F_OK) == 0)
			found = r;
		list += length;
		if (!*list)
			return found;
	}
}

/* It now runs as somebody else: sudo's variables would mislead programs. */
static int become(const struct account *account)
{
	static const char *const traces[] = {"SUDO_COMMAND", "SUDO_GID", "SUDO_HOME", "SUDO_UID",
					     "SUDO_USER"};

	for (size_t i = 0; i < sizeof traces / sizeof *traces; i++)
		unsetenv(traces[i]);
	return account_become(account);
}

/* Read as the user that the command runs as. */
static int take_environment(const char *path)
{
	char *text, *variable;
	size_t size;
	int r = read_whole_file(path, &text, &size);

	if (r < 0)
		return r;
	clearenv();
	for (variable = text; variable < text + size; variable += strlen(variable) + 1)
		if (strchr(variable, '=') && putenv(variable) != 0)
			return -ENOMEM;
	return 0;
}

#define BIT SANDBOX_CAPABILITY

/* Capabilities that our caller may have given us for recording; the command keeps its others. */
#define FOR_RECORDING                                                                              \
	(BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_PTRACE) |              \
	 BIT(CAP_SYS_NICE) | BIT(CAP_SYS_RESOURCE) | BIT(CAP_SYSLOG) | BIT(CAP_DAC_READ_SEARCH) |  \
	 BIT(CAP_CHECKPOINT_RESTORE))

/* Everything except the exec; the report names a stage that fails. */
static struct report prepare(const struct command_start *start)
{
	struct report report = {.stage = STAGE_ACCOUNT};

	signals_restore(start->signals);
	if (start->account)
		report.error = -become(start->account);
	else if (geteuid() != 0)
		report.error = -sandbox_drop_capabilities(FOR_RECORDING);
	if (report.error)
		return report;
	if (start->environment) {
		report.stage = STAGE_ENVIRONMENT;
		report.error = -take_environment(start->environment);
		if (report.error)
			return report;
	}
	report.stage = STAGE_FIND;
	report.error = -find_program(start->argv[0]);
	if (!report.error)
		report.stage = STAGE_READY;
	return report;
}

static void run_child(const struct command_start *start, int hold_fd, int report_fd)
{
	struct report report = prepare(start);
	char byte;

	(void)!write(report_fd, &report, sizeof report);
	/* A byte means go; an end without one, that bpfflame gave up. */
	if (report.error || read(hold_fd, &byte, 1) != 1)
		_exit(EXIT_NOT_RELEASED);
	execvp(start->argv[0], start->argv);
	report = (struct report){STAGE_EXEC, errno};
	(void)!write(report_fd, &report, sizeof report);
	_exit(127);
}

/* Commands that only a shell has, but people try nevertheless. */
static bool is_builtin(const char *name)
{
	static const char *const names[] = {
		".",	  "alias", "bg",     "cd",    "command", "eval",   "exec",   "exit",
		"export", "fg",	   "jobs",   "read",  "set",	 "shift",  "source", "time",
		"trap",	  "type",  "ulimit", "umask", "unset",	 "declare"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static int fail_not_found(const char *name, enum stage stage, struct failure *failure)
{
	if (stage == STAGE_EXEC) {
		failure_set(failure, -ENOENT, "cannot run %s: %s", name, strerror(ENOENT));
		return failure_fix(failure, -ENOENT,
				   "the program that its first line or its header names, an "
				   "interpreter or a loader, is missing");
	}
	if (strchr(name, '/'))
		return failure_set(failure, -ENOENT, "cannot run %s: %s", name, strerror(ENOENT));
	failure_set(failure, -ENOENT, "cannot run '%s': no such command", name);
	if (is_builtin(name))
		return failure_fix(failure, -ENOENT, "a shell does that: -- sh -c '%s …'", name);
	if (getenv("SUDO_UID"))
		return failure_fix(failure, -ENOENT,
				   "sudo sets a PATH of its own: give the whole path, as in "
				   "-- \"$(command -v %s)\"",
				   name);
	return failure_fix(failure, -ENOENT, "it is in no folder of PATH");
}

static int fail_not_permitted(const char *name, const struct account *account,
			      struct failure *failure)
{
	bool exists = strchr(name, '/') && access(name, F_OK) == 0;

	failure_set(failure, -EACCES, "cannot run %s: %s", name, strerror(EACCES));
	if (exists && access(name, X_OK) < 0)
		return failure_fix(failure, -EACCES, "chmod +x %s", name);
	if (account)
		return failure_fix(failure, -EACCES,
				   "it is run as user %s; --as-root runs it as root",
				   *account->name ? account->name : "of SUDO_UID");
	return -EACCES;
}

static int fail(const struct report *report, const char *name, const struct account *account,
		struct failure *failure)
{
	int error = report->error;

	if (report->stage == STAGE_ACCOUNT) {
		failure_set(failure, -EPERM, "cannot run %s as user %u: %s", name, account->uid,
			    strerror(error));
		return failure_fix(failure, -EPERM, "--as-root runs it as it is");
	}
	if (error == ENOENT || error == ENOTDIR)
		return fail_not_found(name, report->stage, failure);
	if (error == EISDIR)
		return failure_set(failure, -EACCES, "cannot run %s: it is a folder", name);
	if (error == EACCES)
		return fail_not_permitted(name, account, failure);
	return failure_set(failure, -ENOEXEC, "cannot run %s: %s", name, strerror(error));
}

static void close_pair(int pair[2])
{
	close(pair[0]);
	close(pair[1]);
}

int command_hold(const struct command_start *start, struct command *ret, struct failure *failure)
{
	struct command command = {.release_fd = -1, .report_fd = -1, .pid_fd = -1};
	struct report report = {};
	int hold[2], reports[2], r;

	if (pipe2(hold, O_CLOEXEC) < 0)
		return failure_set(failure, -errno, "cannot make a pipe: %s", strerror(errno));
	if (pipe2(reports, O_CLOEXEC) < 0) {
		close_pair(hold);
		return failure_set(failure, -errno, "cannot make a pipe: %s", strerror(errno));
	}
	command.pid = fork();
	if (command.pid < 0) {
		r = failure_set(failure, -errno, "cannot fork: %s", strerror(errno));
		close_pair(hold);
		close_pair(reports);
		return r;
	}
	if (command.pid == 0) {
		close(hold[1]);
		close(reports[0]);
		run_child(start, hold[0], reports[1]);
	}
	close(hold[0]);
	close(reports[1]);
	command.release_fd = hold[1];
	command.report_fd = reports[0];
	command.pid_fd = syscall(SYS_pidfd_open, command.pid, 0);
	/* Nothing to read: a signal has ended it, which command_poll() reports. */
	if (read(command.report_fd, &report, sizeof report) == sizeof report && report.error) {
		command_done(&command);
		if (report.stage == STAGE_ENVIRONMENT)
			return failure_set(failure, -report.error, "--environment %s: %s",
					   start->environment, strerror(report.error));
		return fail(&report, start->argv[0], start->account, failure);
	}
	*ret = command;
	return 0;
}

int command_release(struct command *command, char **argv, struct failure *failure)
{
	struct report report;
	ssize_t n = write(command->release_fd, "g", 1);

	if (n != 1 && errno != EPIPE)
		return failure_set(failure, -errno, "cannot start %s: %s", argv[0],
				   strerror(errno));
	close(command->release_fd);
	command->release_fd = -1;
	if (read(command->report_fd, &report, sizeof report) == sizeof report)
		return fail(&report, argv[0], NULL, failure);
	command->released = true;
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
	if (command->report_fd >= 0)
		close(command->report_fd);
	if (command->pid_fd >= 0)
		close(command->pid_fd);
	*command = (struct command){};
}

int command_exit_code(const struct command *command)
{
	return WIFSIGNALED(command->status) ? 128 + WTERMSIG(command->status)
					    : WEXITSTATUS(command->status);
}
