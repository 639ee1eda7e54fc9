/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader: jobs that succeed, fail, crash, hang or lie. This program is its own reader.
 * tests/e2e/test_sandbox.py tests what the sandbox forbids, because sanitizers can't run in it.
 */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/reader.h"
#include "base/system.h"

#define SMALL_NS 300000000 /* timeout in tests that exceed it */

enum task { ECHO, READ_FD, FAIL, CRASH, HANG, COMPUTE, ASK, ASK_ON, LIE, HUGE_ANSWER };

static int answer_bytes(struct reader_request *request, const void *bytes, size_t n)
{
	return reader_answer(request, &(struct reader_piece){bytes, n}, 1);
}

static int work(struct reader_request *request)
{
	static const uint64_t nonsense[3] = {~0ULL, ~0ULL, ~0ULL};
	static char large[READER_MAX_ANSWER + 1];
	char text[16] = "", reply[READER_MAX_TEXT];
	ssize_t n;
	int fd;
	uint8_t task = *(const uint8_t *)request->bytes;

	switch (task) {
	case ECHO: return answer_bytes(request, request->bytes, request->n);
	case READ_FD:
		return answer_bytes(request, text, pread(request->fds[0], text, sizeof text, 0));
	case FAIL: return -ENOEXEC;
	case CRASH:
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
		return 0;
	case HANG: pause(); return 0;
	case COMPUTE:
		for (uint64_t end = monotonic_ns() + 3 * SMALL_NS; monotonic_ns() < end;)
			;
		return answer_bytes(request, "alive", 5);
	case ASK:
		fd = reader_ask(request, "file", 4, reply);
		if (fd < 0)
			return fd;
		snprintf(text, sizeof text, "%.8s", reply);
		n = pread(fd, text + 8, 4, 0);
		close(fd);
		return n == 4 ? answer_bytes(request, text, 12) : -EIO;
	case ASK_ON:
		for (;;)
			close(reader_ask(request, "file", 4, reply));
	case LIE: return write(request->socket, nonsense, sizeof nonsense) < 0 ? -errno : 0;
	default: return answer_bytes(request, large, sizeof large);
	}
}

/* Gives up when the reader has been silent for *@context ns. */
static bool wait_for(void *context, uint64_t quiet_ns)
{
	return quiet_ns < *(uint64_t *)context;
}

static int ask_for(struct reader *reader, const void *request, size_t n, int fd, uint64_t patience,
		   void **ret, size_t *ret_n)
{
	const struct reader_call call = {
		.job = READER_TABLE,
		.request = request,
		.n = n,
		.fds = {fd},
		.n_fds = fd >= 0,
		.wait = wait_for,
		.context = &patience,
	};

	return reader_call(reader, &call, ret, ret_n);
}

static int ask(struct reader *reader, enum task task, int fd, void **ret, size_t *ret_n)
{
	uint8_t byte = task;

	return ask_for(reader, &byte, 1, fd, SMALL_NS, ret, ret_n);
}

/* Whatever happened before, the next call is answered. */
static void expect_alive(struct reader *reader)
{
	void *answer;
	size_t n;

	assert_int_equal(ask(reader, ECHO, -1, &answer, &n), 0);
	assert_int_equal(n, 1);
	free(answer);
}

static void large_requests_come_back_whole(void **state)
{
	struct reader reader = READER_NONE;
	size_t n = 3 << 20, got;
	uint8_t *request = malloc(n);
	void *answer;

	for (size_t i = 0; i < n; i++)
		request[i] = i ? i * 7 : ECHO;
	assert_int_equal(ask_for(&reader, request, n, -1, 10 * NSEC_PER_SEC, &answer, &got), 0);
	assert_int_equal(got, n);
	assert_memory_equal(answer, request, n);
	free(answer);
	free(request);
	reader_stop(&reader);
	assert_int_equal(reader.n_lost, 0);
	assert_true(reader.cpu_seconds > 0);
}

static void descriptors_are_handed_over(void **state)
{
	struct reader reader = READER_NONE;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *answer;
	size_t n;

	assert_int_equal(ask(&reader, READ_FD, fd, &answer, &n), 0);
	assert_int_equal(n, 16);
	assert_memory_equal(answer, "\177ELF", 4);
	free(answer);
	close(fd);
	reader_stop(&reader);
}

static void failures_are_the_jobs(void **state)
{
	struct reader reader = READER_NONE;
	void *answer;
	size_t n;

	assert_int_equal(ask(&reader, FAIL, -1, &answer, &n), -ENOEXEC);
	assert_int_equal(ask(&reader, HUGE_ANSWER, -1, &answer, &n), -EFBIG);
	expect_alive(&reader);
	reader_stop(&reader);
	assert_int_equal(reader.n_lost, 0);
}

