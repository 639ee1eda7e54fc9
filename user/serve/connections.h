/* SPDX-License-Identifier: GPL-2.0-or-later */
/* connections: the server's, and which of them is next, or goes for another one. */
#ifndef SERVE_CONNECTIONS_H
#define SERVE_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "serve/exchange.h"
#include "serve/handshakes.h"
#include "serve/tls.h"

#define CONNECTION_YOUNG_NS                                                                        \
	(5 * 1000000ULL) /* one that has just come is not closed for another one */

enum connection_state { IS_FREE, READS, SHAKES, WAITS, SENDS, LINGERS };

struct connection {
	enum connection_state state;
	int fd;
	struct tls *tls;	  /* owned; NULL: none, or nothing has come yet */
	uint32_t generation;	  /* of the place: an event may be of the one before */
	uint32_t events;	  /* of epoll, that we wait for */
	uint64_t since, deadline; /* monotonic ns */
	struct sockaddr_storage address;
	unsigned int place;	      /* of the address among handshakes */
	struct http_request *request; /* owned */
	struct serve_exchange exchange;
	bool has_stepped;
	char *head; /* owned: the answer's */
	size_t head_n, sent_head, sent;
	size_t discarded;
};

struct connections {
	struct connection *items; /* @n places; IS_FREE: none is there */
	size_t n;
};

/* How many are in @state. */
unsigned int connections_count(const struct connections *all, enum connection_state state);

/* All of these return one of @all, or NULL. */
struct connection *connections_free(const struct connections *all);

/* The oldest in @state, of @address alone unless that is NULL. *@ret_n, unless NULL: how many. */
struct connection *connections_oldest(const struct connections *all, enum connection_state state,
				      const struct sockaddr_storage *address, unsigned int *ret_n);

/*
 * The oldest in @state at @place, of @address alone unless that is NULL; of those that wait for a
 * handshake, those that have proved nothing come first.
 */
struct connection *connections_oldest_at(const struct connections *all, enum connection_state state,
					 unsigned int place,
					 const struct sockaddr_storage *address);

/*
 * One that may go for another one: those that end first, have asked least, of the address that has
 * most of these, or take long.
 */
struct connection *connections_spare(const struct connections *all, uint64_t now_ns);

/*
 * Whose handshake is next: of the address that took less; that has proved that it takes part; that
 * waits longer.
 */
struct connection *connections_next_shake(const struct connections *all,
					  const struct handshakes *handshakes);

#endif
