/* SPDX-License-Identifier: GPL-2.0-or-later */
/* causes_channels: waits for bytes and messages of others: pipes, terminals, queues, sockets. */
#ifndef CAUSES_CHANNELS_H
#define CAUSES_CHANNELS_H

#include "causes_waits.h"

#include <mqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>

static const char *wait_pipe_read(struct waiting *self)
{
	if (pipe2(self->fds, O_CLOEXEC))
		return "pipe()";
	return read_for_ever(self);
}

static const char *write_for_ever(struct waiting *self)
{
	start_waiting(self);
	for (;;)
		if (write(self->fds[1], page, sizeof page) < 0 && errno != EAGAIN && errno != EINTR)
			return "write()";
}

static const char *wait_pipe_write(struct waiting *self)
{
	if (pipe2(self->fds, O_CLOEXEC))
		return "pipe()";
	return write_for_ever(self);
}

/* A page is readable, so its writer cannot get any further. */
static void read_page(struct waiting *self)
{
	static char scratch[PAGE];

	ignore(read(self->fds[0], scratch, sizeof scratch));
}

static const char *wait_fifo(struct waiting *self)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/causes-fifo-%d", directory, getpid());
	if (mkfifo(path, 0600))
		return "mkfifo()";
	self->fds[0] = open(path, O_PATH | O_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", self->fds[0]);
	remove_from_directory("fifo");
	start_waiting(self);
	for (;;)
		close(open(path, O_RDONLY | O_CLOEXEC));
}

static void open_for_writing(struct waiting *self)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", self->fds[0]);
	close(open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

static const char *wait_terminal(struct waiting *self)
{
	struct termios raw;
	char name[64];

	self->fds[1] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (self->fds[1] < 0 || grantpt(self->fds[1]) || unlockpt(self->fds[1]) ||
	    ptsname_r(self->fds[1], name, sizeof name))
		return "a pseudo-terminal";
	self->fds[0] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (self->fds[0] < 0 || tcgetattr(self->fds[0], &raw))
		return "a pseudo-terminal";
	cfmakeraw(&raw);
	tcsetattr(self->fds[0], TCSANOW, &raw);
	return read_for_ever(self);
}

static const char *wait_message(struct waiting *self)
{
	struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
	char message[8];
	mqd_t queue;

	if (unshare(CLONE_NEWIPC))
		return "a namespace of its own";
	queue = mq_open("/causes", O_CREAT | O_RDWR, 0600, &attributes);
	if (queue < 0)
		return "mq_open()";
	for (;;) {
		struct timespec until = from_now(CLOCK_REALTIME);

		mq_timedreceive(queue, message, sizeof message, NULL, &until);
	}
}

/* --- sockets */

static int with_timeouts(int fd)
{
	struct timeval timeout = {0, PERIOD / 1000};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
	return fd;
}

static int new_socket(int domain, int type)
{
	return with_timeouts(socket(domain, type | SOCK_CLOEXEC, 0));
}

/* Makes a listener, or for SOCK_DGRAM a receiver, and the address to reach it. */
static int new_listener(int domain, int type, struct sockaddr_storage *ret, socklen_t *ret_length)
{
	struct sockaddr_in internet = {.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_un local = {.sun_family = AF_UNIX}; /* the kernel picks a name */
	int fd = new_socket(domain, type);

	if (domain == AF_INET)
		ignore(bind(fd, (void *)&internet, sizeof internet));
	else
		ignore(bind(fd, (void *)&local, sizeof local.sun_family));
	if (type == SOCK_STREAM && listen(fd, 0))
		return -1;
	*ret_length = sizeof *ret;
	return getsockname(fd, (void *)ret, ret_length) ? -1 : fd;
}

static const char *receive_for_ever(int fd)
{
	char byte;

	for (;;)
		if (recv(fd, &byte, 1, 0) >= 0 || errno != EAGAIN)
			return "a socket";
}

static const char *wait_receive_local(struct waiting *self)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, self->fds))
		return "socketpair()";
	return receive_for_ever(with_timeouts(self->fds[0]));
}

static const char *wait_receive_datagram(struct waiting *self)
{
	struct sockaddr_storage address;
	socklen_t length;

	return receive_for_ever(new_listener(AF_INET, SOCK_DGRAM, &address, &length));
}

static bool connect_pair(struct waiting *self)
{
	struct sockaddr_storage address;
	socklen_t length;
	int listener = new_listener(AF_INET, SOCK_STREAM, &address, &length);

	self->fds[1] = new_socket(AF_INET, SOCK_STREAM);
	if (connect(self->fds[1], (void *)&address, length))
		return false;
	self->fds[0] = with_timeouts(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	close(listener);
	return self->fds[0] >= 0;
}

static const char *wait_receive_stream(struct waiting *self)
{
	return connect_pair(self) ? receive_for_ever(self->fds[0]) : "connect()";
}

static const char *wait_send_stream(struct waiting *self)
{
	return connect_pair(self) ? write_for_ever(self) : "connect()";
}

static const char *wait_accept(struct waiting *self)
{
	struct sockaddr_storage address;
	socklen_t length;
	int fd = new_listener(AF_INET, SOCK_STREAM, &address, &length);

	for (;;)
		if (accept(fd, NULL, NULL) >= 0 || errno != EAGAIN)
			return "accept()";
}

/* Connects to a listener that accepts nobody and whose queue is full. */
static const char *connect_for_ever(int domain)
{
	struct sockaddr_storage address;
	socklen_t length;
	int waiting = 0;

	if (new_listener(domain, SOCK_STREAM, &address, &length) < 0)
		return "listen()";
	for (;;) {
		int fd = new_socket(domain, SOCK_STREAM);

		/* Keeps those that are connected. */
		if (connect(fd, (void *)&address, length) && errno != ECONNREFUSED)
			close(fd);
		else if (++waiting > 8)
			return "a listener that is full";
	}
}

static const char *wait_connect(struct waiting *self)
{
	return connect_for_ever(AF_INET);
}

static const char *wait_connect_local(struct waiting *self)
{
	return connect_for_ever(AF_UNIX);
}

#endif
