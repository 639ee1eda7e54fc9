/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The confined process: what it may have, how it ends. tests/e2e/test_sandbox.py tests what its
 * sandbox forbids, because sanitizers can't run in it.
 */
#include "cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confined.h"
#include "base/system.h"
#include "cli/outputs.h"

static char readable[] = "/etc/passwd", absent[] = "/no/such/file";
static char *const inputs[] = {readable, absent};

static int serve(void *context, uint32_t number, int *ret_fd)
{
	if (number == 7)
		*ret_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	return number < 10 ? (int)number : -ERANGE;
}

static struct confined confined = {.inputs = {{inputs, 1}, {inputs + 1, 1}}, .serve = serve};

static size_t count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

static int run(int (*work)(void *data), void *data)
{
	size_t before = count_descriptors();
	int number = 0, r = confined_run(&confined, work, data, &number);

	assert_int_equal(count_descriptors(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	return r == -ECHILD ? -number : r;
}

/* The number of the check that failed, from 1. */
static int open_all(void *data)
{
	char byte;
	int fd = confined_open(readable);

	if (!confined_is_here())
		return 1;
	if (fd < 0 || read(fd, &byte, 1) != 1 || write(fd, &byte, 1) >= 0)
		return 2;
	if (confined_open(absent) != -ENOENT)
		return 3;
	if (confined_open("/etc/group") != -EPERM || confined_open("") != -EPERM)
		return 4;
	/* Calls as often as it likes. */
	fd = confined_open(readable);
	return fd >= 0 ? 0 : 5;
}

static void inputs_are_opened_and_nothing_else(void **state)
{
	int fd = confined_open("/etc/group");

	assert_int_equal(run(open_all, NULL), 0);
	/* In this test, all are. */
	assert_false(confined_is_here());
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(confined_open(absent), -ENOENT);
}

static int ask_all(void *data)
{
	char byte = 1;
	int fd;

	if (confined_ask(3, &fd) != 3 || fd != -1)
		return 1;
	if (confined_ask(7, &fd) != 7 || read(fd, &byte, 1) != 1 || byte)
		return 2;
	return confined_ask(UINT32_MAX, &fd) == -ERANGE && fd == -1 ? 0 : 3;
}

static void requests_are_served(void **state)
{
	assert_int_equal(run(ask_all, NULL), 0);
}

static int end_by(void *data)
{
	int number = *(int *)data;

	if (number < 0)
		return -number;
	signal(number, SIG_DFL);
	raise(number);
	return 99;
}

static void exit_statuses_are_returned(void **state)
{
	assert_int_equal(run(end_by, &(int){-3}), 3);
	assert_int_equal(run(end_by, &(int){SIGSEGV}), -SIGSEGV);
	assert_int_equal(run(end_by, &(int){SIGKILL}), -SIGKILL);
}

static int compute(void *data)
{
	for (;;)
		getpid();
	return 0;
}

/* Whoever wanted its work is gone. */
static void work_ends_with_its_client(void **state)
{
	int ends[2], number = 0;
	struct confined of = {};
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		usleep(50000);
		_exit(0);
	}
	close(ends[0]);
	of.lifeline = ends[1];
	assert_int_equal(confined_run(&of, compute, NULL, &number), -ECHILD);
	assert_int_equal(number, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* Without work to do, it is let end by itself. */
	assert_int_equal(confined_run(&confined, end_by, &(int){-3}, &number), 3);
	close(ends[1]);
}

/* Sends nonsense on the connection that it finds among its descriptors. */
static int talk_nonsense(void *data)
{
	static const char nonsense[64] = "nonsense";
	struct stat status;

	for (int fd = 3; fd < 64; fd++)
		if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
			(void)!write(fd, nonsense, *(size_t *)data);
	return 4;
}

/* Asks for inputs that do not exist. */
static int ask_beyond(void *data)
{
	const struct {
		uint32_t kind, list;
		uint64_t number;
	} requests[] = {{1, 0, 1},	    {1, 2, 0},		{1, 3, 0},
			{1, UINT32_MAX, 0}, {1, 0, UINT64_MAX}, {2, 0, 0},
			{2, UINT32_MAX, 0}, {3, 0, 0},		{UINT32_MAX, 0, 0}};
	int32_t result = 0;
	struct stat status;

	for (int fd = 3; fd < 64; fd++)
		for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
			if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) &&
			    (write(fd, &requests[i], sizeof requests[i]) < 0 ||
			     read(fd, &result, sizeof result) != sizeof result || result != -EPERM))
				return 5;
	return result ? 0 : 6;
}

