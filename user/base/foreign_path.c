/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/foreign_path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/system.h"

/*
 * Walks the path by hand, if the kernel has no openat2() or a filter refuses it. Links in /proc to
 * open files are followed by their text only, like any link.
 */

#define MAX_FOLDERS 256
#define MAX_LINKS   40 /* as in the kernel */

struct walk {
	int folders[MAX_FOLDERS]; /* from the root to the current one */
	size_t n;
	unsigned int n_links;
	char rest[2 * PATH_MAX]; /* of the path */
};

/* Goes back up until @n folders are left. */
static void leave(struct walk *walk, size_t n)
{
	while (walk->n > n)
		close(walk->folders[--walk->n]);
}

/* Takes the first name off the rest. Returns false if there is none. */
static bool next_name(struct walk *walk, char name[static NAME_MAX + 1], int *error)
{
	size_t before = strspn(walk->rest, "/"), n = strcspn(walk->rest + before, "/");

	*error = n > NAME_MAX ? -ENAMETOOLONG : 0;
	if (!n || *error < 0)
		return false;
	memcpy(name, walk->rest + before, n);
	name[n] = '\0';
	memmove(walk->rest, walk->rest + before + n, strlen(walk->rest + before + n) + 1);
	return true;
}

/* Puts the target of the link @fd before the rest. */
static int follow(struct walk *walk, int fd)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(fd, "", target, sizeof target);
	size_t rest = strlen(walk->rest);

	if (n < 0)
		return -errno;
	if (++walk->n_links > MAX_LINKS)
		return -ELOOP;
	if (n == sizeof target || n + rest >= sizeof walk->rest)
		return -ENAMETOOLONG;
	memmove(walk->rest + n, walk->rest, rest + 1);
	memcpy(walk->rest, target, n);
	if (target[0] == '/')
		leave(walk, 1);
	return 0;
}

/* Enters @name in the innermost folder, whatever it is. */
static int enter(struct walk *walk, const char *name)
{
	_cleanup_close_ int fd = -1;
	struct stat stat;

	if (strcmp(name, "..") == 0) {
		leave(walk, walk->n > 1 ? walk->n - 1 : 1);
		return 0;
	}
	if (walk->n == MAX_FOLDERS)
		return -ELOOP;
	fd = openat(walk->folders[walk->n - 1], name, FOREIGN_PATH_FLAGS | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat) < 0)
		return -errno;
	if (S_ISLNK(stat.st_mode))
		return follow(walk, fd);
	walk->folders[walk->n++] = fd;
	fd = -1;
	return 0;
}

static int enter_all(struct walk *walk)
{
	char name[NAME_MAX + 1];
	int error;

	while (next_name(walk, name, &error)) {
		int r = strcmp(name, ".") == 0 ? 0 : enter(walk, name);

		if (r < 0)
			return r;
	}
	return error;
}

static int walk_by_hand(int root, const char *path)
{
	struct walk walk = {.n = 1};
	int r;

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(walk.rest, path);
	walk.folders[0] = fcntl(root, F_DUPFD_CLOEXEC, 0);
	if (walk.folders[0] < 0)
		return -errno;
	r = enter_all(&walk);
	if (r == 0)
		r = walk.folders[--walk.n];
	leave(&walk, 0);
	return r;
}

/* --- Finding --- */

int foreign_path_find(int root, const char *path)
{
	struct open_how how = {
		.flags = FOREIGN_PATH_FLAGS,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int ours = root < 0 ? open("/", FOREIGN_PATH_FLAGS | O_DIRECTORY) : -1;
	int fd;

	root = root < 0 ? ours : root;
	path += strspn(path, "/");
	fd = fd_or_errno(syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof how));
	/* -EAGAIN: somebody renames folders to hide where `..` leads. */
	return fd == -ENOSYS || fd == -EPERM || fd == -EAGAIN ? walk_by_hand(root, path) : fd;
}

int foreign_path_find_mapped(uint32_t tid, uint64_t start, uint64_t end)
{
	char path[96];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, tid, start,
		 end);
	return fd_or_errno(open(path, FOREIGN_PATH_FLAGS));
}

int foreign_path_find_root(uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/root", tid);
	return fd_or_errno(open(path, FOREIGN_PATH_FLAGS | O_DIRECTORY));
}

#define STATX_WANTED (STATX_BASIC_STATS | STATX_MNT_ID)

int foreign_path_status(int fd, struct statx *ret)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_WANTED, ret) < 0 ? -errno
											: 0;
}

bool foreign_path_is_same_mount(const struct statx *a, const struct statx *b)
{
	return (a->stx_mask & b->stx_mask & STATX_MNT_ID) && a->stx_mnt_id == b->stx_mnt_id;
}

/* @fd has to be on the mount of @folder, without other names. */
static int check_found(int folder, int fd)
{
	struct statx outer, inner;
	int r = foreign_path_status(folder, &outer);

	if (r < 0)
		return r;
	r = foreign_path_status(fd, &inner);
	if (r < 0)
		return r;
	if (!foreign_path_is_same_mount(&outer, &inner))
		return -EXDEV;
	return inner.stx_nlink > 1 ? -EMLINK : 0;
}

int foreign_path_find_in(int folder, const char *name)
{
	int fd = fd_or_errno(openat(folder, name, FOREIGN_PATH_FLAGS | O_NOFOLLOW)), r;

	if (fd < 0)
		return fd;
	r = check_found(folder, fd);
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

/* --- Opening --- */

int64_t foreign_path_filesystem(int fd)
{
	struct statfs stat;

	return fstatfs(fd, &stat) < 0 ? -errno : (int64_t)(uint32_t)stat.f_type;
}

#define CONFIGFS_MAGIC 0x62656570
#define MQUEUE_MAGIC   0x19800202

/*
 * The kernel's virtual files are regular, too. Reading some of them removes messages (/proc/kmsg),
 * waits (tracefs) or reaches devices (sysfs).
 */
static bool is_of_kernel(int place)
{
	static const uint32_t kinds[] = {
		PROC_SUPER_MAGIC,      SYSFS_MAGIC,	     DEBUGFS_MAGIC,  TRACEFS_MAGIC,
		SECURITYFS_MAGIC,      CGROUP_SUPER_MAGIC,   SELINUX_MAGIC,  CGROUP2_SUPER_MAGIC,
		SMACK_MAGIC,	       BPF_FS_MAGIC,	     EFIVARFS_MAGIC, PSTOREFS_MAGIC,
		BINFMTFS_MAGIC,	       RDTGROUP_SUPER_MAGIC, CONFIGFS_MAGIC, MQUEUE_MAGIC,
		USBDEVICE_SUPER_MAGIC, XENFS_SUPER_MAGIC,    NSFS_MAGIC,
	};
	int64_t kind = foreign_path_filesystem(place);

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kind == kinds[i])
			return true;
	return kind < 0;
}

int foreign_path_open(int place)
{
	char path[64];
	struct stat stat;

	if (fstat(place, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode) || is_of_kernel(place))
		return -EINVAL;
	/* Opens the inode that was checked, whatever has its name now. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", place);
	return fd_or_errno(open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}
