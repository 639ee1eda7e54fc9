/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/foreign.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/array.h"
#include "base/broker.h"
#include "base/elf_file.h"
#include "base/foreign_path.h"
#include "base/process_stat.h"
#include "base/sandbox.h"
#include "base/system.h"

/* --- Through the broker, if there is one --- */

enum op {
	OP_FIND,
	OP_FIND_MAPPED,
	OP_FIND_IN,
	OP_FIND_ROOT,
	OP_OPEN_FOUND,
	OP_OPEN,
	OP_OPEN_MAPPED,
	OP_FILESYSTEM,
	OP_ELF_KIND,
	OP_READ_MEMORY,
	OP_READ_PROCESS, /* from the beginning; the next bytes of the descriptor that this gave */
	OP_READ_STATS,
	OP_FIND_MAPPING,
	OP_OPEN_EVENT,
};

struct request {
	enum op op;
	uint32_t tid;
	uint64_t start, end;
	/* The last member: only what is used of it is sent. */
	union {
		char path[PATH_MAX];
		struct foreign_piece pieces[FOREIGN_MAX_PIECES]; /* @start of them */
		struct perf_event_attr event;			 /* on CPU @start */
		uint32_t pids[FOREIGN_MAX_STATS];		 /* @start of them */
	};
};

#define MAX_PIECE 16384 /* of a file in /proc, in an answer */
#define STAT_SIZE 512
static_assert(FOREIGN_MAX_STATS * STAT_SIZE <= BROKER_MAX_BYTES, "answers fit");
static_assert(sizeof(struct request) <= BROKER_MAX_REQUEST, "requests fit");

static int open_path(int root, const char *path)
{
	_cleanup_close_ int place = foreign_path_find(root, path);

	if (place < 0)
		return place;
	return foreign_path_open(place);
}

