/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hung FOLDER PROGRAM [USER]: mounts a filesystem (FUSE) at FOLDER that holds a copy of PROGRAM,
 * under its name, and prints "ready". It is for everybody, or for this user alone. From SIGUSR1 on it answers no request, like a network filesystem whose
 * server is gone. SIGTERM ends it and releases whoever waits.
 */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define BUFFER_SIZE (1 << 18)
#define PROGRAM_ID  2

static volatile sig_atomic_t is_hung, is_over;
static const char *program_name;
static char *program;
static size_t program_size;

static void on_hang(int number)
{
	(void)number;
	is_hung = 1;
}

static void on_end(int number)
{
	(void)number;
	is_over = 1;
}

static void *read_program(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return NULL;
	program_size = stat.st_size;
	program = malloc(program_size);
	if (!program || read(fd, program, program_size) != (ssize_t)program_size)
		return NULL;
	close(fd);
	return program;
}

static struct fuse_attr attributes_of(uint64_t id)
{
	bool is_program = id == PROGRAM_ID;

	return (struct fuse_attr){
		.ino = id,
		.size = is_program ? program_size : 0,
		.blocks = is_program ? program_size / 512 + 1 : 0,
		.mode = is_program ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void answer(int fuse, const struct fuse_in_header *in, int error, const void *bytes,
		   size_t n)
{
	struct fuse_out_header out = {sizeof out + n, error, in->unique};
	struct iovec pieces[] = {{&out, sizeof out}, {(void *)bytes, n}};

	if (writev(fuse, pieces, 2) < 0 && errno != ENOENT)
		perror("writev");
}

static void answer_lookup(int fuse, const struct fuse_in_header *in, const char *name)
{
	const struct fuse_entry_out entry = {.nodeid = PROGRAM_ID, .attr = attributes_of(PROGRAM_ID)};

	if (strcmp(name, program_name) == 0)
		answer(fuse, in, 0, &entry, sizeof entry);
	else
		answer(fuse, in, -ENOENT, NULL, 0);
}

static void answer_read(int fuse, const struct fuse_in_header *in, const struct fuse_read_in *wanted)
{
	size_t at = wanted->offset < program_size ? wanted->offset : program_size;
	size_t left = program_size - at;

	answer(fuse, in, 0, program + at, wanted->size < left ? wanted->size : left);
}

static void serve(int fuse, const struct fuse_in_header *in)
{
	const void *argument = in + 1;
	const struct fuse_init_in *asked = argument;
	const struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
					   .minor = asked->minor < FUSE_KERNEL_MINOR_VERSION
							    ? asked->minor
							    : FUSE_KERNEL_MINOR_VERSION,
					   .max_readahead = 65536,
					   .max_write = 65536};
	const struct fuse_attr_out attributes = {.attr = attributes_of(in->nodeid)};
	const struct fuse_open_out opened = {.fh = in->nodeid};
	const struct fuse_statfs_out statistics = {.st = {.bsize = 4096, .namelen = 255}};

	switch (in->opcode) {
	case FUSE_INIT:
		return answer(fuse, in, 0, &init, sizeof init);
	case FUSE_LOOKUP:
		return answer_lookup(fuse, in, argument);
	case FUSE_GETATTR:
		return answer(fuse, in, 0, &attributes, sizeof attributes);
	case FUSE_OPEN:
		return answer(fuse, in, 0, &opened, sizeof opened);
	case FUSE_READ:
		return answer_read(fuse, in, argument);
	case FUSE_STATFS:
		return answer(fuse, in, 0, &statistics, sizeof statistics);
	case FUSE_RELEASE:
	case FUSE_FLUSH:
		return answer(fuse, in, 0, NULL, 0);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return; /* need no answer */
	default:
		return answer(fuse, in, -ENOSYS, NULL, 0);
	}
}

static int mount_at(const char *folder, const char *user)
{
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];

	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%s,group_id=%s%s", fuse,
		 user ? user : "0", user ? user : "0", user ? "" : ",allow_other");
	if (fuse < 0 || mount("hung", folder, "fuse.hung", MS_NOSUID | MS_NODEV, options) < 0)
		return -1;
	return fuse;
}

int main(int argc, char **argv)
{
	const struct sigaction hang = {.sa_handler = on_hang}, end = {.sa_handler = on_end};
	static char buffer[BUFFER_SIZE] __attribute__((aligned(8)));
	int fuse;

	if (argc < 3 || argc > 4 || !read_program(argv[2])) {
		fputs("usage: hung FOLDER PROGRAM [USER]\n", stderr);
		return 2;
	}
	program_name = strrchr(argv[2], '/') ? strrchr(argv[2], '/') + 1 : argv[2];
	sigaction(SIGUSR1, &hang, NULL);
	sigaction(SIGTERM, &end, NULL);
	fuse = mount_at(argv[1], argv[3]);
	if (fuse < 0) {
		perror("hung");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (!is_hung && !is_over)
		if (read(fuse, buffer, sizeof buffer) > 0)
			serve(fuse, (const struct fuse_in_header *)buffer);
	while (!is_over)
		pause();
	umount2(argv[1], MNT_DETACH);
	close(fuse);
	return 0;
}
