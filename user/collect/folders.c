/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
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
	struct folder folder = {.fd = fd};
	struct statx stat = {};
	int r = statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &stat) < 0 ? -errno : 0;

	folder.device = makedev(stat.stx_dev_major, stat.stx_dev_minor);
	folder.inode = stat.stx_ino;
	/* The same folder in another mount namespace, which may show other files, is another mount.
	 */
	folder.mount = stat.stx_mask & STATX_MNT_ID ? stat.stx_mnt_id : 0;
	for (size_t i = 0; i < folders->n && r == 0; i++) {
		if (folders->items[i].device != folder.device ||
		    folders->items[i].inode != folder.inode ||
		    folders->items[i].mount != folder.mount)
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
	folders->items[folders->n] = folder;
	*ret_folder = folders->n++;
	return 0;
}

int folders_add(struct folders *folders, const char *path, uint32_t *ret_folder)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : folders_add_fd(folders, fd, ret_folder);
}

void folders_forget(struct folders *folders, uint32_t *numbers)
{
	size_t kept = 0;

	for (size_t i = 0; i < folders->n; i++) {
		if (!numbers[i]) {
			close(folders->items[i].fd);
			numbers[i] = UINT32_MAX;
			continue;
		}
		folders->items[kept] = folders->items[i];
		numbers[i] = kept++;
	}
	folders->n = kept;
}

int folder_open(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return syscall(SYS_openat2, root, path, &how, sizeof how);
}
