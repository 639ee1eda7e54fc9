/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign_path: finds files and folders of others by their paths, and opens the files found, without
 * anybody's help: it waits as long as their filesystem does. foreign.h has the broker do that.
 */
#ifndef BASE_FOREIGN_PATH_H
#define BASE_FOREIGN_PATH_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Of a descriptor that only says where a file is: opening one has no effect on the file. */
#define FOREIGN_PATH_FLAGS (O_PATH | O_CLOEXEC)

/* What finds gives such a descriptor, or -errno. */

/* @path below @root, as if that were the root folder; -1: our own. Links in /proc to open files are
 * followed by their text only. */
int foreign_path_find(int root, const char *path);

/* The file that thread @tid maps there; see proc_pid_map_files(5). */
int foreign_path_find_mapped(uint32_t tid, uint64_t start, uint64_t end);

/* The root folder of a thread. */
int foreign_path_find_root(uint32_t tid);

/* @name in @folder, unless it is elsewhere, too: -EXDEV: on another mount; -EMLINK: it has several
 * names. */
int foreign_path_find_in(int folder, const char *name);

/* Opens the file found for reading. -EINVAL: it is not a regular one, or one of the kernel's. */
int foreign_path_open(int place);

/* The filesystem's number (statfs(2), f_type), or -errno. */
int64_t foreign_path_filesystem(int fd);

/* Reads what the kernel already has: 0 or -errno. */
int foreign_path_status(int fd, struct statx *ret);

/* Whether both are known to belong to one mount. */
bool foreign_path_is_same_mount(const struct statx *a, const struct statx *b);

#endif
