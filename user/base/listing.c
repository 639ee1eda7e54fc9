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

/* Takes over @fd. */
static int read_names(int fd, bool (*wanted)(const char *name), struct listing *ret)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), r = 0;
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	*ret = (struct listing){.fd = fd};
	if (!stream) {
		r = -errno;
		closep(&copy);
	}
	while (r == 0 && (entry = readdir(stream)))
		if (wanted(entry->d_name))
			r = add_name(ret, entry->d_name);
	if (stream)
		closedir(stream);
	if (r < 0)
		listing_done(ret);
	return r;
}

int listing_read(const char *path, bool (*wanted)(const char *name), struct listing *ret)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret = LISTING_NONE;
	return fd < 0 ? -errno : read_names(fd, wanted, ret);
}

int listing_read_folder(int folder, bool (*wanted)(const char *name), struct listing *ret)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret = LISTING_NONE;
	return fd < 0 ? -errno : read_names(fd, wanted, ret);
}

int listing_copy(const struct listing *from, struct listing *ret)
{
	int r = 0;

	*ret = LISTING_NONE;
	for (size_t i = 0; i < from->n && r == 0; i++)
		r = add_name(ret, from->names[i]);
	if (r < 0)
		listing_done(ret);
	return r;
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
	int r = fd < 0 ? -errno : fstat(fd, &status) < 0 ? -errno : 0;

	if (r == 0 && !S_ISREG(status.st_mode))
		r = -EINVAL;
	if (r < 0)
		closep(&fd);
	return r < 0 ? r : fd;
}
