/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

void folders_done(struct folders *folders)
{
	for (size_t i = 0; i < folders->pool.n; i++)
		if (folders->items[i].n_references)
			close(folders->items[i].fd);
	free(folders->items);
	free(folders->pool.free);
	*folders = (struct folders){};
}

static bool is_same_folder(const struct folder *a, const struct folder *b)
{
	return a->n_references && a->device == b->device && a->inode == b->inode &&
	       a->mount == b->mount;
}

int folders_add_fd(struct folders *folders, int fd, uint32_t *ret_folder)
{
	struct folder folder = {.n_references = 1, .fd = fd};
	struct statx stat = {};
	int r = statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &stat) < 0 ? -errno : 0;

	folder.device = makedev(stat.stx_dev_major, stat.stx_dev_minor);
	folder.inode = stat.stx_ino;
	/* The same folder in another mount namespace, which may show other files, is another mount.
	 */
	folder.mount = stat.stx_mask & STATX_MNT_ID ? stat.stx_mnt_id : 0;
	for (size_t i = 0; i < folders->pool.n && r == 0; i++) {
		if (!is_same_folder(&folders->items[i], &folder))
			continue;
		close(fd);
		folders_hold(folders, i);
		*ret_folder = i;
		return 0;
	}
	r = r < 0 ? r : pool_take(folders->items, folders->pool, ret_folder);
	if (r < 0) {
		close(fd);
		return r;
	}
	folders->items[*ret_folder] = folder;
	return 0;
}

int folders_add(struct folders *folders, const char *path, uint32_t *ret_folder)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : folders_add_fd(folders, fd, ret_folder);
}

void folders_hold(struct folders *folders, uint32_t folder)
{
	if (folder != UINT32_MAX)
		folders->items[folder].n_references++;
}

void folders_put(struct folders *folders, uint32_t folder)
{
	if (folder == UINT32_MAX || --folders->items[folder].n_references)
		return;
	close(folders->items[folder].fd);
	pool_give(&folders->pool, folder);
}

int folder_open(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return syscall(SYS_openat2, root, path, &how, sizeof how);
}
