/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pingpong [SECONDS [DEPTH [CPU [SECOND_CPU]]]]: two threads take turns by futex, on one CPU by
 * default: the densest switches that a machine can do.
 *
 * Each waits below DEPTH recursive frames, so that a stack costs as much as real ones do.
 */
#include "workload.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

struct player {
	pthread_t thread;
	int number, cpu, depth, tid;
	uint64_t cpu_ns, elapsed_ns;
};

static atomic_int turn, stop;
static uint64_t round_trips;

static MARKED void wait_turn(int seen)
{
	syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	KEEP_FRAME();
}

static MARKED void pass_turn(int to)
{
	turn = to;
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	KEEP_FRAME();
}

static MARKED void play(int me)
{
	while (!stop) {
		while (turn != me && !stop)
			wait_turn(!me);
		if (me == 0)
			round_trips++;
		pass_turn(!me);
	}
	pass_turn(!me);
}

static MARKED void play_deep(int depth, int me)
{
	if (depth > 0)
		play_deep(depth - 1, me);
	else
		play(me);
	KEEP_FRAME();
}

static void *player_thread(void *argument)
{
	struct player *player = argument;
	uint64_t start = wall_ns();
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(player->cpu, &cpus);
	if (pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus))
		exit(1);
	player->tid = gettid();
	play_deep(player->depth, player->number);
	player->cpu_ns = thread_cpu_ns();
	player->elapsed_ns = wall_ns() - start;
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds = number_argument(argc, argv, 1, 5);
	int depth = number_argument(argc, argv, 2, 5), cpu = number_argument(argc, argv, 3, 0);
	struct player players[2];
	uint64_t start = wall_ns();

	for (int i = 0; i < 2; i++) {
		players[i] = (struct player){.number = i, .depth = depth, .cpu = cpu};
		if (i == 1)
			players[i].cpu = number_argument(argc, argv, 4, cpu);
		start_thread(player_thread, &players[i], &players[i].thread);
	}
	sleep_ns(seconds * SECOND);
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(players[i].thread, NULL);
	seconds = (wall_ns() - start) / 1e9;
	printf("{\"threads\": [");
	for (int i = 0; i < 2; i++)
		printf("%s{\"name\": \"pingpong\", \"tid\": %d, \"elapsed_ns\": %ju, "
		       "\"cpu_ns\": %ju}",
		       i ? ", " : "", players[i].tid, (uintmax_t)players[i].elapsed_ns,
		       (uintmax_t)players[i].cpu_ns);
	printf("], \"pid\": %d, \"round_trips\": %ju, \"round_trips_per_second\": %.0f}\n",
	       getpid(), (uintmax_t)round_trips, round_trips / seconds);
	return 0;
}
