/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rooted: opens files by the names they have under another root folder, such as a container's.
 *
 * The folder's owner may have put links there that lead out of it, or things that do harm when
 * they are opened. Links are followed as the process in it would follow them, by the kernel
 * (openat2(2), Linux 5.6), and only regular files are opened.
 */
#ifndef SYMBOL_ROOTED_H
#define SYMBOL_ROOTED_H

#include <stdbool.h>

/*
 * Opens @path, absolute, for reading under folder @root (a descriptor; O_PATH will do), or -1 for
 * our own root. Returns a descriptor, the caller's to close. Errors: -EINVAL not a regular file;
 * -ENOSYS @root is given and the kernel can't; those of open(2).
 */
int rooted_open(int root, const char *path);

/* Says whether @root is our own root folder. */
bool rooted_is_ours(int root);

#endif
