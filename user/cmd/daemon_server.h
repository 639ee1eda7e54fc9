/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_server: the daemon's processes that answer requests.
 *
 *	bpfflame-serve (the keeper) ─▶ bpfflame-serve, confined
 *
 * The second one talks to clients. It can do nothing else (base/sandbox.h): it has the listening
 * socket and a view of the daemon's board, and asks the keeper for the rest, by a number.
 */
#ifndef CMD_DAEMON_SERVER_H
#define CMD_DAEMON_SERVER_H

#include "cmd/daemon_board.h"
#include "cmd/daemon_listen.h"
#include "cmd/daemon_options.h"
#include "serve/server.h"

struct server_setup {
	const struct daemon_options *options;
	struct listener *listener;
	struct daemon_board *board;
	int board_fd;
	struct server_counts *counts; /* shared: those of the servers before this one are in it */
	int reports;
};

/* Answers requests until it is killed. Returns the exit status. */
int daemon_serve(const struct server_setup *setup);

#endif
