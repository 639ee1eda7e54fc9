/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/confined.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/sandbox.h"
#include "base/system.h"

#define EXIT_UNCONFINED 255 /* the child could not give up its rights */

enum confined_kind { REQUEST_SERVE, REQUEST_INPUT, REQUEST_LISTED };

struct confined_request {
	uint32_t kind; /* enum confined_kind */
	uint32_t list; /* of inputs or, of REQUEST_LISTED, the folder */
	uint64_t number;
};

/* Set in the child. */
static const struct confined *here;
static int parent = -1;

/* --- the parent --- */

static int open_input(const struct confined *confined, const struct confined_request *request)
{
	int fd;

	if (request->list >= CONFINED_LISTS || request->number >= confined->inputs[request->list].n)
		return -EPERM;
	fd = open(confined->inputs[request->list].paths[request->number],
		  O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd_or_errno(fd);
}

static int open_listed(const struct confined *confined, const struct confined_request *request)
{
	if (request->list >= confined->n_folders ||
	    request->number >= confined->folders[request->list].files.n)
		return -EPERM;
	return listing_open(&confined->folders[request->list].files, request->number);
}

static int serve_one(const struct confined *confined, const struct confined_request *request,
		     int *ret_fd)
{
	*ret_fd = -1;
	switch (request->kind) {
	case REQUEST_SERVE:
		return confined->serve ? confined->serve(confined->context, request->number, ret_fd)
				       : -EPERM;
	case REQUEST_INPUT: *ret_fd = open_input(confined, request); break;
	case REQUEST_LISTED: *ret_fd = open_listed(confined, request); break;
	default: return -EPERM;
	}
	return *ret_fd < 0 ? *ret_fd : 0;
}

/* Waits for a request, or for the child's end. False: nobody waits for its work any more. */
static bool await_request(const struct confined *confined, int socket)
{
	struct pollfd polled[] = {{socket, POLLIN}, {confined->lifeline, 0}};

	while (poll(polled, confined->lifeline ? 2 : 1, -1) < 0)
		if (errno != EINTR)
			return true; /* and find out by reading */
	return polled[0].revents || !(polled[1].revents & POLLHUP);
}

/* Until the child has ended, says what makes no sense, or is not wanted. */
static void serve(const struct confined *confined, int socket, pid_t pid)
{
	struct confined_request request;
	int fds[CHILD_MAX_FDS], fd, r;
	size_t n_fds;

	do {
		if (!await_request(confined, socket)) {
			kill(pid, SIGKILL);
			return;
		}
		r = child_receive(socket, &request, sizeof request, 0, fds, &n_fds);
		for (size_t i = 0; i < n_fds; i++)
			close(fds[i]);
		if (r == 0) {
			int32_t result = serve_one(confined, &request, &fd);

			r = child_send(socket, &result, sizeof result, &fd, fd >= 0);
			if (fd >= 0)
				close(fd);
		}
	} while (r == 0);
}

static int wait_for(pid_t pid, struct rusage *ret_usage, int *ret_signal)
{
	int status;

	while (wait4(pid, &status, 0, ret_usage) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFSIGNALED(status)) {
		*ret_signal = WTERMSIG(status);
		return -ECHILD;
	}
	return WEXITSTATUS(status) == EXIT_UNCONFINED ? -EPERM : WEXITSTATUS(status);
}

/* Closes what exec would close, but for the connection. */
static int close_ours(int socket)
{
	DIR *open = opendir("/proc/self/fd");
	const struct dirent *entry;

	if (!open)
		return -errno;
	while ((entry = readdir(open))) {
		int fd = atoi(entry->d_name);

		if (fd > STDERR_FILENO && fd != socket && fd != dirfd(open) &&
		    (fcntl(fd, F_GETFD) & FD_CLOEXEC))
			close(fd);
	}
	closedir(open);
	return 0;
}

static int enter(const struct confined *confined, int socket)
{
	int r = confined->closes ? close_ours(socket) : 0;

	here = confined;
	parent = socket;
	if (r < 0)
		return r;
	return confined->is_server ? sandbox_enter_server() : sandbox_enter_confined();
}

int confined_run(const struct confined *confined, int (*work)(void *data), void *data,
		 int *ret_signal)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	tzset(); /* reads a file */
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		_exit(enter(confined, ends[1]) < 0 ? EXIT_UNCONFINED : work(data));
	}
	close(ends[1]);
	if (confined->pid)
		*confined->pid = pid;
	if (pid > 0)
		serve(confined, ends[0], pid);
	close(ends[0]);
	if (pid < 0)
		return -EAGAIN;
	return wait_for(pid, confined->usage, ret_signal);
}

/* --- the child --- */

bool confined_is_here(void)
{
	return here != NULL;
}

static int ask(const struct confined_request *request, int *ret_fd)
{
	int fds[CHILD_MAX_FDS], r;
	int32_t result = -EPIPE;
	size_t n_fds = 0;

	*ret_fd = -1;
	r = child_send(parent, request, sizeof *request, NULL, 0);
	if (r < 0)
		return r;
	r = child_receive(parent, &result, sizeof result, 0, fds, &n_fds);
	if (n_fds)
		*ret_fd = fds[0];
	return r < 0 ? r : result;
}

int confined_ask(uint32_t number, int *ret_fd)
{
	return ask(&(struct confined_request){.number = number}, ret_fd);
}

static bool find_input(const char *path, struct confined_request *ret)
{
	for (uint32_t list = 0; list < CONFINED_LISTS; list++)
		for (size_t i = 0; i < here->inputs[list].n; i++)
			if (strcmp(here->inputs[list].paths[i], path) == 0) {
				*ret = (struct confined_request){REQUEST_INPUT, list, i};
				return true;
			}
	return false;
}

int confined_open(const char *path)
{
	struct confined_request request;
	int fd, r;

	if (!here) {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		return fd_or_errno(fd);
	}
	if (!find_input(path, &request))
		return -EPERM;
	r = ask(&request, &fd);
	return r < 0 ? r : fd < 0 ? -EPROTO : fd;
}

static const struct confined_folder *find_folder(const char *path)
{
	for (size_t i = 0; here && i < here->n_folders; i++)
		if (strcmp(here->folders[i].path, path) == 0)
			return &here->folders[i];
	return NULL;
}

bool confined_has_folder(const char *path)
{
	return find_folder(path) != NULL;
}

int confined_list(const char *path, bool (*wanted)(const char *name), struct listing *ret)
{
	const struct confined_folder *folder = find_folder(path);

	return !here	? listing_read(path, wanted, ret)
	       : folder ? listing_copy(&folder->files, ret)
			: -EPERM;
}

int confined_open_listed(const char *path, const struct listing *listing, size_t number)
{
	const struct confined_folder *folder = find_folder(path);
	int fd, r;

	if (!here)
		return listing_open(listing, number);
	if (!folder)
		return -EPERM;
	r = ask(&(struct confined_request){REQUEST_LISTED, folder - here->folders, number}, &fd);
	return r < 0 ? r : fd < 0 ? -EPROTO : fd;
}
