/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/probe_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system.h"

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* @path as process @pid sees it. */
static int path_of(const char *path, uint32_t pid, char **ret)
{
	char *whole;
	int n = pid ? asprintf(&whole, "/proc/%u/root%s", pid, path) : asprintf(&whole, "%s", path);

	if (n < 0)
		return -ENOMEM;
	if (!is_file(whole)) {
		free(whole);
		return -ENOENT;
	}
	*ret = whole;
	return 0;
}

/* For which processor a file is made, and its word size. False: it is no ELF file. */
static bool read_kind(const char *path, uint16_t *ret_machine, uint8_t *ret_class)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr header; /* up to e_machine, an Elf32_Ehdr is the same */

	if (fd < 0 || read(fd, &header, sizeof header) != sizeof header ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	*ret_machine = header.e_machine;
	*ret_class = header.e_ident[EI_CLASS];
	return true;
}

static bool is_like_ours(const char *path)
{
	uint16_t machine, our_machine;
	uint8_t class, our_class;

	return read_kind(path, &machine, &class) &&
	       read_kind("/proc/self/exe", &our_machine, &our_class) && machine == our_machine &&
	       class == our_class;
}

bool probe_file_runs_here(const char *path)
{
	uint16_t machine;
	uint8_t class;

	if (!read_kind(path, &machine, &class) || is_like_ours(path))
		return true;
#ifdef __x86_64__
	return machine == EM_386;
#else
	return machine == EM_ARM;
#endif
}

/*
 * @path, if programs that run here load libraries from it: of several libc.so.6, those for other
 * kinds of programs may well be listed first.
 */
static int path_of_ours(const char *path, const char *name, uint32_t pid, char **ret)
{
	int r = path_of(path, pid, ret);

	if (r < 0 || strncmp(name, "lib", 3) != 0 || is_like_ours(*ret))
		return r;
	free(*ret);
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

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What the process itself has mapped under that name. */
static int find_mapped(const char *name, uint32_t pid, char **ret)
{
	char path[64], line[PATH_MAX + 128];
	FILE *maps;
	int r = -ENOENT;

	snprintf(path, sizeof path, "/proc/%u/maps", pid);
	maps = fopen(path, "re");
	while (maps && r == -ENOENT && fgets(line, sizeof line, maps)) {
		char *mapped = strchr(line, '/');

		if (!mapped)
			continue;
		mapped[strcspn(mapped, "\n")] = '\0';
		if (strcmp(base_of(mapped), name) == 0 || is_library(base_of(mapped), name))
			r = path_of(mapped, pid, ret);
	}
	if (maps)
		fclose(maps);
	return r;
}

/*
 * The dynamic linker's own list, ld.so.cache(5) as glibc writes it since 2.2: a header of 48 bytes
 * (12 of them the number of entries, behind 20 of magic), entries of 24, strings counted from the
 * header's start.
 */
#define CACHE_PATH   "/etc/ld.so.cache"
#define CACHE_MAGIC  "glibc-ld.so.cache1.1"
#define CACHE_HEADER 48
#define CACHE_ENTRY  24

static const char *cache_text(const char *cache, size_t size, uint32_t offset)
{
	return offset < size ? cache + offset : "";
}

static int find_cached(const char *name, char **ret)
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
		    path_of_ours(cache_text(cache, size, words[2]), name, 0, ret) == 0)
			return 0;
	}
	return -ENOENT;
}

static int find_in_list(const char *list, const char *name, uint32_t pid, char **ret)
{
	char path[PATH_MAX];

	while (list && *list) {
		size_t n = strcspn(list, ":");

		if (n &&
		    (size_t)snprintf(path, sizeof path, "%.*s/%s", (int)n, list, name) <
			    sizeof path &&
		    path_of_ours(path, name, pid, ret) == 0)
			return 0;
		list += n + !!list[n];
	}
	return -ENOENT;
}

#define PROGRAM_FOLDERS "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
#define LIBRARY_FOLDERS "/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib"

