/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exchange: one request, and its answer. */
#ifndef SERVE_EXCHANGE_H
#define SERVE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

struct http_request;

struct serve_answer {
	int status;
	const char *type;    /* of the body; NULL: plain text that says what the status means */
	const char *headers; /* further lines, each with its end; or NULL */
	const char *policy;  /* Content-Security-Policy; NULL: a browser may do nothing with it */
	bool is_gzip;	     /* the body is packed */
	char *bytes;	     /* the body: owned, malloc'ed … */
	size_t n;
	int fd; /* … or, owned, a file that has it: @n bytes; -1: none */
};

/* A request that is being answered. */
struct serve_exchange {
	const struct http_request *request;
	bool is_crowded; /* as many wait as may: what can't be answered in this call gets 503 */
	struct serve_answer answer;
	/* Of whoever answers: */
	void *state;
	int watch; /* to be called again when it is readable; -1: none */
};

#endif
