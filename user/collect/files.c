/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

struct known_name {
	struct file_name name;
	uint32_t file;
};

int files_init(struct files *files)
{
	*files = (struct files){};
	return strings_init(&files->strings);
}

void files_done(struct files *files)
{
	for (size_t i = 0; i < files->n_files; i++)
		if (files->files[i].fd >= 0)
			close(files->files[i].fd);
	free(files->files);
	free(files->names);
	table_done(&files->by_name);
	table_done(&files->by_identity);
	strings_done(&files->strings);
	*files = (struct files){};
}

static int open_readable(const char *path)
{
	/* O_NONBLOCK: never wait for a FIFO or a device that took the name's place. */
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static int open_verified(const char *path, const struct file_name *name)
{
	struct stat stat;
	int fd = open_readable(path);

	if (fd < 0)
		return -1;
	/* st_dev differs from the mapping's device on overlayfs and btrfs; the inode does not. */
	if (fstat(fd, &stat) < 0 || stat.st_ino != name->inode || !S_ISREG(stat.st_mode)) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * By the mapping itself, which reaches deleted files; by the path as the process sees it; by the
 * path as we see it, for a process that has ended.
 */
static int open_mapped(const struct files *files, const struct file_name *name, uint32_t pid,
		       uint64_t start, uint64_t end)
{
	const char *path = strings_get(&files->strings, name->path);
	char text[4096 + 64];
	int fd;

	snprintf(text, sizeof text, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, start,
		 end);
	fd = open_verified(text, name);
	if (fd >= 0 || path[0] != '/')
		return fd;
	snprintf(text, sizeof text, "/proc/%" PRIu32 "/root%s", pid, path);
	fd = open_verified(text, name);
	if (fd >= 0)
		return fd;
	return open_verified(path, name);
}

static bool name_equal(const void *items, uint32_t position, const void *key)
{
	const struct file_name *a = &((const struct known_name *)items)[position].name, *b = key;

	return a->inode == b->inode && a->device_major == b->device_major &&
	       a->device_minor == b->device_minor && a->generation == b->generation &&
	       a->path == b->path;
}

static uint64_t name_hash(const struct file_name *name)
{
	uint64_t hash = hash_mix(name->inode, name->generation);

	return hash_mix(hash_mix(hash, name->path),
			(uint64_t)name->device_major << 32 | name->device_minor);
}

static bool file_equal(const void *items, uint32_t position, const void *key)
{
	const struct file *a = (const struct file *)items + position, *b = key;

	return a->device == b->device && a->inode == b->inode && a->mtime_ns == b->mtime_ns &&
	       a->size == b->size;
}

/* Takes @fd. */
static int add_file(struct files *files, const struct file_name *name, int fd, uint32_t *ret_file)
{
	struct file file = {.fd = fd, .path = name->path, .profile_mapping = UINT32_MAX};
	uint32_t found = TABLE_NONE;
	struct stat stat;
	uint64_t hash;

	if (fd >= 0 && fstat(fd, &stat) == 0) {
		file.device = stat.st_dev;
		file.inode = stat.st_ino;
		file.mtime_ns = stat.st_mtim.tv_sec * 1000000000LL + stat.st_mtim.tv_nsec;
		file.size = stat.st_size;
	} else {
		files->n_unopened++;
		file.device = (dev_t)name->device_major << 32 | name->device_minor;
		file.inode = name->inode;
		file.mtime_ns = name->generation;
		file.size = -1;
	}
	hash = hash_mix(hash_mix(hash_mix(file.device, file.inode), file.mtime_ns), file.size);
	found = table_find(&files->by_identity, hash, file_equal, files->files, &file);
	if (found != TABLE_NONE) {
		if (fd >= 0)
			close(fd);
		*ret_file = found;
		return 0;
	}
	if (array_reserve(files->files, files->files_capacity, files->n_files, 1) < 0 ||
	    table_add(&files->by_identity, hash, files->n_files) < 0) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	files->files[files->n_files] = file;
	*ret_file = files->n_files++;
	return 0;
}

int files_get(struct files *files, const struct file_name *name, uint32_t pid, uint64_t start,
	      uint64_t end, uint32_t *ret_file)
{
	uint64_t hash = name_hash(name);
	uint32_t found, file;
	int r;

	if (!name->inode) {
		*ret_file = UINT32_MAX;
		return 0;
	}
	found = table_find(&files->by_name, hash, name_equal, files->names, name);
	if (found != TABLE_NONE) {
		*ret_file = files->names[found].file;
		return 0;
	}
	r = add_file(files, name, open_mapped(files, name, pid, start, end), &file);
	if (r < 0)
		return r;
	if (array_reserve(files->names, files->names_capacity, files->n_names, 1) < 0 ||
	    table_add(&files->by_name, hash, files->n_names) < 0)
		return -ENOMEM;
	files->names[files->n_names++] = (struct known_name){*name, file};
	*ret_file = file;
	return 0;
}
