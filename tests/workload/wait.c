/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wait DIR [SECONDS [HOGS_CPU [READ_EVERY_MS]]]: threads that spend known times off the CPU, one
 * kind each.
 *
 *	sleeper	  nanosleep() of 20 ms, over and over
 *	holder	  holds a mutex for 30 ms, gives it away for 10 ms
 *	waiter	  waits for that mutex
 *	blocked	  read() of a pipe that nobody writes, from start to end
 *	alternate 10 ms of CPU time, 10 ms of sleep
 *	writer	  write() and fsync() of a file in DIR
 *	hog-0/1	  with HOGS_CPU: two busy loops on that one CPU
 *
 * The truth, from the start until SIGTERM or the end of SECONDS, is printed then. Off-CPU time is
 * elapsed − CPU time; `run_delay_ns` of it was spent waiting for a CPU. With READ_EVERY_MS the sums
 * until now are printed that often instead, a line each, for those who learn only later which
 * window they need.
 */
#include "workload.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

struct waiting {
	const char *name;
	void *(*body)(void *);
	pthread_t thread;
	pid_t tid;
	clockid_t clock;
};

struct reading {
	uint64_t wall, cpu, run_delay;
};

static const char *directory;
static int hogs_cpu = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static MARKED void sleep_known(void)
{
	sleep_ns(20 * MILLISECOND);
	KEEP_FRAME();
}

static void *sleeper_thread(void *argument)
{
	for (;;)
		sleep_known();
	return argument;
}

static MARKED void hold_mutex(void)
{
	pthread_mutex_lock(&mutex);
	sleep_ns(30 * MILLISECOND);
	pthread_mutex_unlock(&mutex);
	KEEP_FRAME();
}

static void *holder_thread(void *argument)
{
	for (;;) {
		hold_mutex();
		sleep_ns(10 * MILLISECOND);
	}
	return argument;
}

static MARKED void wait_for_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	KEEP_FRAME();
}

static void *waiter_thread(void *argument)
{
	for (;;) {
		wait_for_mutex();
		sleep_ns(MILLISECOND);
	}
	return argument;
}

static MARKED void block_in_read(int fd)
{
	char byte;
	ssize_t n = read(fd, &byte, 1);

	(void)n;
	KEEP_FRAME();
}

static void *blocked_thread(void *argument)
{
	int ends[2];

	if (pipe(ends))
		return NULL;
	for (;;)
		block_in_read(ends[0]);
	return argument;
}

static MARKED void burn_half(void)
{
	uint64_t until = thread_cpu_ns() + 10 * MILLISECOND;

	do
		spin();
	while (thread_cpu_ns() < until);
}

static MARKED void sleep_half(void)
{
	sleep_ns(10 * MILLISECOND);
	KEEP_FRAME();
}

static void *alternate_thread(void *argument)
{
	for (;;) {
		burn_half();
		sleep_half();
	}
	return argument;
}

static MARKED void write_and_sync(int fd)
{
	static char block[64 << 10];
	ssize_t n = pwrite(fd, block, sizeof(block), 0);

	block[0]++;
	if (n < 0 || fsync(fd))
		sleep_ns(MILLISECOND);
	KEEP_FRAME();
}

static void *writer_thread(void *argument)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/wait-XXXXXX", directory);
	fd = mkstemp(path);
	if (fd < 0) {
		perror(path);
		exit(1);
	}
	unlink(path);
	for (;;)
		write_and_sync(fd);
	return argument;
}

static MARKED void hog_cpu(void)
{
	for (int i = 0; i < 100; i++)
		spin();
}

static void *hog_thread(void *argument)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(hogs_cpu, &cpus);
	if (pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus))
		exit(1);
	for (;;)
		hog_cpu();
	return argument;
}

static struct waiting threads[] = {
	{.name = "sleeper", .body = sleeper_thread},
	{.name = "holder", .body = holder_thread},
	{.name = "waiter", .body = waiter_thread},
	{.name = "blocked", .body = blocked_thread},
	{.name = "alternate", .body = alternate_thread},
	{.name = "writer", .body = writer_thread},
	{.name = "hog-0", .body = hog_thread},
	{.name = "hog-1", .body = hog_thread},
};

