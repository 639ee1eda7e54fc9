/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child: starts this program anew as a separate process with another name, and exchanges messages
 * and descriptors with it.
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#define CHILD_SOCKET  3 /* the child's end of the connection */
#define CHILD_MAX_FDS 4 /* in a message */

/*
 * Starts it with @name as its only argument, no environment, and empty standard streams.
 * @type: of the socket between us. Ctrl-C does not reach it. Errors: -errno.
 */
int child_start(const char *name, int type, pid_t *ret_pid, int *ret_socket);

/*
 * Sends @n bytes and @n_fds descriptors, which stay ours. Errors: -errno; -EPROTO not all were
 * sent.
 */
int child_send(int socket, const void *bytes, size_t n, const int *fds, size_t n_fds);

/*
 * Receives a message of up to @size bytes, and up to CHILD_MAX_FDS descriptors, which the caller
 * closes. @flags: of recvmsg(). Returns the number of bytes. Errors: -ENODATA the other end is
 * closed; -errno.
 */
ssize_t child_receive_some(int socket, void *bytes, size_t size, int flags, int *fds,
			   size_t *n_fds);

/*
 * The same for exactly @n bytes: 0. Errors: also -EPROTO another number; descriptors are valid even
 * then.
 */
int child_receive(int socket, void *bytes, size_t n, int flags, int *fds, size_t *n_fds);

#endif
