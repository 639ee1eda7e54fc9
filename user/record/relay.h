/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * relay: what COMMAND gets of the signals that are sent to us.
 *
 * COMMAND is in our process group, so it gets what the terminal sends to both (Ctrl-C, Ctrl-\,
 * Ctrl-Z, a new window size) without our help; what was sent to bpfflame alone is passed on. Which
 * it was, the kernel tells: a signal of its own has no sender. A signal that COMMAND or a child of
 * its sent us is not sent back.
 */
#ifndef RECORD_RELAY_H
#define RECORD_RELAY_H

#include "record/command.h"
#include "record/signals.h"

/*
 * Takes what has arrived, passes on to @command what is its own, stops when we are asked to stop.
 * Returns whether the recording is to end now: without a command at the first SIGINT, SIGTERM or
 * SIGHUP; with one at the second, for the first is the command's to end by, or two seconds after
 * one that somebody sent (a service manager won't wait for long).
 */
bool relay_signals(struct signals *signals, struct command *command);

/* Waits for the end of what was released, passing signals on. */
void relay_until_end(struct signals *signals, struct command *command);

#endif
