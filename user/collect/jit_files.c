/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/jit_files.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/foreign.h"
#include "base/process_stat.h"
#include "base/system.h"
#include "collect/maps.h"

/* Time stamps of files come from a coarse clock. */
#define CLOCK_SLACK_NS NSEC_PER_SEC
#define TICK_NS	       (NSEC_PER_SEC / 100) /* files' times lag by less */

struct jit_process {
	uint32_t n_references; /* of its process, and its children; 0: unused */
	struct jit_image image;
	uint32_t parent;    /* forked from; TABLE_NONE: none of these */
	uint32_t inner_pid; /* in its own PID namespace; 0: unknown */
	uint32_t user;	    /* effective; UINT32_MAX: unknown */
	uint32_t tmp;	    /* in jit_files.folders; UINT32_MAX: unknown */
	int perf_map;	    /* -1: not found yet */
	uint32_t jitdump;   /* in files; UINT32_MAX: none */
	bool ended;
	uint64_t ended_at; /* by an exec; CLOCK_MONOTONIC ns; else 0 */
};

void jit_files_done(struct jit_files *jit)
{
	for (size_t i = 0; i < jit->pool.n; i++)
		if (jit->processes[i].n_references)
			closep(&jit->processes[i].perf_map);
	free(jit->processes);
	free(jit->pool.free);
	table_done(&jit->by_image);
	folders_done(&jit->folders);
	*jit = (struct jit_files){};
}

static bool image_equal(const void *items, uint32_t position, const void *key)
{
	const struct jit_image *a = &((const struct jit_process *)items)[position].image, *b = key;

	return a->pid == b->pid && a->start == b->start && a->exec_id == b->exec_id;
}

static uint64_t image_hash(const struct jit_image *image)
{
	return hash_mix(hash_mix(image->pid, image->start), image->exec_id);
}

static uint32_t find_image(const struct jit_files *jit, const struct jit_image *image)
{
	return table_find(&jit->by_image, image_hash(image), image_equal, jit->processes, image);
}

static int add_image(struct jit_files *jit, const struct jit_image *image, struct jit_process **ret)
{
	uint32_t index;
	int r = pool_take(jit->processes, jit->pool, &index);

	if (r < 0)
		return r;
	r = table_add(&jit->by_image, image_hash(image), index);
	if (r < 0) {
		pool_give(&jit->pool, index);
		return r;
	}
	*ret = &jit->processes[index];
	**ret = (struct jit_process){
		.n_references = 1,
		.image = *image,
		.parent = TABLE_NONE,
		.user = UINT32_MAX,
		.tmp = UINT32_MAX,
		.perf_map = -1,
		.jitdump = UINT32_MAX,
	};
	return 0;
}

static void put(struct jit_files *jit, struct files *files, uint32_t index)
{
	while (index != TABLE_NONE && !--jit->processes[index].n_references) {
		struct jit_process *process = &jit->processes[index];
		uint32_t freed = index;

		table_remove(&jit->by_image, image_hash(&process->image), index);
		closep(&process->perf_map);
		folders_put(&jit->folders, process->tmp);
		if (process->jitdump != UINT32_MAX)
			files_put(files, process->jitdump);
		index = process->parent;
		pool_give(&jit->pool, freed);
	}
}

void jit_files_release(struct jit_files *jit, struct files *files, const struct jit_image *image)
{
	uint32_t found = find_image(jit, image);

	if (found != TABLE_NONE)
		put(jit, files, found);
}

/* --- The process --- */

/* Whether the PID still belongs to @image. */
static bool is_same_process(const struct jit_image *image)
{
	uint64_t tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	struct process_stat stat;

	return foreign_read_stat(image->pid, &stat) == 0 &&
	       (!image->start || stat.start_ns / tick_ns == image->start / tick_ns);
}

/* The number at place @n of a line of /proc/PID/status, or the last one of a shorter line. */
static bool status_number(const char *status, const char *key, int n, uint32_t *ret)
{
	const char *at = strstr(status, key);
	uint32_t value = 0;
	char *end;
	int i = 0;

	for (at = at ? at + strlen(key) : NULL; at && i < n; i++) {
		value = strtoul(at, &end, 10);
		if (end == at || *end == '\n')
			break;
		at = end + strspn(end, "\t ");
		if (!isdigit((unsigned char)*at))
			break;
	}
	if (!at)
		return false;
	*ret = value;
	return true;
}

