/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
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

#define MEMORY_BYTES  (512ULL << 20)
#define WAIT_MS	      2
#define MAX_QUESTIONS 64 /* per call; a file has some ten places for its debug files */
#define LONGEST_NS    (120 * NSEC_PER_SEC) /* per call, whatever it does */

enum message_kind { MESSAGE_REQUEST, MESSAGE_ANSWER, MESSAGE_QUESTION, MESSAGE_REPLY };

struct reader_message {
	uint32_t kind;
	uint32_t job; /* of a request */
	int32_t result;
	uint32_t pad;
	uint64_t n; /* bytes that follow */
};

/* --- The requesting side --- */

static int start(struct reader *reader)
{
	int r = child_start(READER_NAME, SOCK_STREAM, &reader->pid, &reader->socket);

	if (r < 0)
		reader->pid = 0;
	return r;
}

void reader_prepare(struct reader *reader)
{
	if (reader && !reader->pid)
		start(reader);
}

/* @options: of wait4(). */
static void end(struct reader *reader, int options)
{
	uint64_t peak = process_peak_bytes(reader->pid);
	struct rusage usage = {};
	pid_t pid;

	/* Processes forked from us may hold it, too. */
	shutdown(reader->socket, SHUT_RDWR);
	close(reader->socket);
	do
		pid = wait4(reader->pid, NULL, options, &usage);
	while (pid < 0 && errno == EINTR);
	reader->cpu_seconds += rusage_seconds(&usage);
	if (peak > reader->peak_bytes)
		reader->peak_bytes = peak;
	reader->pid = 0;
	reader->socket = -1;
}

void reader_stop(struct reader *reader)
{
	if (reader && reader->pid)
		end(reader, 0);
}

void reader_detach(struct reader *reader)
{
	if (reader && reader->pid)
		close(reader->socket);
	if (reader)
		*reader = READER_NONE;
}

/* It may hang where even SIGKILL does not reach it: don't wait for it. */
static void give_up(struct reader *reader)
{
	kill(reader->pid, SIGKILL);
	reader->n_lost++;
	end(reader, WNOHANG);
}

/* Since the last call: it did not die of the next one's file. */
static bool has_died(const struct reader *reader)
{
	struct pollfd socket = {reader->socket, POLLIN, 0};

	return poll(&socket, 1, 0) != 0;
}

/* A call in progress. */
struct exchange {
	const struct reader *reader;
	const struct reader_call *call;
	uint64_t since;	     /* monotonic ns */
	uint64_t active_at;  /* monotonic ns: when it was last seen working … */
	uint64_t computed;   /* ns of CPU time it had used by then */
	clockid_t cpu_clock; /* its CPU clock */
};

static uint64_t cpu_time(const struct exchange *exchange)
{
	struct timespec time = {};

	clock_gettime(exchange->cpu_clock, &time);
	return time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
}

/* What waits for a CPU is not quiet; to find that out costs too much for each look. */
#define STARVING_NS (NSEC_PER_SEC / 20)

static void note_activity(struct exchange *exchange)
{
	uint64_t computed = cpu_time(exchange);

	if (exchange->computed == computed && (monotonic_ns() - exchange->active_at < STARVING_NS ||
					       !process_is_runnable(exchange->reader->pid)))
		return;
	exchange->computed = computed;
	exchange->active_at = monotonic_ns();
}

/* Waits for the socket. Errors: -ETIMEDOUT. */
static int wait_for(struct exchange *exchange, short events)
{
	struct pollfd socket = {exchange->reader->socket, events, 0};
	uint64_t now;

	note_activity(exchange);
	now = monotonic_ns();
	if (now - exchange->since > LONGEST_NS ||
	    !exchange->call->wait(exchange->call->context, now - exchange->active_at))
		return -ETIMEDOUT;
	poll(&socket, 1, WAIT_MS);
	return 0;
}

