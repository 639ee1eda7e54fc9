/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/system.h"
#include "collect/rights.h"

#define SWEEP_ABOVE 4096 /* ended images kept at least */

struct pid_slot {
	uint32_t pid, process;
};

int processes_init(struct processes *processes)
{
	*processes = (struct processes){.sweep_above = SWEEP_ABOVE};
	return files_init(&processes->files);
}

static void forget_all(struct processes *processes)
{
	processes->n_changed = 0;
	free(processes->latest);
	processes->latest = NULL;
	processes->n_latest = processes->latest_capacity = 0;
	table_done(&processes->by_image);
	table_done(&processes->by_pid);
}

void processes_done(struct processes *processes)
{
	for (size_t i = 0; i < processes->n_processes; i++)
		free(processes->processes[i].mappings);
	free(processes->processes);
	free(processes->changed);
	forget_all(processes);
	jit_files_done(&processes->jit_files);
	files_done(&processes->files);
	*processes = (struct processes){};
}

static bool image_equal(const void *items, uint32_t position, const void *key)
{
	const struct process *a = (const struct process *)items + position, *b = key;

	return a->pid == b->pid && a->start == b->start && a->exec_id == b->exec_id;
}

static uint64_t image_hash(uint32_t pid, uint64_t start, uint32_t exec_id)
{
	return hash_mix(hash_mix(pid, start), exec_id);
}

uint32_t processes_find(const struct processes *processes, uint32_t pid, uint64_t start,
			uint32_t exec_id)
{
	struct process key = {.pid = pid, .start = start, .exec_id = exec_id};

	return table_find(&processes->by_image, image_hash(pid, start, exec_id), image_equal,
			  processes->processes, &key);
}

static bool pid_equal(const void *items, uint32_t position, const void *key)
{
	return ((const struct pid_slot *)items)[position].pid == *(const uint32_t *)key;
}

static struct pid_slot *latest_slot(const struct processes *processes, uint32_t pid)
{
	uint32_t found = table_find(&processes->by_pid, hash_mix(0, pid), pid_equal,
				    processes->latest, &pid);

	return found == TABLE_NONE ? NULL : &processes->latest[found];
}

uint32_t processes_latest(const struct processes *processes, uint32_t pid)
{
	const struct pid_slot *slot = latest_slot(processes, pid);

	return slot ? slot->process : TABLE_NONE;
}

/* Enters processes[@process] into both tables. */
static int enter(struct processes *processes, uint32_t process)
{
	const struct process *p = &processes->processes[process];
	struct pid_slot *slot = latest_slot(processes, p->pid);
	int r = table_add(&processes->by_image, image_hash(p->pid, p->start, p->exec_id), process);

	if (r < 0)
		return r;
	if (slot) {
		slot->process = process;
		return 0;
	}
	r = array_reserve(processes->latest, processes->latest_capacity, processes->n_latest, 1);
	if (r < 0)
		return r;
	r = table_add(&processes->by_pid, hash_mix(0, p->pid), processes->n_latest);
	if (r < 0)
		return r;
	processes->latest[processes->n_latest++] = (struct pid_slot){p->pid, process};
	return 0;
}

int processes_add(struct processes *processes, uint32_t pid, uint64_t start, uint32_t exec_id,
		  uint32_t *ret_process)
{
	int r = array_reserve(processes->processes, processes->processes_capacity,
			      processes->n_processes, 1);

	if (r < 0)
		return r;
	processes->processes[processes->n_processes] =
		(struct process){.pid = pid, .start = start, .exec_id = exec_id};
	r = enter(processes, processes->n_processes);
	if (r < 0)
		return r;
	*ret_process = processes->n_processes++;
	return 0;
}

int processes_note_change(struct processes *processes, uint32_t process)
{
	int r;

	if (processes->processes[process].is_changed)
		return 0;
	r = array_reserve(processes->changed, processes->changed_capacity, processes->n_changed, 1);
	if (r < 0)
		return r;
	processes->processes[process].is_changed = true;
	processes->changed[processes->n_changed++] = process;
	return 0;
}

static struct jit_image jit_image(const struct process *process)
{
	return (struct jit_image){process->pid, process->exec_id, process->start};
}