/* Of a whole CPU, never of another process. */
static int open_event(const struct perf_event_attr *attr, unsigned int cpu)
{
	return fd_or_errno(syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

/* Sets *@ret_fd and returns its filesystem, or -errno. */
static int64_t open_mapped(const struct request *request, int *ret_fd)
{
	_cleanup_close_ int place =
		foreign_path_find_mapped(request->tid, request->start, request->end);
	int64_t kind;
	int fd;

	if (place < 0)
		return place;
	kind = foreign_path_filesystem(place);
	if (kind < 0)
		return kind;
	fd = foreign_path_open(place);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return kind;
}

/* Returns a descriptor for the ops that open or find, the result of the others, or -errno. */
static int64_t do_op(const struct request *request, int fd)
{
	switch (request->op) {
	case OP_FIND: return foreign_path_find(fd, request->path);
	case OP_FIND_MAPPED:
		return foreign_path_find_mapped(request->tid, request->start, request->end);
	case OP_FIND_IN: return foreign_path_find_in(fd, request->path);
	case OP_FIND_ROOT: return foreign_path_find_root(request->tid);
	case OP_OPEN_FOUND: return foreign_path_open(fd);
	case OP_OPEN: return open_path(fd, request->path);
	case OP_FILESYSTEM: return foreign_path_filesystem(fd);
	case OP_ELF_KIND: return elf_file_kind(fd);
	case OP_OPEN_EVENT: return open_event(&request->event, request->start);
	case OP_OPEN_MAPPED: /* it has two results */
	case OP_READ_MEMORY: /* these have bytes to give */
	case OP_READ_PROCESS:
	case OP_READ_STATS:
	case OP_FIND_MAPPING: break;
	}
	return -EINVAL;
}

/* Returns how many bytes; all or none. */
static int64_t read_memory(uint32_t pid, const struct foreign_piece *pieces, size_t n, void *to)
{
	struct iovec theirs[FOREIGN_MAX_PIECES], ours = {.iov_base = to};
	ssize_t got;

	if (n > FOREIGN_MAX_PIECES)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (pieces[i].n > FOREIGN_MAX_MEMORY - ours.iov_len)
			return -EINVAL;
		theirs[i] = (struct iovec){(void *)(uintptr_t)pieces[i].address, pieces[i].n};
		ours.iov_len += pieces[i].n;
	}
	got = process_vm_readv(pid, &ours, 1, theirs, n, 0);
	if (got < 0)
		return -errno;
	return (size_t)got == ours.iov_len ? got : -EFAULT;
}

static int open_of_process(uint32_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/%.16s", tid, name);
	return fd_or_errno(open(path, O_RDONLY | O_CLOEXEC));
}

/* The kernel's struct procmap_query (linux/fs.h of 6.11). */
struct procmap_query {
	uint64_t size;
	uint64_t query_flags, query_addr; /* in */
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint32_t vma_name_size, build_id_size; /* in and out */
	uint64_t vma_name_addr, build_id_addr; /* in */
};
#define PROCMAP_QUERY	 _IOWR('f', 17, struct procmap_query)
#define QUERY_EXECUTABLE 4

static_assert(PROCMAP_QUERY == SANDBOX_PROCMAP_QUERY, "the broker may ask");

static int find_mapping(uint32_t tid, uint64_t address, struct foreign_mapping *ret)
{
	_cleanup_close_ int fd = open_of_process(tid, "maps");
	struct procmap_query query = {
		.size = sizeof query,
		.query_addr = address,
		.vma_name_size = sizeof ret->path,
		.vma_name_addr = (uintptr_t)ret->path,
	};

	if (fd < 0)
		return fd;
	ret->path[0] = '\0';
	if (ioctl(fd, PROCMAP_QUERY, &query) < 0)
		return errno == ENOENT ? 0 : -errno;
	ret->start = query.vma_start;
	ret->end = query.vma_end;
	ret->offset = query.vma_offset;
	ret->inode = query.inode;
	ret->device_major = query.dev_major;
	ret->device_minor = query.dev_minor;
	ret->is_executable = query.vma_flags & QUERY_EXECUTABLE;
	return 1;
}

static bool gives_descriptor(enum op op)
{
	return op != OP_FILESYSTEM && op != OP_ELF_KIND;
}

static int64_t serve_memory(const struct request *request, struct broker_gift *ret)
{
	static uint8_t memory[FOREIGN_MAX_MEMORY];
	int64_t r = read_memory(request->tid, request->pieces, request->start, memory);

	if (r > 0) {
		ret->bytes = memory;
		ret->n_bytes = r;
	}
	return r;
}

/* Gives the next bytes of @file, which is open, and a descriptor for those after them. */
static int64_t serve_process(const struct request *request, int file, struct broker_gift *ret)
{
	static char text[MAX_PIECE];
	int fd = file < 0 ? open_of_process(request->tid, request->path)
			  : fd_or_errno(fcntl(file, F_DUPFD_CLOEXEC, 0));
	ssize_t n = 1;

	if (fd < 0)
		return fd;
	ret->bytes = text;
	for (ret->n_bytes = 0; n > 0 && ret->n_bytes < sizeof text; ret->n_bytes += n) {
		n = read(fd, text + ret->n_bytes, sizeof text - ret->n_bytes);
		if (n < 0) {
			n = -errno;
			ret->n_bytes = 0;
			break;
		}
	}
	if (n > 0)
		ret->fd = fd;
	else
		close(fd);
	return n < 0 ? n : (int64_t)ret->n_bytes;
}

/* Gives the files' beginnings, each with null bytes up to STAT_SIZE. */
static int64_t serve_stats(const struct request *request, struct broker_gift *ret)
{
	static char texts[FOREIGN_MAX_STATS][STAT_SIZE];

	if (request->start > FOREIGN_MAX_STATS)
		return -EINVAL;
	memset(texts, 0, request->start * sizeof *texts);
	for (uint64_t i = 0; i < request->start; i++) {
		_cleanup_close_ int fd = open_of_process(request->pids[i], "stat");

		if (fd >= 0 && read(fd, texts[i], STAT_SIZE - 1) < 0)
			texts[i][0] = '\0';
	}
	ret->bytes = texts;
	ret->n_bytes = request->start * sizeof *texts;
	return ret->n_bytes;
}

static int64_t serve_mapping(const struct request *request, struct broker_gift *ret)
{
	static struct foreign_mapping mapping;
	int r = find_mapping(request->tid, request->start, &mapping);

	if (r <= 0)
		return r;
	ret->bytes = &mapping;
	ret->n_bytes = sizeof mapping;
	return sizeof mapping;
}

int64_t foreign_serve(const void *bytes, size_t n, int fd, struct broker_gift *ret)
{
	struct request request = {};
	int64_t r;

	if (n <= offsetof(struct request, path) || n > sizeof request)
		return -EINVAL;
	memcpy(&request, bytes, n);
	if (request.op == OP_READ_MEMORY)
		return serve_memory(&request, ret);
	if (request.op == OP_READ_STATS)
		return serve_stats(&request, ret);
	if (request.op == OP_FIND_MAPPING)
		return serve_mapping(&request, ret);
	if (request.op == OP_OPEN_MAPPED)
		return open_mapped(&request, &ret->fd);
	if (request.op != OP_OPEN_EVENT)
		request.path[sizeof request.path - 1] = '\0';
	if (request.op == OP_READ_PROCESS)
		return serve_process(&request, fd, ret);
	r = do_op(&request, fd);
	if (r < 0 || !gives_descriptor(request.op))
		return r;
	ret->fd = r;
	return 0;
}

/* Has the broker do it. @n: bytes after the fixed ones. */
static int64_t ask_broker(const struct request *request, size_t n, int fd)
{
	int given;
	int64_t r = broker_call(request, offsetof(struct request, path) + n, fd, &given);

	if (r < 0 || !gives_descriptor(request->op))
		closep(&given);
	else
		r = given < 0 ? -EPROTO : given;
	return r;
}

/* Does it here, or through the broker. */
static int64_t perform(struct request *request, const char *path, int fd)
{
	size_t n = strlen(path) + 1;

	if (n > sizeof request->path)
		return -ENAMETOOLONG;
	memcpy(request->path, path, n);
	return broker_is_there() ? ask_broker(request, n, fd) : do_op(request, fd);
}

int foreign_find(int root, const char *path)
{
	return perform(&(struct request){.op = OP_FIND}, path, root);
}

int foreign_find_mapped(uint32_t tid, uint64_t start, uint64_t end)
{
	return perform(&(struct request){OP_FIND_MAPPED, tid, start, end}, "", -1);
}

int foreign_open_mapped(uint32_t tid, uint64_t start, uint64_t end, uint32_t *ret_filesystem)
{
	struct request request = {OP_OPEN_MAPPED, tid, start, end};
	int fd = -1;
	int64_t r;

	if (!broker_is_there())
		r = open_mapped(&request, &fd);
	else
		r = broker_call(&request, offsetof(struct request, path) + 1, -1, &fd);
	if (r < 0 || fd < 0) {
		closep(&fd);
		return r < 0 ? r : -EPROTO;
	}
	*ret_filesystem = r;
	return fd;
}

int foreign_find_in(int folder, const char *name)
{
	return perform(&(struct request){.op = OP_FIND_IN}, name, folder);
}

int foreign_open_found(int place)
{
	return perform(&(struct request){.op = OP_OPEN_FOUND}, "", place);
}

int foreign_open(int root, const char *path)
{
	return perform(&(struct request){.op = OP_OPEN}, path, root);
}

uint32_t foreign_filesystem(int fd)
{
	int64_t r = perform(&(struct request){.op = OP_FILESYSTEM}, "", fd);

	return r < 0 ? 0 : r;
}

int foreign_elf_kind(int fd)
{
	return perform(&(struct request){.op = OP_ELF_KIND}, "", fd);
}

bool foreign_is_elf(int fd)
{
	return foreign_elf_kind(fd) >= 0;
}

int foreign_read_memory(uint32_t pid, const struct foreign_piece *pieces, size_t n, void *to)
{
	struct request request = {.op = OP_READ_MEMORY, .tid = pid, .start = n};
	uint64_t bytes = 0;
	int none = -1;
	int64_t r;

	if (n > FOREIGN_MAX_PIECES)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (pieces[i].n > FOREIGN_MAX_MEMORY - bytes)
			return -EINVAL;
		request.pieces[i] = pieces[i];
		bytes += pieces[i].n;
	}
	if (!bytes)
		return 0;
	r = broker_is_there()
		    ? broker_read(&request, offsetof(struct request, pieces) + n * sizeof *pieces,
				  -1, &none, to, bytes)
		    : read_memory(pid, pieces, n, to);
	closep(&none);
	return r < 0 ? r : (uint64_t)r == bytes ? 0 : -EPROTO;
}

