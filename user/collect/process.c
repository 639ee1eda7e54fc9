/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/foreign.h"
#include "base/system.h"
#include "collect/rights.h"

/* Sweeps, a second or less each: a thread's waker's waker may have ended since. */
#define SWEEPS_KEPT 5

/* Per image; the oldest go. A process can have many mappings, and change one at a time. */
#define MAX_PAST	  256
#define MAX_PAST_MAPPINGS 65536 /* in all of them */
#define CHANGING_NS	  (5 * NSEC_PER_SEC)
/* Mappings that every process may have, whatever others of its user have. */
#define SHORT_LIST 256
#define SHORT_MAPS 65536 /* bytes of maps that have them */

void processes_init(struct processes *processes)
{
	*processes = (struct processes){};
	files_init(&processes->files);
}

/* --- Lists of mappings --- */

static struct mapping_list *list_new(struct processes *processes)
{
	struct mapping_list *list = calloc(1, sizeof *list);

	if (!list)
		return NULL;
	list->n_references = 1;
	list->version = ++processes->last_version;
	return list;
}

static void list_put(struct processes *processes, struct mapping_list *list)
{
	if (--list->n_references)
		return;
	for (size_t i = 0; i < list->n; i++)
		files_put(&processes->files, list->items[i].file);
	if (list->rooms.n)
		processes->release_rooms(processes->release_context, &list->rooms);
	if (list->n_charged)
		budgets_unmap(&processes->files.budgets, list->budget, list->n_charged);
	free(list->items);
	free(list);
}

/*
 * Has @list of process @pid count for @n mappings. Returns 1; 0 if its user has too many; -ENOMEM.
 * Short lists count for nothing: whose they are takes some reading to find out.
 */
static int list_charge(struct processes *processes, uint32_t pid, struct mapping_list *list,
		       size_t n)
{
	struct budgets *budgets = &processes->files.budgets;
	int r = 0;

	if (n <= SHORT_LIST || n <= list->n_charged)
		return 1;
	if (!list->n_charged && !list->is_cut)
		r = budgets_find_process(budgets, pid, &list->budget);
	if (r < 0)
		return r;
	if (!budgets_map(budgets, list->budget, n - list->n_charged)) {
		if (!list->is_cut)
			budgets_refuse(budgets, list->budget);
		list->is_cut = true;
		return 0;
	}
	list->n_charged = n;
	return 1;
}

static int copy_items(struct processes *processes, const struct mapping_list *from,
		      struct mapping_list *to, size_t n_more)
{
	if (array_reserve(to->items, to->capacity, 0, from->n + n_more) < 0)
		return -ENOMEM;
	if (from->n)
		memcpy(to->items, from->items, from->n * sizeof *to->items);
	to->n = from->n;
	for (size_t i = 0; i < to->n; i++)
		files_hold(&processes->files, to->items[i].file);
	return 1;
}

/*
 * Gives @process a list of its own, with room for @n_more mappings. Returns 1; 0 if its user has
 * too many: it keeps a list that was its own, and has an empty one in place of one that was shared.
 */
static int list_unshare(struct processes *processes, struct process *process, size_t n_more)
{
	struct mapping_list *shared = process->mappings, *own;
	size_t n = shared->n + n_more;
	int r;

	if (shared->n_references == 1)
		return list_charge(processes, process->pid, shared, n);
	own = list_new(processes);
	if (!own)
		return -ENOMEM;
	r = list_charge(processes, process->pid, own, n);
	if (r > 0)
		r = copy_items(processes, shared, own, n_more);
	if (r < 0) {
		list_put(processes, own);
		return r;
	}
	shared->n_references--;
	process->mappings = own;
	return r;
}

/* The first mapping that ends after @address. */
static size_t first_after(const struct mapping_list *list, uint64_t address)
{
	size_t low = 0, high = list->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct mapping *mapping_find(const struct mapping_list *list, uint64_t address)
{
	size_t i = first_after(list, address);

	return i == list->n || list->items[i].start > address ? NULL : &list->items[i];
}

/*
 * Replaces the @n_old mappings at @at by @new: at most three; the outer ones are remainders of the
 * old.
 */
static int list_splice(struct processes *processes, struct mapping_list *list, size_t at,
		       size_t n_old, const struct mapping *new, size_t n_new)
{
	int r = array_reserve(list->items, list->capacity, list->n, n_new);

	if (r < 0)
		return r;
	/* Remainders take their reference before the old ones put theirs. */
	for (size_t i = 0; i < n_new; i++)
		files_hold(&processes->files, new[i].file);
	for (size_t i = 0; i < n_old; i++)
		files_put(&processes->files, list->items[at + i].file);
	memmove(list->items + at + n_new, list->items + at + n_old,
		(list->n - at - n_old) * sizeof *new);
	memcpy(list->items + at, new, n_new * sizeof *new);
	list->n += n_new - n_old;
	list->version = ++processes->last_version;
	return 0;
}

static bool is_same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->file == b->file;
}

