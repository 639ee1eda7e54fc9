/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

#define LIST_NS	 20000000 /* how long a list of threads is valid */
#define PAGE	 4096ull
#define WAITING	 8	    /* takes one in this many waiting threads */
#define SYSCALL	 0x050f	    /* the instruction */
#define MAX_MAPS (4u << 20) /* bytes of /proc/PID/maps */

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void become(char **argv)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	execvp(argv[0], argv);
	_exit(127);
}

int target_start(struct target *target, char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0)
		become(argv);
	*target = (struct target){.session = pid, .pid = pid};
	/* Until the exec, it is not the command. */
	while (getsid(pid) != pid && waitpid(pid, NULL, WNOHANG) == 0)
		usleep(100);
	usleep(1000);
	return 0;
}

void target_attach(struct target *target, pid_t pid)
{
	*target = (struct target){.pid = pid};
}

static int add_threads(struct target *target, pid_t pid)
{
	char path[64];
	struct dirent *entry;
	DIR *folder;
	int r = 0;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	folder = opendir(path);
	while (folder && r == 0 && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		r = array_reserve(target->threads, target->threads_capacity, target->n_threads, 1);
		if (r == 0)
			target->threads[target->n_threads++] =
				(struct target_thread){pid, atoi(entry->d_name)};
	}
	if (folder)
		closedir(folder);
	return r;
}

static int list_threads(struct target *target)
{
	struct dirent *entry;
	DIR *folder;
	int r = 0;

	target->n_threads = 0;
	target->listed_at = now_ns();
	if (!target->session)
		return add_threads(target, target->pid);
	folder = opendir("/proc");
	while (folder && r == 0 && (entry = readdir(folder))) {
		pid_t pid = atoi(entry->d_name);

		if (pid > 0 && getsid(pid) == target->session)
			r = add_threads(target, pid);
	}
	if (folder)
		closedir(folder);
	return r;
}

/* The letter of a thread's state, or 0 if there is no such thread. */
static char state_of(const struct target_thread *thread)
{
	char path[64], text[512];
	const char *at;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", thread->pid, thread->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof text - 1);
		close(fd);
	}
	if (n <= 0)
		return 0;
	text[n] = 0;
	at = strrchr(text, ')');
	return at && at[1] ? at[2] : 0;
}

bool target_lives(struct target *target)
{
	/* Its first process is our child: a zombie of it does not count as alive. */
	if (target->session)
		waitpid(-1, NULL, __WALL | WNOHANG);
	list_threads(target);
	for (size_t i = 0; i < target->n_threads; i++) {
		char state = state_of(&target->threads[i]);

		if (state && state != 'Z' && state != 'X')
			return true;
	}
	return false;
}

void target_end(struct target *target)
{
	if (target->session) {
		list_threads(target);
		for (size_t i = 0; i < target->n_threads; i++)
			kill(target->threads[i].pid, SIGKILL);
		kill(-target->session, SIGKILL);
		/* We reap threads that end while they are traced. */
		while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
			;
	}
	free(target->threads);
	*target = (struct target){};
}

static const struct target_thread *choose(struct target *target)
{
	static unsigned int n_waiting;
	const struct target_thread *thread;
	char state;

	if (now_ns() - target->listed_at > LIST_NS && list_threads(target) < 0)
		return NULL;
	for (size_t i = 0; i < target->n_threads; i++) {
		thread = &target->threads[target->turn++ % target->n_threads];
		state = state_of(thread);
		if (state == 'R' || (state == 'S' && n_waiting++ % WAITING == 0))
			return thread;
	}
	return NULL;
}

static bool stop(struct capture *capture)
{
	int status;

	if (ptrace(PTRACE_SEIZE, capture->tid, 0, 0) < 0)
		return false;
	ptrace(PTRACE_INTERRUPT, capture->tid, 0, 0);
	if (waitpid(capture->tid, &status, __WALL) != capture->tid || !WIFSTOPPED(status))
		return false;
	/* A signal came first: delivers it when the thread continues. */
	capture->signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
	return true;
}