int foreign_read_process(uint32_t tid, const char *name, size_t most, char **ret, size_t *ret_n)
{
	struct request request = {.op = OP_READ_PROCESS, .tid = tid};
	static char piece[MAX_PIECE];
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	size_t n = 0, capacity = 0;
	int next;

	snprintf(request.path, sizeof request.path, "/proc/%" PRIu32 "/%s", tid, name);
	if (!broker_is_there())
		return read_file_beginning(request.path, most, ret, ret_n);
	strcpy(request.path, name);
	do {
		int64_t r = broker_read(&request, offsetof(struct request, path) + strlen(name) + 1,
					fd, &next, piece, sizeof piece);

		closep(&fd);
		fd = next;
		if (r < 0)
			return r;
		if (array_reserve(text, capacity, n, r + 1) < 0)
			return -ENOMEM;
		memcpy(text + n, piece, r);
		n += r;
	} while (fd >= 0 && n < most);
	text[n] = '\0';
	*ret = text;
	*ret_n = n;
	text = NULL;
	return 0;
}

int foreign_read_stat(uint32_t pid, struct process_stat *ret)
{
	_cleanup_free_ char *text = NULL;
	size_t n;
	int r = foreign_read_process(pid, "stat", SIZE_MAX, &text, &n);

	if (r < 0)
		return r;
	return process_stat_parse(text, ret) ? 0 : -EBADMSG;
}