const struct mapping_list *process_mappings(const struct process *process, uint64_t time)
{
	for (uint32_t i = 0; time && i < process->n_past; i++)
		if (process->past[i].until > time)
			return process->past[i].list;
	return process->mappings;
}

static void forget_past(struct processes *processes, struct process *process, uint64_t before)
{
	uint32_t n = 0;

	while (n < process->n_past && process->past[n].until < before)
		list_put(processes, process->past[n++].list);
	process->n_past -= n;
	processes->n_past -= n;
	if (n)
		memmove(process->past, process->past + n, process->n_past * sizeof *process->past);
}

/* Keeps what was mapped until @time: stacks from before are still to come. */
static int keep_past(struct processes *processes, struct process *process, uint64_t time)
{
	if (!process->past)
		process->past = calloc(MAX_PAST, sizeof *process->past);
	if (!process->past)
		return -ENOMEM;
	while (process->n_past == MAX_PAST ||
	       (process->n_past && process->n_past * process->mappings->n > MAX_PAST_MAPPINGS))
		forget_past(processes, process, process->past[0].until + 1);
	process->past[process->n_past++] = (struct past_mappings){process->mappings, time};
	process->mappings->n_references++;
	processes->n_past++;
	return 0;
}

static bool has_file(const struct processes *processes, const struct mapping *mapping)
{
	return !processes->files.files[mapping->file].is_memory;
}

/*
 * @mapping replaces the mappings from @at up to @end. If it is other code, or BPF already knows the
 * process, stacks need to give their time.
 */
static int note_library(struct processes *processes, struct process *process,
			const struct mapping *mapping, size_t at, size_t end, uint64_t time)
{
	bool replaces = false;

	for (; at < end; at++) {
		const struct mapping *old = &process->mappings->items[at];

		replaces |= old->file != mapping->file && has_file(processes, old);
	}
	if (!time || (!replaces && !(process->pushed && has_file(processes, mapping))))
		return 0;
	if (!process->changing_until) {
		processes->n_changing++;
		process->pushed = 0;
	}
	process->changing_until = time + CHANGING_NS;
	return replaces ? keep_past(processes, process, time) : 0;
}

static int list_map(struct processes *processes, struct process *process,
		    const struct mapping *mapping, uint64_t time)
{
	const struct mapping *items = process->mappings->items;
	size_t n = process->mappings->n, at = first_after(process->mappings, mapping->start);
	size_t end = at, n_new = 0, middle;
	struct mapping new[3];
	int r;

	if (at < n && is_same_mapping(&items[at], mapping))
		return 0;
	while (end < n && items[end].start < mapping->end)
		end++;
	if (end > at && items[at].start < mapping->start) {
		new[n_new] = items[at];
		new[n_new++].end = mapping->start;
	}
	middle = n_new;
	new[n_new++] = *mapping;
	if (end > at && items[end - 1].end > mapping->end) {
		new[n_new] = items[end - 1];
		new[n_new].offset += mapping->end - new[n_new].start;
		new[n_new++].start = mapping->end;
	}
	r = note_library(processes, process, mapping, at, end, time);
	if (r < 0)
		return r;
	r = list_unshare(processes, process, n_new);
	if (r < 0)
		return r;
	if (r == 0) {
		/* It is left out, but what it covers is gone. */
		if (end == at || !process->mappings->n)
			return 0;
		n_new--;
		memmove(new + middle, new + middle + 1, (n_new - middle) * sizeof *new);
	}
	return list_splice(processes, process->mappings, at, end - at, new, n_new);
}

/* --- Images --- */

static struct jit_image jit_image(const struct process *process)
{
	return (struct jit_image){process->pid, process->exec_id, process->start, process->since};
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
	return ((const struct process *)items)[position].pid == *(const uint32_t *)key;
}

uint32_t processes_latest(const struct processes *processes, uint32_t pid)
{
	return table_find(&processes->by_pid, hash_mix(0, pid), pid_equal, processes->processes,
			  &pid);
}

void processes_hold(struct processes *processes, uint32_t process)
{
	processes->processes[process].n_references++;
}

