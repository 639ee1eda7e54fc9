/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon says of itself: counters of cgroups, text for Prometheus, whether all is well. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system.h"
#include "cmd/daemon_metrics.h"

static struct daemon_board *board;
static const struct daemon_board *view;

static int begin(void **state)
{
	int fd;

	assert_int_equal(daemon_board_new(&board, &fd), 0);
	assert_int_equal(daemon_board_view(fd, &view), 0);
	close(fd);
	return 0;
}

static int end(void **state)
{
	daemon_board_free(board);
	daemon_board_free(view);
	return 0;
}

/* Nothing makes a view writable. */
static void test_view(void **state)
{
	board_set(&board->written, 7);
	assert_int_equal(board_get(&view->written), 7);
	assert_int_equal(mprotect((void *)view, sizeof *view, PROT_READ | PROT_WRITE), -1);
	assert_int_equal(errno, EACCES);
	/* Others that were forked with it write, and it outlives them. */
	if (fork() == 0) {
		board_add(&board->written, 1);
		_exit(0);
	}
	assert_true(wait(NULL) > 0);
	assert_int_equal(board_get(&view->written), 8);
}

static uint32_t add_process(struct ledger *ledger, uint32_t pid, const char *cgroup)
{
	struct ledger_process process = {.pid = pid};

	assert_int_equal(strings_add(&ledger->strings, cgroup, &process.cgroup), 0);
	assert_int_equal(array_reserve(ledger->processes, ledger->processes_capacity,
				       ledger->n_processes, 1),
			 0);
	ledger->processes[ledger->n_processes] = process;
	return ledger->n_processes++;
}

static void add_row(struct ledger *ledger, uint32_t process, enum off_reason reason, bool is_idle,
		    uint64_t microseconds)
{
	assert_int_equal(array_reserve(ledger->rows, ledger->rows_capacity, ledger->n_rows, 1), 0);
	ledger->rows[ledger->n_rows++] = (struct ledger_row){.process = process,
							     .reason = reason,
							     .is_idle = is_idle,
							     .microseconds = microseconds};
}

static char *metrics(void)
{
	const struct server_counts server = {.accepted = 3, .answers = {[2] = 2, [4] = 1}};
	char *text;
	size_t n;

	assert_int_equal(daemon_metrics(view, &server, &text, &n), 0);
	assert_int_equal(strlen(text), n);
	return text;
}

static void assert_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at || (at > text && at[-1] != '\n') || at[strlen(line)] != '\n')
		fail_msg("no line '%s'", line);
}

static void test_cgroups(void **state)
{
	struct ledger ledger;
	uint32_t web, job, none;
	char *text;

	assert_int_equal(ledger_init(&ledger), 0);
	web = add_process(&ledger, 1, "/web.slice/a\"b\\c\n\377");
	job = add_process(&ledger, 2, "/job");
	none = add_process(&ledger, 3, "");
	add_row(&ledger, web, REASON_NONE, false, 1500000);
	add_row(&ledger, web, REASON_FUTEX, false, 2000001);
	add_row(&ledger, web, REASON_POLL, true, 5000000);
	add_row(&ledger, web, REASON_POLL, false, 7);
	add_row(&ledger, job, REASON_ONCPU, false, 250000);
	add_row(&ledger, job, REASON_PREEMPTED, false, 1);
	add_row(&ledger, job, REASON_RUNQUEUE, false, 2);
	add_row(&ledger, none, REASON_DISK, false, 4);
	add_row(&ledger, none, REASON_PAGE_FAULT, false, 5);
	assert_int_equal(daemon_board_count(board, &ledger), 0);
	assert_int_equal(daemon_board_count(board, &ledger), 0);
	text = metrics();
#define WEB "cgroup=\"/web.slice/a\\\"b\\\\c \ufffd\""
	assert_line(text, "bpfflame_cgroup_cpu_seconds_total{" WEB "} 3.000000");
	assert_line(text, "bpfflame_cgroup_waiting_seconds_total{" WEB ",class=\"lock\"} 4.000002");
	assert_line(text,
		    "bpfflame_cgroup_waiting_seconds_total{" WEB ",class=\"idle\"} 10.000000");
	assert_line(text, "bpfflame_cgroup_waiting_seconds_total{" WEB ",class=\"poll\"} 0.000014");
	assert_line(text, "bpfflame_cgroup_cpu_seconds_total{cgroup=\"/job\"} 0.500000");
	assert_line(
		text,
		"bpfflame_cgroup_waiting_seconds_total{cgroup=\"/job\",class=\"cpu\"} 0.000006");
	assert_line(text,
		    "bpfflame_cgroup_waiting_seconds_total{cgroup=\"\",class=\"disk\"} 0.000018");
	assert_line(text, "bpfflame_cgroup_cpu_seconds_total{cgroup=\"other\"} 0.000000");
	free(text);
	ledger_done(&ledger);
}

