/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/rooted.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Finds @path, and does not open it yet: opening a device or a FIFO can do harm. */
static int find(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	if (root < 0) {
		fd = open(path, O_PATH | O_CLOEXEC);
	} else {
		path += strspn(path, "/");
		fd = syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof how);
	}
	return fd < 0 ? -errno : fd;
}

int rooted_open(int root, const char *path)
{
	int place = find(root, path), fd;
	char link[64];
	struct stat st;

	if (place < 0)
		return place;
	if (fstat(place, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(place);
		return -EINVAL;
	}
	snprintf(link, sizeof link, "/proc/self/fd/%d", place);
	fd = open(link, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(place);
	return fd;
}

bool rooted_is_ours(int root)
{
	const unsigned int mask = STATX_INO | STATX_MNT_ID;
	struct statx theirs, ours;

	/* The same folder in another mount namespace, which may show other files, is another mount.
	 */
	return statx(root, "", AT_EMPTY_PATH, mask, &theirs) == 0 &&
	       statx(AT_FDCWD, "/", 0, mask, &ours) == 0 &&
	       (theirs.stx_mask & ours.stx_mask & STATX_MNT_ID) &&
	       theirs.stx_mnt_id == ours.stx_mnt_id && theirs.stx_ino == ours.stx_ino;
}
