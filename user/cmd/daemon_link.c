/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child.h"
#include "base/system.h"
#include "store/ledger_code.h"

int daemon_link_make(int ret_fds[static 2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_fds) < 0)
		return -errno;
	/* Who sends never waits. */
	return fcntl(ret_fds[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

int daemon_link_report(int fd, const struct daemon_report *report)
{
	ssize_t n = send(fd, report, sizeof *report, MSG_NOSIGNAL | MSG_DONTWAIT);

	return n < 0 ? -errno : 0;
}

int daemon_link_take_report(int fd, struct daemon_report *ret)
{
	ssize_t n = recv(fd, ret, sizeof *ret, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	return n == sizeof *ret;
}

static int write_all(int fd, const uint8_t *bytes, size_t n)
{
	while (n) {
		ssize_t written = write(fd, bytes, n);

		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0) {
			bytes += written;
			n -= written;
		}
	}
	return 0;
}

int daemon_link_send_window(int fd, const void *bytes, size_t n)
{
	_cleanup_close_ int memory = memfd_create("window", MFD_CLOEXEC);
	uint64_t size = n;
	int r;

	if (memory < 0)
		return -errno;
	r = write_all(memory, bytes, n);
	if (r < 0)
		return r;
	return child_send(fd, &size, sizeof size, &memory, 1);
}

static int read_all(int fd, uint8_t *bytes, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = pread(fd, bytes + done, n - done, done);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			return -EPROTO;
		if (got > 0)
			done += got;
	}
	return 0;
}

static int read_window(const int *fds, size_t n_fds, uint64_t n, uint8_t **ret)
{
	uint8_t *bytes;
	int r;

	if (n_fds != 1 || n > LEDGER_MAX_BYTES)
		return -EPROTO;
	bytes = malloc(n + 1);
	if (!bytes)
		return -ENOMEM;
	r = read_all(fds[0], bytes, n);
	if (r < 0)
		free(bytes);
	else
		*ret = bytes;
	return r;
}

int daemon_link_take_window(int fd, uint8_t **ret, size_t *ret_n)
{
	int fds[CHILD_MAX_FDS], r;
	uint64_t size;
	size_t n_fds = 0;

	r = child_receive(fd, &size, sizeof size, 0, fds, &n_fds);
	if (r == -ENODATA)
		return 0;
	if (r == 0)
		r = read_window(fds, n_fds, size, ret);
	for (size_t i = 0; i < n_fds; i++)
		close(fds[i]);
	if (r < 0)
		return r;
	*ret_n = size;
	return 1;
}
