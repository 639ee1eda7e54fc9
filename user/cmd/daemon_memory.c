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

struct family_member {
	pid_t pid, parent;
	bool is_ours;
};

struct family {
	struct family_member *items;
	size_t n, capacity;
};

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	const char *end;
	int parent;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	if (read_text_file(path, text, sizeof text) < 0)
		return 0;
	end = strrchr(text, ')'); /* of its name, which may hold anything */
	return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static void list_all(struct family *family)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		pid_t pid = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : 0;

		if (!pid || array_reserve(family->items, family->capacity, family->n, 1) < 0)
			continue;
		family->items[family->n++] =
			(struct family_member){.pid = pid, .parent = parent_of(pid)};
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

uint64_t daemon_memory(pid_t root)
{
	struct family family = {};
	uint64_t bytes = bytes_of(root);

	list_all(&family);
	mark(&family, root);
	for (size_t i = 0; i < family.n; i++)
		if (family.items[i].is_ours)
			bytes += bytes_of(family.items[i].pid);
	free(family.items);
	return bytes;
}
