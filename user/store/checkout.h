/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checkout: which commit is checked out in a folder, as git's own files say.
 *
 * git is not run: containers that measure often have none, it refuses the folders of other users
 * (what is measured under sudo), and what it runs, the folder's configuration decides.
 * https://git-scm.com/docs/gitrepository-layout
 */
#ifndef STORE_CHECKOUT_H
#define STORE_CHECKOUT_H

struct checkout {
	char commit[65];  /* 40 or 64 lower-case hexadecimal digits */
	char branch[256]; /* "": none, or too long */
};

/*
 * Looks in @folder and those above it. Errors: -ENOENT there is no repository; -ENODATA it has no
 * commit, or keeps its references in tables, which are not read; -errno of reading.
 */
int checkout_read(const char *folder, struct checkout *ret);

#endif
