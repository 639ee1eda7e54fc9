/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * signals: ends a recording from outside. Signals are read from a descriptor between the steps of a
 * recording.
 */
#ifndef RECORD_SIGNALS_H
#define RECORD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct signalfd_siginfo;

struct signals {
	int fd;	       /* readable when one has arrived */
	sigset_t mask; /* as these were before us */
	struct sigaction pipe, child;
	sigset_t ignored, caught;
	uint64_t asked_ns; /* when the end was first requested; 0: not yet */
	uint64_t end_ns;   /* when the recording ends even if COMMAND goes on; 0: not */
};

/* A signal sent twice at once (timeout(1): to the process and to its group) is one request. */
#define ONE_WISH_NS (50 * 1000000ULL)

/*
 * From now on, signals wait to be read. @with_command: including those for COMMAND. An ignored
 * hang-up (nohup) stays ignored. Errors: -errno.
 */
int signals_catch(struct signals *ret, bool with_command);
/* In a child: signals as they were before signals_catch(). Async-signal-safe. */
void signals_restore(const struct signals *signals);

/* A signal may request the end, or a stop. */
void signals_note(struct signals *signals, const struct signalfd_siginfo *info);

/* Returns, once, whether another signal has asked to stop since. */
bool signals_take_wish(struct signals *signals);

/*
 * The recording is over, and its files will be written. From now on, the first request to end sets
 * *@is_ended, the second calls @leave; both in a signal handler.
 */
void signals_divert(struct signals *signals, volatile bool *is_ended, void (*leave)(void));
/* Signals wait to be read again. One that was sent to us is sent again: COMMAND may want it. */
void signals_rejoin(void);

#endif
