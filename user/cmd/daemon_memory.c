/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_memory.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"
#include "cmd/daemon_board.h"

struct family_member {
	pid_t pid, parent;
	enum board_process process;
	bool is_ours;
};

struct family {
	struct family_member *items;
	size_t n, capacity;
};

/* Its parent and its name, which may hold anything. */
static struct family_member read_member(pid_t pid)
{
	struct family_member member = {.pid = pid, .process = N_BOARD_PROCESSES};
	char path[64], text[512], *name, *end;
	int parent;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	if (read_text_file(path, text, sizeof text) < 0)
		return member;
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || sscanf(end + 1, " %*c %d", &parent) != 1)
		return member;
	*end = '\0';
	member.parent = parent;
	member.process = board_process_of(name + 1);
	return member;
}

static void list_all(struct family *family)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		pid_t pid = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : 0;

		if (!pid || array_reserve(family->items, family->capacity, family->n, 1) < 0)
			continue;
		family->items[family->n++] = read_member(pid);
	}
	if (folder)
		closedir(folder);
}

/* Marks @root's children, theirs, and so on. */
static void mark(struct family *family, pid_t root)
{
	for (size_t i = 0; i < family->n; i++) {
		struct family_member *member = &family->items[i];

		if (member->is_ours || member->pid == root || member->parent != root)
			continue;
		member->is_ours = true;
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

uint64_t daemon_memory(pid_t root, struct daemon_board *board)
{
	uint64_t shares[N_BOARD_PROCESSES] = {}, bytes = bytes_of(root);
	struct family family = {};

	shares[BOARD_DAEMON] = bytes;
	list_all(&family);
	mark(&family, root);
	for (size_t i = 0; i < family.n; i++) {
		const struct family_member *member = &family.items[i];
		uint64_t used = member->is_ours ? bytes_of(member->pid) : 0;

		bytes += used;
		if (member->process < N_BOARD_PROCESSES)
			shares[member->process] += used;
	}
	free(family.items);
	for (int i = 0; i < N_BOARD_PROCESSES; i++)
		board_set(&board->memory[i], shares[i]);
	return bytes;
}