/* The folder /tmp below @root, with a reference. */
static uint32_t find_tmp(struct jit_files *jit, int root)
{
	int tmp = foreign_find(root, "/tmp");
	uint32_t folder;

	return tmp < 0 || folders_add(&jit->folders, tmp, &folder) < 0 ? UINT32_MAX : folder;
}

static uint32_t find_tmp_of(struct jit_files *jit, uint32_t pid)
{
	_cleanup_close_ int root = foreign_find_root(maps_thread(pid));

	return root < 0 ? UINT32_MAX : find_tmp(jit, root);
}

/* Reads from /proc who the process is, and where it lives. */
static void ask(struct jit_files *jit, struct jit_process *process)
{
	uint32_t pid = process->image.pid, inner_pid = pid, user = UINT32_MAX, tmp;
	_cleanup_free_ char *status = NULL;
	char path[64];
	size_t size;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/status", pid);
	if (read_whole_file(path, &status, &size) < 0)
		return;
	tmp = find_tmp_of(jit, pid);
	if (!is_same_process(&process->image)) {
		folders_put(&jit->folders, tmp);
		return;
	}
	status_number(status, "\nNSpid:", INT32_MAX, &inner_pid);
	status_number(status, "\nUid:", 2, &user);
	process->inner_pid = inner_pid;
	process->user = user;
	folders_put(&jit->folders, process->tmp);
	process->tmp = tmp;
}

/* --- Its files --- */

static uint64_t clock_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static uint64_t written_at(const struct stat *stat)
{
	return stat->st_mtim.tv_sec * NSEC_PER_SEC + stat->st_mtim.tv_nsec;
}

static bool is_from_before(const struct stat *stat, const struct jit_image *image)
{
	uint64_t now = clock_now(CLOCK_REALTIME), written = written_at(stat);
	uint64_t age = clock_now(CLOCK_BOOTTIME) - image->start;

	if (image->since)
		return written + TICK_NS < now - (monotonic_ns() - image->since);
	return image->start && written + CLOCK_SLACK_NS < now - age;
}

/* Whether the next image has written to it. */
static bool is_from_after(const struct stat *stat, const struct jit_process *process)
{
	return process->ended_at &&
	       written_at(stat) > clock_now(CLOCK_REALTIME) - (monotonic_ns() - process->ended_at);
}

/* Whether a file belongs to root or to the process's own user. */
static bool is_trusted(const struct stat *stat, const struct jit_process *process)
{
	return S_ISREG(stat->st_mode) && (stat->st_uid == 0 || stat->st_uid == process->user);
}

static int open_map(struct jit_files *jit, struct jit_process *process, uint32_t folder,
		    uint32_t pid)
{
	_cleanup_close_ int place = -1;
	char name[32];
	struct stat stat;
	int fd;

	if (folder == UINT32_MAX || !pid)
		return -1;
	snprintf(name, sizeof name, "perf-%" PRIu32 ".map", pid);
	place = foreign_find_in(jit->folders.items[folder].fd, name);
	if (place < 0 || foreign_status(place, &stat) < 0)
		return -1;
	if (!is_trusted(&stat, process))
		ask(jit, process); /* its user may have changed */
	if (!is_trusted(&stat, process) || is_from_before(&stat, &process->image) ||
	    is_from_after(&stat, process))
		return -1;
	fd = foreign_open_found(place);
	return fd < 0 ? -1 : fd;
}

static uint32_t own_tmp(struct jit_files *jit)
{
	if (!jit->own_tmp)
		jit->own_tmp = find_tmp(jit, FOREIGN_OUR_ROOT) + 1; /* none: 0 again */
	return jit->own_tmp - 1;
}

/*
 * In the process's own /tmp by its own PID, then in ours by the PID that we see: agents outside put
 * maps there, and for a process that ended early nothing else is known.
 */
static int find_map(struct jit_files *jit, struct jit_process *process)
{
	int fd;

	if (process->tmp == UINT32_MAX || !process->inner_pid)
		ask(jit, process);
	fd = open_map(jit, process, process->tmp, process->inner_pid);
	if (fd >= 0)
		return fd;
	return open_map(jit, process, own_tmp(jit), process->image.pid);
}

static bool is_same_file(int a, int b)
{
	struct stat stat_a, stat_b;

	return foreign_status(a, &stat_a) == 0 && foreign_status(b, &stat_b) == 0 &&
	       stat_a.st_dev == stat_b.st_dev && stat_a.st_ino == stat_b.st_ino;
}

