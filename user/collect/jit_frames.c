/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/jit_frames.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/system.h"
#include "collect/process_runtime.h"
#include "unwind/jit_file.h"

#define MOST_MAPPINGS	256	     /* of a process that is looked at */
#define MOST_NEIGHBOURS 4	     /* mappings on each side of the code … */
#define MOST_AROUND	(256u << 10) /* … and their bytes */
#define MOST_CODE	(256u << 20) /* bytes in one mapping */
#define READ_BYTES	(64u << 10)  /* at a time */
#define PAUSE		20	     /* times as long as looking took */

struct around {
	uint64_t from, to; /* [from, to) */
};

/* Finds memory of no file that is not code and that holds @address. */
static bool find_memory(uint32_t pid, uint64_t address, struct around *ret)
{
	char path[PATH_MAX];
	struct maps_entry entry;

	if (maps_find(pid, address, &entry, path) != 1 || entry.name.inode || *path ||
	    entry.is_executable)
		return false;
	*ret = (struct around){entry.start, entry.end};
	return true;
}

/* Memory before the code; there may be data between the frames and the code. */
static struct around find_before(uint32_t pid, uint64_t start)
{
	struct around around = {start, start}, next;

	for (int i = 0; i < MOST_NEIGHBOURS && around.to - around.from < MOST_AROUND &&
			find_memory(pid, around.from - 1, &next);
	     i++)
		around.from = next.from;
	if (around.to - around.from > MOST_AROUND)
		around.from = around.to - MOST_AROUND;
	return around;
}

static struct around find_after(uint32_t pid, uint64_t end)
{
	struct around around = {end, end}, next;

	for (int i = 0; i < MOST_NEIGHBOURS && around.to - around.from < MOST_AROUND &&
			find_memory(pid, around.to, &next);
	     i++)
		around.to = next.to;
	if (around.to - around.from > MOST_AROUND)
		around.to = around.from + MOST_AROUND;
	return around;
}

static int make_of(const struct runtime_memory *memory, const struct mapping *code,
		   struct around around)
{
	size_t n = around.to - around.from;
	_cleanup_free_ uint8_t *bytes = malloc(n + 1);

	if (!bytes)
		return -ENOMEM;
	for (size_t at = 0; at < n; at += READ_BYTES) {
		const struct runtime_piece piece = {
			around.from + at, n - at < READ_BYTES ? n - at : READ_BYTES, bytes + at};
		int r = memory->read(memory->context, &piece, 1);

		if (r < 0)
			return r;
	}
	return jit_file_make(bytes, n, around.from, code->start, code->end);
}

/* Before the code or after it. Returns a descriptor, or -errno. */
static int make_frames(const struct runtime_memory *memory, uint32_t pid,
		       const struct mapping *code)
{
	int r;

	if (code->end - code->start > MOST_CODE)
		return -ENOENT;
	r = make_of(memory, code, find_before(pid, code->start));
	return r >= 0 || r == -ENOMEM ? r : make_of(memory, code, find_after(pid, code->end));
}

int jit_frames_find(struct processes *processes, uint32_t index)
{
	struct process *process = &processes->processes[index];
	struct process_memory source;
	struct runtime_memory memory = process_memory(&processes->files, process, &source);
	uint64_t began = monotonic_ns();
	uint32_t pid = process->pid;

	if (process->looked_around == process->mappings->version || process->ended ||
	    began < process->look_at || processes_latest(processes, pid) != index ||
	    process->mappings->n > MOST_MAPPINGS)
		return 0;
	for (size_t i = 0; i < process->mappings->n; i++) {
		struct mapping code = process->mappings->items[i];
		int fd, r;

		if (!files_is_plain_memory(&processes->files, code.file))
			continue;
		fd = make_frames(&memory, pid, &code);
		if (fd == -ENOMEM)
			return fd;
		r = files_add_made(&processes->files, fd, pid, &code.file);
		if (r < 0)
			return r;
		code.offset = JIT_CODE_OFFSET;
		r = processes_map(processes, pid, &code, 0);
		if (r < 0)
			return r;
	}
	process->looked_around = process->mappings->version;
	process->look_at = began + PAUSE * (monotonic_ns() - began);
	return 0;
}
