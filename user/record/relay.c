/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/relay.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/process_stat.h"
#include "base/system.h"

/* Processes between a command and one that it started: more than any real tree has. */
#define MAX_ANCESTORS 256

static bool is_of_command(uint32_t pid, const struct command *command)
{
	for (int i = 0; i < MAX_ANCESTORS && pid > 1; i++) {
		struct process_stat stat;

		if (pid == (uint32_t)command->pid)
			return true;
		if (foreign_read_stat(pid, &stat) < 0)
			return false;
		pid = stat.parent;
	}
	return false;
}

static bool is_stopped(const struct command *command)
{
	struct process_stat stat;

	return foreign_read_stat(command->pid, &stat) == 0 && stat.state == 'T';
}

/* Signals from the terminal come from the kernel, and reach the whole group. */
static bool was_sent_to_us(const struct signalfd_siginfo *info, const struct command *command)
{
	return info->ssi_code != SI_KERNEL && !is_of_command(info->ssi_pid, command);
}

static void take(struct signals *signals, struct command *command,
		 const struct signalfd_siginfo *info)
{
	int number = info->ssi_signo;

	/* A second SIGCONT would be harmless, but some commands count them. */
	if (was_sent_to_us(info, command) && !command->ended &&
	    (number != SIGCONT || is_stopped(command)))
		kill(command->pid, number);
	signals_note(signals, info);
}

bool relay_signals(struct signals *signals, struct command *command)
{
	struct signalfd_siginfo info;

	while (read(signals->fd, &info, sizeof info) == sizeof info) {
		if (!command->pid) {
			signals->asked_ns = monotonic_ns();
			return true;
		}
		take(signals, command, &info);
	}
	return signals->end_ns && monotonic_ns() >= signals->end_ns;
}

void relay_until_end(struct signals *signals, struct command *command)
{
	struct pollfd fds[] = {
		{.fd = command->pid_fd, .events = POLLIN},
		{.fd = signals->fd, .events = POLLIN},
	};

	while (command->released && !command_poll(command)) {
		/* Without a pidfd (Linux 5.2 and older), poll for its end. */
		poll(fds, 2, command->pid_fd < 0 ? 100 : -1);
		relay_signals(signals, command);
	}
}
