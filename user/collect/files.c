/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/system.h"

#define MAX_ROOTS_TRIED 64 /* for a file of a process that is gone */

void files_init(struct files *files)
{
	struct stat root;

	*files = (struct files){};
	if (stat("/", &root) == 0) {
		files->own_root_device = root.st_dev;
		files->own_root_inode = root.st_ino;
	}
}

void files_done(struct files *files)
{
	for (size_t i = 0; i < files->pool.n; i++) {
		if (!files->files[i].n_references)
			continue;
		closep(&files->files[i].fd);
		free(files->files[i].path);
	}
	free(files->files);
	free(files->pool.free);
	table_done(&files->by_name);
	folders_done(&files->roots);
	*files = (struct files){};
}

/* --- finding the file of a name --- */

/* O_NONBLOCK: never wait for a FIFO or a device that took the name's place. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* What the kernel calls @fd where it is mapped: on some filesystems not what stat() says. */
static bool is_mapped_as(int fd, const struct file_name *name)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, page, PROT_NONE, MAP_PRIVATE, fd, 0);
	struct maps_entry entry = {};
	char path[PATH_MAX];

	if (memory == MAP_FAILED)
		return false;
	if (maps_find(getpid(), (uintptr_t)memory, &entry, path) <= 0)
		entry.name.inode = 0;
	munmap(memory, page);
	return entry.name.inode == name->inode && entry.name.device_major == name->device_major &&
	       entry.name.device_minor == name->device_minor;
}

static bool is_on(int fd, long filesystem)
{
	struct statfs stat;

	return fstatfs(fd, &stat) == 0 && (unsigned long)stat.f_type == (unsigned long)filesystem;
}

/* Takes @fd. Returns it if it is the file of that name, or -1. */
static int verify(int fd, const struct file_name *name)
{
	struct stat stat;

	if (fd < 0)
		return -1;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
		bool is_same_inode = stat.st_ino == name->inode;

		if (is_same_inode && stat.st_dev == makedev(name->device_major, name->device_minor))
			return fd;
		/* Records and maps disagree on overlayfs in some kernels. */
		if (is_mapped_as(fd, name) || (is_same_inode && is_on(fd, OVERLAYFS_SUPER_MAGIC)))
			return fd;
	}
	close(fd);
	return -1;
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

/* A file that is open, and the root that it was found below, with a reference. */
struct opened {
	int fd; /* -1: none */
	uint32_t root;
};

/* By the mapping, which reaches deleted files; by the path as the process sees it. */
static struct opened open_of_process(struct files *files, const struct file_name *name,
				     uint32_t pid, uint64_t start, uint64_t end)
{
	uint32_t thread = maps_thread(pid);
	struct opened opened = {.root = find_root(files, thread)};
	char text[PATH_MAX + 64];

	snprintf(text, sizeof text, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		 thread, start, end);
	opened.fd = verify(open(text, OPEN_FLAGS), name);
	if (opened.fd >= 0 || name->path[0] != '/')
		return opened;
	if (opened.root != UINT32_MAX) {
		opened.fd = verify(
			folder_open(files->roots.items[opened.root].fd, name->path, OPEN_FLAGS),
			name);
		return opened;
	}
	/* The same root may have other mounts below it. */
	snprintf(text, sizeof text, "/proc/%" PRIu32 "/root%s", thread, name->path);
	opened.fd = verify(open(text, OPEN_FLAGS), name);
	return opened;
}

/* Below the roots of other files: where a process that is gone may have lived. */
static struct opened open_below_roots(struct files *files, const struct file_name *name)
{
	for (size_t i = files->roots.pool.n, tried = 0; i-- > 0 && tried < MAX_ROOTS_TRIED;) {
		const struct folder *root = &files->roots.items[i];
		int fd;

		if (!root->n_references)
			continue;
		tried++;
		fd = verify(folder_open(root->fd, name->path, OPEN_FLAGS), name);
		if (fd >= 0) {
			folders_hold(&files->roots, i);
			return (struct opened){fd, i};
		}
	}
	return (struct opened){-1, UINT32_MAX};
}

