/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * relay: passes signals that are sent to us on to COMMAND.
 *
 * COMMAND is in our process group, so it gets the terminal's signals (Ctrl-C, Ctrl-\\, Ctrl-Z, a
 * new window size) directly; those sent to bpfflame alone are passed on. The kernel shows which it
 * was: its own signals have no sender. A signal from COMMAND or a child of its is not sent back.
 */
#ifndef RECORD_RELAY_H
#define RECORD_RELAY_H

#include "record/command.h"
#include "record/signals.h"

/*
 * Takes the signals that have arrived, passes COMMAND's on, and stops when we are asked to. Returns
 * whether the recording must end now: without a command at the first SIGINT, SIGTERM or SIGHUP;
 * with one at the second, since the first is for the command, or two seconds after one that
 * somebody sent (a service manager won't wait for long).
 */
bool relay_signals(struct signals *signals, struct command *command);

/* Waits for the end of a released command, passing signals on. */
void relay_until_end(struct signals *signals, struct command *command);

#endif