static void a_crash_costs_one_answer(void **state)
{
	struct reader reader = READER_NONE;
	void *answer;
	size_t n;

	assert_int_equal(ask(&reader, CRASH, -1, &answer, &n), -ECHILD);
	assert_int_equal(reader.n_lost, 1);
	expect_alive(&reader);
	/* If one died in between, no job is to blame. */
	assert_int_equal(kill(reader.pid, SIGKILL), 0);
	usleep(100000);
	expect_alive(&reader);
	assert_int_equal(reader.n_lost, 2);
	reader_stop(&reader);
}

static void hanging_jobs_are_given_up(void **state)
{
	struct reader reader = READER_NONE;
	uint64_t start = monotonic_ns(), took;
	pid_t pid;
	void *answer;
	int status;
	size_t n;

	expect_alive(&reader);
	pid = reader.pid;
	assert_int_equal(ask(&reader, HANG, -1, &answer, &n), -ETIMEDOUT);
	took = monotonic_ns() - start;
	assert_true(took >= SMALL_NS);
	assert_int_equal(reader.pid, 0);
	if (waitpid(pid, &status, 0) == pid) /* or already reaped */
		assert_int_equal(WTERMSIG(status), SIGKILL);
	expect_alive(&reader);
	reader_stop(&reader);
	assert_int_equal(reader.n_lost, 1);
}

static void computing_jobs_are_waited_for(void **state)
{
	struct reader reader = READER_NONE;
	void *answer;
	size_t n;

	assert_int_equal(ask(&reader, COMPUTE, -1, &answer, &n), 0);
	assert_int_equal(n, 5);
	assert_memory_equal(answer, "alive", 5);
	free(answer);
	reader_stop(&reader);
}

static void give_own_program(void *context, const void *question, size_t n,
			     struct reader_reply *ret)
{
	assert_int_equal(n, 4);
	assert_memory_equal(question, "file", n);
	strcpy(ret->text, "a text.");
	ret->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

static void refuse(void *context, const void *question, size_t n, struct reader_reply *ret)
{
	ret->error = -EACCES;
}

/* Gives the reader @task, and answers its questions with @asked. */
static int ask_answering(struct reader *reader, enum task task,
			 void (*asked)(void *context, const void *question, size_t n,
				       struct reader_reply *ret),
			 void **ret, size_t *ret_n)
{
	uint64_t patience = NSEC_PER_SEC;
	uint8_t byte = task;
	const struct reader_call call = {.job = READER_TABLE,
					 .request = &byte,
					 .n = 1,
					 .wait = wait_for,
					 .asked = asked,
					 .context = &patience};

	return reader_call(reader, &call, ret, ret_n);
}

static void questions_are_answered(void **state)
{
	struct reader reader = READER_NONE;
	void *answer;
	size_t n;

	assert_int_equal(ask_answering(&reader, ASK, give_own_program, &answer, &n), 0);
	assert_int_equal(n, 12);
	assert_memory_equal(answer, "a text.\0\177ELF", 12);
	free(answer);
	assert_int_equal(ask_answering(&reader, ASK, refuse, &answer, &n), -EACCES);
	reader_stop(&reader);
	assert_int_equal(reader.n_lost, 0);
}

static void endless_questions_are_given_up(void **state)
{
	struct reader reader = READER_NONE;
	void *answer;
	size_t n;

	assert_int_equal(ask_answering(&reader, ASK_ON, give_own_program, &answer, &n), -EPROTO);
	assert_int_equal(reader.n_lost, 1);
	reader_stop(&reader);
}

static void forbidden_questions_are_given_up(void **state)
{
	struct reader reader = READER_NONE;
	void *answer;
	size_t n;

	assert_int_equal(ask(&reader, ASK, -1, &answer, &n), -EPROTO);
	assert_int_equal(reader.n_lost, 1);
	expect_alive(&reader);
	reader_stop(&reader);
}

static void nonsense_is_refused(void **state)
{
	struct reader reader = READER_NONE;
	void *answer;
	size_t n;

	assert_int_equal(ask(&reader, LIE, -1, &answer, &n), -EPROTO);
	assert_int_equal(reader.n_lost, 1);
	expect_alive(&reader);
	reader_stop(&reader);
}

int main(int argc, char **argv)
{
	static const reader_job_fn jobs[N_READER_JOBS] = {[READER_TABLE] = work};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_requests_come_back_whole),
		cmocka_unit_test(descriptors_are_handed_over),
		cmocka_unit_test(failures_are_the_jobs),
		cmocka_unit_test(a_crash_costs_one_answer),
		cmocka_unit_test(hanging_jobs_are_given_up),
		cmocka_unit_test(computing_jobs_are_waited_for),
		cmocka_unit_test(questions_are_answered),
		cmocka_unit_test(endless_questions_are_given_up),
		cmocka_unit_test(forbidden_questions_are_given_up),
		cmocka_unit_test(nonsense_is_refused),
	};

	if (strcmp(argv[0], READER_NAME) == 0)
		return reader_run(jobs);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