static struct opened open_mapped(struct files *files, const struct file_name *name, uint32_t pid,
				 uint64_t start, uint64_t end)
{
	struct opened opened = open_of_process(files, name, pid, start, end);

	if (opened.fd >= 0 || name->path[0] != '/')
		return opened;
	opened.fd = verify(open(name->path, OPEN_FLAGS), name);
	if (opened.fd >= 0)
		return opened;
	folders_put(&files->roots, opened.root);
	return open_below_roots(files, name);
}

/* --- what is known --- */

static bool identify(int fd, struct file_identity *ret)
{
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return false;
	*ret = (struct file_identity){
		stat.st_dev,
		stat.st_ino,
		stat.st_size,
		stat.st_mtim.tv_sec * 1000000000LL + stat.st_mtim.tv_nsec,
		stat.st_ctim.tv_sec * 1000000000LL + stat.st_ctim.tv_nsec,
		stat.st_nlink,
	};
	return true;
}

static bool is_same_content(const struct file_identity *a, const struct file_identity *b)
{
	if (a->device != b->device || a->inode != b->inode || a->size != b->size ||
	    a->modified_ns != b->modified_ns)
		return false;
	/* A name more or less changes this time stamp, too. */
	return a->changed_ns == b->changed_ns || a->n_links != b->n_links;
}

bool file_is_unchanged(const struct file *file)
{
	struct file_identity now;

	return identify(file->fd, &now) && is_same_content(&now, &file->identity);
}

/* The same; the names it has now are known from here on. */
static bool look_again(struct file *file)
{
	struct file_identity now;

	if (!identify(file->fd, &now) || !is_same_content(&now, &file->identity))
		return false;
	file->identity = now;
	return true;
}

/* What a file is found by; @identity: NULL: any. */
struct file_key {
	const struct file_name *name;
	const struct file_identity *identity;
};

static bool key_equal(const void *items, uint32_t position, const void *context)
{
	const struct file *file = (const struct file *)items + position;
	const struct file_key *key = context;
	const struct file_name *name = key->name;

	if (file->mapped_inode != name->inode ||
	    file->mapped_device != makedev(name->device_major, name->device_minor))
		return false;
	if (!name->inode || (file->fd < 0 && !file->is_memory))
		return strcmp(file->path, name->path) == 0;
	return !key->identity || is_same_content(&file->identity, key->identity);
}

static uint64_t key_hash(dev_t device, ino_t inode, const char *path)
{
	return hash_mix(inode ? hash_mix(0, inode) : hash_bytes(path, strlen(path)), device);
}

static uint64_t name_hash(const struct file_name *name)
{
	return key_hash(makedev(name->device_major, name->device_minor), name->inode, name->path);
}

static uint64_t file_hash(const struct file *file)
{
	return key_hash(file->mapped_device, file->mapped_inode, file->path);
}

static uint32_t find_file(const struct files *files, const struct file_name *name,
			  const struct file_identity *identity)
{
	const struct file_key key = {name, identity};

	return table_find(&files->by_name, name_hash(name), key_equal, files->files, &key);
}

void files_hold(struct files *files, uint32_t file)
{
	files->files[file].n_references++;
}

void files_put(struct files *files, uint32_t index)
{
	struct file *file = &files->files[index];

	if (--file->n_references)
		return;
	if (!file->is_replaced)
		table_remove(&files->by_name, file_hash(file), index);
	if (file->table)
		files->release_table(files->release_context, file->table);
	closep(&file->fd);
	free(file->path);
	folders_put(&files->roots, file->root);
	pool_give(&files->pool, index);
}

/* --- adding --- */

/* Takes @new's descriptor and root; copies its path. */
static int add_file(struct files *files, const struct file *new, uint32_t *ret_file)
{
	char *path = strdup(new->path);
	int r = path ? pool_take(files->files, files->pool, ret_file) : -ENOMEM;

	if (r >= 0) {
		r = table_add(&files->by_name, file_hash(new), *ret_file);
		if (r < 0)
			pool_give(&files->pool, *ret_file);
	}
	if (r < 0) {
		free(path);
		closep((int *)&new->fd);
		folders_put(&files->roots, new->root);
		return r;
	}
	files->files[*ret_file] = *new;
	files->files[*ret_file].path = path;
	files->files[*ret_file].n_references = 1;
	files->files[*ret_file].profile_mapping = UINT32_MAX;
	return 0;
}

