/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crowd [SECONDS [THREADS [BURST]]]: THREADS (100) threads in pairs, each switching as often as the
 * CPUs can: 5 000 times a second with 50 threads on each.
 *
 *	futex	take turns
 *	pipe	pass a byte through two pipes
 *	timer	sleep for 1 ms, repeatedly: every tenth pair
 *
 * A pair stays on one CPU, where a switch is cheapest. Nearly every wake-up finds its CPU taken, so
 * half of the time is spent waiting for it. With BURST, pairs switch for that many seconds, then
 * rest for as many, and so on; sleepers sleep 4 ms and five BURSTs in turn. Each thread's own
 * clocks give the truth over its whole life, and `most_ns` the time until it was gone. All threads
 * exist before any of them starts to play, and leave one by one when all are done, so that both
 * ends are sharp.
 */
#include "workload.h"

#include <linux/futex.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define MAX_THREADS 1000
#define STACK_SIZE  (64 << 10)

enum kind { KIND_FUTEX, KIND_PIPE, KIND_TIMER, N_KINDS };

static const char *const kind_names[N_KINDS] = {"futex", "pipe", "timer"};

struct member {
	pthread_t thread;
	enum kind kind;
	int me; /* 0 or 1 within the pair */
	struct pair *pair;
	pid_t tid;
	sem_t play, leave;
	uint64_t start; /* before it was created */
	uint64_t elapsed, cpu, run_delay, switches;
	uint64_t most; /* elapsed until it was gone */
};

struct pair {
	atomic_int turn;
	int pipes[2][2]; /* into member 0, into member 1 */
};

static struct member members[MAX_THREADS];
static struct pair pairs[(MAX_THREADS + 1) / 2];
static atomic_bool stop;
static double burst; /* seconds; 0: all the time */
static uint64_t begun;