static void free_said(struct process *process)
{
	for (uint32_t i = 0; i < RUNTIME_ROWS; i++) {
		free(process->said[i]);
		process->said[i] = NULL;
	}
}

void processes_put(struct processes *processes, uint32_t index)
{
	struct process *process = &processes->processes[index];
	const struct jit_image image = jit_image(process);

	if (--process->n_references)
		return;
	table_remove(&processes->by_image,
		     image_hash(process->pid, process->start, process->exec_id), index);
	if (processes_latest(processes, process->pid) == index)
		table_remove(&processes->by_pid, hash_mix(0, process->pid), index);
	jit_files_release(&processes->jit_files, &processes->files, &image);
	forget_past(processes, process, UINT64_MAX);
	free(process->past);
	free_said(process);
	processes->n_changing -= process->changing_until != 0;
	processes->n_behind -= process->is_behind;
	list_put(processes, process->mappings);
	pool_give(&processes->pool, index);
}

static void list_free(struct mapping_list *list)
{
	if (--list->n_references)
		return;
	free(list->rooms.rooms);
	free(list->items);
	free(list);
}

void processes_done(struct processes *processes)
{
	for (size_t i = 0; i < processes->pool.n; i++) {
		struct process *process = &processes->processes[i];

		if (!process->n_references)
			continue;
		for (uint32_t k = 0; k < process->n_past; k++)
			list_free(process->past[k].list);
		free(process->past);
		free_said(process);
		list_free(process->mappings);
	}
	free(processes->processes);
	free(processes->pool.free);
	free(processes->changed);
	free(processes->ended);
	table_done(&processes->by_image);
	table_done(&processes->by_pid);
	jit_files_done(&processes->jit_files);
	files_done(&processes->files);
	*processes = (struct processes){};
}

/* Whether the process had executed another program since: /proc no longer shows this image. */
static bool is_older_image(const struct process *image, const struct process *latest)
{
	return image->start == latest->start && (int32_t)(image->exec_id - latest->exec_id) < 0;
}

/* Adds processes[@process] to both tables. Stacks may name an image once its successor is known. */
static int enter(struct processes *processes, uint32_t process)
{
	const struct process *p = &processes->processes[process];
	uint32_t before = processes_latest(processes, p->pid);
	bool is_older = before != TABLE_NONE && is_older_image(p, &processes->processes[before]);
	int r = table_reserve(&processes->by_image, 1);

	if (r < 0)
		return r;
	r = table_reserve(&processes->by_pid, 1);
	if (r < 0)
		return r;
	if (before != TABLE_NONE && !is_older)
		table_remove(&processes->by_pid, hash_mix(0, p->pid), before);
	if (!is_older)
		table_add(&processes->by_pid, hash_mix(0, p->pid), process);
	return table_add(&processes->by_image, image_hash(p->pid, p->start, p->exec_id), process);
}

/* @mappings: its reference is taken over. */
static int add_image(struct processes *processes, struct process image,
		     struct mapping_list *mappings, uint32_t *ret_process)
{
	uint32_t index;
	int r = mappings ? pool_take(processes->processes, processes->pool, &index) : -ENOMEM;

	if (r < 0)
		goto fail;
	image.n_references = 1;
	image.serial = ++processes->last_serial;
	image.mappings = mappings;
	processes->processes[index] = image;
	r = enter(processes, index);
	if (r < 0) {
		processes->processes[index].n_references = 0;
		pool_give(&processes->pool, index);
		goto fail;
	}
	*ret_process = index;
	return 0;
fail:
	if (mappings)
		list_put(processes, mappings);
	return r;
}

int processes_add(struct processes *processes, uint32_t pid, uint64_t start, uint32_t exec_id,
		  uint32_t *ret_process)
{
	return add_image(processes,
			 (struct process){.pid = pid, .start = start, .exec_id = exec_id},
			 list_new(processes), ret_process);
}

int processes_note_change(struct processes *processes, uint32_t process)
{
	int r;

	if (processes->processes[process].is_changed)
		return 0;
	r = array_add(processes->changed, processes->changed_capacity, processes->n_changed,
		      process);
	if (r < 0)
		return r;
	processes->processes[process].is_changed = true;
	processes_hold(processes, process);
	return 0;
}

uint32_t processes_take_changed(struct processes *processes)
{
	uint32_t process;

	if (!processes->n_changed)
		return TABLE_NONE;
	process = processes->changed[--processes->n_changed];
	processes->processes[process].is_changed = false;
	return process;
}

/* @exec_ns: when the next image took its place; 0: none. The reference of living images waits for
 * processes_sweep(). */
