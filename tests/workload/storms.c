/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * storms SECONDS THREADS MAPPINGS FILES LIBRARY OFFSET FOLDER: everything that one user can use
 * against a profiler at once: THREADS threads that sleep; processes that exec, one after another;
 * MAPPINGS mappings of LIBRARY; FILES copies of it in FOLDER, which processes map (30 000 each at
 * most) and run through; a process that maps LIBRARY and unmaps it, again and again. LIBRARY's
 * function at file offset OFFSET takes a number of loops. Prints a line when everything exists.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_EACH 30000 /* of mappings in a process: below vm.max_map_count */

static unsigned int seconds;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Runs in a process of its own, which reports when its work is set up. */
static void start(void (*run)(int ready, int n), int n)
{
	int ends[2];
	char byte;

	if (n <= 0)
		return;
	if (pipe(ends) < 0)
		fail("pipe");
	if (fork() == 0) {
		close(ends[0]);
		alarm(seconds);
		run(ends[1], n);
		exit(0);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		exit(1);
	close(ends[0]);
}

static void say_ready(int ready)
{
	if (write(ready, "r", 1) != 1)
		fail("write");
}

static void *sleep_on(void *context)
{
	pause();
	return context;
}

static void make_threads(int ready, int n)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 16384);
	for (int i = 0; i < n; i++)
		if (pthread_create(&thread, &attributes, sleep_on, NULL) != 0)
			fail("pthread_create");
	say_ready(ready);
	pause();
}

static void make_execs(int ready, int n)
{
	(void)n;
	say_ready(ready);
	for (;;) {
		pid_t pid = vfork();

		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
}

static const char *library, *folder;
static unsigned long function;
static char *text;
static size_t size;

static void read_library(void)
{
	int fd = open(library, O_RDONLY);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		fail(library);
	size = status.st_size;
	text = malloc(size);
	if (read(fd, text, size) != (ssize_t)size)
		fail("read");
	close(fd);
}

static char *map_code(int fd)
{
	char *code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (code == MAP_FAILED)
		fail("mmap");
	close(fd);
	return code;
}

static void run_through(char *const *maps, int n)
{
	for (;;)
		for (int i = 0; i < n; i++)
			((void (*)(unsigned long))(maps[i] + function))(20000);
}

static void make_files(int ready, int n)
{
	char **maps = calloc(n, sizeof *maps), path[512];

	for (int i = 0; i < n; i++) {
		int fd;

		snprintf(path, sizeof path, "%s/%d-%d", folder, getpid(), i);
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
		if (fd < 0 || write(fd, text, size) != (ssize_t)size)
			fail(path);
		maps[i] = map_code(fd);
	}
	say_ready(ready);
	run_through(maps, n);
}

static void make_mappings(int ready, int n)
{
	char **maps = calloc(n, sizeof *maps);

	for (int i = 0; i < n; i++)
		maps[i] = map_code(open(library, O_RDONLY));
	say_ready(ready);
	run_through(maps, n);
}

static void make_changes(int ready, int n)
{
	int fd = open(library, O_RDONLY);

	(void)n;
	say_ready(ready);
	for (;;)
		munmap(map_code(dup(fd)), size);
}

static void start_many(void (*run)(int ready, int n), int n)
{
	for (; n > 0; n -= MOST_EACH)
		start(run, n < MOST_EACH ? n : MOST_EACH);
}

int main(int argc, char **argv)
{
	if (argc != 8)
		return 2;
	seconds = atoi(argv[1]);
	library = argv[5];
	function = strtoul(argv[6], NULL, 16);
	folder = argv[7];
	read_library();
	start_many(make_threads, atoi(argv[2]));
	start_many(make_mappings, atoi(argv[3]));
	start_many(make_files, atoi(argv[4]));
	start(make_execs, 1);
	start(make_changes, 1);
	puts("ready");
	fflush(stdout);
	alarm(seconds);
	pause();
	return 0;
}
