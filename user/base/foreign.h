/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign: opens the files of processes that are not to be trusted: programs, debug files, what
 * JITs write. Whoever runs them chooses the paths, the links, the mounts and the contents, and we
 * may be root. Nothing else in collect/ and symbol/ opens such files.
 *
 * A path is followed as its process follows it: no link and no `..` leads out of the process's root
 * folder, and links of /proc to open files and folders are not followed. What lies there is found
 * first and opened afterwards, and only if it is a regular file on a filesystem that keeps files:
 * opening a device can reboot the machine, and reading a file of the kernel's own can take away
 * what is in it. Opening never waits: not for the writer of a FIFO, not for the holder of a lease.
 *
 * A filesystem whose server does not answer, such as NFS, makes whoever looks for a file wait, even
 * who asks what kind it is. So a broker does that where there is one (base/broker.h), and calls fail
 * after a while (-ETIMEDOUT).
 */
#ifndef BASE_FOREIGN_H
#define BASE_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stat;

#define FOREIGN_OUR_ROOT (-1)

/*
 * These find @path, absolute or not, below folder @root, and leave it closed. They return a
 * descriptor (O_PATH), the caller's to close. Errors: those of open(2); -ELOOP also for paths of
 * more than some hundred folders.
 */
int foreign_find(int root, const char *path);
/* A path that our own user has typed: every link is followed, relative to where we are. */
int foreign_find_typed(const char *path);
/* The same with no more rights than the user has without our capabilities. */
int foreign_find_as_caller(const char *path);
/* The root folder of thread @tid. */
int foreign_find_root(uint32_t tid);
/* The file that thread @tid has mapped at exactly [@start, @end): also one that has no name. */
int foreign_find_mapped(uint32_t tid, uint64_t start, uint64_t end);
/* @name in @folder itself: neither a link, nor another mount, nor a file that has a second name,
 * for these may show files that their owner may not read. Errors: -EXDEV, -EMLINK, too. */
int foreign_find_in(int folder, const char *name);

/*
 * Opens what was found for reading. @place stays the caller's. Returns a descriptor, the caller's
 * to close. Errors: -EINVAL not a regular file, or the kernel's own; -EAGAIN somebody holds a lease
 * on it; those of open(2).
 */
int foreign_open_found(int place);
/* Both in one. */
int foreign_open(int root, const char *path);

/* As foreign_open(), with no more rights than the user has without our capabilities. */
int foreign_open_as_caller(int root, const char *path);

/* Says whether @root is our own root folder. */
bool foreign_is_our_root(int root);

/*
 * What the kernel knows of an open file without asking its filesystem's server: device, inode, mode,
 * links, owner, size, and the times of its last changes. 0 or -errno.
 */
int foreign_status(int fd, struct stat *ret);

/* The magic number of the filesystem it is on (statfs(2)); 0: not known. */
uint32_t foreign_filesystem(int fd);

/* Whether it begins as ELF files do, and of which kind: elf_file_kind(). */
bool foreign_is_elf(int fd);
int foreign_elf_kind(int fd);

/* The broker's side: its job. */
int64_t foreign_serve(const void *request, size_t n, int fd, int *ret_fd);

#endif