static int mark_ended(struct processes *processes, uint32_t process, uint64_t exec_ns)
{
	const struct jit_image image = jit_image(&processes->processes[process]);
	int r;

	if (processes->processes[process].ended)
		return 0;
	r = array_add(processes->ended, processes->ended_capacity, processes->n_ended, process);
	if (r < 0)
		return r;
	processes->processes[process].ended = processes->sweeps + 1;
	jit_files_end(&processes->jit_files, &image, exec_ns);
	return 0;
}

/* The previous process with @pid has ended, though its exit may have been lost. */
static int forget_other(struct processes *processes, uint32_t pid, uint64_t start)
{
	uint32_t before = processes_latest(processes, pid);

	return before != TABLE_NONE && processes->processes[before].start != start
		       ? mark_ended(processes, before, 0)
		       : 0;
}

int processes_fork(struct processes *processes, uint32_t parent_pid, uint32_t pid, uint64_t start,
		   uint32_t exec_id)
{
	struct process new = {
		.pid = pid, .start = start, .exec_id = exec_id, .parent_pid = parent_pid};
	uint32_t parent = processes_latest(processes, parent_pid), child;
	struct mapping_list *shared;
	struct jit_image of, image;
	int r;

	if (processes_find(processes, pid, start, exec_id) != TABLE_NONE)
		return 0;
	r = forget_other(processes, pid, start);
	if (r < 0)
		return r;
	if (parent == TABLE_NONE)
		return processes_add(processes, pid, start, exec_id, &child);
	of = jit_image(&processes->processes[parent]);
	image = jit_image(&new);
	new.is_wanted = processes->processes[parent].is_wanted;
	new.forked_from = processes->processes[parent].serial;
	/* BPF has copied the parent's, if they were there: pushing them again does no harm. */
	shared = processes->processes[parent].mappings;
	shared->n_references++;
	r = add_image(processes, new, shared, &child);
	if (r < 0)
		return r;
	r = processes_note_change(processes, child);
	if (r < 0)
		return r;
	return jit_files_fork(&processes->jit_files, &of, &image);
}

int processes_see(struct processes *processes, uint32_t pid, uint64_t start, uint32_t exec_id,
		  uint32_t *ret_process)
{
	int r;

	*ret_process = processes_find(processes, pid, start, exec_id);
	if (*ret_process != TABLE_NONE)
		return 0;
	r = processes_add(processes, pid, start, exec_id, ret_process);
	if (r < 0)
		return r;
	if (processes_latest(processes, pid) == *ret_process) {
		r = processes_read_maps(processes, *ret_process);
		if (r < 0)
			return r;
	}
	/* It has ended, and no event will report that. */
	if (!processes->processes[*ret_process].mappings->n)
		return mark_ended(processes, *ret_process, 0);
	return 0;
}

int processes_exec(struct processes *processes, uint32_t pid, uint64_t time)
{
	uint32_t before = processes_latest(processes, pid), after, parent_pid;
	const struct process *p;
	int r;

	files_forget_root(&processes->files);
	if (before == TABLE_NONE)
		return 0;
	r = mark_ended(processes, before, time);
	if (r < 0)
		return r;
	p = &processes->processes[before];
	parent_pid = p->parent_pid;
	r = processes_add(processes, pid, p->start, p->exec_id + 1, &after);
	if (r < 0)
		return r;
	processes->processes[after].parent_pid = parent_pid;
	processes->processes[after].since = time;
	return r;
}

int processes_exit(struct processes *processes, uint32_t pid)
{
	uint32_t process = processes_latest(processes, pid);

	return process == TABLE_NONE ? 0 : mark_ended(processes, process, 0);
}

/* The caller keeps its reference to the file. */
static int add_mapping(struct processes *processes, uint32_t index, const struct mapping *mapping,
		       uint64_t time)
{
	struct process *process = &processes->processes[index];
	const struct jit_image image = jit_image(process);
	uint64_t version = process->mappings->version;
	int r = list_map(processes, process, mapping, time);

	if (r < 0)
		return r;
	if (process->mappings->version != version)
		process->n_misses = 0;
	r = processes_note_change(processes, index);
	if (r < 0)
		return r;
	return jit_files_see(&processes->jit_files, &processes->files, &image, mapping->file);
}

int processes_map(struct processes *processes, uint32_t pid, const struct mapping *mapping,
		  uint64_t time)
{
	uint32_t process = processes_latest(processes, pid);
	int r = 0;

	if (process != TABLE_NONE && mapping->start < mapping->end)
		r = add_mapping(processes, process, mapping, time);
	files_put(&processes->files, mapping->file);
	return r;
}

