/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_query: has a question about the store answered, each by a process of its own.
 *
 *	bpfflame-serve (the keeper) ─▶ bpfflame-query ─▶ bpfflame-query, confined
 *
 * The first of the two lists the store and opens its files for the second, which reads what the
 * client wants and the files, and writes the answer into memory that it was given. The one who
 * talks to the client gets that memory.
 */
#ifndef CMD_DAEMON_QUERY_H
#define CMD_DAEMON_QUERY_H

#include <sys/types.h>

#include "cli/account.h"
#include "cmd/daemon_board.h"
#include "cmd/daemon_listen.h"
#include "cmd/query.h"
#include "serve/server.h"

/* What the connection takes, a datagram. */
struct query_request {
	uint32_t kind;		    /* enum query_kind */
	uint32_t n;		    /* bytes of @text */
	uint32_t is_gzip;	    /* not 0: the answer is to be packed */
	uint64_t from, to;	    /* ns since 1970; to 0: as @text says */
	char text[HTTP_TARGET_MAX]; /* the query of the target */
};

/* What it gives. With a descriptor: of the answer's @n bytes. */
struct query_result {
	int32_t code;	     /* EXIT_DONE, EXIT_USAGE, EXIT_FAILED */
	uint32_t is_missing; /* not 0: it failed since there is nothing to answer from */
	uint64_t n;
	char text[384]; /* what is wrong; not to be believed */
};

struct query_place {
	const char *store;
	const struct account *account; /* whose the store is; NULL: ours */
	struct listener *listener;     /* to be closed, with its secrets */
	/* Not to be written by who reads the store: */
	struct daemon_board *board;
	struct server_counts *counts;
};

/* Starts one. *@ret_fd: the connection, for the caller to close. Errors: -errno. */
int daemon_query_start(const struct query_place *place, pid_t *ret_pid, int *ret_fd);

#endif