static void nonsense_gives_nothing(void **state)
{
	for (size_t n = 1; n <= 64; n *= 2)
		assert_int_equal(run(talk_nonsense, &n), 4);
	assert_int_equal(run(ask_beyond, NULL), 0);
}

static bool is_passwd(const char *name)
{
	return strcmp(name, "passwd") == 0;
}

static bool any(const char *name)
{
	return name[0] != '.';
}

static int open_listed(void *data)
{
	struct listing listing;
	char byte;
	int fd;

	if (!confined_has_folder("etc") || confined_has_folder("/etc") || confined_has_folder(""))
		return 1;
	if (confined_list("/etc", any, &listing) != -EPERM)
		return 2;
	/* The files are those that were listed before. */
	if (confined_list("etc", any, &listing) < 0 || listing.n != 1 || listing.fd != -1)
		return 3;
	fd = confined_open_listed("etc", &listing, 0);
	if (fd < 0 || read(fd, &byte, 1) != 1 || write(fd, &byte, 1) >= 0)
		return 4;
	if (confined_open_listed("etc", &listing, 1) != -EPERM ||
	    confined_open_listed("etc", &listing, SIZE_MAX) != -EPERM ||
	    confined_open_listed("/etc", &listing, 0) != -EPERM)
		return 5;
	listing_done(&listing);
	return 0;
}

static void files_of_listed_folders_are_opened(void **state)
{
	struct confined_folder folder = {"etc"};
	struct listing listing;
	int fd;

	assert_int_equal(listing_read("/etc", is_passwd, &folder.files), 0);
	confined.folders = &folder;
	confined.n_folders = 1;
	assert_int_equal(run(open_listed, NULL), 0);
	confined.n_folders = 0;
	listing_done(&folder.files);
	/* Here, any folder. */
	assert_false(confined_has_folder("/etc"));
	assert_int_equal(confined_list("/etc", is_passwd, &listing), 0);
	assert_int_equal(listing.n, 1);
	fd = confined_open_listed("/etc", &listing, 0);
	assert_true(fd >= 0);
	close(fd);
	listing_done(&listing);
}

static int become_nobody(void *data)
{
	return getuid() == 65534 && getgid() == 65534 ? 0 : 1;
}

static void it_has_no_identity(void **state)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(run(become_nobody, NULL), 0);
}

static void only_planned_outputs_are_written(void **state)
{
	struct output_files files = {};
	int fd = -1;

	assert_int_equal(output_files_serve(&files, 0, &fd), -EPERM);
	for (uint64_t number = 1; number <= UINT32_MAX; number *= 2)
		assert_int_equal(output_files_serve(&files, number, &fd), -EPERM);
	files.n = 1;
	/* Not open, so there is nothing to put in place. */
	assert_int_equal(output_files_serve(&files, 1, &fd), -EPERM);
	assert_int_equal(output_files_serve(&files, 2, &fd), 0);
	assert_int_equal(output_files_serve(&files, 3, &fd), -EPERM);
	assert_int_equal(output_files_serve(&files, UINT32_MAX, &fd), -EPERM);
	assert_int_equal(fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inputs_are_opened_and_nothing_else),
		cmocka_unit_test(requests_are_served),
		cmocka_unit_test(exit_statuses_are_returned),
		cmocka_unit_test(work_ends_with_its_client),
		cmocka_unit_test(nonsense_gives_nothing),
		cmocka_unit_test(files_of_listed_folders_are_opened),
		cmocka_unit_test(it_has_no_identity),
		cmocka_unit_test(only_planned_outputs_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