/* Sends exactly @n bytes. Errors: -ETIMEDOUT, -ECHILD. */
static int put(struct exchange *exchange, const void *bytes, size_t n)
{
	while (n) {
		ssize_t sent =
			send(exchange->reader->socket, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent >= 0) {
			bytes = (const char *)bytes + sent;
			n -= sent;
		} else if (errno != EAGAIN) {
			return -ECHILD;
		} else if (wait_for(exchange, POLLOUT) < 0) {
			return -ETIMEDOUT;
		}
	}
	return 0;
}

/* Receives exactly @n bytes. Errors: -ETIMEDOUT, -ECHILD. */
static int get(struct exchange *exchange, void *to, size_t n)
{
	while (n) {
		ssize_t got = recv(exchange->reader->socket, to, n, MSG_DONTWAIT);

		if (got > 0) {
			to = (char *)to + got;
			n -= got;
		} else if (got == 0 || errno != EAGAIN) {
			return -ECHILD;
		} else if (wait_for(exchange, POLLIN) < 0) {
			return -ETIMEDOUT;
		}
	}
	return 0;
}

static int answer_question(struct exchange *exchange, uint64_t n)
{
	struct reader_reply reply = {.fd = -1};
	struct reader_message message = {.kind = MESSAGE_REPLY};
	char question[READER_MAX_TEXT];
	int r;

	if (!exchange->call->asked || n > sizeof question)
		return -EPROTO;
	r = get(exchange, question, n);
	if (r < 0)
		return r;
	exchange->call->asked(exchange->call->context, question, n, &reply);
	message.result = reply.error;
	message.n = sizeof reply.text;
	r = child_send(exchange->reader->socket, &message, sizeof message, &reply.fd,
		       reply.fd >= 0);
	closep(&reply.fd);
	if (r < 0)
		return -ECHILD;
	return put(exchange, reply.text, sizeof reply.text);
}

/* Errors: those of the job, with *@failed set to false; those of the connection. */
static int get_answer(struct exchange *exchange, bool *failed, void **ret, size_t *ret_n)
{
	_cleanup_free_ void *bytes = NULL;
	struct reader_message message;
	int r = get(exchange, &message, sizeof message);

	if (r < 0)
		return r;
	for (int i = 0; i < MAX_QUESTIONS && message.kind == MESSAGE_QUESTION; i++) {
		r = answer_question(exchange, message.n);
		if (r < 0)
			return r;
		r = get(exchange, &message, sizeof message);
		if (r < 0)
			return r;
	}
	if (message.kind != MESSAGE_ANSWER || message.result > 0 || message.n > READER_MAX_ANSWER)
		return -EPROTO;
	bytes = malloc(message.n + 1);
	if (!bytes)
		return -ENOMEM;
	r = get(exchange, bytes, message.n);
	if (r < 0)
		return r;
	*failed = false;
	if (message.result < 0)
		return message.result;
	*ret = bytes;
	*ret_n = message.n;
	bytes = NULL;
	return 0;
}

/* As get_answer(). */
static int ask(struct exchange *exchange, bool *failed, void **ret, size_t *ret_n)
{
	const struct reader_call *call = exchange->call;
	const struct reader_message message = {
		.kind = MESSAGE_REQUEST, .job = call->job, .n = call->n};
	int r = child_send(exchange->reader->socket, &message, sizeof message, call->fds,
			   call->n_fds);

	if (r < 0)
		return r;
	r = put(exchange, call->request, call->n);
	if (r < 0)
		return r;
	return get_answer(exchange, failed, ret, ret_n);
}

int reader_call(struct reader *reader, const struct reader_call *call, void **ret, size_t *ret_n)
{
	struct exchange exchange = {.reader = reader,
				    .call = call,
				    .since = monotonic_ns(),
				    .active_at = monotonic_ns()};
	uint64_t before;
	bool failed = true;
	int r;

	reader->call_ns = 0;
	if (reader->pid && has_died(reader))
		give_up(reader);
	r = reader->pid ? 0 : start(reader);
	if (r < 0)
		return r;
	clock_getcpuclockid(reader->pid, &exchange.cpu_clock);
	before = exchange.computed = cpu_time(&exchange);
	r = ask(&exchange, &failed, ret, ret_n);
	/* For a dead one, keep the last reading. */
	if (!failed)
		exchange.computed = cpu_time(&exchange);
	reader->call_ns = exchange.computed - before;
	if (failed)
		give_up(reader);
	return r;
}

