/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/place.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/owner.h"
#include "base/system.h"

#define MOST_LINKS   40 /* as in the kernel */
#define FOLDER_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* State on the way to a folder. */
struct walk {
	struct place at;
	bool is_checked; /* we are root */
	bool is_strict;	 /* we are root, where the owner may not write */
	enum place_make make;
	char *rest; /* of the path */
	unsigned int n_links;
};

bool place_is_shared(const struct stat *folder, bool as_owner)
{
	bool by_group = folder->st_mode & S_IWGRP && folder->st_gid != 0;

	return folder->st_mode & S_IWOTH ||
	       (by_group && !(as_owner && owner_has_group(folder->st_gid)));
}

/* Whether somebody else can replace a file there, whoever owns it. */
static bool is_replaceable(const struct stat *folder, bool as_owner)
{
	return !owner_trusts(folder->st_uid, as_owner) ||
	       (place_is_shared(folder, as_owner) && !(folder->st_mode & S_ISVTX));
}

static bool is_roots_alone(const struct stat *folder)
{
	return folder->st_uid == 0 && !place_is_shared(folder, false);
}

int place_check_writable(const struct place *place, void *data)
{
	struct stat folder;

	if (fstat(place->fd, &folder) < 0)
		return -errno;
	if (geteuid() == 0 && place_is_shared(&folder, place->as_owner) &&
	    is_replaceable(&folder, place->as_owner))
		return -PLACE_ESHARED;
	return faccessat(place->fd, ".", W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

void place_close(struct place *place)
{
	closep(&place->fd);
	place->fd = -1;
}

/* Takes over @fd. */
static void walk_to(struct walk *walk, int fd)
{
	place_close(&walk->at);
	walk->at.fd = fd;
}

static int check_folder(const struct walk *walk, int fd)
{
	struct stat here, there;

	if (fstat(walk->at.fd, &here) < 0 || fstat(fd, &there) < 0)
		return -errno;
	return place_is_shared(&here, walk->at.as_owner) &&
			       !owner_trusts(there.st_uid, walk->at.as_owner)
		       ? -PLACE_ELED
		       : 0;
}

/* Takes over @fd, a folder in the current one. */
static int walk_into(struct walk *walk, int fd)
{
	int r = walk->is_checked ? check_folder(walk, fd) : 0;

	if (r < 0) {
		close(fd);
		return r;
	}
	walk_to(walk, fd);
	return 0;
}

/* Matches links in /proc: they lead somewhere regardless of their text, and nobody made them. */
static bool is_magic(int link)
{
	struct statfs system;

	return fstatfs(link, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* Puts the target of @link before the rest of the path. */
static int expand(struct walk *walk, int link)
{
	char text[PATH_MAX], *longer;
	ssize_t n = readlinkat(link, "", text, sizeof text - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	if (asprintf(&longer, "%s/%s", text, walk->rest) < 0)
		return -ENOMEM;
	free(walk->rest);
	walk->rest = longer;
	if (*text == '/') {
		int root = open("/", FOLDER_FLAGS);

		if (root < 0)
			return -errno;
		walk_to(walk, root);
	}
	return 0;
}

static int check_link(const struct walk *walk, const struct stat *link)
{
	struct stat here;

	if (fstat(walk->at.fd, &here) < 0)
		return -errno;
	return owner_trusts(link->st_uid, walk->at.as_owner) &&
			       !is_replaceable(&here, walk->at.as_owner)
		       ? 0
		       : -PLACE_ELED;
}

/* Follows the link @name. Makes nothing if it leads to nothing. */
static int follow(struct walk *walk, const char *name)
{
	_cleanup_close_ int link = openat(walk->at.fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	bool is_kernels = !walk->is_checked || is_magic(link);
	struct stat status;
	int r, fd;

	if (link < 0 || fstat(link, &status) < 0)
		return -errno;
	if (!S_ISLNK(status.st_mode))
		return -ENOTDIR;
	r = is_kernels ? 0 : check_link(walk, &status);
	if (r < 0)
		return r;
	fd = openat(walk->at.fd, name, FOLDER_FLAGS);
	if (fd < 0)
		return errno == ENOENT && walk->make != PLACE_FIND ? -ENOTDIR : -errno;
	if (is_kernels) {
		walk_to(walk, fd);
		return 0;
	}
	close(fd);
	return ++walk->n_links > MOST_LINKS ? -ELOOP : expand(walk, link);
}

mode_t place_folder_mode(void)
{
	return geteuid() == 0 ? 0755 : 0777;
}

/* Root makes nothing for others outside of root's own folders. */
static int make_folder(const struct walk *walk, const char *name)
{
	struct stat here;

	if (walk->is_strict && (fstat(walk->at.fd, &here) < 0 || !is_roots_alone(&here)))
		return -EACCES;
	return mkdirat(walk->at.fd, name, place_folder_mode()) < 0 && errno != EEXIST
		       ? -errno
		       : 0;
}

/* Takes one part of the path; @is_last: the last one. */
static int step(struct walk *walk, const char *name, bool is_last)
{
	bool makes = walk->make == PLACE_MAKE_ALL || (walk->make == PLACE_MAKE_LAST && is_last);
	/* With O_DIRECTORY, automounts happen. */
	int fd = openat(walk->at.fd, name, FOLDER_FLAGS | O_NOFOLLOW);

	if (fd < 0 && errno == ENOENT && makes) {
		int r = make_folder(walk, name);

		if (r < 0)
			return r;
		fd = openat(walk->at.fd, name, FOLDER_FLAGS | O_NOFOLLOW);
	}
	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? follow(walk, name) : -errno;
	if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		return walk_into(walk, fd);
	walk_to(walk, fd);
	return 0;
}

static int walk_all(struct walk *walk)
{
	while (*walk->rest) {
		size_t n = strcspn(walk->rest, "/"), slashes = strspn(walk->rest + n, "/");
		_cleanup_free_ char *name = strndup(walk->rest, n);
		int r;

		if (!name)
			return -ENOMEM;
		memmove(walk->rest, walk->rest + n + slashes,
			strlen(walk->rest + n + slashes) + 1);
		r = n ? step(walk, name, !*walk->rest) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int walk_and_check(struct walk *walk, place_check_fn check_place, void *data)
{
	struct stat folder;
	int r;

	walk->at.fd = open(*walk->rest == '/' ? "/" : ".", FOLDER_FLAGS);
	if (walk->at.fd < 0)
		return -errno;
	r = walk_all(walk);
	if (r < 0)
		return r;
	if (walk->is_strict && (fstat(walk->at.fd, &folder) < 0 || !is_roots_alone(&folder)))
		return -EACCES;
	return check_place(&walk->at, data);
}

static int open_as(bool as_owner, const char *path, enum place_make make,
		   place_check_fn check_place, void *data, struct place *ret)
{
	struct walk walk = {
		.at = {.fd = -1, .as_owner = as_owner},
		.is_checked = geteuid() == 0,
		.is_strict = owner_is_set() && !as_owner,
		.make = make,
		.rest = strdup(path),
	};
	int r = walk.rest ? owner_enter(as_owner) : -ENOMEM;

	if (r == 0) {
		r = walk_and_check(&walk, check_place, data);
		owner_leave(as_owner);
	}
	free(walk.rest);
	if (r < 0)
		place_close(&walk.at);
	else
		*ret = walk.at;
	return r;
}

int place_open(const char *path, enum place_make make, place_check_fn check_place, void *data,
	       struct place *ret)
{
	int r = open_as(owner_is_set(), path, make, check_place, data, ret);

	if (!owner_is_set() || (r != -EACCES && r != -EPERM))
		return r;
	return open_as(false, path, make, check_place, data, ret) < 0 ? r : 0;
}
