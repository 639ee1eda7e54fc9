/* SPDX-License-Identifier: GPL-2.0-or-later */
/* causes_waits: shared by all kinds of waits in causes.c. */
#ifndef CAUSES_WAITS_H
#define CAUSES_WAITS_H

#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>

#define PERIOD	  (20 * MILLISECOND)
#define FILE_SIZE (8 << 20)
#define PAGE	  4096

/* Not every kind of wait uses its argument. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

struct waiting {
	const char *name, *reason;
	/* Returns only if it can't wait in its way: what is missing. */
	const char *(*body)(struct waiting *self);
	/* Ends the wait. */
	void (*kick)(struct waiting *self);
	int fds[2];
	pthread_t thread;
	pid_t pid, tid; /* pid: 0 for a thread of this process */
	bool ready;	/* kicks may begin */
	const char *missing;
};

static const char *directory;
static const struct timespec period = {0, PERIOD};
static char page[PAGE] __attribute__((aligned(PAGE)));

static void start_waiting(struct waiting *self)
{
	__atomic_store_n(&self->ready, true, __ATOMIC_RELEASE);
}

static struct timespec from_now(clockid_t clock)
{
	uint64_t then = clock_ns(clock) + PERIOD;

	return (struct timespec){then / SECOND, then % SECOND};
}

/* Calls that must not fail once they are set up; nobody uses their results. */
static void ignore(long result)
{
	(void)result;
}

static int open_in_directory(const char *name, int flags)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/causes-%s-%d", directory, name, getpid());
	return open(path, flags | O_CREAT | O_RDWR | O_CLOEXEC, 0600);
}

static void remove_from_directory(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/causes-%s-%d", directory, name, getpid());
	unlink(path);
}

static const char *read_for_ever(struct waiting *self)
{
	char buffer[PAGE];

	start_waiting(self);
	for (;;)
		if (read(self->fds[0], buffer, sizeof buffer) < 0 && errno != EINTR)
			return "read()";
}

static void write_some(struct waiting *self)
{
	static const uint64_t one = 1;

	ignore(write(self->fds[1], &one, sizeof one));
}

#endif