/* --- The reader itself --- */

static int send_all(int socket, const void *bytes, size_t n)
{
	while (n) {
		ssize_t sent = send(socket, bytes, n, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			return -errno;
		if (sent > 0) {
			bytes = (const char *)bytes + sent;
			n -= sent;
		}
	}
	return 0;
}

/* Receives exactly @n bytes; -ENODATA: the other end is closed. */
static int receive_exactly(int socket, void *to, size_t n)
{
	while (n) {
		ssize_t got = recv(socket, to, n, 0);

		if (got == 0)
			return -ENODATA;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got > 0) {
			to = (char *)to + got;
			n -= got;
		}
	}
	return 0;
}

/* Half an answer is none: without its connection, the reader ends. */
static void exit_if_failed(int r)
{
	if (r < 0)
		_exit(EXIT_FAILURE);
}

int reader_answer(const struct reader_request *request, const struct reader_piece *pieces, size_t n)
{
	struct reader_message message = {.kind = MESSAGE_ANSWER};

	for (size_t i = 0; i < n; i++)
		message.n += pieces[i].n;
	if (message.n > READER_MAX_ANSWER)
		return -EFBIG;
	exit_if_failed(child_send(request->socket, &message, sizeof message, NULL, 0));
	for (size_t i = 0; i < n; i++)
		exit_if_failed(send_all(request->socket, pieces[i].bytes, pieces[i].n));
	return 0;
}

static void answer_failure(const struct reader_request *request, int result)
{
	const struct reader_message message = {.kind = MESSAGE_ANSWER, .result = result};

	exit_if_failed(child_send(request->socket, &message, sizeof message, NULL, 0));
}

int reader_ask(const struct reader_request *request, const void *question, size_t n,
	       char text[static READER_MAX_TEXT])
{
	struct reader_message message = {.kind = MESSAGE_QUESTION, .n = n};
	int fds[READER_MAX_FDS] = {-1};
	size_t n_fds;

	exit_if_failed(child_send(request->socket, &message, sizeof message, NULL, 0));
	exit_if_failed(send_all(request->socket, question, n));
	exit_if_failed(
		child_receive(request->socket, &message, sizeof message, MSG_WAITALL, fds, &n_fds));
	exit_if_failed(receive_exactly(request->socket, text, READER_MAX_TEXT));
	if (message.result < 0)
		return message.result;
	return n_fds ? fds[0] : -ENOENT;
}

/* Receives a request and handles it. -ENODATA: there are no more. */
static int serve(const reader_job_fn *jobs)
{
	struct reader_request request = {.socket = CHILD_SOCKET};
	struct reader_message message;
	void *bytes;
	int r = child_receive(CHILD_SOCKET, &message, sizeof message, MSG_WAITALL, request.fds,
			      &request.n_fds);

	if (r < 0)
		return r;
	if (message.kind != MESSAGE_REQUEST || message.job >= N_READER_JOBS ||
	    message.n > READER_MAX_REQUEST)
		return -EPROTO;
	bytes = malloc(message.n + 1);
	r = bytes ? receive_exactly(CHILD_SOCKET, bytes, message.n) : -ENOMEM;
	if (r == 0) {
		request.bytes = bytes;
		request.n = message.n;
		r = jobs[message.job](&request);
		if (r < 0)
			answer_failure(&request, r == -ENOMEM ? -ENOBUFS : r);
		r = 0;
	}
	free(bytes);
	for (size_t i = 0; i < request.n_fds; i++)
		close(request.fds[i]);
	return r;
}

int reader_run(const reader_job_fn jobs[static N_READER_JOBS])
{
	int r;

	prctl(PR_SET_NAME, READER_NAME);
	r = sandbox_enter(MEMORY_BYTES);

	while (r == 0)
		r = serve(jobs);
	return r == -ENODATA ? EXIT_SUCCESS : EXIT_FAILURE;
}