int foreign_read_stats(const uint32_t *pids, size_t n, struct process_stat *ret)
{
	struct request request = {.op = OP_READ_STATS, .start = n};
	static char texts[FOREIGN_MAX_STATS][STAT_SIZE];
	int none = -1;
	int64_t r;

	memset(ret, 0, n * sizeof *ret);
	if (!broker_is_there()) {
		for (size_t i = 0; i < n; i++)
			foreign_read_stat(pids[i], &ret[i]);
		return 0;
	}
	memcpy(request.pids, pids, n * sizeof *pids);
	r = broker_read(&request, offsetof(struct request, pids) + n * sizeof *pids, -1, &none,
			texts, sizeof texts);
	closep(&none);
	for (size_t i = 0; i < n && r == (int64_t)(n * sizeof *texts); i++) {
		texts[i][STAT_SIZE - 1] = '\0';
		process_stat_parse(texts[i], &ret[i]);
	}
	return r < 0 ? r : 0;
}

int foreign_find_mapping(uint32_t tid, uint64_t address, struct foreign_mapping *ret)
{
	const struct request request = {OP_FIND_MAPPING, tid, address};
	int none = -1;
	int64_t r;

	/* Ours keep nobody waiting. */
	if (!broker_is_there() || tid == (uint32_t)getpid())
		return find_mapping(tid, address, ret);
	r = broker_read(&request, offsetof(struct request, path) + 1, -1, &none, ret, sizeof *ret);
	closep(&none);
	if (r <= 0)
		return r;
	ret->path[sizeof ret->path - 1] = '\0';
	return r == sizeof *ret ? 1 : -EPROTO;
}

int foreign_open_event(const struct perf_event_attr *attr, unsigned int cpu)
{
	struct request request = {.op = OP_OPEN_EVENT, .start = cpu, .event = *attr};
	int r = open_event(attr, cpu);

	if (r != -EACCES || !broker_is_there())
		return r;
	return ask_broker(&request, sizeof *attr, -1);
}

/* --- Without waiting --- */

int foreign_find_typed(const char *path)
{
	return fd_or_errno(open(path, FOREIGN_PATH_FLAGS));
}

int foreign_find_as_caller(const char *path)
{
	uint64_t capabilities = sandbox_set_aside();
	int fd = foreign_find_typed(path);

	sandbox_take_up(capabilities);
	return fd;
}

int foreign_open_typed(const char *path)
{
	_cleanup_close_ int place = foreign_find_as_caller(path);
	uint64_t capabilities;
	int fd;

	if (place < 0)
		return place;
	if (getuid() == 0)
		return foreign_open_found(place);
	capabilities = sandbox_set_aside();
	fd = foreign_path_open(place);
	sandbox_take_up(capabilities);
	return fd;
}

/* Not by the broker, which has capabilities: who waits here is the user whose folder it is. */
int foreign_open_as_caller(int root, const char *path)
{
	uint64_t capabilities;
	int fd;

	if (getuid() == 0)
		return foreign_open(root, path);
	capabilities = sandbox_set_aside();
	fd = open_path(root, path);
	sandbox_take_up(capabilities);
	return fd;
}

int foreign_find_root(uint32_t tid)
{
	return perform(&(struct request){OP_FIND_ROOT, tid}, "", -1);
}

int foreign_status(int fd, struct stat *ret)
{
	struct statx stat;
	int r = foreign_path_status(fd, &stat);

	if (r < 0)
		return r;
	*ret = (struct stat){
		.st_dev = makedev(stat.stx_dev_major, stat.stx_dev_minor),
		.st_ino = stat.stx_ino,
		.st_mode = stat.stx_mode,
		.st_nlink = stat.stx_nlink,
		.st_uid = stat.stx_uid,
		.st_gid = stat.stx_gid,
		.st_size = stat.stx_size,
		.st_mtim = {stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec},
		.st_ctim = {stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec},
	};
	return 0;
}

bool foreign_is_our_root(int root)
{
	_cleanup_close_ int own = open("/", FOREIGN_PATH_FLAGS | O_DIRECTORY);
	struct statx theirs, ours;

	/*
	 * The same folder in another mount namespace, which may show other files, is another mount.
	 */
	return foreign_path_status(root, &theirs) == 0 && foreign_path_status(own, &ours) == 0 &&
	       foreign_path_is_same_mount(&theirs, &ours) && theirs.stx_ino == ours.stx_ino;
}