static int mark_ended(struct processes *processes, uint32_t process)
{
	const struct jit_image image = jit_image(&processes->processes[process]);

	if (processes->processes[process].ended)
		return 0;
	jit_files_end(&processes->jit_files, &image);
	processes->n_ended++;
	processes->processes[process].ended = processes->sweeps + 1;
	return processes_note_change(processes, process);
}

/* The process that had @pid before has ended, though its exit may have been lost. */
static int forget_other(struct processes *processes, uint32_t pid, uint64_t start)
{
	uint32_t before = processes_latest(processes, pid);

	return before != TABLE_NONE && processes->processes[before].start != start
		       ? mark_ended(processes, before)
		       : 0;
}

int processes_fork(struct processes *processes, uint32_t parent_pid, uint32_t pid, uint64_t start,
		   uint32_t exec_id)
{
	uint32_t parent = processes_latest(processes, parent_pid), child;
	struct process *to;
	int r;

	if (processes_find(processes, pid, start, exec_id) != TABLE_NONE)
		return 0;
	r = forget_other(processes, pid, start);
	r = r < 0 ? r : processes_add(processes, pid, start, exec_id, &child);
	if (r < 0 || parent == TABLE_NONE)
		return r;
	r = processes_note_change(processes, child);
	if (r < 0)
		return r;
	to = &processes->processes[child];
	const struct process *from = &processes->processes[parent];

	r = array_reserve(to->mappings, to->mappings_capacity, 0, from->n_mappings);
	if (r < 0)
		return r;
	if (from->n_mappings)
		memcpy(to->mappings, from->mappings, from->n_mappings * sizeof *to->mappings);
	to->n_mappings = from->n_mappings;
	to->room.wanted = from->room.wanted;
	const struct jit_image of = jit_image(from), image = jit_image(to);

	return jit_files_fork(&processes->jit_files, &of, &image);
}

int processes_meet(struct processes *processes, uint32_t pid, uint64_t start, uint32_t exec_id,
		   uint32_t *ret_process)
{
	uint32_t process = processes_find(processes, pid, start, exec_id);
	int r = 0;

	if (process == TABLE_NONE) {
		r = processes_add(processes, pid, start, exec_id, &process);
		r = r < 0 ? r : processes_read_maps(processes, process);
		if (r < 0)
			return r;
		/* Gone: no event will tell. */
		if (!processes->processes[process].n_mappings)
			r = mark_ended(processes, process);
	}
	*ret_process = process;
	return r;
}

int processes_exec(struct processes *processes, uint32_t pid)
{
	uint32_t before = processes_latest(processes, pid), after;
	const struct process *p;
	int r;

	if (before == TABLE_NONE)
		return 0;
	r = mark_ended(processes, before);
	if (r < 0)
		return r;
	p = &processes->processes[before];
	return processes_add(processes, pid, p->start, p->exec_id + 1, &after);
}

int processes_exit(struct processes *processes, uint32_t pid, uint64_t time)
{
	uint32_t process = processes_latest(processes, pid);

	if (process == TABLE_NONE)
		return 0;
	processes->processes[process].exited_at = time;
	return mark_ended(processes, process);
}

