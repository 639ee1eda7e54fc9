/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/unwinder.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"
#include "profiler.skel.h"

#define MAPPING_WORDS (sizeof(struct bf_mapping) / sizeof(uint32_t))
#define FIRST_CLASS   5 /* log2 of the mappings in the smallest room */
#define REREAD_NS     NSEC_PER_SEC

_Static_assert(1 << (FIRST_CLASS + UNWINDER_CLASSES - 1) == BF_MAX_MAPPINGS, "the largest room");

static uint32_t epoch_now(const struct unwinder *unwinder)
{
	return unwinder->skel->bss->control.epoch;
}

static void forget_rooms(struct room_list *list, uint32_t segment)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++)
		if (list->rooms[i].segment != segment)
			list->rooms[kept++] = list->rooms[i];
	list->n = kept;
}

/* Removes the processes whose mappings lie in @segment, children that BPF made heirs included. */
static void evict_processes(struct unwinder *unwinder, uint32_t segment)
{
	int fd = bpf_map__fd(unwinder->skel->maps.processes);
	struct bf_process value;
	uint32_t pid, next;
	bool more;

	for (size_t i = 0; i < unwinder->processes->n_processes; i++) {
		struct process_room *room = &unwinder->processes->processes[i].room;

		if (room->room.segment == segment)
			*room = (struct process_room){};
	}
	more = bpf_map_get_next_key(fd, NULL, &pid) == 0;
	while (more) {
		more = bpf_map_get_next_key(fd, &pid, &next) == 0;
		if (bpf_map_lookup_elem(fd, &pid, &value) == 0 && value.segment == segment)
			bpf_map_delete_elem(fd, &pid);
		pid = next;
	}
}

static void evict(void *context, uint32_t segment)
{
	struct unwinder *unwinder = context;

	tables_evict(&unwinder->tables, segment);
	evict_processes(unwinder, segment);
	for (size_t i = 0; i < UNWINDER_CLASSES; i++) {
		forget_rooms(&unwinder->free[i], segment);
		forget_rooms(&unwinder->quiet[i], segment);
	}
}

int unwinder_init(struct unwinder *unwinder, struct profiler *skel, struct processes *processes,
		  struct raw_stacks *stacks, uint64_t budget_bytes, unwind_breathe_fn breathe,
		  void *context)
{
	*unwinder = (struct unwinder){
		.skel = skel,
		.processes = processes,
		.stacks = stacks,
	};
	tables_init(&unwinder->tables, bpf_map__fd(skel->maps.tables),
		    bpf_map__max_entries(skel->maps.tables), &processes->files, &unwinder->segments,
		    breathe, context);
	if (!budget_bytes)
		return 0;
	return segments_init(&unwinder->segments, bpf_map__fd(skel->maps.segments), budget_bytes,
			     evict, unwinder, breathe, context);
}

void unwinder_done(struct unwinder *unwinder)
{
	tables_done(&unwinder->tables);
	for (size_t i = 0; i < UNWINDER_CLASSES; i++) {
		free(unwinder->free[i].rooms);
		free(unwinder->quiet[i].rooms);
	}
	segments_done(&unwinder->segments);
	*unwinder = (struct unwinder){};
}

static unsigned int class_of(size_t n_mappings)
{
	unsigned int class = 0;

	while (class < UNWINDER_CLASSES - 1 && n_mappings > 1u << (FIRST_CLASS + class))
		class ++;
	return class;
}

/* A room that BPF may still read waits for unwinder_reclaim(). */
static int release_room(struct unwinder *unwinder, struct process_room *room)
{
	struct room_list *list = &unwinder->quiet[room->class];
	int r;

	if (!room->room.segment)
		return 0;
	r = array_reserve(list->rooms, list->capacity, list->n, 1);
	if (r < 0)
		return r;
	list->rooms[list->n++] = room->room;
	*room = (struct process_room){.wanted = room->wanted};
	return 0;
}