int probe_file_find(const char *name, uint32_t pid, char **ret_path)
{
	char whole[PATH_MAX];
	int r;

	if (strchr(name, '/')) {
		/* Relative to where we are; but a process's own paths are whole. */
		if (pid && name[0] == '/' && path_of(name, pid, ret_path) == 0)
			return 0;
		return realpath(name, whole) ? path_of(whole, 0, ret_path) : -ENOENT;
	}
	r = pid ? find_mapped(name, pid, ret_path) : -ENOENT;
	if (r == -ENOENT)
		r = find_in_list(getenv("LD_LIBRARY_PATH"), name, 0, ret_path);
	if (r == -ENOENT && strncmp(name, "lib", 3) == 0)
		r = find_cached(name, ret_path);
	if (r == -ENOENT)
		r = find_in_list(getenv("PATH"), name, 0, ret_path);
	if (r == -ENOENT)
		r = find_in_list(PROGRAM_FOLDERS, name, pid, ret_path);
	return r == -ENOENT ? find_in_list(LIBRARY_FOLDERS, name, pid, ret_path) : r;
}

static int open_elf(const char *path, int *ret_fd, struct elf_file *ret)
{
	int r;

	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*ret_fd < 0)
		return -errno;
	r = elf_file_open(ret, *ret_fd);
	if (r < 0) {
		close(*ret_fd);
		*ret_fd = -1;
	}
	return r;
}

/* What was stripped from the file, where distributions put it. */
static int open_debug(const struct elf_file *file, int *ret_fd, struct elf_file *ret)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t n = elf_file_build_id(file, id);
	char path[64 + 2 * ELF_BUILD_ID_MAX];
	int at;

	if (n < 2)
		return -ENOENT;
	at = sprintf(path, "/usr/lib/debug/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < n; i++)
		at += sprintf(path + at, "%02x", id[i]);
	strcpy(path + at, ".debug");
	return open_elf(path, ret_fd, ret);
}

/* In the file's own tables, then in those that were stripped from it. */
static int find_function(struct elf_file *file, const char *name, struct event_places *ret,
			 struct nearest *nearest)
{
	_cleanup_close_ int fd = -1;
	struct elf_file debug;
	int r = elf_functions_find(file, file, name, ret, nearest);

	if (r != -ENOENT || open_debug(file, &fd, &debug) < 0)
		return r;
	r = elf_functions_find(file, &debug, name, ret, nearest);
	elf_file_done(&debug);
	return r;
}

int probe_file_functions(const char *path, const char *name, struct event_places *ret,
			 struct nearest *nearest)
{
	_cleanup_close_ int fd = -1;
	struct elf_file file;
	char *end;
	uint64_t address = strtoull(name, &end, 16);
	int r = open_elf(path, &fd, &file);

	if (r < 0)
		return r;
	ret->n = 0;
	if (strncmp(name, "0x", 2) == 0 && !*end) {
		ret->items[0] = (struct event_place){};
		r = elf_functions_offset(&file, address, &ret->items[0].offset);
		ret->n = r == 0;
	} else {
		r = find_function(&file, name, ret, NULL);
		/* Only then are they compared: there can be a hundred thousand. */
		if (r == -ENOENT)
			r = find_function(&file, name, ret, nearest);
	}
	elf_file_done(&file);
	return r;
}

int probe_file_list_usdt(const char *path, usdt_fn fn, void *context)
{
	_cleanup_close_ int fd = -1;
	struct elf_file file;
	int r = open_elf(path, &fd, &file);

	if (r < 0)
		return r;
	r = usdt_list(&file, fn, context);
	elf_file_done(&file);
	return r;
}

struct usdt_search {
	const char *provider, *name;
	struct event_places *places;
	struct nearest *nearest;
};

static int consider_usdt(void *context, const struct usdt_probe *probe)
{
	struct usdt_search *search = context;

	nearest_offer(search->nearest, probe->name);
	if (strcmp(probe->name, search->name) != 0 ||
	    (search->provider && strcmp(probe->provider, search->provider) != 0))
		return 0;
	if (search->places->n == MAX_EVENT_PLACES)
		return -E2BIG;
	search->places->items[search->places->n++] = probe->place;
	return 0;
}

int probe_file_usdt(const char *path, const char *provider, const char *name,
		    struct event_places *ret, struct nearest *nearest)
{
	struct usdt_search search = {provider, name, ret, nearest};
	int r;

	ret->n = 0;
	r = probe_file_list_usdt(path, consider_usdt, &search);
	return r < 0 || ret->n ? r : -ENOENT;
}
