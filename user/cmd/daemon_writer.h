/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_writer: the daemon's process that writes the store. It has no rights but to write there.
 */
#ifndef CMD_DAEMON_WRITER_H
#define CMD_DAEMON_WRITER_H

#include "cmd/daemon_board.h"
#include "cmd/daemon_options.h"

/*
 * Writes what comes from @windows, until nobody sends any more; says on @reports what came of it.
 * Returns the exit status.
 */
int daemon_write(const struct daemon_options *options, int windows, int reports,
		 struct daemon_board *board);

#endif