static MARKED void wait_turn(struct pair *pair, int seen)
{
	syscall(SYS_futex, &pair->turn, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	KEEP_FRAME();
}

static MARKED void pass_turn(struct pair *pair, int to)
{
	pair->turn = to;
	syscall(SYS_futex, &pair->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	KEEP_FRAME();
}

/* Waits for the next burst, unless one is on. */
static void rest(void)
{
	uint64_t length = burst * SECOND, into = wall_ns() - begun;

	if (length && into / length % 2)
		sleep_ns(length - into % length);
}

static void play_futex(struct member *member)
{
	struct pair *pair = member->pair;
	int other = !member->me;

	while (!stop) {
		rest();
		while (pair->turn == other && !stop)
			wait_turn(pair, other);
		pass_turn(pair, other);
	}
	pass_turn(pair, other);
}

static MARKED void pass_byte(int to)
{
	char byte = 0;
	ssize_t n = write(to, &byte, 1);

	(void)n;
	KEEP_FRAME();
}

static MARKED bool wait_byte(int from)
{
	char byte;
	bool got = read(from, &byte, 1) == 1;

	KEEP_FRAME();
	return got;
}

/* Closes its pipe to end: the other then reads end of file. */
static void play_pipe(struct member *member)
{
	int to = member->pair->pipes[!member->me][1], from = member->pair->pipes[member->me][0];

	if (member->me == 0)
		pass_byte(to);
	while (!stop && wait_byte(from)) {
		rest();
		pass_byte(to);
	}
	close(to);
}

static MARKED void sleep_short(void)
{
	sleep_ns(MILLISECOND);
	KEEP_FRAME();
}

static void play_timer(struct member *member)
{
	(void)member;
	while (!stop) {
		sleep_short();
		if (burst) {
			sleep_ns(4 * MILLISECOND);
			sleep_ns(5 * burst * SECOND);
		}
	}
}

static void *member_thread(void *argument)
{
	static void (*const play[N_KINDS])(struct member *) = {play_futex, play_pipe, play_timer};
	struct member *member = argument;
	struct rusage usage;

	/* Nanosecond timers: the default adds 50 µs. */
	prctl(PR_SET_TIMERSLACK, 1);
	member->tid = gettid();
	sem_wait(&member->play);
	play[member->kind](member);
	sem_wait(&member->leave);
	getrusage(RUSAGE_THREAD, &usage);
	member->switches = usage.ru_nvcsw + usage.ru_nivcsw;
	member->run_delay = own_run_delay_ns();
	member->cpu = thread_cpu_ns();
	member->elapsed = wall_ns() - member->start;
	return NULL;
}

static enum kind kind_of(int pair)
{
	if (pair % 10 == 9)
		return KIND_TIMER;
	return pair % 2 ? KIND_PIPE : KIND_FUTEX;
}

/* The CPU of pair @i, among those that this process may use. */
static void choose_cpu(pthread_attr_t *attributes, int i)
{
	cpu_set_t allowed, one;
	int cpu = -1;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		exit(1);
	for (int left = i % CPU_COUNT(&allowed); left >= 0; left--)
		do
			cpu++;
		while (!CPU_ISSET(cpu, &allowed));
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_attr_setaffinity_np(attributes, sizeof(one), &one);
}

static void start_all(int n)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	for (int i = 0; i < n; i++) {
		struct member *member = &members[i];
		struct pair *pair = &pairs[i / 2];

		if (i % 2 == 0 && (pipe(pair->pipes[0]) || pipe(pair->pipes[1])))
			exit(1);
		choose_cpu(&attributes, i / 2);
		*member = (struct member){
			.kind = kind_of(i / 2), .me = i % 2, .pair = pair, .start = wall_ns()};
		if (pthread_create(&member->thread, &attributes, member_thread, member)) {
			perror("pthread_create");
			exit(1);
		}
	}
}

static void print_truth(int n, double seconds, uint64_t start)
{
	uint64_t switches = 0;

	printf("{\"threads\": [");
	for (int i = 0; i < n; i++) {
		const struct member *m = &members[i];

		printf("%s{\"name\": \"%s\", \"tid\": %d, \"elapsed_ns\": %ju, \"cpu_ns\": %ju, "
		       "\"off_cpu_ns\": %ju, \"run_delay_ns\": %ju, \"switches\": %ju, "
		       "\"most_ns\": %ju}",
		       i ? ", " : "", kind_names[m->kind], m->tid, (uintmax_t)m->elapsed,
		       (uintmax_t)m->cpu, (uintmax_t)(m->elapsed - m->cpu), (uintmax_t)m->run_delay,
		       (uintmax_t)m->switches, (uintmax_t)m->most);
		switches += m->switches;
	}
	printf("], \"pid\": %d, \"main_off_cpu_ns\": %ju, \"switches_per_thread_second\": %.0f}\n",
	       getpid(), (uintmax_t)(wall_ns() - start - thread_cpu_ns()), switches / seconds / n);
}

int main(int argc, char **argv)
{
	double seconds = number_argument(argc, argv, 1, 5);
	int n = number_argument(argc, argv, 2, 100);
	uint64_t start = wall_ns();

	burst = number_argument(argc, argv, 3, 0);
	begun = start;
	if (n < 2 || n > MAX_THREADS || n % 2) {
		fprintf(stderr, "usage: crowd [SECONDS [THREADS [BURST]]]: an even number of them\n");
		return 2;
	}
	start_all(n);
	for (int i = 0; i < n; i++)
		sem_post(&members[i].play);
	sleep_ns(seconds * SECOND);
	stop = true;
	sleep_ns(SECOND / 10);
	for (int i = 0; i < n; i++) {
		sem_post(&members[i].leave);
		pthread_join(members[i].thread, NULL);
		while (syscall(SYS_tgkill, getpid(), members[i].tid, 0) == 0)
			sched_yield();
		members[i].most = wall_ns() - members[i].start;
	}
	print_truth(n, seconds, start);
	return 0;
}