/* The first mapping that ends after @address. */
static size_t first_after(const struct process *process, uint64_t address)
{
	size_t low = 0, high = process->n_mappings;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (process->mappings[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct mapping *process_mapping(const struct process *process, uint64_t address)
{
	size_t i = first_after(process, address);

	if (i == process->n_mappings || process->mappings[i].start > address)
		return NULL;
	return &process->mappings[i];
}

/* Replaces the @n_old mappings at @at by @new: at most three, the outer ones what stays of the old.
 */
static int splice(struct process *process, size_t at, size_t n_old, const struct mapping *new,
		  size_t n_new)
{
	int r = array_reserve(process->mappings, process->mappings_capacity, process->n_mappings,
			      n_new);

	if (r < 0)
		return r;
	memmove(process->mappings + at + n_new, process->mappings + at + n_old,
		(process->n_mappings - at - n_old) * sizeof *new);
	memcpy(process->mappings + at, new, n_new * sizeof *new);
	process->n_mappings += n_new - n_old;
	return 0;
}

static int map(struct process *process, const struct mapping *mapping)
{
	size_t at = first_after(process, mapping->start), end = at, n_new = 0;
	struct mapping new[3];

	if (at < process->n_mappings &&
	    memcmp(&process->mappings[at], mapping, sizeof *mapping) == 0)
		return 0;
	while (end < process->n_mappings && process->mappings[end].start < mapping->end)
		end++;
	if (end > at && process->mappings[at].start < mapping->start) {
		new[n_new] = process->mappings[at];
		new[n_new++].end = mapping->start;
	}
	new[n_new++] = *mapping;
	if (end > at && process->mappings[end - 1].end > mapping->end) {
		new[n_new] = process->mappings[end - 1];
		new[n_new].offset += mapping->end - new[n_new].start;
		new[n_new++].start = mapping->end;
	}
	process->version++;
	return splice(process, at, end - at, new, n_new);
}

static int add_mapping(struct processes *processes, uint32_t process, const struct mapping *mapping)
{
	const struct jit_image image = jit_image(&processes->processes[process]);
	int r = map(&processes->processes[process], mapping);

	r = r < 0 ? r : processes_note_change(processes, process);
	return r < 0 ? r
		     : jit_files_see(&processes->jit_files, &processes->files, &image,
				     mapping->file,
				     strings_get(&processes->files.strings, mapping->path));
}

int processes_map(struct processes *processes, uint32_t pid, const struct mapping *mapping)
{
	uint32_t process = processes_latest(processes, pid);

	if (process == TABLE_NONE || mapping->start >= mapping->end)
		return 0;
	return add_mapping(processes, process, mapping);
}

/* `00400000-0048a000 r-xp 00001000 fd:01 123  /path`. Returns false for what is not executable. */
static bool parse_maps_line(char *line, struct mapping *mapping, struct file_name *name,
			    const char **ret_path)
{
	char *p;

	mapping->start = strtoull(line, &p, 16);
	if (*p++ != '-')
		return false;
	mapping->end = strtoull(p, &p, 16);
	if (p[0] != ' ' || p[3] != 'x')
		return false;
	mapping->offset = strtoull(p + 6, &p, 16);
	name->device_major = strtoul(p, &p, 16);
	name->device_minor = strtoul(p + 1, &p, 16);
	name->inode = strtoull(p, &p, 10);
	*ret_path = p + strspn(p, " ");
	return true;
}

int processes_read_maps(struct processes *processes, uint32_t process)
{
	uint32_t pid = processes->processes[process].pid;
	_cleanup_free_ char *text = NULL;
	char path[64], *line, *next;
	size_t size;
	int r;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/maps", pid);
	r = read_whole_file(path, &text, &size);
	/* Its files can't be read any more than they can be listed. */
	if (r == -EACCES || r == -EPERM || (r == -ENOENT && rights_is_hidden(pid)))
		processes->files.n_unopened++;
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (line = text; *line; line = next) {
		struct file_name name = {};
		struct mapping mapping = {};
		const char *file_path;

		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		if (!parse_maps_line(line, &mapping, &name, &file_path))
			continue;
		r = strings_add(&processes->files.strings, file_path, &name.path);
		if (r < 0)
			return r;
		mapping.path = name.path;
		r = files_get(&processes->files, &name, pid, mapping.start, mapping.end,
			      &mapping.file);
		if (r < 0)
			return r;
		r = add_mapping(processes, process, &mapping);
		if (r < 0)
			return r;
	}
	return 0;
}

int processes_sweep(struct processes *processes)
{
	size_t kept = 0;

	processes->sweeps++;
	if (processes->n_ended < processes->sweep_above ||
	    processes->n_ended * 2 < processes->n_processes)
		return 0;
	for (size_t i = 0; i < processes->n_processes; i++) {
		uint32_t ended = processes->processes[i].ended;

		if (ended && ended < processes->sweeps) {
			free(processes->processes[i].mappings);
			processes->n_ended--;
		} else {
			processes->processes[kept++] = processes->processes[i];
		}
	}
	processes->n_processes = kept;
	processes->compactions++;
	forget_all(processes);
	for (size_t i = 0; i < kept; i++) {
		int r = enter(processes, i);

		if (r < 0)
			return r;
		if (processes->processes[i].is_changed)
			processes->changed[processes->n_changed++] = i;
	}
	return 0;
}
