/* SPDX-License-Identifier: GPL-2.0-or-later */
/* daemon_metrics: the daemon's board as text: for Prometheus, and whether all is well. */
#ifndef CMD_DAEMON_METRICS_H
#define CMD_DAEMON_METRICS_H

#include "cmd/daemon_board.h"
#include "serve/server.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* All of it in the text format of Prometheus, malloc'ed. Errors: -ENOMEM. */
int daemon_metrics(const struct daemon_board *board, const struct server_counts *server, char **ret,
		   size_t *ret_n);

#define HEALTH_SIZE    128
#define HEALTH_WINDOWS 3 /* without one that was written: that is not well */

/* Whether windows are written; @text says so in a line, with what is wrong. */
bool daemon_is_healthy(const struct daemon_board *board, uint64_t now_ns,
		       char text[static HEALTH_SIZE]);

#endif
