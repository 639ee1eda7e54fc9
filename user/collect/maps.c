/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/maps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/system.h"

/* The kernel's struct procmap_query (linux/fs.h of 6.11). */
struct procmap_query {
	uint64_t size;
	uint64_t query_flags, query_addr; /* in */
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint32_t vma_name_size, build_id_size; /* in and out */
	uint64_t vma_name_addr, build_id_addr; /* in */
};
#define PROCMAP_QUERY	 _IOWR('f', 17, struct procmap_query)
#define QUERY_EXECUTABLE 4

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
static int query(const char *maps, uint64_t address, struct maps_entry *ret, char *path)
{
	_cleanup_close_ int fd = open(maps, O_RDONLY | O_CLOEXEC);
	struct procmap_query query = {
		.size = sizeof query,
		.query_addr = address,
		.vma_name_size = PATH_MAX,
		.vma_name_addr = (uintptr_t)path,
	};

	if (fd < 0)
		return -errno;
	path[0] = '\0';
	if (ioctl(fd, PROCMAP_QUERY, &query) < 0)
		return errno == ENOENT ? 0 : -errno;
	*ret = (struct maps_entry){
		query.vma_start,
		query.vma_end,
		query.vma_offset,
		query.vma_flags & QUERY_EXECUTABLE,
		{query.dev_major, query.dev_minor, query.inode, path},
	};
	return 1;
}

static int scan(const char *maps, uint64_t address, struct maps_entry *ret, char *path)
{
	_cleanup_free_ char *text = NULL;
	char *line, *rest;
	size_t size;
	int r = read_whole_file(maps, &text, &size);

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

static bool has_root(uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/root", tid);
	return access(path, F_OK) == 0 || errno != ENOENT;
}

uint32_t maps_thread(uint32_t pid)
{
	struct dirent *entry;
	uint32_t found = 0;
	char path[64];
	DIR *tasks;

	if (has_root(pid))
		return pid;
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/task", pid);
	tasks = opendir(path);
	while (tasks && !found && (entry = readdir(tasks))) {
		uint32_t tid = strtoul(entry->d_name, NULL, 10);

		if (tid && has_root(tid))
			found = tid;
	}
	if (tasks)
		closedir(tasks);
	return found ? found : pid;
}

int maps_find(uint32_t pid, uint64_t address, struct maps_entry *ret, char path[static PATH_MAX])
{
	char maps[64];
	int r;

	snprintf(maps, sizeof maps, "/proc/%" PRIu32 "/maps", maps_thread(pid));
	r = query(maps, address, ret, path);
	return r == -ENOTTY ? scan(maps, address, ret, path) : r;
}