/* Finds the map, or a new one that has taken the old one's name. */
static void look(struct jit_files *jit, struct jit_process *process)
{
	int fd = find_map(jit, process);

	if (fd < 0)
		return;
	if (process->perf_map >= 0 && is_same_file(fd, process->perf_map)) {
		close(fd);
		return;
	}
	closep(&process->perf_map);
	process->perf_map = fd;
}

/* Matches `…/jit-PID.dump`, which may already be deleted. */
static bool is_jitdump(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int n = 0;

	sscanf(name, "jit-%*[0-9].dump%n", &n);
	return n && (!name[n] || strcmp(name + n, " (deleted)") == 0);
}

/* Matches the kernel's code in every process. */
static bool is_of_kernel(const char *path)
{
	return strcmp(path, "[vdso]") == 0 || strcmp(path, "[vsyscall]") == 0 ||
	       strcmp(path, "[uprobes]") == 0;
}

static void take_jitdump(struct jit_process *process, struct files *files, uint32_t file)
{
	struct stat stat;

	if (files->files[file].fd < 0 || foreign_status(files->files[file].fd, &stat) < 0)
		return;
	/* The user of an ended process is unknown, but it did map the file. */
	if (!is_trusted(&stat, process) && (process->user != UINT32_MAX || !S_ISREG(stat.st_mode)))
		return;
	files_hold(files, file);
	if (process->jitdump != UINT32_MAX)
		files_put(files, process->jitdump);
	process->jitdump = file;
}

int jit_files_see(struct jit_files *jit, struct files *files, const struct jit_image *image,
		  uint32_t file)
{
	bool is_memory = files->files[file].is_memory;
	const char *path = files->files[file].path;
	struct jit_process *process;
	uint32_t found;
	int r;

	if (is_memory ? is_of_kernel(path) : !is_jitdump(path))
		return 0;
	found = find_image(jit, image);
	if (found != TABLE_NONE) {
		process = &jit->processes[found];
	} else {
		r = add_image(jit, image, &process);
		if (r < 0)
			return r;
		look(jit, process);
	}
	if (!is_memory)
		take_jitdump(process, files, file);
	return 0;
}

int jit_files_fork(struct jit_files *jit, const struct jit_image *parent,
		   const struct jit_image *child)
{
	uint32_t of = find_image(jit, parent);
	struct jit_process *process;
	int r;

	if (of == TABLE_NONE || find_image(jit, child) != TABLE_NONE)
		return 0;
	r = add_image(jit, child, &process);
	if (r < 0)
		return r;
	process->parent = of;
	process->user = jit->processes[of].user;
	process->tmp = jit->processes[of].tmp;
	jit->processes[of].n_references++;
	folders_hold(&jit->folders, process->tmp);
	return 0;
}

void jit_files_end(struct jit_files *jit, const struct jit_image *image, uint64_t exec_ns)
{
	uint32_t found = find_image(jit, image);

	if (found == TABLE_NONE || jit->processes[found].ended)
		return;
	jit->processes[found].ended_at = exec_ns;
	look(jit, &jit->processes[found]);
	jit->processes[found].ended = true;
}

void jit_files_retry(struct jit_files *jit)
{
	for (size_t i = 0; i < jit->pool.n; i++)
		if (jit->processes[i].n_references && !jit->processes[i].ended)
			look(jit, &jit->processes[i]);
}

/* Whether the next image has left the file alone. */
static bool is_still_of(const struct jit_process *process, int fd)
{
	struct stat stat;

	return fd >= 0 && (!process->ended_at ||
			   (foreign_status(fd, &stat) == 0 && !is_from_after(&stat, process)));
}

void jit_files_source(const struct jit_files *jit, const struct files *files,
		      const struct jit_image *image, struct mapping_source *source)
{
	for (uint32_t i = find_image(jit, image); i != TABLE_NONE; i = jit->processes[i].parent) {
		const struct jit_process *process = &jit->processes[i];
		int dump = process->jitdump == UINT32_MAX ? -1 : files->files[process->jitdump].fd;

		if (source->perf_map < 0 && is_still_of(process, process->perf_map))
			source->perf_map = process->perf_map;
		if (source->jitdump < 0 && is_still_of(process, dump))
			source->jitdump = dump;
	}
}