/* BPF may read one half of the room while the other is written. */
static int make_room(struct unwinder *unwinder, struct process *process)
{
	struct process_room *room = &process->room;
	unsigned int class = class_of(process->n_mappings);
	struct room_list *list = &unwinder->free[class];
	int r;

	if (room->room.segment && room->class >= class)
		return 0;
	r = release_room(unwinder, room);
	if (r < 0)
		return r;
	if (list->n)
		room->room = list->rooms[--list->n];
	else
		r = segments_allocate(&unwinder->segments, ROOM_MAPPINGS,
				      2 * MAPPING_WORDS << (FIRST_CLASS + class),
				      epoch_now(unwinder), true, &room->room);
	room->class = class;
	return r;
}

/* Writes the mappings as BPF reads them; neighbours without a table become one. */
static int write_mappings(struct unwinder *unwinder, const struct process *process,
			  struct bf_mapping *to, uint32_t most, uint32_t *ret_n)
{
	uint32_t n = 0;

	for (size_t i = 0; i < process->n_mappings && n < most; i++) {
		const struct mapping *from = &process->mappings[i];
		struct bf_mapping new = {from->start, from->end, from->offset};
		int r = tables_describe(&unwinder->tables, from, &new);

		if (r < 0)
			return r;
		if (n && !new.table && !to[n - 1].table && to[n - 1].end == new.start)
			to[n - 1].end = new.end;
		else
			to[n++] = new;
	}
	*ret_n = n;
	return 0;
}

static int push(struct unwinder *unwinder, struct process *process)
{
	struct process_room *room = &process->room;
	struct bf_process value = {.start = process->start, .exec_id = process->exec_id};
	int r = make_room(unwinder, process);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		value.segment = BF_NO_ROOM;
	} else {
		uint32_t most = 1u << (FIRST_CLASS + room->class);

		room->turn = !room->turn;
		value.segment = room->room.segment;
		value.at = room->room.at + (room->turn ? most * MAPPING_WORDS : 0);
		r = write_mappings(
			unwinder, process,
			(struct bf_mapping *)segments_words(&unwinder->segments,
							    (struct room){value.segment, value.at}),
			most, &value.n);
		if (r < 0)
			return r;
	}
	bpf_map_update_elem(bpf_map__fd(unwinder->skel->maps.processes), &process->pid, &value,
			    BPF_ANY);
	room->is_pushed = true;
	room->pushed_at = monotonic_ns();
	room->version = process->version;
	return 0;
}

/* It may have ended before it was pushed: then nobody else takes it back, as BPF does at its exit.
 */
static void withdraw(struct unwinder *unwinder, struct process *process)
{
	int fd = bpf_map__fd(unwinder->skel->maps.processes);
	struct bf_process value;

	if (!process->room.is_pushed)
		return;
	process->room.is_pushed = false;
	if (process->room.pushed_at < process->exited_at)
		return;
	if (bpf_map_lookup_elem(fd, &process->pid, &value) == 0 && value.start == process->start &&
	    value.exec_id == process->exec_id)
		bpf_map_delete_elem(fd, &process->pid);
}

static int sync_process(struct unwinder *unwinder, struct process *process)
{
	struct process_room *room = &process->room;

	if (process->ended) {
		withdraw(unwinder, process);
		room->wanted = false;
		return release_room(unwinder, room);
	}
	if (!room->wanted || (room->is_pushed && room->version == process->version))
		return 0;
	return push(unwinder, process);
}

int unwinder_sync(struct unwinder *unwinder)
{
	struct processes *processes = unwinder->processes;
	int r = 0;

	while (r >= 0 && processes->n_changed) {
		uint32_t changed = processes->changed[--processes->n_changed];

		processes->processes[changed].is_changed = false;
		r = sync_process(unwinder, &processes->processes[changed]);
	}
	return r < 0 ? r : 0;
}

/* What had no room may have some now. */
static int allow_again(struct unwinder *unwinder)
{
	int r = 0;

	tables_allow_again(&unwinder->tables);
	for (size_t i = 0; r >= 0 && i < unwinder->processes->n_processes; i++) {
		struct process_room *room = &unwinder->processes->processes[i].room;

		if (!room->is_pushed || room->room.segment)
			continue;
		room->is_pushed = false;
		r = processes_note_change(unwinder->processes, i);
	}
	return r;
}