/* Those that come late, and those whose path is too long, are one; nothing is lost. */
static void test_too_many_cgroups(void **state)
{
	struct ledger ledger;
	char path[2 * BOARD_PATH], *text;
	uint64_t sum = 0;

	assert_int_equal(ledger_init(&ledger), 0);
	memset(path, 'x', sizeof path);
	path[0] = '/';
	path[BOARD_PATH] = '\0';
	add_row(&ledger, add_process(&ledger, 1, path), REASON_ONCPU, false, 1);
	for (int i = 0; i < 3 * BOARD_CGROUPS; i++) {
		snprintf(path, sizeof path, "/%d", i);
		add_row(&ledger, add_process(&ledger, i, path), REASON_ONCPU, false, 1);
	}
	assert_int_equal(daemon_board_count(board, &ledger), 0);
	assert_int_equal(daemon_board_count(board, &ledger), 0);
	for (size_t i = 0; i <= BOARD_CGROUPS; i++)
		sum += view->cgroups[i].running_us;
	assert_int_equal(sum, 2 * (3 * BOARD_CGROUPS + 1));
	assert_int_equal(view->cgroups[BOARD_CGROUPS].running_us, 2 * (2 * BOARD_CGROUPS + 1));
	text = metrics();
	assert_line(text, "bpfflame_cgroup_cpu_seconds_total{cgroup=\"/199\"} 0.000002");
	assert_null(strstr(text, "\"/200\""));
	free(text);
	ledger_done(&ledger);
}

/* A writer that was taken over may put anything there. */
static void test_hostile_board(void **state)
{
	char *text;

	memset(board, 0xff, sizeof *board);
	text = metrics();
	assert_non_null(
		strstr(text, "bpfflame_windows_total{result=\"written\"} 18446744073709551615\n"));
	free(text);
}

static void test_losses(void **state)
{
	const struct collect_stats stats = {.counts_full = 2, .unopened_files = 3};
	char *text;

	daemon_board_lose(board, &stats);
	daemon_board_lose(board, &stats);
	board_set(&board->millihertz, 9500);
	board_set(&board->cpu_ns[BOARD_WRITE], 1234567890);
	board_set(&board->names_missed, 7);
	text = metrics();
	assert_line(text, "bpfflame_names_total{result=\"missed\"} 7");
	assert_line(text, "bpfflame_losses_total{kind=\"map_full\"} 4");
	assert_line(text, "bpfflame_losses_total{kind=\"unreadable_files\"} 6");
	assert_line(text, "bpfflame_losses_total{kind=\"ring_full\"} 0");
	assert_line(text, "bpfflame_sampling_hertz 9.5");
	assert_line(text, "bpfflame_cpu_seconds_total{process=\"write\"} 1.234567");
	assert_line(text, "bpfflame_http_answers_total{status=\"2xx\"} 2");
	free(text);
}

#define WINDOW (10 * NSEC_PER_SEC)

