/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notify: reports our state to the service manager (sd_notify(3)): a datagram to $NOTIFY_SOCKET.
 */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

/*
 * `READY=1`, `WATCHDOG=1`, `STATUS=…`. Where nobody asks, nothing happens; a manager
 * that does not read is not waited for. */
void notify_send(const char *state);

#endif
