/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"

void folders_done(struct folders *folders)
{
	for (size_t i = 0; i < folders->n; i++)
		close(folders->items[i].fd);
	free(folders->items);
	*folders = (struct folders){};
}

int folders_add_fd(struct folders *folders, int fd, uint32_t *ret_folder)
{
	struct stat stat;
	int r = fstat(fd, &stat) < 0 ? -errno : 0;

	for (size_t i = 0; i < folders->n && r == 0; i++) {
		if (folders->items[i].device != stat.st_dev ||
		    folders->items[i].inode != stat.st_ino)
			continue;
		close(fd);
		*ret_folder = i;
		return 0;
	}
	if (r == 0)
		r = array_reserve(folders->items, folders->capacity, folders->n, 1);
	if (r < 0) {
		close(fd);
		return r;
	}
	folders->items[folders->n] = (struct folder){fd, stat.st_dev, stat.st_ino};
	*ret_folder = folders->n++;
	return 0;
}

int folders_add(struct folders *folders, const char *path, uint32_t *ret_folder)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : folders_add_fd(folders, fd, ret_folder);
}

int folder_open(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return syscall(SYS_openat2, root, path, &how, sizeof how);
}
