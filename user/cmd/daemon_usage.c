/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_usage.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system.h"
#include "cmd/daemon_board.h"

struct family_member {
	pid_t pid, parent;
	enum board_process process;
	uint64_t ticks; /* of CPU time, its own and that of children it has waited for */
	bool is_ours;
};

struct family {
	struct family_member *items;
	size_t n, capacity;
};

static void read_member(pid_t pid, struct family_member *ret)
{
	unsigned long long user, kernel, of_children, in_kernel;
	char path[64], text[512], *name, *end;

	*ret = (struct family_member){.pid = pid, .process = N_BOARD_PROCESSES};
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	if (read_text_file(path, text, sizeof text) < 0)
		return;
	name = strchr(text, '('); /* it may hold anything */
	end = strrchr(text, ')');
	if (!name || !end ||
	    sscanf(end + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
		   &ret->parent, &user, &kernel, &of_children, &in_kernel) != 5)
		return;
	*end = '\0';
	ret->process = board_process_of(name + 1);
	ret->ticks = user + kernel + of_children + in_kernel;
}

static void list_all(struct family *family)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		pid_t pid = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : 0;

		if (!pid || array_reserve(family->items, family->capacity, family->n, 1) < 0)
			continue;
		read_member(pid, &family->items[family->n++]);
	}
	if (folder)
		closedir(folder);
}

/* Marks @root, its children, theirs, and so on. */
static void mark(struct family *family, pid_t root)
{
	for (size_t i = 0; i < family->n; i++) {
		struct family_member *member = &family->items[i];

		if (member->is_ours || (member->pid != root && member->parent != root))
			continue;
		member->is_ours = true;
		if (member->pid != root)
			mark(family, member->pid);
	}
}

static uint64_t bytes_of(pid_t pid)
{
	static const char *const fields[] = {"\nPss_Anon:", "\nPss_Shmem:"};
	char path[64], text[4096];
	uint64_t bytes = 0;

	snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
	if (read_text_file(path, text, sizeof text) < 0)
		return 0;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const char *at = strstr(text, fields[i]);

		if (at)
			bytes += strtoull(at + strlen(fields[i]), NULL, 10) * 1024;
	}
	return bytes;
}

struct daemon_usage daemon_usage(pid_t root, struct daemon_board *board)
{
	const uint64_t tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	uint64_t shares[N_BOARD_PROCESSES] = {};
	struct daemon_usage usage = {};
	struct family family = {};

	list_all(&family);
	mark(&family, root);
	for (size_t i = 0; i < family.n; i++) {
		const struct family_member *member = &family.items[i];
		enum board_process process = member->pid == root ? BOARD_DAEMON : member->process;
		uint64_t bytes;

		if (!member->is_ours)
			continue;
		bytes = bytes_of(member->pid);
		if (process < N_BOARD_PROCESSES)
			shares[process] += bytes;
		/* What clients do takes nothing from the recording. */
		if (process == BOARD_SERVE || process == BOARD_QUERY)
			continue;
		usage.bytes += bytes;
		usage.cpu_ns += member->ticks * tick_ns;
		usage.broker_ns += process == BOARD_BROKER ? member->ticks * tick_ns : 0;
	}
	free(family.items);
	for (int i = 0; i < N_BOARD_PROCESSES; i++)
		board_set(&board->memory[i], shares[i]);
	return usage;
}

uint64_t daemon_usage_switches(void)
{
	FILE *file = fopen("/proc/stat", "re");
	unsigned long long switches = 0;
	char *line = NULL;
	size_t size = 0;

	while (file && !switches && getline(&line, &size, file) > 0)
		sscanf(line, "ctxt %llu", &switches);
	free(line);
	if (file)
		fclose(file);
	return switches;
}