static struct file file_of_name(const struct file_name *name)
{
	return (struct file){
		.fd = -1,
		.path = (char *)name->path,
		.root = UINT32_MAX,
		.mapped_device = makedev(name->device_major, name->device_minor),
		.mapped_inode = name->inode,
	};
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

/* Takes @opened. */
static int add_opened(struct files *files, const struct file_name *name, struct opened opened,
		      uint32_t version, uint32_t *ret_file)
{
	struct file file = file_of_name(name);

	file.is_memory = is_memory(name->path, opened.fd);
	if (file.is_memory) {
		file.path = "";
		closep(&opened.fd);
		opened.fd = -1;
		folders_put(&files->roots, opened.root);
		return add_file(files, &file, ret_file);
	}
	file.fd = opened.fd;
	file.root = opened.root;
	file.version = version;
	/* Snapshots of a filesystem share its device and the numbers of inodes. */
	file.is_ambiguous = opened.fd >= 0 && is_on(opened.fd, BTRFS_SUPER_MAGIC);
	files->n_unopened += opened.fd < 0;
	if (!identify(opened.fd, &file.identity)) {
		file.identity.device = file.mapped_device;
		file.identity.inode = file.mapped_inode;
	}
	return add_file(files, &file, ret_file);
}

/* Memory: by its name in brackets, or all in one. */
static int get_memory(struct files *files, const char *path, uint32_t *ret_file)
{
	const struct file_name name = {.path = path[0] == '[' ? path : ""};
	struct file file = file_of_name(&name);
	uint32_t found = find_file(files, &name, NULL);

	if (found == TABLE_NONE) {
		file.is_memory = true;
		return add_file(files, &file, ret_file);
	}
	files_hold(files, found);
	*ret_file = found;
	return 0;
}

/* A file that a process which has ended left unopened may be there for the next one. */
static void open_again(struct files *files, uint32_t index, const struct file_name *name,
		       uint32_t pid, uint64_t start, uint64_t end)
{
	struct opened opened = open_of_process(files, name, pid, start, end);
	struct file *file = &files->files[index];

	if (opened.fd < 0) {
		folders_put(&files->roots, opened.root);
		return;
	}
	file->fd = opened.fd;
	folders_put(&files->roots, file->root);
	file->root = opened.root;
	identify(file->fd, &file->identity);
	files->n_unopened--;
}

/* What was written over since is no more found by its name; the new content is another file. */
static int replace(struct files *files, uint32_t index, const struct file_name *name,
		   uint32_t *ret_file)
{
	struct file *file = &files->files[index];
	struct opened same = {fcntl(file->fd, F_DUPFD_CLOEXEC, 0), file->root};

	table_remove(&files->by_name, file_hash(file), index);
	file->is_replaced = true;
	folders_hold(&files->roots, same.root);
	return add_opened(files, name, same, file->version + 1, ret_file);
}

/* The same name, but of which file only opening it can say. */
static int get_ambiguous(struct files *files, uint32_t found, const struct file_name *name,
			 uint32_t pid, uint64_t start, uint64_t end, uint32_t *ret_file)
{
	struct opened opened = open_mapped(files, name, pid, start, end);
	struct file_identity identity;

	if (identify(opened.fd, &identity))
		found = find_file(files, name, &identity);
	if (found == TABLE_NONE)
		return add_opened(files, name, opened, 0, ret_file);
	closep(&opened.fd);
	folders_put(&files->roots, opened.root);
	files_hold(files, found);
	*ret_file = found;
	return 0;
}

int files_get(struct files *files, const struct file_name *name, uint32_t pid, uint64_t start,
	      uint64_t end, uint32_t *ret_file)
{
	uint32_t found;

	if (!name->inode)
		return get_memory(files, name->path, ret_file);
	found = find_file(files, name, NULL);
	if (found == TABLE_NONE)
		return add_opened(files, name, open_mapped(files, name, pid, start, end), 0,
				  ret_file);
	if (files->files[found].is_ambiguous)
		return get_ambiguous(files, found, name, pid, start, end, ret_file);
	if (!files->files[found].is_memory) {
		if (files->files[found].fd < 0)
			open_again(files, found, name, pid, start, end);
		else if (!look_again(&files->files[found]))
			return replace(files, found, name, ret_file);
	}
	files_hold(files, found);
	*ret_file = found;
	return 0;
}
