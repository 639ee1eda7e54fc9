/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/broker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/process_stat.h"
#include "base/sandbox.h"
#include "base/system.h"

#define START_LIMIT_NS (2 * NSEC_PER_SEC) /* for a worker to start */
#define FIRST_LIMIT_NS (300 * 1000000ULL) /* for an answer … */
#define LAST_LIMIT_NS  (40 * 1000000ULL)  /* … after many timeouts */
#define END_STEPS      20		  /* of 1 ms, for workers to end */

/* An answer; a worker's first one gives its pid. */
struct broker_answer {
	int64_t result;
	int32_t worker;
	uint32_t pad;
};

/* --- The requesting side --- */

static struct broker {
	bool is_there;
	pid_t pid;   /* ours to wait for; 0: our parent's */
	int control; /* takes the sockets that workers will serve */
	int socket;  /* a worker's; -1: none */
	pid_t worker;
	uint64_t limit_ns;
} broker = {.socket = -1, .limit_ns = FIRST_LIMIT_NS};

int broker_start(void)
{
	int r = child_start(BROKER_NAME, SOCK_SEQPACKET, &broker.pid, &broker.control);

	broker.is_there = r == 0;
	return r;
}

bool broker_is_there(void)
{
	return broker.is_there;
}

/* Waits for an answer. Returns whether there is one. */
static bool wait_for_answer(uint64_t limit_ns)
{
	struct pollfd socket = {broker.socket, POLLIN, 0};
	uint64_t start = monotonic_ns(), spent = 0;

	while (spent < limit_ns || (spent < START_LIMIT_NS && process_is_runnable(broker.worker))) {
		uint64_t left = spent < limit_ns ? limit_ns - spent : LAST_LIMIT_NS;

		if (poll(&socket, 1, left / 1000000 + 1) > 0)
			return true;
		spent = monotonic_ns() - start;
	}
	return false;
}

/*
 * Receives an answer; if @capacity, with as many bytes to @bytes as its result says. Errors:
 * -ETIMEDOUT; those of child_receive().
 */
static int receive(uint64_t limit_ns, struct broker_answer *answer, int *ret_fd, void *bytes,
		   size_t capacity)
{
	static uint8_t message[sizeof *answer + BROKER_MAX_BYTES];
	int fds[CHILD_MAX_FDS];
	size_t n_fds = 0, n_bytes;
	ssize_t n;

	if (!wait_for_answer(limit_ns))
		return -ETIMEDOUT;
	n = child_receive_some(broker.socket, message, sizeof message, 0, fds, &n_fds);
	for (size_t i = n < 0 ? 0 : 1; i < n_fds; i++)
		close(fds[i]);
	*ret_fd = n >= 0 && n_fds ? fds[0] : -1;
	if (n < 0)
		return n;
	if ((size_t)n >= sizeof *answer)
		memcpy(answer, message, sizeof *answer);
	n_bytes = capacity && answer->result > 0 ? answer->result : 0;
	if (n_bytes > capacity || (size_t)n != sizeof *answer + n_bytes)
		return -EPROTO;
	if (n_bytes)
		memcpy(bytes, message + sizeof *answer, n_bytes);
	return 0;
}

static void disconnect(void)
{
	closep(&broker.socket);
	broker.socket = -1;
	broker.worker = 0;
}

/* Even SIGKILL reaches it only once the filesystem lets it: don't wait for it. */
static void give_up_worker(void)
{
	if (broker.worker)
		kill(broker.worker, SIGKILL);
	disconnect();
}

/* After an error, the caller gives it up. */
static int start_worker(void)
{
	struct broker_answer answer = {};
	int ends[2], none, r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	r = child_send(broker.control, "w", 1, &ends[1], 1);
	close(ends[1]);
	broker.socket = ends[0];
	if (r < 0)
		return r;
	r = receive(START_LIMIT_NS, &answer, &none, NULL, 0);
	if (r < 0)
		return r;
	broker.worker = answer.worker;
	return 0;
}