int unwinder_reclaim(struct unwinder *unwinder)
{
	int r = segments_may_have_room(&unwinder->segments, epoch_now(unwinder))
			? allow_again(unwinder)
			: 0;

	for (size_t i = 0; i < UNWINDER_CLASSES; i++) {
		struct room_list *to = &unwinder->free[i], *from = &unwinder->quiet[i];

		if (array_reserve(to->rooms, to->capacity, to->n, from->n) < 0)
			continue;
		if (from->n)
			memcpy(to->rooms + to->n, from->rooms, from->n * sizeof *from->rooms);
		to->n += from->n;
		from->n = 0;
	}
	return r;
}

int unwinder_prepare(struct unwinder *unwinder, uint32_t index)
{
	struct process *process = &unwinder->processes->processes[index];
	struct walk_code code;
	int r;

	for (size_t i = 0; i < process->n_mappings; i++) {
		r = tables_look_up(&unwinder->tables, &process->mappings[i],
				       process->mappings[i].offset, epoch_now(unwinder), &code);

		if (r < 0)
			return r;
	}
	process->room.wanted = true;
	r = processes_note_change(unwinder->processes, index);
	return r < 0 ? r : push(unwinder, process);
}

/* What code_at() needs. */
struct snapshot_walk {
	struct unwinder *unwinder;
	uint32_t process; /* TABLE_NONE: unknown */
	int error;
};

/* No record told of what is mapped at @pc: one may have been lost. Asks /proc, now and then. */
static const struct mapping *ask_again(struct unwinder *unwinder, uint32_t index, uint64_t pc)
{
	struct processes *processes = unwinder->processes;
	const struct process *process = &processes->processes[index];
	uint64_t now = monotonic_ns();

	if (now - unwinder->reread_at < REREAD_NS || process->ended ||
	    processes_latest(processes, process->pid) != index)
		return NULL;
	unwinder->reread_at = now;
	if (processes_read_maps(processes, index) < 0)
		return NULL;
	return process_mapping(&processes->processes[index], pc);
}

static bool code_at(void *context, uint64_t pc, struct walk_code *ret)
{
	struct snapshot_walk *walk = context;
	const struct mapping *mapping;

	if (walk->process == TABLE_NONE)
		return false;
	mapping = process_mapping(&walk->unwinder->processes->processes[walk->process], pc);
	if (!mapping)
		mapping = ask_again(walk->unwinder, walk->process, pc);
	if (!mapping)
		return false;
	walk->error = tables_look_up(&walk->unwinder->tables, mapping,
				     pc - mapping->start + mapping->offset,
				     epoch_now(walk->unwinder), ret);
	return true;
}

int unwinder_walk(struct unwinder *unwinder, const struct bf_snapshot_event *event)
{
	struct walk_memory memory = {
		event->memory + event->memory_unread,
		event->memory_start + event->memory_unread,
		event->memory_bytes - event->memory_unread,
		event->has_code ? &event->code : NULL,
		event->walk.pc,
	};
	struct snapshot_walk context = {.unwinder = unwinder};
	struct bf_walk walk = event->walk;
	__u64 frames[BF_MAX_FRAMES];
	uint32_t n = event->n;
	uint64_t tables_built = unwinder->tables.n_built;
	int r = processes_meet(unwinder->processes, event->pid, event->process_start,
			       event->exec_id, &context.process);

	if (r < 0)
		return r;
	memcpy(frames, event->frames, sizeof frames);
	unwind_walk(&walk, frames, &n, WALK_HOST_MACHINE, &memory, code_at, &context);
	if (context.error < 0)
		return context.error;
	/* A lone address tells more than nothing. */
	if (n == 0)
		frames[n++] = walk.pc;
	/* What was built on the way may have changed what BPF should know of the files. */
	unwinder->processes->processes[context.process].room.wanted = true;
	unwinder->processes->processes[context.process].room.is_pushed &=
		unwinder->tables.n_built == tables_built;
	r = processes_note_change(unwinder->processes, context.process);
	return r < 0 ? r : raw_stacks_add(unwinder->stacks, event->id, frames, n, walk.end);
}
