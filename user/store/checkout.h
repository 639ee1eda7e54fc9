/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checkout: finds the commit that is checked out in a folder, by git's own files.
 *
 * It does not run git: containers often lack it, it refuses folders of other users (recording under
 * sudo), and the folder's configuration decides what it runs.
 * https://git-scm.com/docs/gitrepository-layout
 */
#ifndef STORE_CHECKOUT_H
#define STORE_CHECKOUT_H

struct checkout {
	char commit[65];  /* 40 or 64 lower-case hexadecimal digits */
	char branch[256]; /* "": none, or too long */
};

/*
 * Looks in @folder and its parents. Errors: -ENOENT there is no repository; -ENODATA it has no
 * commit, or keeps its references in tables, which we don't read; -errno of reading.
 */
int checkout_read(const char *folder, struct checkout *ret);

#endif