static void put_ended(struct processes *processes)
{
	size_t kept = 0;

	for (size_t i = 0; i < processes->n_ended; i++) {
		uint32_t process = processes->ended[i];

		if (processes->processes[process].ended + SWEEPS_KEPT <= processes->sweeps)
			processes_put(processes, process);
		else
			processes->ended[kept++] = process;
	}
	processes->n_ended = kept;
}

/* Forgets mappings from before @before, and which images changed, if they no longer do. */
static int settle(struct processes *processes, uint64_t before, uint64_t now)
{
	for (size_t i = 0; processes->n_changing && i < processes->pool.n; i++) {
		struct process *process = &processes->processes[i];
		int r;

		if (!process->n_references || !process->changing_until)
			continue;
		forget_past(processes, process, before);
		if (process->changing_until > now || process->n_past)
			continue;
		process->changing_until = 0;
		process->pushed = 0;
		processes->n_changing--;
		r = processes_note_change(processes, i);
		if (r < 0)
			return r;
	}
	return 0;
}

int processes_sweep(struct processes *processes)
{
	uint64_t before = processes->swept_at;

	processes->sweeps++;
	processes->swept_at = monotonic_ns();
	put_ended(processes);
	return settle(processes, before, processes->swept_at);
}

/* --- Reading /proc --- */

static int add_entry(struct processes *processes, uint32_t process, const struct maps_entry *entry)
{
	struct mapping mapping = {entry->start, entry->end, entry->offset};
	int r;

	if (!entry->is_executable)
		return 0;
	r = files_get(&processes->files, &entry->name, processes->processes[process].pid,
		      mapping.start, mapping.end, &mapping.file);
	if (r < 0)
		return r;
	r = add_mapping(processes, process, &mapping, 0);
	files_put(&processes->files, mapping.file);
	return r;
}

/* Some of the maps are enough where the user of @pid has too many: the rest would be left out. */
static int read_maps(struct processes *processes, uint32_t pid, char **ret)
{
	struct budgets *budgets = &processes->files.budgets;
	uint32_t budget = BUDGETS_UNLIMITED;
	bool has_room;
	size_t size;
	char *end;
	int r;

	/* While nobody has so many, nobody has too many. */
	if (budgets->n_hung || budgets->n_mapped >= budgets->most_mapped - SHORT_LIST) {
		r = budgets_find_process(budgets, pid, &budget);
		if (r < 0)
			return r;
	}
	if (!budgets_may_ask(budgets, budget))
		return -ETIMEDOUT;
	has_room = budgets_has_room(budgets, budget, SHORT_LIST);
	r = foreign_read_process(maps_thread(pid), "maps", has_room ? SIZE_MAX : SHORT_MAPS, ret,
				 &size);
	if (r == -ETIMEDOUT)
		budgets_hang(budgets, pid);
	end = r < 0 || has_room ? NULL : strrchr(*ret, '\n');
	if (end)
		*end = '\0';
	return r;
}

int processes_read_maps(struct processes *processes, uint32_t process)
{
	uint32_t pid = processes->processes[process].pid;
	_cleanup_free_ char *text = NULL;
	struct maps_entry entry;
	char *line, *rest;
	int r = read_maps(processes, pid, &text);

	/* Its files are as unreadable as its list of them. */
	if (r == -EACCES || r == -EPERM || r == -ETIMEDOUT ||
	    (r == -ENOENT && rights_is_hidden(pid)))
		processes->files.n_unopened++;
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		if (!maps_parse(line, &entry))
			continue;
		r = add_entry(processes, process, &entry);
		if (r < 0)
			return r;
	}
	return 0;
}

void processes_fall_behind(struct processes *processes, uint32_t pid)
{
	uint32_t process = processes_latest(processes, pid);

	if (process == TABLE_NONE || processes->processes[process].is_behind)
		return;
	processes->processes[process].is_behind = true;
	processes->n_behind++;
}

int processes_catch_up(struct processes *processes, uint32_t index, uint64_t now)
{
	struct process *process = &processes->processes[index];

	process->is_behind = false;
	processes->n_behind--;
	/* Another image may run as that pid. */
	if (process->ended || processes_latest(processes, process->pid) != index)
		return 0;
	process->listed_at = now;
	return processes_read_maps(processes, index);
}

int processes_read_mapping(struct processes *processes, uint32_t process, uint64_t address)
{
	struct maps_entry entry;
	char path[PATH_MAX];
	int r = maps_find(processes->processes[process].pid, address, &entry, path);

	return r == 1 ? add_entry(processes, process, &entry) : r == -ENOMEM ? r : 0;
}