static int read_maps(struct capture *capture)
{
	char path[64];
	ssize_t n = 1;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/maps", capture->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -EAGAIN;
	capture->maps_n = 0;
	while (n > 0 && capture->maps_n < MAX_MAPS) {
		if (array_reserve(capture->maps, capture->maps_capacity, capture->maps_n, 65537) <
		    0) {
			close(fd);
			return -ENOMEM;
		}
		n = read(fd, capture->maps + capture->maps_n, 65536);
		capture->maps_n += n > 0 ? n : 0;
	}
	close(fd);
	capture->maps[capture->maps_n] = 0;
	return capture->maps_n ? 0 : -EAGAIN;
}

int capture_next(struct capture *capture, struct target *target)
{
	const struct target_thread *thread = choose(target);
	int r;

	if (!thread) {
		target->listed_at = 0;
		return -EAGAIN;
	}
	capture->pid = thread->pid;
	capture->tid = thread->tid;
	capture->n_ranges = 0;
	if (!stop(capture))
		return -EAGAIN;
	r = ptrace(PTRACE_GETREGS, capture->tid, 0, &capture->registers) < 0 ? -EAGAIN
									     : read_maps(capture);
	/* A thread without memory is exiting; 32-bit code counts as another machine. */
	if (r == 0 && capture->registers.cs != 0x33)
		r = -EAGAIN;
	if (r < 0)
		capture_release(capture);
	return r;
}

bool capture_read(const struct capture *capture, uint64_t address, void *to, size_t n)
{
	struct iovec local = {to, n}, remote = {(void *)address, n};

	return process_vm_readv(capture->pid, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

/* Copies up to @end, or to the first unmapped address. */
static void copy_range(const struct capture *capture, struct capture_range *range, uint64_t end)
{
	ssize_t got = 1;

	while (got > 0 && range->start + range->n < end) {
		uint64_t at = range->start + range->n;
		struct iovec local = {range->bytes + range->n, end - at};
		struct iovec remote = {(void *)at, end - at};

		got = process_vm_readv(capture->pid, &local, 1, &remote, 1, 0);
		range->n += got > 0 ? got : 0;
	}
}

static struct capture_range *add_range(struct capture *capture, uint64_t address)
{
	struct capture_range *range = &capture->ranges[capture->n_ranges];
	uint64_t page = address & ~(PAGE - 1);

	if (capture->n_ranges == CAPTURE_RANGES)
		return NULL;
	if (!range->bytes)
		range->bytes = malloc(CAPTURE_BYTES + CAPTURE_BELOW);
	if (!range->bytes)
		return NULL;
	range->n = 0;
	range->start = address - CAPTURE_BELOW;
	if (range->start < page) {
		uint8_t byte;

		if (!capture_read(capture, range->start, &byte, 1))
			range->start = page;
	}
	copy_range(capture, range, address + CAPTURE_BYTES);
	if (range->start + range->n <= address)
		return NULL;
	capture->n_ranges++;
	return range;
}

const struct capture_range *capture_range(struct capture *capture, uint64_t address)
{
	for (size_t i = 0; i < capture->n_ranges; i++)
		if (address - capture->ranges[i].start < capture->ranges[i].n)
			return &capture->ranges[i];
	return add_range(capture, address);
}

const uint8_t *capture_memory(struct capture *capture, uint64_t address, size_t n)
{
	const struct capture_range *range = capture_range(capture, address);

	if (!range || n > range->n - (address - range->start))
		return NULL;
	return range->bytes + (address - range->start);
}

bool capture_step(struct capture *capture)
{
	uint16_t code;
	int status;

	/* Continues an interrupted thread, too. */
	if (capture->signal || (long long)capture->registers.orig_rax >= 0 ||
	    !capture_read(capture, capture->registers.rip, &code, sizeof code) || code == SYSCALL ||
	    ptrace(PTRACE_SINGLESTEP, capture->tid, 0, 0) < 0)
		return false;
	if (waitpid(capture->tid, &status, __WALL) != capture->tid || !WIFSTOPPED(status))
		return false;
	if (WSTOPSIG(status) != SIGTRAP) {
		capture->signal = WSTOPSIG(status);
		return false;
	}
	capture->n_ranges = 0;
	return ptrace(PTRACE_GETREGS, capture->tid, 0, &capture->registers) == 0;
}

void capture_release(struct capture *capture)
{
	ptrace(PTRACE_DETACH, capture->tid, 0, (void *)(long)capture->signal);
}

void capture_done(struct capture *capture)
{
	for (size_t i = 0; i < CAPTURE_RANGES; i++)
		free(capture->ranges[i].bytes);
	free(capture->maps);
	*capture = (struct capture){};
}
