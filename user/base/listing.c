/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system.h"

static int add_name(struct listing *listing, const char *name)
{
	int r = array_reserve(listing->names, listing->capacity, listing->n, 1);

	if (r < 0)
		return r;
	listing->names[listing->n] = strdup(name);
	if (!listing->names[listing->n])
		return -ENOMEM;
	listing->n++;
	return 0;
}

static int add_names(struct listing *listing, DIR *stream, bool (*wanted)(const char *name))
{
	const struct dirent *entry;

	while ((entry = readdir(stream))) {
		int r = wanted(entry->d_name) ? add_name(listing, entry->d_name) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static int read_at(int folder, const char *path, bool (*wanted)(const char *name),
		   struct listing *ret)
{
	int copy, r;
	DIR *stream;

	*ret = LISTING_NONE;
	ret->fd = openat(folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->fd < 0)
		return -errno;
	copy = fcntl(ret->fd, F_DUPFD_CLOEXEC, 0);
	stream = copy < 0 ? NULL : fdopendir(copy);
	if (stream) {
		r = add_names(ret, stream, wanted);
		closedir(stream);
	} else {
		r = -errno;
		closep(&copy);
	}
	if (r < 0)
		listing_done(ret);
	return r;
}

int listing_read(const char *path, bool (*wanted)(const char *name), struct listing *ret)
{
	return read_at(AT_FDCWD, path, wanted, ret);
}

int listing_read_folder(int folder, bool (*wanted)(const char *name), struct listing *ret)
{
	return read_at(folder, ".", wanted, ret);
}

int listing_copy(const struct listing *from, struct listing *ret)
{
	*ret = LISTING_NONE;
	for (size_t i = 0; i < from->n; i++) {
		int r = add_name(ret, from->names[i]);

		if (r < 0) {
			listing_done(ret);
			return r;
		}
	}
	return 0;
}

void listing_done(struct listing *listing)
{
	for (size_t i = 0; i < listing->n; i++)
		free(listing->names[i]);
	free(listing->names);
	closep(&listing->fd);
	*listing = LISTING_NONE;
}

int listing_open(const struct listing *listing, size_t number)
{
	struct stat status;
	int fd = openat(listing->fd, listing->names[number],
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = fstat(fd, &status) < 0 ? -errno : S_ISREG(status.st_mode) ? fd : -EINVAL;
	if (r < 0)
		close(fd);
	return r;
}
