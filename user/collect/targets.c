/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/targets.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/rights.h"

uint32_t targets_process_of(uint32_t tid)
{
	char path[64], status[1024];
	const char *line;

	snprintf(path, sizeof path, "/proc/%u/status", tid);
	if (read_text_file(path, status, sizeof status) < 0)
		return 0;
	line = strstr(status, "\nTgid:");
	return line ? strtoul(line + strlen("\nTgid:"), NULL, 10) : 0;
}

bool targets_has_ended(uint32_t id)
{
	return !targets_process_of(id) && !rights_is_hidden(id);
}

static int check_ids(const struct collect_options *options, struct failure *failure)
{
	for (size_t i = 0; i < options->n_pids + options->n_tids; i++) {
		bool is_pid = i < options->n_pids;
		uint32_t id = is_pid ? options->pids[i] : options->tids[i - options->n_pids];
		uint32_t process = targets_process_of(id);

		if (!process && rights_is_hidden(id)) {
			failure_set(failure, -EPERM,
				    "%s %u is hidden: /proc is mounted with hidepid",
				    is_pid ? "process" : "thread", id);
			return failure_fix(failure, -EPERM,
					   "run as root, or with CAP_SYS_PTRACE too");
		}
		if (!process) {
			failure_set(failure, -ESRCH, "no %s %u", is_pid ? "process" : "thread", id);
			return failure_fix(failure, -ESRCH, "it may have ended; see ps -e%s",
					   is_pid ? "" : "T");
		}
		if (is_pid && process != id) {
			failure_set(failure, -ESRCH, "%u is a thread of process %u", id, process);
			return failure_fix(failure, -ESRCH, "-p %u for all of it, -t %u for it",
					   process, id);
		}
	}
	return 0;
}

bool targets_in_pid_namespace(void)
{
	char name[64] = "";

	return readlink("/proc/self/ns/pid", name, sizeof name - 1) > 0 &&
	       strcmp(name, "pid:[4026531836]") != 0; /* PROC_PID_INIT_INO of the kernel */
}

int targets_check(const struct collect_options *options, struct failure *failure)
{
	return check_ids(options, failure);
}

bool targets_are_named(const struct collect_options *options)
{
	return options->n_pids > 0 || options->n_tids > 0 || options->comm;
}

static bool has_wanted_thread(const struct collect_options *options, uint32_t pid)
{
	char path[64];

	for (size_t i = 0; i < options->n_tids; i++) {
		snprintf(path, sizeof path, "/proc/%u/task/%u", pid, options->tids[i]);
		if (access(path, F_OK) == 0)
			return true;
	}
	return options->n_tids == 0;
}

bool targets_have_name(const struct collect_options *options, uint32_t pid)
{
	char path[300], comm[64];
	struct dirent *entry;
	bool found = false;
	DIR *tasks;

	if (!options->comm)
		return true;
	snprintf(path, sizeof path, "/proc/%u/task", pid);
	tasks = opendir(path);
	while (tasks && !found && (entry = readdir(tasks))) {
		snprintf(path, sizeof path, "/proc/%u/task/%s/comm", pid, entry->d_name);
		if (entry->d_name[0] == '.' || read_text_file(path, comm, sizeof comm) < 0)
			continue;
		comm[strcspn(comm, "\n")] = '\0';
		found = fnmatch(options->comm, comm, 0) == 0;
	}
	if (tasks)
		closedir(tasks);
	return found;
}

bool targets_have_process(const struct collect_options *options, uint32_t pid)
{
	bool wanted = options->n_pids == 0;

	if (options->command_pid)
		return pid == options->command_pid;
	for (size_t i = 0; i < options->n_pids && !wanted; i++)
		wanted = options->pids[i] == pid;
	return wanted && has_wanted_thread(options, pid);
}
