/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listing: the files of a folder in which somebody else may put what they like. The names are read
 * once; each is opened when its turn comes. Links are not followed, and only regular files are
 * opened, without waiting.
 */
#ifndef BASE_LISTING_H
#define BASE_LISTING_H

#include <stdbool.h>
#include <stddef.h>

struct listing {
	int fd; /* the folder; -1: its files are opened by somebody else */
	char **names;
	size_t n, capacity;
};

#define LISTING_NONE ((struct listing){.fd = -1})

/*
 * Lists the names in @path that are @wanted. Errors: -errno of the folder, -ENOMEM; *@ret is then
 * LISTING_NONE.
 */
int listing_read(const char *path, bool (*wanted)(const char *name), struct listing *ret);

/* The same of a folder that is open; @folder stays the caller's. */
int listing_read_folder(int folder, bool (*wanted)(const char *name), struct listing *ret);

/* The names alone. Errors: -ENOMEM. */
int listing_copy(const struct listing *from, struct listing *ret);

void listing_done(struct listing *listing);

/* Opens a file for reading. Errors: -ELOOP, -EINVAL it is no regular file; -errno. */
int listing_open(const struct listing *listing, size_t number);

#endif
