/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_listen: where the daemon answers requests, and whom.
 *
 * What it answers is what all programs of the machine do. An address that other machines reach
 * needs a token, and TLS, ours or that of a proxy.
 */
#ifndef CMD_DAEMON_LISTEN_H
#define CMD_DAEMON_LISTEN_H

#include "base/failure.h"
#include "serve/http_guard.h"
#include "serve/tls.h"

/* As the options have it. */
struct listen_options {
	const char *address; /* NULL: nowhere */
	const char *token_file, *tls_certificate, *tls_key;
	const char *hosts[HTTP_GUARD_HOSTS];
	size_t n_hosts;
	bool behind_proxy;
};

struct listener {
	int fd; /* -1: none */
	struct http_guard guard;
	char text[160];		       /* the address, for people */
	char *address;		       /* owned: as the options had it */
	char *token;		       /* owned; the guard points at it */
	struct tls_identity *identity; /* owned; NULL: without TLS */
};

#define LISTENER_NONE ((struct listener){.fd = -1})

/*
 * Checks the options, reads token and key, and listens; @options must stay. Where @before listens
 * at the same address, its socket is used on. Errors: -EINVAL, -errno; explained. @before stays as
 * it is either way.
 */
int listener_open(const struct listen_options *options, const struct listener *before,
		  struct listener *ret, struct failure *failure);
/* Stops to listen, and wipes token and key. @for_good: nobody else has the socket, whose file goes,
 * too. */
void listener_done(struct listener *listener, bool for_good);

#endif
