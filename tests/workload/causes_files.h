/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * causes_files: waits for disks, for pages of memory, and for the kernel's own locks.
 */
#ifndef CAUSES_FILES_H
#define CAUSES_FILES_H

#include "causes_waits.h"

#include <linux/magic.h>
#include <linux/userfaultfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

/* --- disks */

/* A file of FILE_SIZE bytes that is on the disk. */
static int new_file(struct waiting *self, int flags)
{
	struct statfs statistics;
	int fd = open_in_directory(self->name, flags);

	if (fd < 0)
		return -1;
	remove_from_directory(self->name);
	if (fstatfs(fd, &statistics) || statistics.f_type == TMPFS_MAGIC ||
	    statistics.f_type == RAMFS_MAGIC)
		return -1;
	for (off_t at = 0; at < FILE_SIZE; at += PAGE)
		if (pwrite(fd, page, PAGE, at) != PAGE)
			return -1;
	return fsync(fd) ? -1 : fd;
}

static const char *wait_sync(struct waiting *self)
{
	int fd = new_file(self, 0);

	if (fd < 0)
		return "a disk";
	for (;;)
		if (pwrite(fd, page, PAGE, 0) != PAGE || fsync(fd))
			return "fsync()";
}

static const char *wait_direct(struct waiting *self)
{
	static char buffer[1 << 20] __attribute__((aligned(PAGE)));
	int fd = new_file(self, O_DIRECT);

	if (fd < 0)
		return "a disk with O_DIRECT";
	for (off_t at = 0;; at = (at + sizeof buffer) % FILE_SIZE)
		if (pread(fd, buffer, sizeof buffer, at) != sizeof buffer)
			return "pread()";
}

static const char *wait_cache(struct waiting *self)
{
	int fd = new_file(self, 0);
	char buffer[PAGE];

	if (fd < 0)
		return "a disk";
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (off_t at = 0;; at = (at + PAGE) % FILE_SIZE) {
		posix_fadvise(fd, at, PAGE, POSIX_FADV_DONTNEED);
		if (pread(fd, buffer, PAGE, at) != PAGE)
			return "pread()";
	}
}

/* --- page faults and the kernel's locks */

static const char *wait_mapped_file(struct waiting *self)
{
	int fd = new_file(self, 0);
	volatile char *memory;

	if (fd < 0)
		return "a disk";
	memory = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return "mmap()";
	madvise((void *)memory, FILE_SIZE, MADV_RANDOM);
	for (off_t at = 0;; at = (at + PAGE) % FILE_SIZE) {
		madvise((void *)(memory + at), PAGE, MADV_DONTNEED);
		posix_fadvise(fd, at, PAGE, POSIX_FADV_DONTNEED);
		(void)memory[at];
	}
}

/* Pages that each arrive late: touching the first or the second waits for a while. */
static volatile char *late_pages;
static int late_fd = -1;

static const char *bring_pages(struct waiting *self)
{
	struct uffd_msg message;

	for (;;) {
		struct uffdio_zeropage zero = {.range.len = PAGE};

		if (read(late_fd, &message, sizeof message) != sizeof message)
			return "read()";
		sleep_ns(PERIOD / 2);
		zero.range.start = message.arg.pagefault.address & ~(PAGE - 1ULL);
		ioctl(late_fd, UFFDIO_ZEROPAGE, &zero);
	}
}

/* Runs before any thread starts. */
static void make_late_pages(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.range.len = 2 * PAGE,
					.mode = UFFDIO_REGISTER_MODE_MISSING};

	late_pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)late_pages;
	late_fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (late_fd >= 0 &&
	    (ioctl(late_fd, UFFDIO_API, &api) || ioctl(late_fd, UFFDIO_REGISTER, &range))) {
		close(late_fd);
		late_fd = -1;
	}
}

static const char *wait_late_page(struct waiting *self)
{
	while (late_fd >= 0) {
		(void)late_pages[0];
		madvise((void *)late_pages, PAGE, MADV_DONTNEED);
	}
	return "userfaultfd()";
}

static int locked_file = -1;

/*
 * A file in memory, because on a disk the thread would also wait for that. It is opened by path,
 * because only then does its position have a lock.
 */
static void open_locked_file(void)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", memfd_create("causes", MFD_CLOEXEC));
	locked_file = open(path, O_RDWR | O_CLOEXEC);
}

/* Holds the locks of the file and its position while it writes from a page that is late. */
static const char *hold_locks(struct waiting *self)
{
	while (late_fd >= 0) {
		lseek(locked_file, 0, SEEK_SET);
		ignore(write(locked_file, (void *)(late_pages + PAGE), 1));
		madvise((void *)(late_pages + PAGE), PAGE, MADV_DONTNEED);
	}
	return "userfaultfd()";
}

static const char *wait_semaphore_of_file(struct waiting *self)
{
	while (late_fd >= 0)
		ignore(pwrite(locked_file, page, 1, 0));
	return "userfaultfd()";
}

static const char *wait_mutex_of_file(struct waiting *self)
{
	while (late_fd >= 0)
		lseek(locked_file, 0, SEEK_CUR);
	return "userfaultfd()";
}

static const char *wait_file_lock(struct waiting *self)
{
	for (int i = 0; i < 2; i++) {
		self->fds[i] = open_in_directory(self->name, 0);
		if (self->fds[i] < 0)
			return "a file";
	}
	remove_from_directory(self->name);
	flock(self->fds[0], LOCK_EX);
	for (;;)
		flock(self->fds[1], LOCK_EX);
}

#endif
