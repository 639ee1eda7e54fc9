/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/system.h"

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

static int describe(int fd, struct folder *ret)
{
	struct statx stat = {};

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &stat) < 0)
		return -errno;
	*ret = (struct folder){
		.n_references = 1,
		.fd = fd,
		.device = makedev(stat.stx_dev_major, stat.stx_dev_minor),
		.inode = stat.stx_ino,
		/*
		 * The same folder in another mount namespace, which may show other files, is
		 * another mount.
		 */
		.mount = stat.stx_mask & STATX_MNT_ID ? stat.stx_mnt_id : 0,
	};
	return 0;
}

bool folder_is(const struct folder *folder, int fd)
{
	struct folder other;

	return describe(fd, &other) == 0 && is_same_folder(folder, &other);
}

int folders_add(struct folders *folders, int fd, uint32_t *ret_folder)
{
	_cleanup_close_ int own = fd;
	struct folder folder;
	int r = describe(fd, &folder);

	if (r < 0)
		return r;
	for (size_t i = 0; i < folders->pool.n; i++) {
		if (!is_same_folder(&folders->items[i], &folder))
			continue;
		folders_hold(folders, i);
		*ret_folder = i;
		return 0;
	}
	r = pool_take(folders->items, folders->pool, ret_folder);
	if (r < 0)
		return r;
	folders->items[*ret_folder] = folder;
	own = -1;
	return 0;
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