static int ask_worker(const void *request, size_t n, int fd, struct broker_answer *answer,
		      int *ret_fd, void *bytes, size_t capacity)
{
	int r = broker.socket < 0 ? start_worker() : 0;

	if (r < 0)
		return r;
	r = child_send(broker.socket, request, n, &fd, fd >= 0);
	if (r < 0)
		return r;
	return receive(broker.limit_ns, answer, ret_fd, bytes, capacity);
}

int64_t broker_read(const void *request, size_t n, int fd, int *ret_fd, void *bytes,
		    size_t capacity)
{
	struct broker_answer answer = {};
	int r;

	*ret_fd = -1;
	r = ask_worker(request, n, fd, &answer, ret_fd, bytes, capacity);
	if (r == 0)
		return answer.result;
	give_up_worker();
	if (r == -ETIMEDOUT && broker.limit_ns / 2 >= LAST_LIMIT_NS)
		broker.limit_ns /= 2;
	return r == -ENODATA ? -ECHILD : r;
}

int64_t broker_call(const void *request, size_t n, int fd, int *ret_fd)
{
	return broker_read(request, n, fd, ret_fd, NULL, 0);
}

void broker_detach(void)
{
	disconnect();
	broker.pid = 0;
}

double broker_stop(void)
{
	struct rusage usage = {};

	if (!broker.is_there)
		return 0;
	broker.is_there = false;
	disconnect();
	/* Processes forked from us may hold it, too. */
	shutdown(broker.control, SHUT_RDWR);
	closep(&broker.control);
	while (broker.pid && wait4(broker.pid, NULL, 0, &usage) < 0 && errno == EINTR)
		;
	broker.pid = 0;
	return rusage_seconds(&usage);
}

/* --- The broker itself --- */

static int send_answer(int socket, const struct broker_answer *answer,
		       const struct broker_gift *gift)
{
	static uint8_t message[sizeof *answer + BROKER_MAX_BYTES];

	memcpy(message, answer, sizeof *answer);
	if (gift->n_bytes)
		memcpy(message + sizeof *answer, gift->bytes, gift->n_bytes);
	return child_send(socket, message, sizeof *answer + gift->n_bytes, &gift->fd,
			  gift->fd >= 0);
}

/* Serves the requests from @socket. Returns the exit status. */
static int work(int socket, broker_job_fn job)
{
	struct broker_answer answer = {.worker = getpid()};
	static char request[BROKER_MAX_REQUEST];
	struct broker_gift gift = {.fd = -1};
	int fds[CHILD_MAX_FDS], r;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;) {
		size_t n_fds = 0;
		ssize_t n;

		r = send_answer(socket, &answer, &gift);
		closep(&gift.fd);
		if (r < 0)
			return EXIT_FAILURE;
		n = child_receive_some(socket, request, sizeof request, 0, fds, &n_fds);
		if (n < 0)
			return n == -ENODATA ? EXIT_SUCCESS : EXIT_FAILURE;
		gift = (struct broker_gift){.fd = -1};
		answer.result = job(request, n, n_fds ? fds[0] : -1, &gift);
		for (size_t i = 0; i < n_fds; i++)
			close(fds[i]);
	}
}

/* Forks a worker for @socket, and forgets those that have ended. */
static void add_worker(int socket, broker_job_fn job)
{
	pid_t pid = fork();

	if (pid == 0) {
		close(CHILD_SOCKET);
		_exit(work(socket, job));
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Their CPU time counts as ours once we have waited for them. */
static void wait_for_workers(void)
{
	const struct timespec step = {.tv_nsec = 1000000};

	for (int i = 0; i < END_STEPS; i++) {
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0)
			return;
		nanosleep(&step, NULL);
	}
}

int broker_run(broker_job_fn job)
{
	int fds[CHILD_MAX_FDS], r;
	size_t n_fds = 0;
	char byte;

	prctl(PR_SET_NAME, BROKER_NAME);
	r = sandbox_enter_broker();
	while (r == 0) {
		r = child_receive(CHILD_SOCKET, &byte, sizeof byte, 0, fds, &n_fds);
		for (size_t i = 0; i < n_fds; i++) {
			if (r == 0 && i == 0)
				add_worker(fds[i], job);
			close(fds[i]);
		}
	}
	wait_for_workers();
	return r == -ENODATA ? EXIT_SUCCESS : EXIT_FAILURE;
}
