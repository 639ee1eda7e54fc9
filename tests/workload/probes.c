/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program whose events are known: the pages that it touches, and where; the functions that it
 * calls, and how often; the probes that it passes; the system calls and forks that it makes. Prints
 * all of them.
 *
 *	probes [PAGES [CALLS [MARKS]]]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#define PAGE 4096

/* Semaphores, which count the listeners; the program looks at one of them. */
unsigned short probes_watched_semaphore __attribute__((section(".probes")));
unsigned short probes_passed_semaphore __attribute__((section(".probes")));

static long passed, watched;

/* Small pages: a huge one is one fault for 512. */
static char *make_room(long pages)
{
	char *room = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (room == MAP_FAILED || madvise(room, pages * PAGE, MADV_NOHUGEPAGE) < 0)
		exit(1);
	return room;
}

static __attribute__((noinline)) void touch_many(char *room, long pages)
{
	for (long i = 0; i < pages; i++)
		((volatile char *)room)[i * PAGE] = 1;
}

/* The same but for one byte, because compilers merge equal functions. */
static __attribute__((noinline)) void touch_few(char *room, long pages)
{
	for (long i = 0; i < pages; i++)
		((volatile char *)room)[i * PAGE] = 2;
}

/* The kernel touches them: read(2) writes to new pages. */
static __attribute__((noinline)) void touch_in_kernel(char *room, long pages)
{
	int pipes[2];
	char byte = 1;

	if (pipe(pipes) < 0)
		exit(1);
	for (long i = 0; i < pages; i++)
		if (write(pipes[1], &byte, 1) != 1 || read(pipes[0], room + i * PAGE, 1) != 1)
			exit(1);
	close(pipes[0]);
	close(pipes[1]);
}

__attribute__((noinline)) long called_often(long i)
{
	__asm__ volatile("" ::: "memory");
	return i + 1;
}

/* Its return is probed at the same time as that of called_often(), which it calls. */
__attribute__((noinline)) long calls_twice(long i)
{
	long a = called_often(i), b = called_often(a);

	__asm__ volatile("" ::: "memory");
	return a + b;
}

__attribute__((noinline)) long recurses(long depth)
{
	long below = depth ? recurses(depth - 1) : called_often(depth);

	__asm__ volatile("" ::: "memory");
	return below + 1;
}

static __attribute__((noinline)) void pass_marks(long n)
{
	for (long i = 0; i < n; i++) {
		DTRACE_PROBE1(probes, passed, i);
		passed++;
		if (probes_watched_semaphore) {
			DTRACE_PROBE1(probes, watched, i);
			watched++;
		}
	}
}

static __attribute__((noinline)) void write_often(long n)
{
	for (long i = 0; i < n; i++)
		if (write(STDERR_FILENO, "", 0) < 0)
			exit(1);
}

static __attribute__((noinline)) void fork_often(long n)
{
	for (long i = 0; i < n; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

static long number(int argc, char **argv, int i, long otherwise)
{
	return argc > i ? atol(argv[i]) : otherwise;
}

int main(int argc, char **argv)
{
	long pages = number(argc, argv, 1, 3000), calls = number(argc, argv, 2, 2000);
	long marks = number(argc, argv, 3, 500), few = pages / 10;
	volatile long sum = 0;

	touch_many(make_room(pages), pages);
	touch_few(make_room(few), few);
	touch_in_kernel(make_room(few), few);
	for (long i = 0; i < calls; i++)
		sum += called_often(i);
	for (long i = 0; i < calls / 10; i++)
		sum += calls_twice(i);
	sum += recurses(20);
	pass_marks(marks);
	write_often(marks);
	fork_often(marks / 50);
	printf("{\"pages\": %ld, \"few\": %ld, \"calls\": %ld, \"twice\": %ld, \"recursed\": 21, "
	       "\"passed\": %ld, \"watched\": %ld, \"writes\": %ld, \"forks\": %ld}\n",
	       pages, few, calls, calls / 10, passed, watched, marks, marks / 50);
	return 0;
}
