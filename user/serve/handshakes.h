/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handshakes: how much CPU time handshakes of TLS may take, and who has taken how much of it.
 *
 * A client that sends a few hundred bytes has us compute for milliseconds. So handshakes have a
 * share of one CPU, and addresses that took less of it lately go first.
 */
#ifndef SERVE_HANDSHAKES_H
#define SERVE_HANDSHAKES_H

#include <stdint.h>
#include <sys/socket.h>

#define HANDSHAKE_SHARE_NS (500 * 1000000ULL) /* CPU time a second */
#define HANDSHAKE_PLACES   256

struct handshakes {
	uint64_t share_ns;
	int64_t credit_ns;	     /* that may be taken now; below 0 after one that took more */
	uint64_t seen_at, forgot_at; /* monotonic ns: until when credit was given, taken_ns fell */
	uint64_t secret;
	uint64_t taken_ns[HANDSHAKE_PLACES]; /* by place: falls by half each second */
};

/* @share_ns: CPU time a second, up to a whole one; also what may be taken at once after silence. */
void handshakes_begin(struct handshakes *handshakes, uint64_t share_ns, uint64_t now_ns);

/*
 * The place where an address is counted. Others may share it, but nobody can know which: that
 * depends on a secret. An address of IPv6 is one of 2^64.
 */
unsigned int handshakes_place(const struct handshakes *handshakes,
			      const struct sockaddr_storage *address);

/* Gives credit for the time since the last call. Returns 0 or how long, in ns, there is none. */
uint64_t handshakes_wait(struct handshakes *handshakes, uint64_t now_ns);

void handshakes_take(struct handshakes *handshakes, unsigned int place, uint64_t cpu_ns);

#endif
