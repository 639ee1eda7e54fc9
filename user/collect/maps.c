/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/maps.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/system.h"

bool maps_parse(const char *line, struct maps_entry *ret)
{
	char *p;

	*ret = (struct maps_entry){.start = strtoull(line, &p, 16)};
	if (*p++ != '-')
		return false;
	ret->end = strtoull(p, &p, 16);
	if (p[0] != ' ' || strnlen(p, 6) < 6)
		return false;
	ret->is_executable = p[3] == 'x';
	ret->offset = strtoull(p + 6, &p, 16);
	ret->name.device_major = strtoul(p, &p, 16);
	if (*p++ != ':')
		return false;
	ret->name.device_minor = strtoul(p, &p, 16);
	ret->name.inode = strtoull(p, &p, 10);
	ret->name.path = p + strspn(p, " ");
	return true;
}

/* Returns -ENOTTY before 6.11. */
static int query(uint32_t tid, uint64_t address, struct maps_entry *ret, char *path)
{
	struct foreign_mapping mapping;
	int r = foreign_find_mapping(tid, address, &mapping);

	if (r <= 0)
		return r;
	strcpy(path, mapping.path);
	*ret = (struct maps_entry){
		mapping.start,
		mapping.end,
		mapping.offset,
		mapping.is_executable,
		{mapping.device_major, mapping.device_minor, mapping.inode, path},
	};
	return 1;
}

static int scan(uint32_t tid, uint64_t address, struct maps_entry *ret, char *path)
{
	_cleanup_free_ char *text = NULL;
	char *line, *rest;
	size_t size;
	int r = foreign_read_process(tid, "maps", SIZE_MAX, &text, &size);

	if (r < 0)
		return r;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		if (!maps_parse(line, ret) || address < ret->start || address >= ret->end)
			continue;
		snprintf(path, PATH_MAX, "%s", ret->name.path);
		ret->name.path = path;
		return 1;
	}
	return 0;
}

/* By its state: the link to its root folder can keep us waiting. */
static bool has_ended(uint32_t pid, uint32_t tid)
{
	char path[64], text[256];
	const char *state;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/status", pid, tid);
	if (read_text_file(path, text, sizeof text) < 0)
		return true;
	state = strstr(text, "\nState:\t");
	return state && strchr("ZX", state[strlen("\nState:\t")]);
}

uint32_t maps_thread(uint32_t pid)
{
	struct dirent *entry;
	uint32_t found = 0;
	char path[64];
	DIR *tasks;

	if (!has_ended(pid, pid))
		return pid;
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/task", pid);
	tasks = opendir(path);
	while (tasks && !found && (entry = readdir(tasks))) {
		uint32_t tid = strtoul(entry->d_name, NULL, 10);

		if (tid && !has_ended(pid, tid))
			found = tid;
	}
	if (tasks)
		closedir(tasks);
	return found ? found : pid;
}

int maps_find(uint32_t pid, uint64_t address, struct maps_entry *ret, char path[static PATH_MAX])
{
	uint32_t tid = maps_thread(pid);
	int r = query(tid, address, ret, path);

	return r == -ENOTTY ? scan(tid, address, ret, path) : r;
}
