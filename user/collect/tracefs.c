/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/system.h"

/* A mount that is in no folder: by mount_setattr(2)'s family, from Linux 5.2. */
static int mount_private(void)
{
	_cleanup_close_ int context = syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	int mount;

	if (context < 0)
		return -errno;
	if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mount = syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	return mount < 0 ? -errno : mount;
}

int tracefs_open(int *ret_fd, bool *ret_is_private)
{
	static const char *const folders[] = {"/sys/kernel/tracing/events",
					      "/sys/kernel/debug/tracing/events"};
	_cleanup_close_ int mount = -1;
	int r = -ENOENT, fd;

	*ret_is_private = false;
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		fd = open(folders[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0) {
			*ret_fd = fd;
			return 0;
		}
		if (errno != ENOENT)
			r = -errno;
	}
	mount = mount_private();
	if (mount < 0)
		return r == -ENOENT && mount != -ENODEV ? mount : r;
	fd = openat(mount, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	*ret_is_private = true;
	return 0;
}

int tracefs_refuse(int error, struct failure *failure)
{
	failure_set(failure, error, "cannot read the kernel's list of tracepoints: %s",
		    strerror(-error));
	if (error == -ENODEV || error == -ENOENT)
		return failure_fix(failure, error, "this kernel has no tracefs: CONFIG_TRACING");
	return failure_fix(failure, error,
			   "run as root, or as root: mount -o remount,mode=755 "
			   "/sys/kernel/tracing");
}

static bool is_plain(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/');
}

int tracefs_tracepoint(int events_fd, const char *category, const char *name, uint32_t *ret_id)
{
	_cleanup_close_ int fd = -1;
	char path[256], text[32];
	ssize_t n;

	if (!is_plain(category) || !is_plain(name) ||
	    (size_t)snprintf(path, sizeof path, "%s/%s/id", category, name) >= sizeof path)
		return -ENOENT;
	fd = openat(events_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof text - 1);
	if (n <= 0)
		return -EIO;
	text[n] = '\0';
	*ret_id = strtoul(text, NULL, 10);
	return 0;
}

/* Lists the folders in @fd, which it closes. */
static int list_folders(int fd, int (*fn)(void *context, int fd, const char *name), void *context)
{
	DIR *folder = fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (!folder) {
		r = -errno;
		close(fd);
		return r;
	}
	while (r == 0 && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && entry->d_type == DT_DIR)
			r = fn(context, dirfd(folder), entry->d_name);
	closedir(folder);
	return r;
}

struct tracepoint_visitor {
	tracepoint_fn fn;
	void *context;
	const char *category;
};

static int list_name(void *context, int fd, const char *name)
{
	const struct tracepoint_visitor *visitor = context;

	return visitor->fn(visitor->context, visitor->category, name);
}

static int list_category(void *context, int fd, const char *name)
{
	struct tracepoint_visitor *visitor = context;
	int category = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (category < 0)
		return 0;
	visitor->category = name;
	return list_folders(category, list_name, visitor);
}

int tracefs_list(int events_fd, tracepoint_fn fn, void *context)
{
	struct tracepoint_visitor visitor = {.fn = fn, .context = context};
	int fd = openat(events_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return list_folders(fd, list_category, &visitor);
}
