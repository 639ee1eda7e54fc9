/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/system.h"

#define ONE_LIMIT_NS (30 * NSEC_PER_SEC)
#define ALL_LIMIT_NS (60 * NSEC_PER_SEC)
/* How often to check whether anybody still wants it. */
#define LOOK_NS (50 * 1000000ULL)

/* The client's cache: debuginfod-find(1). */
static int open_cached(const char *build_id)
{
	const struct {
		const char *variable, *folder;
	} places[] = {
		{"DEBUGINFOD_CACHE_PATH", ""},
		{"XDG_CACHE_HOME", "/debuginfod_client"},
		{"HOME", "/.cache/debuginfod_client"},
		{"HOME", "/.debuginfod_client_cache"},
	};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const char *base = getenv(places[i].variable);
		struct stat stat;
		int fd, n;

		if (!base || *base != '/')
			continue;
		n = snprintf(path, sizeof path, "%s%s/%s/debuginfo", base, places[i].folder,
			     build_id);
		fd = (size_t)n < sizeof path ? foreign_open_as_caller(FOREIGN_OUR_ROOT, path)
					     : -ENAMETOOLONG;
		/* An empty file means that no server has it. */
		if (fd >= 0 && foreign_status(fd, &stat) == 0 && stat.st_size > 0)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -ENOENT;
}

/* Starts the client, whose output goes to @output. */
static int start(const char *build_id, int output, pid_t *ret_pid)
{
	char *arguments[] = {"debuginfod-find", "debuginfo", (char *)build_id, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	int r;

	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return -ENOMEM;
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	r = posix_spawnp(ret_pid, arguments[0], &actions, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static bool is_ended(const struct debuginfod *debuginfod)
{
	return debuginfod->is_ended && *debuginfod->is_ended;
}

/* Waits until @fd is readable. Errors: -ETIMEDOUT; -EINTR: nobody wants it any more. */
static int wait_for(const struct debuginfod *debuginfod, int fd, uint64_t deadline_ns)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	while (!is_ended(debuginfod)) {
		uint64_t now = monotonic_ns(), left = deadline_ns - now;

		if (now >= deadline_ns)
			return -ETIMEDOUT;
		if (poll(&poll_fd, 1, (left < LOOK_NS ? left : LOOK_NS) / 1000000 + 1) > 0)
			return 0;
	}
	return -EINTR;
}

/* Reads until the writer ends. Errors: those of wait_for(). */
static int read_output(const struct debuginfod *debuginfod, int fd, uint64_t deadline_ns,
		       char *text, size_t size)
{
	size_t n = 0;

	for (;;) {
		int r = wait_for(debuginfod, fd, deadline_ns);
		ssize_t got;

		if (r < 0)
			return r;
		got = read(fd, text + n, size - 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += got;
	}
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

/* Waits for the client to end, and kills it at the deadline. */
static int finish(const struct debuginfod *debuginfod, pid_t pid, uint64_t deadline_ns)
{
	int fd = syscall(SYS_pidfd_open, pid, 0), status;
	int r = fd < 0 ? -ETIMEDOUT : wait_for(debuginfod, fd, deadline_ns);

	if (r < 0)
		kill(pid, SIGKILL);
	closep(&fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return r < 0 ? r : WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Asks the client for the file's path. Errors: -ESRCH it has none; those of starting it. */
static int ask(const struct debuginfod *debuginfod, const char *build_id, uint64_t deadline_ns,
	       char *path, size_t size)
{
	int ends[2], r, status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r = start(build_id, ends[1], &pid);
	close(ends[1]);
	if (r < 0) {
		close(ends[0]);
		return r;
	}
	r = read_output(debuginfod, ends[0], deadline_ns, path, size);
	/* A client that writes more than a path must not wait for us to read it. */
	close(ends[0]);
	status = finish(debuginfod, pid, r < 0 ? 0 : deadline_ns);
	return r < 0 ? r : status > 0 ? -ESRCH : status;
}

static bool is_wanted(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && urls[strspn(urls, " ")];
}

int debuginfod_open(struct debuginfod *debuginfod, const char *build_id)
{
	uint64_t start_ns = monotonic_ns(), left = ALL_LIMIT_NS - debuginfod->spent_ns;
	uint64_t limit = debuginfod->limit_ns ? debuginfod->limit_ns : ONE_LIMIT_NS;
	char path[PATH_MAX];
	int fd, r;

	if (!is_wanted())
		return -ENOENT;
	fd = open_cached(build_id);
	if (fd >= 0 || debuginfod->is_off || is_ended(debuginfod))
		return fd;
	r = ask(debuginfod, build_id, start_ns + (left < limit ? left : limit), path, sizeof path);
	debuginfod->spent_ns += monotonic_ns() - start_ns;
	/* It is not installed, it hangs, or there is no time left. */
	if ((r < 0 && r != -ESRCH) || debuginfod->spent_ns >= ALL_LIMIT_NS)
		debuginfod->is_off = true;
	if (r == 0 && *path == '/')
		fd = foreign_open_as_caller(FOREIGN_OUR_ROOT, path);
	return fd < 0 ? -ENOENT : fd;
}
