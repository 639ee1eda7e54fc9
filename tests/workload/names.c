/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names [SECONDS]: threads whose command names try to break output formats; each burns in
 * burn_named() and sleeps, half and half. The truth has the names in hexadecimal.
 */
#include "workload.h"

#include <string.h>
#include <sys/prctl.h>

static const char *const names[] = {
    "a;b",
    "a;b 17",
    " 42",
    "say \"hi\"",
    "it's",
    "back\\slash",
    "<x>&amp;</x>",
    "]]>",
    "two\nlines",
    "tab\there",
    "bell\a\033[1m",
    "na\303\257ve",
    "\377\376\200bad",
};

#define N_NAMES (sizeof(names) / sizeof(*names))

static uint64_t until;
static int tids[N_NAMES];
static uint64_t cpu[N_NAMES];

static MARKED void burn_named(void)
{
	uint64_t end = thread_cpu_ns() + 5 * MILLISECOND;

	do
		spin();
	while (thread_cpu_ns() < end);
}

static void *named_thread(void *argument)
{
	size_t i = (size_t)argument;

	tids[i] = gettid();
	prctl(PR_SET_NAME, names[i]);
	while (wall_ns() < until) {
		burn_named();
		sleep_ns(5 * MILLISECOND);
	}
	cpu[i] = thread_cpu_ns();
	return NULL;
}

static void print_name(const char *name)
{
	for (int i = 0; name[i] && i < 15; i++)
		printf("%02x", (unsigned char)name[i]);
}

int main(int argc, char **argv)
{
	uint64_t start = wall_ns();
	pthread_t threads[N_NAMES];

	until = start + number_argument(argc, argv, 1, 5) * SECOND;
	for (size_t i = 0; i < N_NAMES; i++)
		start_thread(named_thread, (void *)i, &threads[i]);
	for (size_t i = 0; i < N_NAMES; i++)
		pthread_join(threads[i], NULL);
	printf("{\"threads\": [");
	for (size_t i = 0; i < N_NAMES; i++) {
		printf("%s{\"name_hex\": \"", i ? ", " : "");
		print_name(names[i]);
		printf("\", \"tid\": %d, \"elapsed_ns\": %ju, \"cpu_ns\": %ju}", tids[i],
		       (uintmax_t)(wall_ns() - start), (uintmax_t)cpu[i]);
	}
	printf("], \"pid\": %d}\n", getpid());
	return 0;
}
