/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tls: the server's half of TLS on sockets that never block.
 *
 * TLS 1.2 with forward secrecy and authenticated ciphers alone, in mbedTLS. Clients show no
 * certificates, and can't resume or renegotiate: a connection carries one request. A handshake
 * costs milliseconds of CPU time, and a connection 40 KB of memory from its first bytes on.
 *
 * Random numbers come from the kernel for each use: processes that are forked from one identity
 * share no state of a generator.
 */
#ifndef SERVE_TLS_H
#define SERVE_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A certificate and its key. */
struct tls_identity;

/*
 * Takes the texts of PEM files: @certificate, those that lead to its issuer after it, and @key.
 * Errors: -EBADMSG no certificate, or a broken one; -ENOKEY no key; -EKEYREJECTED the key is
 * encrypted; -EINVAL it is another certificate's; -ENOMEM.
 */
int tls_identity_new(const char *certificate, const char *key, struct tls_identity **ret);
/* Wipes the key out of this process's memory. */
void tls_identity_free(struct tls_identity *identity);

#define TLS_RECORD 16384 /* bytes that go at a time */

/* A connection. */
struct tls;

/* @fd: non-blocking, stays the caller's; @identity must stay. Errors: -ENOMEM. */
int tls_new(const struct tls_identity *identity, int fd, struct tls **ret);
/* Frees it. @says_so: the client learns that nothing was cut off. */
void tls_free(struct tls *tls, bool says_so);

/*
 * Goes on with the handshake, then receives. Does a limited piece of work a call. Returns how many
 * bytes, 0 at the end, however it came. Errors: -EAGAIN wait for tls_sends(); -EPROTOTYPE what came
 * is not TLS, and nothing was answered; -EPROTO, after an alert.
 */
ssize_t tls_receive(struct tls *tls, void *bytes, size_t n);

/*
 * Sends @n bytes, at least 1, or their beginning. Returns how many. Errors: -EAGAIN: call again
 * with the same bytes; -EPROTO.
 */
ssize_t tls_send(struct tls *tls, const void *bytes, size_t n);

/* After -EAGAIN: whether it waits for room to send in, and not for bytes to come. */
bool tls_sends(const struct tls *tls);

/* Whether the handshake is over: before, no answer can be given. */
bool tls_is_ready(const struct tls *tls);

#endif
