/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system.h"

/* Of a target's name in its temporary name: leaves room for the dots, our name and a pid. */
#define NAME_KEPT 200

/* Of a descriptor's number. */
#define MOST_DIGITS 8

/* Whom files are written for; unset: for whoever we are. */
static struct {
	bool is_set;
	uid_t uid;
	gid_t gid;
	const gid_t *groups; /* theirs */
	size_t n_groups;
	gid_t *own_groups; /* ours, meanwhile */
	int n_own_groups;
} owner;

/* For output_leave(). */
static struct {
	const char *volatile temporary;
	bool as_owner;
} unfinished;

int output_set_owner(uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups)
{
	int n = getgroups(0, NULL);
	gid_t *own = calloc(n > 0 ? n : 1, sizeof *own);

	if (!own)
		return -ENOMEM;
	n = getgroups(n, own);
	if (n < 0) {
		free(own);
		return -errno;
	}
	free(owner.own_groups);
	owner.is_set = true;
	owner.uid = uid;
	owner.gid = gid;
	owner.groups = groups;
	owner.n_groups = n_groups;
	owner.own_groups = own;
	owner.n_own_groups = n;
	return 0;
}

static void leave_owner(bool as_owner)
{
	if (!as_owner)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
	(void)!setgroups(owner.n_own_groups, owner.own_groups);
}

/* The owner's rights over files; all others stay ours. These calls tell their result only so. */
static int enter_owner(bool as_owner)
{
	if (!as_owner)
		return 0;
	if (setgroups(owner.n_groups, owner.groups) < 0)
		return -errno;
	setfsgid(owner.gid);
	setfsuid(owner.uid);
	if (setfsgid(-1) == (int)owner.gid && setfsuid(-1) == (int)owner.uid)
		return 0;
	leave_owner(true);
	return -EPERM;
}

int output_enter_owner(void)
{
	return enter_owner(owner.is_set);
}

void output_leave_owner(void)
{
	leave_owner(owner.is_set);
}

static bool is_in_owners_group(gid_t gid)
{
	for (size_t i = 0; i < owner.n_groups; i++)
		if (owner.groups[i] == gid)
			return true;
	return gid == owner.gid;
}

int output_descriptor(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};

	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		size_t n = strlen(folders[i]), n_digits;

		if (strncmp(path, folders[i], n) != 0)
			continue;
		n_digits = strspn(path + n, "0123456789");
		if (n_digits && n_digits < MOST_DIGITS && !path[n + n_digits])
			return atoi(path + n);
	}
	return -1;
}

/* One that we were started with: those that we open are closed at exec. */
static int check_descriptor(int fd)
{
	int flags = fcntl(fd, F_GETFL), own = fcntl(fd, F_GETFD);

	return flags < 0 || own & FD_CLOEXEC || (flags & O_ACCMODE) == O_RDONLY ? -EBADF : 0;
}

static int open_descriptor(int fd, struct output *ret)
{
	struct output output = {.stream = stdout};
	int copy, r = check_descriptor(fd);

	if (r == 0 && fd != STDOUT_FILENO) {
		copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		output.stream = copy < 0 ? NULL : fdopen(copy, "w");
		r = output.stream ? 0 : -errno;
		if (r < 0)
			closep(&copy);
	}
	if (r == 0)
		*ret = output;
	return r;
}

/* The file that @path means, symbolic links followed, so that a link stays one. */
static int resolve(const char *path, char **ret_path)
{
	char *resolved = realpath(path, NULL);

	if (!resolved && errno == ENOENT)
		resolved = strdup(path);
	if (!resolved)
		return -errno;
	*ret_path = resolved;
	return 0;
}

/* Splits at the last slash: @ret_folder is the caller's to free. */
static int split(const char *path, char **ret_folder, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char *folder;

	if (!*name)
		return *path ? -EISDIR : -ENOENT;
	folder = slash ? strndup(path, slash - path + 1) : strdup("./");
	if (!folder)
		return -ENOMEM;
	*ret_folder = folder;
	*ret_name = name;
	return 0;
}

