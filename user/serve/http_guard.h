/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * http_guard: whose requests are answered.
 *
 * A page of another site can have a browser ask us, by our address or by a name of its own that it
 * has lead to our address (DNS rebinding), and would then read the answer. So the Host of a request
 * must be one of ours, and what browsers say of the page that asks must not be another site.
 */
#ifndef SERVE_HTTP_GUARD_H
#define SERVE_HTTP_GUARD_H

#include <sys/socket.h>

#include "serve/http_request.h"

#define HTTP_GUARD_HOSTS 16

struct http_guard {
	struct sockaddr_storage address;     /* that we listen at */
	const char *hosts[HTTP_GUARD_HOSTS]; /* names besides `localhost`; the caller's */
	size_t n_hosts;
	bool any_address; /* Host may be any address: we listen at all of ours */
	bool by_proxy;	  /* Host is the proxy's affair, and so is each client's share */
	/* To be in `Authorization: Bearer`, or the password of `Basic`; NULL: none is asked for. */
	const char *token;
	/* Paths that hold nothing of this machine: whoever knows its name gets them, without the
	 * token and by links of other sites; NULL: there are none. */
	bool (*is_public)(struct http_text path);
};

/* Returns 0, or the status of the refusal: 401 without the token, 403. */
int http_guard_check(const struct http_guard *guard, const struct http_request *request);

/* Whether @address is one that only this machine reaches. */
bool http_guard_is_local(const struct sockaddr_storage *address);

#endif
