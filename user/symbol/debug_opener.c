/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug_opener.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/owner.h"

/*
 * Whether the owner of @fd may name the mapped file's functions: root, our own user, or the owner
 * of that file. Anybody can make a file with the same build-id and have a path lead to it, in their
 * own root folder or in ours.
 */
static bool is_trusted(const struct debug_places *places, int fd)
{
	struct stat mapped, debug;

	if (foreign_status(fd, &debug) < 0)
		return false;
	if (debug.st_uid == 0 || debug.st_uid == geteuid())
		return true;
	return foreign_status(places->file, &mapped) == 0 && debug.st_uid == mapped.st_uid;
}

static void real_path(int fd, char real[static PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = fd < 0 ? 0 : readlink(link, real, PATH_MAX - 1);
	real[n > 0 ? n : 0] = '\0';
}

/* Files below --symfs are trusted: the user chose them. */
static int open_debug(void *context, enum debug_root root, const char *path,
		      char real[static PATH_MAX])
{
	const struct debug_places *places = context;
	const int roots[N_DEBUG_ROOTS] = {FOREIGN_OUR_ROOT, places->root, places->symfs};
	int fd = root == DEBUG_SYMFS ? foreign_open_as_caller(roots[root], path)
				     : foreign_open(roots[root], path);

	if (fd < 0)
		return fd;
	if (root != DEBUG_SYMFS && !is_trusted(places, fd)) {
		close(fd);
		return -EPERM;
	}
	real_path(fd, real);
	return fd;
}

static int fetch_debug(void *context, const char *build_id)
{
	const struct debug_places *places = context;
	struct stat debug;
	int fd = places->debuginfod ? debuginfod_open(places->debuginfod, build_id) : -ENOENT;

	/* Others may write to the client's cache: it is where the environment says. */
	if (fd >= 0 && !is_trusted(places, fd) &&
	    (foreign_status(fd, &debug) < 0 || !owner_is_caller(debug.st_uid))) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

void debug_place_init(struct debug_places *places, const char *path, char real[static PATH_MAX],
		      struct debug_place *ret)
{
	places->opener = (struct debug_opener){open_debug, fetch_debug, places};
	real_path(places->file, real);
	*ret = (struct debug_place){
		.file = places->file,
		.path = path,
		.real = real,
		.has = {[DEBUG_OURS] = true,
			[DEBUG_PROCESS] = places->root >= 0 && !foreign_is_our_root(places->root),
			[DEBUG_SYMFS] = places->symfs >= 0},
		.opener = &places->opener,
	};
}