static void test_health(void **state)
{
	char text[HEALTH_SIZE];

	board->window_ns = WINDOW;
	board->started_ns = 100 * WINDOW;
	assert_true(daemon_is_healthy(view, 103 * WINDOW, text));
	assert_string_equal(text, "ok\n");
	/* None at all. */
	assert_false(daemon_is_healthy(view, 104 * WINDOW, text));
	assert_string_equal(text, "no window was written for 40 s: the recorder does not run\n");
	board->runs[BOARD_RECORD] = true;
	assert_false(daemon_is_healthy(view, 104 * WINDOW, text));
	assert_string_equal(text, "no window was written for 40 s: the writer does not run\n");
	board->runs[BOARD_WRITE] = true;
	board->written_at = 104 * WINDOW;
	assert_true(daemon_is_healthy(view, 107 * WINDOW, text));
	assert_false(daemon_is_healthy(view, 108 * WINDOW, text));
	assert_string_equal(text,
			    "no window was written for 40 s: nothing is recorded or written\n");
	/* Started again. */
	board->started_ns = 107 * WINDOW;
	assert_true(daemon_is_healthy(view, 108 * WINDOW, text));
	/* A moment that is later than ours, as another CPU may have it. */
	board->written_at = 109 * WINDOW;
	assert_true(daemon_is_healthy(view, 108 * WINDOW, text));
}

#define SECOND NSEC_PER_SEC
#define START  (100 * SECOND + 7)

/* Moments at which windows end: on a grid, so that several who ask at a time share them. */
static void test_ends(void **state)
{
	uint64_t first, second, now = START + 5 * SECOND + 1;

	assert_int_equal(daemon_board_ask(board, now, 3, &first), -ENODATA);
	board->grid_ns = START;
	board->tick_ns = SECOND;
	assert_int_equal(daemon_board_next(board, now, now + 10 * SECOND), 0);
	assert_int_equal(daemon_board_ask(board, now, 3, &first), 0);
	assert_int_equal(first, 6);
	/* Too near for the next one. */
	assert_int_equal(daemon_board_ask(board, now + SECOND * 9 / 10, 2, &second), 0);
	assert_int_equal(second, 7);
	assert_int_equal(daemon_board_next(board, now, now + 10 * SECOND), START + 6 * SECOND);
	assert_int_equal(daemon_board_next(board, START + 6 * SECOND, START + 16 * SECOND),
			 START + 7 * SECOND);
	/* Both end there. */
	assert_int_equal(daemon_board_next(board, START + 7 * SECOND, START + 17 * SECOND),
			 START + 9 * SECOND);
	assert_int_equal(daemon_board_next(board, START + 9 * SECOND, START + 19 * SECOND), 0);
	/* One that is past has no bit left for the tick that is to have it later. */
	for (uint64_t tick = 10; tick < 3 * BOARD_TICKS; tick++)
		assert_int_equal(daemon_board_next(board, START + tick * SECOND,
						   START + (tick + 10) * SECOND),
				 0);
	now = START + 5000 * SECOND;
	assert_int_equal(daemon_board_ask(board, now, 300, &first), 0);
	assert_int_equal(daemon_board_next(board, now, now + 400 * SECOND), START + first * SECOND);
	assert_int_equal(daemon_board_next(board, START + first * SECOND, now + 400 * SECOND),
			 START + (first + 300) * SECOND);
	assert_int_equal(daemon_board_ask(board, now, 2 * BOARD_TICKS, &first), -EINVAL);
}

static void test_names(void **state)
{
	assert_int_equal(board_process_of("bpfflame-record"), BOARD_RECORD);
	assert_int_equal(board_process_of("bpfflame-reader"), BOARD_READER);
	assert_int_equal(board_process_of("bpfflame-"), N_BOARD_PROCESSES);
	assert_int_equal(board_process_of("bash"), N_BOARD_PROCESSES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_view, begin, end),
		cmocka_unit_test_setup_teardown(test_cgroups, begin, end),
		cmocka_unit_test_setup_teardown(test_too_many_cgroups, begin, end),
		cmocka_unit_test_setup_teardown(test_hostile_board, begin, end),
		cmocka_unit_test_setup_teardown(test_losses, begin, end),
		cmocka_unit_test_setup_teardown(test_health, begin, end),
		cmocka_unit_test_setup_teardown(test_ends, begin, end),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
