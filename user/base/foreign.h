/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign: opens the files of untrusted processes: programs, debug files, JITs' files. Their users
 * choose the paths, links, mounts and contents, and we may be root. Nothing else in collect/ and
 * symbol/ opens such files.
 *
 * A path is followed as its process would: no link and no `..` leads out of the process's root
 * folder, and links in /proc to open files and folders are not followed. Files are found first and
 * opened afterwards, and only if they are regular files on a filesystem that stores files: opening
 * a device can reboot the machine, and reading a virtual file can remove its contents. Opening
 * never waits: not for the writer of a FIFO, not for the holder of a lease.
 *
 * A filesystem whose server does not answer, such as NFS, blocks even a caller who only looks up a
 * file. So a broker does that if there is one (base/broker.h), and calls fail after a while
 * (-ETIMEDOUT).
 */
#ifndef BASE_FOREIGN_H
#define BASE_FOREIGN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_attr;
struct stat;

#define FOREIGN_OUR_ROOT (-1)

/*
 * These find @path, absolute or not, below folder @root, without opening it. They return a
 * descriptor (O_PATH) for the caller to close. Errors: those of open(2); -ELOOP also for paths of
 * more than some hundred folders.
 */
int foreign_find(int root, const char *path);
/* A path typed by our own user: every link is followed, relative to the current folder. */
int foreign_find_typed(const char *path);
/* The same with no more rights than the user has without our capabilities; closed, and open. */
int foreign_find_as_caller(const char *path);
int foreign_open_typed(const char *path);
/* The root folder of thread @tid. */
int foreign_find_root(uint32_t tid);
/* The file that thread @tid has mapped at exactly [@start, @end), even if it has no name. */
int foreign_find_mapped(uint32_t tid, uint64_t start, uint64_t end);
/*
 * @name in @folder itself. Not a link, another mount, or a file with a second name: these may show
 * files that their owner may not read. Errors: also -EXDEV, -EMLINK.
 */
int foreign_find_in(int folder, const char *name);

/*
 * Opens a found file for reading. The caller keeps @place. Returns a descriptor for the caller to
 * close. Errors: -EINVAL not a regular file, or the kernel's own; -EAGAIN somebody holds a lease on
 * it; those of open(2).
 */
int foreign_open_found(int place);
/* Finds and opens. */
int foreign_open(int root, const char *path);
/*
 * The same of what thread @tid has mapped, see foreign_find_mapped(). *@ret_filesystem: see
 * foreign_filesystem(). Many files are opened when a recording starts: it is one call of the
 * broker.
 */
int foreign_open_mapped(uint32_t tid, uint64_t start, uint64_t end, uint32_t *ret_filesystem);

/* As foreign_open(), with no more rights than the user has without our capabilities. */
int foreign_open_as_caller(int root, const char *path);

/* Whether @root is our own root folder. */
bool foreign_is_our_root(int root);

/*
 * Gives what the kernel knows about an open file without asking the filesystem's server: device,
 * inode, mode, links, owner, size, and the times of the last changes. 0 or -errno.
 */
int foreign_status(int fd, struct stat *ret);

/* The magic number of its filesystem (statfs(2)); 0: unknown. */
uint32_t foreign_filesystem(int fd);

/* Whether it begins like an ELF file, and of which kind: elf_file_kind(). */
bool foreign_is_elf(int fd);
int foreign_elf_kind(int fd);

/* A piece of a process's memory. */
struct foreign_piece {
	uint64_t address;
	uint64_t n;
};
#define FOREIGN_MAX_PIECES 8
#define FOREIGN_MAX_MEMORY 98304 /* bytes of all pieces */

/*
 * Reads all pieces of memory of process @pid, one after the other, to @to. The process goes on:
 * what is read is as good as its owner wants it to be. Memory whose server does not answer (FUSE,
 * userfaultfd) costs no more than a file of that kind. Errors: -EFAULT not all of it is there;
 * those of process_vm_readv(2).
 */
int foreign_read_memory(uint32_t pid, const struct foreign_piece *pieces, size_t n, void *to);

/*
 * Reads the file @name in /proc/@tid: all, or somewhat more than @most bytes. A process can keep
 * whoever reads "maps" or "stat" waiting, for example while its exec closes a file whose server
 * does not answer. *@ret is malloc'ed and ends with a null byte. Errors: those of open(2), -ENOMEM.
 */
int foreign_read_process(uint32_t tid, const char *name, size_t most, char **ret, size_t *ret_n);
/* The same of "stat". Errors, too: -EBADMSG. */
struct process_stat;
int foreign_read_stat(uint32_t pid, struct process_stat *ret);
/* The same of up to FOREIGN_MAX_STATS processes at once; @ret[i].pid is 0 where there is none. */
#define FOREIGN_MAX_STATS 64
int foreign_read_stats(const uint32_t *pids, size_t n, struct process_stat *ret);

struct foreign_mapping {
	uint64_t start, end, offset, inode;
	uint32_t device_major, device_minor;
	bool is_executable;
	char path[PATH_MAX];
};

/*
 * Asks the kernel for what thread @tid has mapped at @address. Returns 1; 0: nothing. Errors:
 * -ENOTTY before Linux 6.11.
 */
int foreign_find_mapping(uint32_t tid, uint64_t address, struct foreign_mapping *ret);

/*
 * Opens an event of the whole CPU @cpu. Where kernel.perf_event_paranoid is 3 or more, kernels of
 * Debian and Ubuntu let only CAP_SYS_ADMIN do that, which a recorder that runs has given up: then
 * the broker opens it. Returns a descriptor for the caller to close. Errors: those of
 * perf_event_open(2).
 */
int foreign_open_event(const struct perf_event_attr *attr, unsigned int cpu);

/* The broker's side: its job. */
struct broker_gift;
int64_t foreign_serve(const void *request, size_t n, int fd, struct broker_gift *ret);

#endif
