/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "base/owner.h"

static int close_to_others(const struct place *place, int fd)
{
	int r = owner_enter(place->as_owner);

	if (r < 0)
		return r;
	r = fchmod(fd, 0600) < 0 ? -OUTPUT_EOTHERS : 0;
	owner_leave(place->as_owner);
	return r;
}

/*
 * Makes sure that only we can open it. One that somebody has opened to others with all files of
 * the folder, chmod -R a+r, is ours again unless somebody holds a lock on it: -EWOULDBLOCK.
 */
static int make_ours(const struct place *place, int fd)
{
	struct stat file;

	if (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) ||
	    !owner_trusts(file.st_uid, place->as_owner))
		return -OUTPUT_EOTHERS;
	if (!(file.st_mode & 077))
		return 0;
	if (file.st_nlink > 1)
		return -OUTPUT_EOTHERS;
	return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -EWOULDBLOCK : close_to_others(place, fd);
}

/* The previous holder may have removed it, and somebody may have made another since. */
static bool is_there(const struct place *place, int fd)
{
	struct stat locked, there;

	return fstat(fd, &locked) == 0 &&
	       fstatat(place->fd, LOCK_FILE, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       locked.st_ino == there.st_ino && locked.st_dev == there.st_dev;
}

static int open_file(const struct place *place)
{
	const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int r = owner_enter(place->as_owner), fd;

	if (r < 0)
		return r;
	fd = openat(place->fd, LOCK_FILE, flags, 0600);
	r = fd < 0 ? -errno : fd;
	owner_leave(place->as_owner);
	if (r == -EACCES || r == -ELOOP || r == -EISDIR)
		r = faccessat(place->fd, LOCK_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0
			    ? -OUTPUT_EOTHERS
			    : r;
	return r;
}

int lock_file_take(const struct place *place, bool waits, int *ret_fd)
{
	for (;;) {
		int fd = open_file(place), r;

		if (fd < 0)
			return fd;
		r = make_ours(place, fd);
		if (r < 0) {
			close(fd);
			return waits && r == -EWOULDBLOCK ? -OUTPUT_EOTHERS : r;
		}
		do
			r = flock(fd, LOCK_EX | (waits ? 0 : LOCK_NB));
		while (r < 0 && errno == EINTR);
		if (r < 0 && errno == EWOULDBLOCK) {
			close(fd);
			return -EWOULDBLOCK;
		}
		if (is_there(place, fd)) {
			*ret_fd = fd;
			return 0;
		}
		close(fd);
	}
}

void lock_file_release(const struct place *place, int fd)
{
	if (fd < 0)
		return;
	if (is_there(place, fd) && owner_enter(place->as_owner) == 0) {
		unlinkat(place->fd, LOCK_FILE, 0);
		owner_leave(place->as_owner);
	}
	close(fd);
}