static int n_threads = sizeof(threads) / sizeof(*threads);

static void *named_thread(void *argument)
{
	struct waiting *self = argument;

	pthread_setname_np(pthread_self(), self->name);
	pthread_getcpuclockid(pthread_self(), &self->clock);
	__atomic_store_n(&self->tid, gettid(), __ATOMIC_RELEASE);
	return self->body(NULL);
}

static void start_all(void)
{
	for (int i = 0; i < n_threads; i++) {
		start_thread(named_thread, &threads[i], &threads[i].thread);
		while (!__atomic_load_n(&threads[i].tid, __ATOMIC_ACQUIRE))
			sleep_ns(MILLISECOND);
	}
}

static uint64_t run_delay_ns(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	return run_delay_of(path);
}

static void read_all(struct reading *readings)
{
	for (int i = 0; i < n_threads; i++)
		readings[i] = (struct reading){wall_ns(), clock_ns(threads[i].clock),
					       run_delay_ns(threads[i].tid)};
}

static void print_truth(const struct reading *begin, const struct reading *end)
{
	printf("{\"threads\": [");
	for (int i = 0; i < n_threads; i++)
		printf("%s{\"name\": \"%s\", \"tid\": %d, \"elapsed_ns\": %ju, \"cpu_ns\": %ju, "
		       "\"off_cpu_ns\": %ju, \"run_delay_ns\": %ju}",
		       i ? ", " : "", threads[i].name, threads[i].tid,
		       (uintmax_t)(end[i].wall - begin[i].wall),
		       (uintmax_t)(end[i].cpu - begin[i].cpu),
		       (uintmax_t)(end[i].wall - begin[i].wall - (end[i].cpu - begin[i].cpu)),
		       (uintmax_t)(end[i].run_delay - begin[i].run_delay));
	printf("], \"pid\": %d}\n", getpid());
}

/* Reads the clocks now and at @until, or at SIGTERM. */
static void watch_window(const sigset_t *signals, uint64_t until, struct reading *begin,
			 struct reading *end)
{
	uint64_t now;

	read_all(begin);
	while ((now = wall_ns()) < until) {
		struct timespec left = {(until - now) / SECOND, (until - now) % SECOND};

		if (sigtimedwait(signals, NULL, &left) == SIGTERM)
			break;
	}
	read_all(end);
}

static void print_readings(uint64_t until, uint64_t pause)
{
	struct reading now[8];

	do {
		printf("{\"unix\": %.6f, \"pid\": %d, \"threads\": [",
		       (double)clock_ns(CLOCK_REALTIME) / SECOND, getpid());
		read_all(now);
		for (int i = 0; i < n_threads; i++)
			printf("%s{\"name\": \"%s\", \"tid\": %d, \"cpu_ns\": %ju, "
			       "\"run_delay_ns\": %ju}",
			       i ? ", " : "", threads[i].name, threads[i].tid,
			       (uintmax_t)now[i].cpu, (uintmax_t)now[i].run_delay);
		printf("]}\n");
		fflush(stdout);
		sleep_ns(pause);
	} while (wall_ns() < until);
}

int main(int argc, char **argv)
{
	static struct reading begin[8], end[8];
	double seconds = number_argument(argc, argv, 2, 10);
	double read_every = number_argument(argc, argv, 4, 0);
	sigset_t signals;

	if (argc < 2) {
		fprintf(stderr, "usage: wait DIR [SECONDS [HOGS_CPU [READ_EVERY_MS]]]\n");
		return 2;
	}
	directory = argv[1];
	hogs_cpu = number_argument(argc, argv, 3, -1);
	if (hogs_cpu < 0)
		n_threads -= 2;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	start_all();
	if (read_every) {
		sigprocmask(SIG_UNBLOCK, &signals, NULL);
		print_readings(wall_ns() + seconds * SECOND, read_every * MILLISECOND);
		_exit(0);
	}
	watch_window(&signals, wall_ns() + seconds * SECOND, begin, end);
	print_truth(begin, end);
	fflush(stdout);
	_exit(0);
}
