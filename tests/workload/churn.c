/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * churn [SECONDS [LANES]]: threads and processes that live for 1 to 50 ms and are followed by the
 * next, in LANES (3) lanes at once:
 *
 *	thread	a thread that sleeps, burns CPU time and sleeps
 *	fork	a process that does the same
 *	exec	`sh -c true`: a fork storm
 *
 * Clocks on both sides of each birth and end give the truth: a life lasts at least `least_ns` and
 * at most `most_ns`, except for a thread that waits once more for a CPU after its id is free again.
 * `cpu_ns` and `run_delay_ns` are its own last readings; for `exec`, `cpu_ns` is what the kernel
 * reports afterwards. `cpu_total_ns` is the sum over all, with their ends, without the lanes' own
 * time.
 */
#include "workload.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MAX_LANES 64
#define MAX_LIVES 65536

enum kind { KIND_THREAD, KIND_FORK, KIND_EXEC, N_KINDS };

static const char *const kind_names[N_KINDS] = {"thread", "fork", "exec"};

struct life {
	enum kind kind;
	pid_t tid;
	uint32_t random;
	uint64_t before, made; /* by its parent, around the call that made it */
	uint64_t begin;	       /* by itself, at its start */
	uint64_t end, cpu;     /* by itself, at its end */
	uint64_t run_delay;
	uint64_t gone; /* by its parent */
};

struct lane {
	pthread_t thread;
	enum kind kind;
	int number;
	uint64_t cpu;
};

/* Shared with the children. */
static struct life *lives;
static atomic_int n_lives;
static uint64_t until;

static MARKED void rest(uint64_t duration)
{
	sleep_ns(duration);
	KEEP_FRAME();
}

static MARKED void work(uint64_t duration)
{
	uint64_t end = thread_cpu_ns() + duration;

	while (thread_cpu_ns() < end)
		;
}

/* Spends a fifth of the time working. */
static MARKED void live(struct life *life)
{
	uint64_t duration;

	life->begin = wall_ns();
	duration = MILLISECOND + next_random(&life->random) % 49 * MILLISECOND;

	rest(duration * 2 / 5);
	work(duration / 5);
	rest(duration * 2 / 5);
	life->run_delay = own_run_delay_ns();
	life->cpu = thread_cpu_ns();
	life->end = wall_ns();
}

static void *short_thread(void *argument)
{
	struct life *life = argument;

	life->tid = gettid();
	live(life);
	return NULL;
}

static void live_as_thread(struct life *life)
{
	pthread_t thread;

	life->before = wall_ns();
	start_thread(short_thread, life, &thread);
	life->made = wall_ns();
	pthread_join(thread, NULL);
	/* join() returns when it has left its memory, a little before it is gone. */
	while (syscall(SYS_tgkill, getpid(), life->tid, 0) == 0)
		sched_yield();
	life->gone = wall_ns();
}

static void child(struct life *life)
{
	if (life->kind == KIND_EXEC) {
		execl("/bin/sh", "sh", "-c", "true", NULL);
		_exit(1);
	}
	live(life);
	_exit(0);
}

static void live_as_process(struct life *life)
{
	struct rusage usage;
	int status;
	pid_t pid;

	life->before = wall_ns();
	pid = fork();
	if (pid == 0)
		child(life);
	life->made = wall_ns();
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status)
		exit(1);
	life->gone = wall_ns();
	life->tid = pid;
	if (life->kind != KIND_EXEC)
		return;
	life->begin = life->end = life->made;
	life->cpu = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND +
		    (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static void *lane_thread(void *argument)
{
	struct lane *lane = argument;

	while (wall_ns() < until) {
		int i = atomic_fetch_add(&n_lives, 1);

		if (i >= MAX_LIVES)
			exit(1);
		lives[i].kind = lane->kind;
		lives[i].random = i * 7919 + lane->number + 1;
		if (lane->kind == KIND_THREAD)
			live_as_thread(&lives[i]);
		else
			live_as_process(&lives[i]);
	}
	lane->cpu = thread_cpu_ns();
	return NULL;
}

static void print_life(const struct life *life)
{
	uint64_t born = life->begin < life->made ? life->begin : life->made;

	printf("{\"name\": \"%s\", \"tid\": %d, \"least_ns\": %ju, \"most_ns\": %ju, \"cpu_ns\": "
	       "%ju, "
	       "\"run_delay_ns\": %ju}",
	       kind_names[life->kind], life->tid, (uintmax_t)(life->end - born),
	       (uintmax_t)(life->gone - life->before), (uintmax_t)life->cpu,
	       (uintmax_t)life->run_delay);
}

/* The kernel's account of everything that has ended, in this process and its children. */
static uint64_t cpu_of_ended(const struct lane *lanes, int n)
{
	uint64_t total = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - thread_cpu_ns();
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	total += (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND +
		 (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	for (int i = 0; i < n; i++)
		total -= lanes[i].cpu;
	return total;
}

int main(int argc, char **argv)
{
	int n = number_argument(argc, argv, 2, 3);
	static struct lane lanes[MAX_LANES];

	if (n < 1 || n > MAX_LANES)
		return 2;
	lives = mmap(NULL, MAX_LIVES * sizeof(*lives), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (lives == MAP_FAILED)
		return 1;
	until = wall_ns() + number_argument(argc, argv, 1, 5) * SECOND;
	for (int i = 0; i < n; i++) {
		lanes[i] = (struct lane){.kind = i % N_KINDS, .number = i};
		start_thread(lane_thread, &lanes[i], &lanes[i].thread);
	}
	for (int i = 0; i < n; i++)
		pthread_join(lanes[i].thread, NULL);
	printf("{\"threads\": [");
	for (int i = 0; i < n_lives; i++) {
		printf("%s", i ? ", " : "");
		print_life(&lives[i]);
	}
	printf("], \"pid\": %d, \"cpu_total_ns\": %ju}\n", getpid(),
	       (uintmax_t)cpu_of_ended(lanes, n));
	return 0;
}
