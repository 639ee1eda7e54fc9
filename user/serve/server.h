/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server: answers requests of HTTP on one listening socket, in one thread that never waits for a
 * client. A connection carries one request and one answer.
 *
 *	reads ──▶ waits ──▶ sends ──▶ lingers
 *
 * The handshake of TLS is part of the first one, and is computed in turn (serve/handshakes.h).
 * Each state has a deadline, however busy the connection is. Where there are too many, the one that
 * has taken longest to ask goes, of the address that has most of those: clients that ask at once
 * are answered, whoever holds connections.
 */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include "serve/exchange.h"
#include "serve/http_guard.h"
#include "serve/tls.h"

struct serve_options {
	const struct http_guard *guard;
	const struct tls_identity *identity; /* NULL: without TLS */
	/*
	 * Answers a request that the guard let pass. Returns 1: the answer is there; 0: call again,
	 * in SERVE_TICK_NS at the latest, unless it @is_crowded.
	 */
	int (*step)(void *context, struct serve_exchange *exchange);
	/* Called once after @step was, when the client is gone or the answer is there. */
	void (*forget)(void *context, struct serve_exchange *exchange);
	void *context;
	/* 0: as below. */
	unsigned int connections, of_address, waiting;
	uint64_t request_ns, answer_ns;
	uint64_t handshakes_ns; /* CPU time of handshakes a second */
	/* Where it counts on, the caller's; NULL: in memory of its own. */
	struct server_counts *counts;
};

#define SERVE_CONNECTIONS 256
#define SERVE_OF_ADDRESS  16 /* that have not asked yet, of an address of another machine */
#define SERVE_WAITING	  64 /* requests without an answer yet; more are refused with 503 */
#define SERVE_REQUEST_NS  (10 * 1000000000ULL) /* from connecting to the end of the request */
#define SERVE_ANSWER_NS	  (60 * 1000000000ULL) /* for the client to take its answer */
#define SERVE_TICK_NS	  (50 * 1000000ULL)

struct server;

/* @listener: non-blocking, stays the caller's. Errors: -ENOMEM, -errno. */
int server_new(int listener, const struct serve_options *options, struct server **ret);
void server_free(struct server *server);

/* Does what there is to do; waits for it no longer than @most_ms; -1: for ever. Errors: -errno. */
int server_step(struct server *server, int most_ms);

struct server_counts {
	uint64_t accepted, refused; /* connections; those that were closed for want of room */
	uint64_t timeouts;
	uint64_t broken;     /* TLS: handshakes that failed, and what was not TLS */
	uint64_t answers[6]; /* by the first digit of the status */
};
const struct server_counts *server_counts(const struct server *server);

#endif
