/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_recorder: the daemon's process that records. It alone has BPF and perf descriptors; names
 * are found, and windows sent, by a process of its own for each window, as sets are (snapshots.h).
 */
#ifndef CMD_DAEMON_RECORDER_H
#define CMD_DAEMON_RECORDER_H

#include "cmd/daemon_board.h"
#include "cmd/daemon_options.h"

/*
 * Records until SIGTERM; windows go to @windows, what is said of them to @reports. Returns the exit
 * status.
 */
int daemon_record(const struct daemon_options *options, int windows, int reports,
		  struct daemon_board *board);

#endif