static bool is_safe(const char *folder)
{
	struct stat status;

	return stat(folder, &status) == 0 && status.st_uid == 0 && !(status.st_mode & S_IWOTH) &&
	       (!(status.st_mode & S_IWGRP) || !is_in_owners_group(status.st_gid));
}

/*
 * Whether nobody but root, and groups that the owner is not in, can put anything else in the place
 * of
 * @folder, which is resolved: it, and all that are above it.
 */
static bool is_roots_alone(const char *folder)
{
	char *path = strdup(folder), *slash;
	bool is = path && is_safe(path);

	while (is && (slash = strrchr(path, '/')) && path[1]) {
		slash[slash == path] = '\0';
		is = is_safe(path);
	}
	free(path);
	return is;
}

/* What @path means if its folder is root's alone: *ret_path is the caller's. */
static int resolve_for_root(const char *path, char **ret_path)
{
	char *folder, *resolved;
	const char *name;
	int r = split(path, &folder, &name);

	if (r < 0)
		return r;
	resolved = realpath(folder, NULL);
	free(folder);
	if (!resolved)
		return -errno;
	if (!is_roots_alone(resolved))
		r = -EACCES;
	else if (asprintf(ret_path, "%s/%s", resolved, name) < 0)
		r = -ENOMEM;
	free(resolved);
	return r;
}

static int check_access(const char *path, int how)
{
	return faccessat(AT_FDCWD, path, how, AT_EACCESS) == 0 ? 0 : -errno;
}

/* In such a folder, as /tmp, one's own files alone can be replaced. */
static int check_sticky(const char *folder)
{
	struct stat status;

	if (stat(folder, &status) < 0)
		return -errno;
	return status.st_mode & S_ISVTX && status.st_uid != owner.uid ? -EPERM : 0;
}

/*
 * Says whether a file may be made at @path, which is resolved. @ret_mode is the mode of what is
 * there, 0 for nothing. A file that may not be written is not replaced either, though its folder
 * would allow that; but what root left in the owner's folder is, since it was root who called us.
 */
static int check_target(const char *path, bool as_owner, mode_t *ret_mode)
{
	struct stat target = {0};
	const char *name;
	char *folder;
	int r;

	if (stat(path, &target) == 0) {
		if (S_ISDIR(target.st_mode))
			return -EISDIR;
		r = as_owner && target.st_uid == 0 ? 0 : check_access(path, W_OK);
		if (r < 0)
			return r;
	} else if (errno != ENOENT) {
		return -errno;
	}
	*ret_mode = target.st_mode;
	if (target.st_mode && !S_ISREG(target.st_mode))
		return 0;

	r = split(path, &folder, &name);
	if (r < 0)
		return r;
	r = check_access(folder, W_OK | X_OK);
	if (r == 0 && as_owner && target.st_mode && target.st_uid != owner.uid)
		r = check_sticky(folder);
	free(folder);
	return r;
}

/* resolve() and check_target() with our own rights or the owner's. */
static int look_at(const char *path, bool as_owner, char **ret_path, mode_t *ret_mode)
{
	char *resolved = NULL;
	int r = enter_owner(as_owner);

	if (r < 0)
		return r;
	r = resolve(path, &resolved);
	if (r == 0) {
		r = check_target(resolved, as_owner, ret_mode);
		if (r == 0)
			*ret_path = resolved;
		else
			free(resolved);
	}
	leave_owner(as_owner);
	return r;
}

/* Finds the file that @path means, and with whose rights it can be written. */
static int find_target(const char *path, char **ret_path, mode_t *ret_mode, bool *ret_as_owner)
{
	char *trusted;
	int r;

	*ret_as_owner = owner.is_set;
	r = look_at(path, owner.is_set, ret_path, ret_mode);
	if (!owner.is_set || (r != -EACCES && r != -EPERM))
		return r;
	if (resolve_for_root(path, &trusted) < 0)
		return r;
	*ret_as_owner = false;
	r = look_at(trusted, false, ret_path, ret_mode);
	free(trusted);
	return r;
}

