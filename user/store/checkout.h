/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checkout: which commit is checked out in a folder, as git says: only git knows all the ways in
 * which a repository keeps its references.
 *
 * As root, git runs as the owner of the folder: it refuses the repositories of others, and their
 * configuration must not decide what root does.
 */
#ifndef STORE_CHECKOUT_H
#define STORE_CHECKOUT_H

struct checkout {
	char commit[65];  /* 40 or 64 lower-case hexadecimal digits */
	char branch[256]; /* "": none, or too long */
};

/*
 * Looks in @folder and those above it. Errors: -ENOPKG git is not installed; -ENOENT it finds no
 * repository that it reads; -ENODATA the repository has no commit; -errno of running git.
 */
int checkout_read(const char *folder, struct checkout *ret);

#endif
