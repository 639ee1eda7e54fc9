/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child: starts this program anew as a process of its own, under another name, and passes messages
 * and descriptors to it and back.
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#define CHILD_SOCKET  3 /* the child's end of the connection */
#define CHILD_MAX_FDS 4 /* in a message */

/*
 * Starts it with @name as its only argument, no environment, and /dev/null as its standard streams.
 * @type: of the socket between us. Ctrl-C does not reach it. Errors: -errno.
 */
int child_start(const char *name, int type, pid_t *ret_pid, int *ret_socket);

/* Sends @n bytes and @n_fds descriptors, which stay ours. Errors: -errno; -EPROTO not all went. */
int child_send(int socket, const void *bytes, size_t n, const int *fds, size_t n_fds);

/*
 * Receives a message of up to @size bytes, and up to CHILD_MAX_FDS descriptors, the caller's to
 * close. @flags: of recvmsg(). Returns how many bytes. Errors: -ENODATA the other end is closed;
 * -errno.
 */
ssize_t child_receive_some(int socket, void *bytes, size_t size, int flags, int *fds,
			   size_t *n_fds);

/* The same, of exactly @n bytes: 0. Errors: -EPROTO not so many, too; descriptors came all the same. */
int child_receive(int socket, void *bytes, size_t n, int flags, int *fds, size_t *n_fds);

#endif
