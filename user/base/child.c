/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system.h"

/* For standard streams: /dev/null, or an empty file where /dev is not populated. */
static int open_nothing(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	return fd < 0 ? memfd_create("nothing", MFD_CLOEXEC) : fd;
}

static int spawn(const char *name, int socket, pid_t *ret)
{
	_cleanup_close_ int nothing = open_nothing();
	char *arguments[] = {(char *)name, NULL}, *environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int r;

	if (nothing < 0)
		return -errno;
	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return -ENOMEM;
	posix_spawnattr_init(&attributes);
	/* A process group of its own: Ctrl-C is for us. */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawn_file_actions_adddup2(&actions, socket, CHILD_SOCKET);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		posix_spawn_file_actions_adddup2(&actions, nothing, fd);
	r = posix_spawn(ret, "/proc/self/exe", &actions, &attributes, arguments, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

int child_start(const char *name, int type, pid_t *ret_pid, int *ret_socket)
{
	int ends[2], r;

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	r = spawn(name, ends[1], ret_pid);
	close(ends[1]);
	if (r < 0) {
		close(ends[0]);
		return r;
	}
	*ret_socket = ends[0];
	return 0;
}

int child_send(int socket, const void *bytes, size_t n, const int *fds, size_t n_fds)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * CHILD_MAX_FDS)] = {};
	struct iovec piece = {(void *)bytes, n};
	struct msghdr header = {.msg_iov = &piece, .msg_iovlen = 1};
	struct cmsghdr *rights;
	ssize_t sent;

	if (n_fds) {
		header.msg_control = control;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		rights = CMSG_FIRSTHDR(&header);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(rights), fds, sizeof(int) * n_fds);
	}
	do
		sent = sendmsg(socket, &header, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : (size_t)sent < n ? -EPROTO : 0;
}

ssize_t child_receive_some(int socket, void *bytes, size_t size, int flags, int *fds,
			   size_t *n_fds)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * CHILD_MAX_FDS)];
	struct iovec piece = {bytes, size};
	struct msghdr header = {.msg_iov = &piece,
				.msg_iovlen = 1,
				.msg_control = control,
				.msg_controllen = sizeof control};
	struct cmsghdr *rights;
	ssize_t got;

	do
		got = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	*n_fds = 0;
	if (got <= 0)
		return got < 0 ? -errno : -ENODATA;
	rights = CMSG_FIRSTHDR(&header);
	if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
		*n_fds = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(rights), *n_fds * sizeof(int));
	}
	return got;
}

int child_receive(int socket, void *bytes, size_t n, int flags, int *fds, size_t *n_fds)
{
	ssize_t got = child_receive_some(socket, bytes, n, flags, fds, n_fds);

	return got < 0 ? got : (size_t)got == n ? 0 : -EPROTO;
}