int output_check(const char *path)
{
	char *resolved;
	bool as_owner;
	mode_t mode;
	int fd = output_descriptor(path), r;

	if (fd >= 0)
		return check_descriptor(fd);
	r = find_target(path, &resolved, &mode, &as_owner);
	if (r == 0)
		free(resolved);
	return r;
}

static int temporary_name(const char *path, char **ret)
{
	const char *name;
	char *folder;
	int r = split(path, &folder, &name);

	if (r < 0)
		return r;
	if (asprintf(ret, "%s.%.*s.bpfflame-%d", folder, NAME_KEPT, name, getpid()) < 0)
		r = -ENOMEM;
	free(folder);
	return r;
}

/* An empty file nobody else has; one that a dead process of our pid left behind is removed. */
static int create(const char *path)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd = open(path, flags, 0666);

	if (fd < 0 && errno == EEXIST && unlink(path) == 0)
		fd = open(path, flags, 0666);
	return fd < 0 ? -errno : fd;
}

/* Fills in @output, whose path is set, for a target of @mode. */
static int open_target(struct output *output, mode_t mode)
{
	int r, fd;

	if (mode && !S_ISREG(mode)) {
		fd = open(output->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
		output->stream = fd < 0 ? NULL : fdopen(fd, "w");
		return output->stream ? 0 : -errno;
	}
	r = temporary_name(output->path, &output->temporary);
	if (r < 0)
		return r;
	unfinished.as_owner = output->as_owner;
	unfinished.temporary = output->temporary;
	fd = create(output->temporary);
	if (fd < 0) {
		unfinished.temporary = NULL;
		free(output->temporary);
		output->temporary = NULL;
		return fd;
	}
	if (mode)
		(void)!fchmod(fd, mode & 0777);
	output->stream = fdopen(fd, "w");
	if (!output->stream) {
		close(fd);
		return -ENOMEM;
	}
	return 0;
}

int output_open(const char *path, struct output *ret)
{
	struct output output = {0};
	mode_t mode;
	int fd = output_descriptor(path), r;

	if (fd >= 0)
		return open_descriptor(fd, ret);
	r = find_target(path, &output.path, &mode, &output.as_owner);
	if (r < 0)
		return r;
	r = enter_owner(output.as_owner);
	if (r == 0) {
		r = open_target(&output, mode);
		leave_owner(output.as_owner);
	}
	if (r < 0) {
		output_abort(&output);
		return r;
	}
	*ret = output;
	return 0;
}

int output_flush(FILE *stream)
{
	if (fflush(stream) != 0)
		return -errno;
	if (!ferror(stream))
		return 0;
	return write(fileno(stream), "\n", 1) < 0 ? -errno : -EIO;
}

static int rename_into_place(struct output *output)
{
	int r = enter_owner(output->as_owner);

	if (r < 0)
		return r;
	if (rename(output->temporary, output->path) < 0)
		r = -errno;
	leave_owner(output->as_owner);
	if (r < 0)
		return r;
	unfinished.temporary = NULL;
	free(output->temporary);
	output->temporary = NULL;
	return 0;
}

int output_commit(struct output *output)
{
	int r = output_flush(output->stream);

	if (output->stream != stdout && fclose(output->stream) != 0 && r == 0)
		r = -errno;
	output->stream = NULL;
	if (r == 0 && output->temporary)
		r = rename_into_place(output);
	output_abort(output);
	return r;
}

void output_abort(struct output *output)
{
	if (output->stream && output->stream != stdout)
		fclose(output->stream);
	if (output->temporary && enter_owner(output->as_owner) == 0) {
		unlink(output->temporary);
		leave_owner(output->as_owner);
	}
	if (output->temporary)
		unfinished.temporary = NULL;
	free(output->temporary);
	free(output->path);
	*output = (struct output){0};
}

void output_leave(void)
{
	const char *temporary = unfinished.temporary;

	if (temporary && enter_owner(unfinished.as_owner) == 0)
		unlink(temporary);
}
