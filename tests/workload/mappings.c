/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mappings: programs whose memory changes under a profiler.
 *
 *	mappings many N SECONDS		burns below qsort() with N executable mappings, none beside
 *					another
 *	mappings sparse N SECONDS	the same with N sparse files of 1 TiB mapped, each in whole
 *	mappings libraries MS SECONDS A B	loads A, runs its work() for MS milliseconds, in
 *					run_first(), unloads it; then B, in run_second()
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096L

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static int burn_compare(const void *a, const void *b)
{
	static volatile int sink;

	for (int i = 0; i < 100; i++)
		sink += i;
	return *(const int *)a - *(const int *)b;
}

/* The burner is in libc's qsort(), at a higher address than everything that was mapped. */
static void burn(double until)
{
	static int numbers[1000];

	while (seconds() < until) {
		for (int i = 0; i < 1000; i++)
			numbers[i] = rand();
		qsort(numbers, 1000, sizeof *numbers, burn_compare);
	}
}

static void map_many(long n)
{
	char *at = mmap(NULL, 2 * n * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (long i = 0; at != MAP_FAILED && i < n; i++)
		if (mprotect(at + 2 * i * PAGE, PAGE, PROT_READ | PROT_EXEC) < 0)
			abort();
}

static void map_sparse(long n)
{
	for (long i = 0; i < n; i++) {
		char name[] = "sparse.XXXXXX";
		int fd = mkstemp(name);

		if (fd < 0 || unlink(name) < 0 || ftruncate(fd, 1L << 40) < 0 ||
		    mmap(NULL, 1L << 40, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			abort();
		close(fd);
	}
}

static __attribute__((noinline)) void run_first(void (*work)(void), double until)
{
	while (seconds() < until)
		work();
}

static __attribute__((noinline)) void run_second(void (*work)(void), double until)
{
	do
		work();
	while (seconds() < until);
}

static void run_library(const char *path, int is_second, double until)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*work)(void) = library ? (void (*)(void))dlsym(library, "work") : NULL;

	if (!work)
		abort();
	if (is_second)
		run_second(work, until);
	else
		run_first(work, until);
	dlclose(library);
}

int main(int argc, char **argv)
{
	double until;

	if (argc < 4)
		return 2;
	until = seconds() + atof(argv[3]);
	if (strcmp(argv[1], "many") == 0)
		map_many(atol(argv[2]));
	if (strcmp(argv[1], "sparse") == 0)
		map_sparse(atol(argv[2]));
	if (strcmp(argv[1], "libraries") == 0 && argc == 6)
		for (int i = 0; seconds() < until; i++)
			run_library(argv[4 + i % 2], i % 2, seconds() + atof(argv[2]) / 1000);
	burn(until);
	return 0;
}
