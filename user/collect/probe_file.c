/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/probe_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/elf_file.h"
#include "base/foreign.h"
#include "base/system.h"
#include "collect/maps.h"

void probe_file_done(struct probe_file *file)
{
	closep(&file->fd);
	free(file->path);
}

/* Takes over @fd, or an error, and keeps it with its path, "@prefix@path". */
static int keep(int fd, const char *prefix, const char *path, struct probe_file *ret)
{
	struct probe_file file = {.fd = fd};

	if (fd < 0)
		return -ENOENT;
	if (asprintf(&file.path, "%s%s", prefix, path) < 0) {
		close(fd);
		return -ENOMEM;
	}
	*ret = file;
	return 0;
}

/* Opens @path as process @pid sees it; 0: as we do. */
static int open_as(const char *path, uint32_t pid, struct probe_file *ret)
{
	_cleanup_close_ int root = pid ? foreign_find_root(pid) : -1;
	char prefix[64];

	if (!pid)
		return keep(foreign_open_typed(path), "", path, ret);
	if (root < 0)
		return -ENOENT;
	snprintf(prefix, sizeof prefix, "/proc/%u/root", pid);
	return keep(foreign_open(root, path), prefix, path, ret);
}

static int our_kind(void)
{
	_cleanup_close_ int place = foreign_find_typed("/proc/self/exe");
	_cleanup_close_ int own = -1;

	if (place < 0)
		return place;
	own = foreign_open_found(place);
	if (own < 0)
		return own;
	return elf_file_kind(own);
}

static bool is_like_ours(int fd)
{
	int kind = foreign_elf_kind(fd);

	return kind >= 0 && kind == our_kind();
}

bool probe_file_runs_here(int fd)
{
	int kind = foreign_elf_kind(fd);

	if (kind < 0 || kind == our_kind())
		return true;
#ifdef __x86_64__
	return kind >> 8 == EM_386;
#else
	return kind >> 8 == EM_ARM;
#endif
}

/*
 * Opens @path, if programs that run here load libraries from it: the list of several libc.so.6 may
 * well begin with those for other kinds of programs.
 */
static int open_ours(const char *path, const char *name, uint32_t pid, struct probe_file *ret)
{
	struct probe_file file;
	int r = open_as(path, pid, &file);

	if (r < 0)
		return r;
	if (strncmp(name, "lib", 3) != 0 || is_like_ours(file.fd)) {
		*ret = file;
		return 0;
	}
	probe_file_done(&file);
	return -ENOENT;
}

/* Whether file @base is library @name: `libc.so.6`, `libc.so` or `libc`. */
static bool is_library(const char *base, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(base, name, n) != 0)
		return false;
	return !base[n] || (base[n] == '.' && strstr(name, ".so")) ||
	       strncmp(base + n, ".so", 3) == 0;
}

/* Opens the mapped file, or else the one with its path. */
static int open_mapped(const struct maps_entry *entry, uint32_t pid, struct probe_file *ret)
{
	_cleanup_close_ int place = foreign_find_mapped(pid, entry->start, entry->end);
	char prefix[64];

	snprintf(prefix, sizeof prefix, "/proc/%u/root", pid);
	return place < 0 ? open_as(entry->name.path, pid, ret)
			 : keep(foreign_open_found(place), prefix, entry->name.path, ret);
}

/* Finds the process's own mapping with that name. */
static int find_mapped(const char *name, uint32_t pid, struct probe_file *ret)
{
	_cleanup_free_ char *text = NULL;
	struct maps_entry entry;
	char maps[64], *line, *rest;
	size_t size;
	int r = -ENOENT;

	snprintf(maps, sizeof maps, "/proc/%u/maps", pid);
	if (read_whole_file(maps, &text, &size) < 0)
		return -ENOENT;
	for (rest = text; r == -ENOENT && (line = strsep(&rest, "\n"));) {
		const char *base;

		if (!maps_parse(line, &entry) || entry.name.path[0] != '/')
			continue;
		base = basename(entry.name.path);
		if (strcmp(base, name) == 0 || is_library(base, name))
			r = open_mapped(&entry, pid, ret);
	}
	return r;
}

/*
 * The dynamic linker's own list, ld.so.cache(5) as glibc writes it since 2.2: a header of 48 bytes
 * (20 of magic, then the number of entries), entries of 24, strings relative to the header's start.
 */
#define CACHE_PATH   "/etc/ld.so.cache"
#define CACHE_MAGIC  "glibc-ld.so.cache1.1"
#define CACHE_HEADER 48
#define CACHE_ENTRY  24

static const char *cache_text(const char *cache, size_t size, uint32_t offset)
{
	return offset < size ? cache + offset : "";
}

static int find_cached(const char *name, struct probe_file *ret)
{
	_cleanup_free_ char *cache = NULL;
	uint32_t n, words[3];
	size_t size;
	int r = read_whole_file(CACHE_PATH, &cache, &size);

	if (r < 0 || size < CACHE_HEADER || memcmp(cache, CACHE_MAGIC, 20) != 0)
		return -ENOENT;
	memcpy(&n, cache + 20, sizeof n);
	for (uint32_t i = 0; i < n && CACHE_HEADER + (i + 1ULL) * CACHE_ENTRY <= size; i++) {
		memcpy(words, cache + CACHE_HEADER + i * CACHE_ENTRY, sizeof words);
		if (is_library(cache_text(cache, size, words[1]), name) &&
		    open_ours(cache_text(cache, size, words[2]), name, 0, ret) == 0)
			return 0;
	}
	return -ENOENT;
}

static int find_in_list(const char *list, const char *name, uint32_t pid, struct probe_file *ret)
{
	char path[PATH_MAX];

	while (list && *list) {
		size_t n = strcspn(list, ":");

		if (n &&
		    (size_t)snprintf(path, sizeof path, "%.*s/%s", (int)n, list, name) <
			    sizeof path &&
		    open_ours(path, name, pid, ret) == 0)
			return 0;
		list += n + !!list[n];
	}
	return -ENOENT;
}

#define PROGRAM_FOLDERS "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
#define LIBRARY_FOLDERS "/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib"

int probe_file_find(const char *name, uint32_t pid, struct probe_file *ret)
{
	char whole[PATH_MAX];
	int r;

	if (strchr(name, '/')) {
		/* Relative to the current folder; but a process's own paths are absolute. */
		if (pid && name[0] == '/' && open_as(name, pid, ret) == 0)
			return 0;
		return realpath(name, whole) ? open_as(whole, 0, ret) : -ENOENT;
	}
	r = pid ? find_mapped(name, pid, ret) : -ENOENT;
	if (r == -ENOENT)
		r = find_in_list(getenv("LD_LIBRARY_PATH"), name, 0, ret);
	if (r == -ENOENT && strncmp(name, "lib", 3) == 0)
		r = find_cached(name, ret);
	if (r == -ENOENT)
		r = find_in_list(getenv("PATH"), name, 0, ret);
	if (r == -ENOENT)
		r = find_in_list(PROGRAM_FOLDERS, name, pid, ret);
	return r == -ENOENT ? find_in_list(LIBRARY_FOLDERS, name, pid, ret) : r;
}
