/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system.h"

#define MAX_ROOTS_TRIED 64 /* for a file of a process that is gone */

#define MANY_FILES   32
#define MANY_STRINGS 4096

struct known_name {
	struct file_name name;
	uint32_t file;
	bool is_used; /* since names were last forgotten */
};

int files_init(struct files *files)
{
	struct stat root;

	*files = (struct files){};
	if (stat("/", &root) == 0) {
		files->own_root_device = root.st_dev;
		files->own_root_inode = root.st_ino;
	}
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
	folders_done(&files->roots);
	*files = (struct files){};
}

/* O_NONBLOCK: never wait for a FIFO or a device that took the name's place. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* Takes @fd. Returns it if it is the file of that name, or -1. */
static int verify(int fd, const struct file_name *name)
{
	struct stat stat;

	if (fd < 0)
		return -1;
	/* st_dev differs from the mapping's device on overlayfs and btrfs; the inode does not. */
	if (fstat(fd, &stat) < 0 || stat.st_ino != name->inode || !S_ISREG(stat.st_mode)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The root folder of process @pid: UINT32_MAX when it is ours, or the process is gone. */
static uint32_t find_root(struct files *files, uint32_t pid)
{
	char path[64];
	struct stat root;
	uint32_t found;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/root", pid);
	if (stat(path, &root) < 0 ||
	    (root.st_dev == files->own_root_device && root.st_ino == files->own_root_inode))
		return UINT32_MAX;
	return folders_add(&files->roots, path, &found) < 0 ? UINT32_MAX : found;
}

/* By the mapping, which reaches deleted files; by the path as the process sees it. */
static int open_of_process(struct files *files, const struct file_name *name, uint32_t pid,
			   uint64_t start, uint64_t end, uint32_t *ret_root)
{
	const char *path = strings_get(&files->strings, name->path);
	char text[4096 + 64];
	int fd;

	*ret_root = find_root(files, pid);
	snprintf(text, sizeof text, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, start,
		 end);
	fd = verify(open(text, OPEN_FLAGS), name);
	if (fd >= 0 || path[0] != '/')
		return fd;
	if (*ret_root != UINT32_MAX) {
		fd = folder_open(files->roots.items[*ret_root].fd, path, OPEN_FLAGS);
		return verify(fd, name);
	}
	/* The same root may have other mounts below it. */
	snprintf(text, sizeof text, "/proc/%" PRIu32 "/root%s", pid, path);
	return verify(open(text, OPEN_FLAGS), name);
}

/* Below the roots met before, the latest first: where a process that is gone may have lived. */
static int open_below_roots(const struct files *files, const struct file_name *name,
			    uint32_t *ret_root)
{
	const char *path = strings_get(&files->strings, name->path);

	for (size_t i = files->roots.n, tried = 0; i-- > 0 && tried < MAX_ROOTS_TRIED; tried++) {
		int fd = verify(folder_open(files->roots.items[i].fd, path, OPEN_FLAGS), name);

		if (fd >= 0) {
			*ret_root = i;
			return fd;
		}
	}
	return -1;
}

static int open_mapped(struct files *files, const struct file_name *name, uint32_t pid,
		       uint64_t start, uint64_t end, uint32_t *ret_root)
{
	const char *path = strings_get(&files->strings, name->path);
	int fd = open_of_process(files, name, pid, start, end, ret_root);

	if (fd >= 0 || path[0] != '/')
		return fd;
	fd = verify(open(path, OPEN_FLAGS), name);
	return fd >= 0 ? fd : open_below_roots(files, name, ret_root);
}

/* Whether what is mapped under that name is memory, not a file; @fd: of it, or -1. */
static bool is_memory(const char *path, int fd)
{
	static const char *const prefixes[] = {"/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage"};
	char magic[4];

	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
			/* Programs do run from memfds. */
			return fd < 0 || pread(fd, magic, sizeof magic, 0) != sizeof magic ||
			       memcmp(magic, "\177ELF", sizeof magic) != 0;
	return false;
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

static uint64_t file_hash(const struct file *file)
{
	return hash_mix(hash_mix(hash_mix(file->device, file->inode), file->mtime_ns), file->size);
}

/* What tells @file from others: of one that is open, the file on disk. */
static void identify(struct file *file, const struct file_name *name)
{
	struct stat stat;

	if (file->fd >= 0 && fstat(file->fd, &stat) == 0) {
		file->device = stat.st_dev;
		file->inode = stat.st_ino;
		file->mtime_ns = stat.st_mtim.tv_sec * 1000000000LL + stat.st_mtim.tv_nsec;
		file->size = stat.st_size;
		return;
	}
	file->device = (dev_t)name->device_major << 32 | name->device_minor;
	file->inode = name->inode;
	file->mtime_ns = name->generation;
	file->size = -1;
}

/* Takes @fd. */
static int add_file(struct files *files, const struct file_name *name, int fd, uint32_t root,
		    uint32_t *ret_file)
{
	struct file file = {
		.fd = fd, .path = name->path, .root = root, .profile_mapping = UINT32_MAX};
	uint32_t found;
	uint64_t hash;

	identify(&file, name);
	hash = file_hash(&file);
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
	files->n_unopened += fd < 0;
	files->files[files->n_files] = file;
	*ret_file = files->n_files++;
	return 0;
}

/* A file that a process which has ended left unopened may be there for the next one. */
static void open_again(struct files *files, struct file *file, const struct file_name *name,
		       uint32_t pid, uint64_t start, uint64_t end)
{
	uint32_t root;
	int fd = open_of_process(files, name, pid, start, end, &root);

	if (fd < 0)
		return;
	file->fd = fd;
	file->root = root;
	files->n_unopened--;
}

/* Opens the file of a name not met before. */
static int meet_file(struct files *files, const struct file_name *name, uint32_t pid,
		     uint64_t start, uint64_t end, uint32_t *ret_file)
{
	uint32_t root;
	int fd = open_mapped(files, name, pid, start, end, &root);

	if (!is_memory(strings_get(&files->strings, name->path), fd))
		return add_file(files, name, fd, root, ret_file);
	if (fd >= 0)
		close(fd);
	*ret_file = UINT32_MAX;
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
		files->names[found].is_used = true;
		*ret_file = files->names[found].file;
		if (*ret_file != UINT32_MAX && files->files[*ret_file].fd < 0)
			open_again(files, &files->files[*ret_file], name, pid, start, end);
		return 0;
	}
	r = meet_file(files, name, pid, start, end, &file);
	if (r < 0)
		return r;
	if (array_reserve(files->names, files->names_capacity, files->n_names, 1) < 0 ||
	    table_add(&files->by_name, hash, files->n_names) < 0)
		return -ENOMEM;
	files->names[files->n_names++] = (struct known_name){*name, file, true};
	*ret_file = file;
	return 0;
}

bool files_are_many(const struct files *files)
{
	return files->n_files > MANY_FILES + files->n_after + files->n_after / 2 ||
	       files->strings.n_strings > MANY_STRINGS + 2 * files->n_strings_after;
}

/* Those of files that are kept, and the latest, where processes that are gone may have lived. */
static int forget_roots(struct files *files)
{
	uint32_t *numbers = calloc(files->roots.n + 1, sizeof *numbers);

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < files->roots.n; i++)
		numbers[i] = i + MAX_ROOTS_TRIED >= files->roots.n;
	for (size_t i = 0; i < files->n_files; i++)
		if (files->files[i].root != UINT32_MAX)
			numbers[files->files[i].root] = 1;
	folders_forget(&files->roots, numbers);
	for (size_t i = 0; i < files->n_files; i++)
		if (files->files[i].root != UINT32_MAX)
			files->files[i].root = numbers[files->files[i].root];
	free(numbers);
	return 0;
}

static void close_files(struct files *files, uint32_t *numbers)
{
	size_t kept = 0;

	for (size_t i = 0; i < files->n_files; i++) {
		if (numbers[i]) {
			files->files[kept] = files->files[i];
			numbers[i] = kept++;
			continue;
		}
		files->n_unopened -= files->files[i].fd < 0;
		closep(&files->files[i].fd);
		numbers[i] = UINT32_MAX;
	}
	files->n_files = kept;
}

static void forget_names(struct files *files, const uint32_t *numbers)
{
	size_t kept = 0;

	for (size_t i = 0; i < files->n_names; i++) {
		struct known_name name = files->names[i];

		if (name.file != UINT32_MAX)
			name.file = numbers[name.file];
		if (!name.is_used ||
		    (name.file == UINT32_MAX && files->names[i].file != UINT32_MAX))
			continue;
		name.is_used = false;
		files->names[kept++] = name;
	}
	files->n_names = kept;
}

/* Paths are a part of what names are found by: both tables are made anew. */
static int index_again(struct files *files)
{
	int r = 0;

	table_done(&files->by_name);
	table_done(&files->by_identity);
	for (size_t i = 0; r >= 0 && i < files->n_names; i++)
		r = table_add(&files->by_name, name_hash(&files->names[i].name), i);
	for (size_t i = 0; r >= 0 && i < files->n_files; i++)
		r = table_add(&files->by_identity, file_hash(&files->files[i]), i);
	return r;
}

int files_forget(struct files *files, uint32_t *numbers, files_rename_fn rename, void *context)
{
	int r = 0;

	close_files(files, numbers);
	forget_names(files, numbers);
	for (size_t i = 0; r >= 0 && i < files->n_files; i++)
		r = rename(context, &files->files[i].path);
	for (size_t i = 0; r >= 0 && i < files->n_names; i++)
		r = rename(context, &files->names[i].name.path);
	r = r < 0 ? r : index_again(files);
	files->n_after = files->n_files;
	return r < 0 ? r : forget_roots(files);
}
