/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/signals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/output.h"
#include "base/system.h"

/* The time a command has to end by itself before its recording is written without its end. */
#define PATIENCE_NS (2 * NSEC_PER_SEC)

static const int always[] = {SIGINT, SIGTERM, SIGHUP};
static const int for_command[] = {SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};

static bool is_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int signals_catch(struct signals *ret, bool with_command)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN}, as_usual = {.sa_handler = SIG_DFL};
	struct signals signals = {.fd = -1};
	sigset_t set;

	sigemptyset(&set);
	sigemptyset(&signals.ignored);
	for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
		if (is_ignored(always[i]))
			sigaddset(&signals.ignored, always[i]);
		if (always[i] != SIGHUP || !is_ignored(SIGHUP))
			sigaddset(&set, always[i]);
	}
	for (size_t i = 0; with_command && i < sizeof for_command / sizeof *for_command; i++)
		if (!is_ignored(for_command[i]))
			sigaddset(&set, for_command[i]);
	signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals.fd < 0)
		return -errno;
	sigaction(SIGPIPE, &ignore, &signals.pipe);
	/* If children are ignored, the command can't be waited for. */
	sigaction(SIGCHLD, &as_usual, &signals.child);
	sigprocmask(SIG_BLOCK, &set, &signals.mask);
	signals.caught = set;
	*ret = signals;
	return 0;
}

void signals_restore(const struct signals *signals)
{
	sigaction(SIGPIPE, &signals->pipe, NULL);
	sigaction(SIGCHLD, &signals->child, NULL);
	sigprocmask(SIG_SETMASK, &signals->mask, NULL);
}

/* Does what the signal would have done unread: the shell sees us stopped by SIGTSTP. */
static void stop_too(void)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	sigprocmask(SIG_BLOCK, &stop, NULL);
}

static bool asks_for_the_end(const struct signals *signals, int number, int code)
{
	switch (number) {
	case SIGINT:
	case SIGQUIT:
		/* Started in the background by a script: the terminal's keys are not for us. */
		return code != SI_KERNEL || !sigismember(&signals->ignored, number);
	case SIGTERM:
	case SIGHUP: return true;
	default: return false;
	}
}

static void note_wish(struct signals *signals, const struct signalfd_siginfo *info)
{
	bool is_key = info->ssi_code == SI_KERNEL && info->ssi_signo != SIGHUP;
	uint64_t now = monotonic_ns();

	if (signals->asked_ns && now - signals->asked_ns >= ONE_WISH_NS)
		signals->end_ns = now;
	else if (!is_key && !signals->end_ns)
		signals->end_ns = now + PATIENCE_NS;
	if (!signals->asked_ns)
		signals->asked_ns = now;
}

void signals_note(struct signals *signals, const struct signalfd_siginfo *info)
{
	if (info->ssi_signo == SIGTSTP)
		stop_too();
	if (asks_for_the_end(signals, info->ssi_signo, info->ssi_code))
		note_wish(signals, info);
}

bool signals_take_wish(struct signals *signals)
{
	struct signalfd_siginfo info;
	bool has_come = false;

	while (read(signals->fd, &info, sizeof info) == sizeof info) {
		uint64_t now = monotonic_ns();

		if (!asks_for_the_end(signals, info.ssi_signo, info.ssi_code) ||
		    now - signals->asked_ns < ONE_WISH_NS)
			continue;
		signals->asked_ns = now;
		has_come = true;
	}
	return has_come;
}

/* After the recording */

static struct {
	struct signals *signals;
	sigset_t set;
	volatile bool *is_ended;
	void (*leave)(void);
	volatile sig_atomic_t again; /* a signal that COMMAND may want, or 0 */
} late;

static void on_late_signal(int number, siginfo_t *info, void *context)
{
	uint64_t now = monotonic_ns();

	if (!asks_for_the_end(late.signals, number, info->si_code) ||
	    now - late.signals->asked_ns < ONE_WISH_NS)
		return;
	if (*late.is_ended)
		late.leave();
	output_hurry();
	late.signals->asked_ns = now;
	*late.is_ended = true;
	if (info->si_code != SI_KERNEL)
		late.again = number;
}

void signals_divert(struct signals *signals, volatile bool *is_ended, void (*leave)(void))
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_sigaction = on_late_signal};

	late.signals = signals;
	if (signals->asked_ns)
		output_hurry();
	late.is_ended = is_ended;
	late.leave = leave;
	sigemptyset(&late.set);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (sigismember(&signals->caught, numbers[i]))
			sigaddset(&late.set, numbers[i]);
	action.sa_flags = SA_SIGINFO | SA_RESTART;
	action.sa_mask = late.set;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (sigismember(&late.set, numbers[i]))
			sigaction(numbers[i], &action, NULL);
	sigprocmask(SIG_UNBLOCK, &late.set, NULL);
}

void signals_rejoin(void)
{
	sigprocmask(SIG_BLOCK, &late.set, NULL);
	if (late.again)
		kill(getpid(), late.again);
}
