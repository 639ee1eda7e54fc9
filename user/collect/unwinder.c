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
#include "unwind/table.h"
#include "unwind/walk.h"

#define MAPPING_WORDS (sizeof(struct bf_mapping) / sizeof(uint32_t))
#define FIRST_CLASS   5 /* log2 of the mappings in the smallest room */
#define REREAD_NS     NSEC_PER_SEC
#define RETRY_EPOCHS  5 /* drains, about a second each, after which more room is hoped for */

/*
 * A file's table. Its parts' words lie in segments; a part that has n_words but no words was
 * evicted.
 */
struct file_table {
	enum { FILE_UNKNOWN, FILE_HAS_TABLE, FILE_HAS_NONE } state;
	uint32_t first_slot, n_slots; /* in the map `tables`; 0: none yet */
	bool refused;		      /* a part had no room lately */
	uint32_t flags;		      /* BF_MAPPING_…, once the state is known */
	struct unwind_table table;
	struct room *rooms; /* of the parts */
};

static uint32_t epoch_now(const struct unwinder *unwinder)
{
	return unwinder->skel->bss->control.epoch;
}

static void set_slot(struct unwinder *unwinder, uint32_t slot, struct bf_table value)
{
	bpf_map_update_elem(bpf_map__fd(unwinder->skel->maps.tables), &slot, &value, BPF_ANY);
}

/* Segments' eviction: parts. */
static void evict_parts(struct unwinder *unwinder, struct file_table *file, uint32_t segment)
{
	for (uint32_t i = 0; i < file->table.n_parts && file->rooms; i++) {
		if (file->rooms[i].segment != segment)
			continue;
		if (i < file->n_slots)
			set_slot(unwinder, file->first_slot + i, (struct bf_table){});
		file->rooms[i] = (struct room){};
		file->table.parts[i].words = NULL;
	}
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

	for (size_t i = 0; i < unwinder->n_tables; i++)
		evict_parts(unwinder, &unwinder->tables[i], segment);
	evict_parts(unwinder, unwinder->vdso, segment);
	evict_processes(unwinder, segment);
	for (size_t i = 0; i < UNWINDER_CLASSES; i++) {
		forget_rooms(&unwinder->free[i], segment);
		forget_rooms(&unwinder->quiet[i], segment);
	}
}

int unwinder_init(struct unwinder *unwinder, struct profiler *skel, struct processes *processes,
		  struct stacks *stacks, uint64_t budget_bytes, unwind_breathe_fn breathe,
		  void *context)
{
	*unwinder = (struct unwinder){
		.skel = skel,
		.processes = processes,
		.stacks = stacks,
		.breathe = breathe,
		.breathe_context = context,
		.next_slot = 1,
	};
	unwinder->vdso = calloc(1, sizeof *unwinder->vdso);
	if (!unwinder->vdso)
		return -ENOMEM;
	return segments_init(&unwinder->segments, bpf_map__fd(skel->maps.segments), budget_bytes,
			     evict, unwinder);
}

static void file_table_done(struct file_table *file)
{
	free(file->table.parts); /* their words are the segments' */
	free(file->rooms);
}

void unwinder_done(struct unwinder *unwinder)
{
	for (size_t i = 0; i < unwinder->n_tables; i++)
		file_table_done(&unwinder->tables[i]);
	free(unwinder->tables);
	if (unwinder->vdso)
		file_table_done(unwinder->vdso);
	free(unwinder->vdso);
	for (size_t i = 0; i < UNWINDER_CLASSES; i++) {
		free(unwinder->free[i].rooms);
		free(unwinder->quiet[i].rooms);
	}
	segments_done(&unwinder->segments);
	*unwinder = (struct unwinder){};
}

/* Puts one part into a segment and tells BPF. The words are then the segment's. */
static int place_part(struct unwinder *unwinder, struct file_table *file, uint32_t part,
		      const struct unwind_part *built, bool may_evict)
{
	struct room room;
	int r = segments_allocate(&unwinder->segments, ROOM_TABLE, built->n_words,
				  epoch_now(unwinder), may_evict, &room);

	if (r < 0)
		return r;
	memcpy(segments_words(&unwinder->segments, room), built->words, built->n_words * 4);
	file->rooms[part] = room;
	file->table.parts[part] =
		(struct unwind_part){segments_words(&unwinder->segments, room), built->n_words};
	if (part < file->n_slots)
		set_slot(unwinder, file->first_slot + part,
			 (struct bf_table){room.segment, room.at});
	unwinder->table_bytes += built->n_words * 4;
	return 0;
}

/* Parts of which nothing is known: BPF need not ask again. */
static void mark_empty(struct unwinder *unwinder, const struct file_table *file)
{
	for (uint32_t i = 0; i < file->n_slots; i++)
		if (i >= file->table.n_parts || !file->table.parts[i].n_words)
			set_slot(unwinder, file->first_slot + i, (struct bf_table){BF_NO_ROWS, 0});
}

/* Whether there is a part that is in no segment. */
static bool is_missing(const struct file_table *file, uint32_t part)
{
	return file->state == FILE_HAS_TABLE && part < file->table.n_parts &&
	       file->table.parts[part].n_words && !file->table.parts[part].words;
}

/* BPF need not ask again until unwinder_reclaim() lets it: building takes long. */
static void refuse(struct unwinder *unwinder, struct file_table *file)
{
	file->refused = unwinder->refused = true;
	for (uint32_t i = 0; i < file->n_slots; i++)
		if (is_missing(file, i))
			set_slot(unwinder, file->first_slot + i, (struct bf_table){BF_NO_ROOM, 0});
}

/* Parts that had no room may be asked for again. */
static void allow_again(struct unwinder *unwinder)
{
	if (!unwinder->refused || epoch_now(unwinder) % RETRY_EPOCHS)
		return;
	unwinder->refused = false;
	for (size_t i = 0; i < unwinder->n_tables; i++) {
		struct file_table *file = &unwinder->tables[i];

		for (uint32_t k = 0; file->refused && k < file->n_slots; k++)
			if (is_missing(file, k))
				set_slot(unwinder, file->first_slot + k, (struct bf_table){});
		file->refused = false;
	}
	for (size_t i = 0; i < unwinder->processes->n_processes; i++) {
		struct process_room *room = &unwinder->processes->processes[i].room;

		room->is_pushed &= room->room.segment != 0;
	}
}

/*
 * Takes a table that was just built: @wanted, the part that is needed now, evicts others if it
 * must, the rest come along if there is room.
 */
static int place_table(struct unwinder *unwinder, struct file_table *file,
		       struct unwind_table *built, uint32_t wanted)
{
	int r = 0;

	if (file->state != FILE_HAS_TABLE) {
		file->table = *built;
		file->table.parts = calloc(built->n_parts + 1, sizeof *built->parts);
		file->rooms = calloc(built->n_parts + 1, sizeof *file->rooms);
		if (!file->table.parts || !file->rooms)
			return -ENOMEM;
		for (uint32_t i = 0; i < built->n_parts; i++)
			file->table.parts[i].n_words = built->parts[i].n_words;
		file->state = FILE_HAS_TABLE;
		mark_empty(unwinder, file);
	}
	/* The one that is needed goes first. */
	for (uint32_t turn = 0; turn < 2 && r != -ENOMEM; turn++)
		for (uint32_t i = 0; i < built->n_parts && i < file->table.n_parts; i++)
			if (is_missing(file, i) && built->parts[i].n_words && (turn || i == wanted))
				r = place_part(unwinder, file, i, &built->parts[i], !turn);
	if (is_missing(file, wanted))
		refuse(unwinder, file);
	return r == -ENOMEM ? r : 0;
}

/* Builds the table of @file, from descriptor @fd or, with -1, from the vDSO of this process. */
static int build(struct unwinder *unwinder, struct file_table *file, int fd, uint32_t wanted)
{
	uint64_t began = monotonic_ns();
	struct unwind_table built;
	struct elf_file elf;
	int r = fd >= 0 ? elf_file_open(&elf, fd) : elf_file_open_vdso(&elf);

	file->flags = BF_MAPPING_FILE;
	if (r == 0) {
		if (elf_file_section(&elf, ".go.buildinfo"))
			file->flags |= BF_MAPPING_GO;
		r = elf.machine == WALK_HOST_MACHINE
			    ? unwind_table_build_breathing(&elf, unwinder->breathe,
							   unwinder->breathe_context, &built)
			    : -ENOENT;
		elf_file_done(&elf);
	}
	if (r == 0) {
		r = place_table(unwinder, file, &built, wanted);
		unwind_table_done(&built);
		unwinder->tables_built++;
	} else if (r != -ENOMEM) {
		unwinder->tables_failed += r != -ENOENT;
		file->state = FILE_HAS_NONE;
		mark_empty(unwinder, file);
		r = 0;
	}
	unwinder->build_ns += monotonic_ns() - began;
	return r;
}

/* The table of file @index; UINT32_MAX: of the vDSO. Errors: -ENOMEM. */
static int file_table_get(struct unwinder *unwinder, uint32_t index, struct file_table **ret)
{
	size_t n = unwinder->processes->files.n_files;

	if (index == UINT32_MAX) {
		*ret = unwinder->vdso;
		return 0;
	}
	if (index >= unwinder->n_tables) {
		struct file_table *grown = reallocarray(unwinder->tables, n, sizeof *grown);

		if (!grown)
			return -ENOMEM;
		memset(grown + unwinder->n_tables, 0, (n - unwinder->n_tables) * sizeof *grown);
		unwinder->tables = grown;
		unwinder->n_tables = n;
	}
	*ret = &unwinder->tables[index];
	return 0;
}

/* What code may lie in a mapping without a file. */
static bool is_vdso(const struct unwinder *unwinder, const struct mapping *mapping)
{
	return strcmp(strings_get(&unwinder->processes->files.strings, mapping->path), "[vdso]") ==
	       0;
}

static bool has_code(const struct unwinder *unwinder, const struct mapping *mapping)
{
	return mapping->file != UINT32_MAX ? unwinder->processes->files.files[mapping->file].fd >= 0
					   : is_vdso(unwinder, mapping);
}

/* What BPF wants to know of the code at @offset of @mapping, the part in place. */
static int look_up(struct unwinder *unwinder, const struct mapping *mapping, uint64_t offset,
		   struct walk_code *ret)
{
	uint32_t part = offset >> BF_PART_SHIFT;
	struct file_table *file;
	int r;

	*ret = (struct walk_code){.offset = offset};
	if (!has_code(unwinder, mapping))
		return 0;
	r = file_table_get(unwinder, mapping->file, &file);
	if (r < 0)
		return r;
	if (file->state == FILE_UNKNOWN || (is_missing(file, part) && !file->refused))
		r = build(unwinder, file,
			  mapping->file == UINT32_MAX
				  ? -1
				  : unwinder->processes->files.files[mapping->file].fd,
			  part);
	if (file->state == FILE_HAS_TABLE)
		ret->table = &file->table;
	ret->no_room = is_missing(file, part);
	ret->flags = file->flags;
	return r;
}

/* Sets the table of @mapping's file, for BPF: its first slot, 0: no table, or no slot left. */
static int slot_of(struct unwinder *unwinder, const struct mapping *mapping, struct bf_mapping *ret)
{
	uint32_t n_slots = 1, all = bpf_map__max_entries(unwinder->skel->maps.tables);
	struct file_table *file;
	int r;

	if (!has_code(unwinder, mapping))
		return 0;
	r = file_table_get(unwinder, mapping->file, &file);
	if (r < 0)
		return r;
	if (mapping->file != UINT32_MAX)
		n_slots += unwinder->processes->files.files[mapping->file].size >> BF_PART_SHIFT;
	if (!file->first_slot && n_slots <= all - unwinder->next_slot) {
		file->first_slot = unwinder->next_slot;
		file->n_slots = n_slots;
		unwinder->next_slot += n_slots;
		for (uint32_t i = 0; i < file->table.n_parts && i < n_slots; i++)
			if (file->table.parts[i].words)
				set_slot(unwinder, file->first_slot + i,
					 (struct bf_table){file->rooms[i].segment,
							   file->rooms[i].at});
		if (file->state != FILE_UNKNOWN)
			mark_empty(unwinder, file);
	}
	ret->table = file->first_slot;
	ret->flags = file->flags;
	return 0;
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
		int r = slot_of(unwinder, from, &new);

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
		unwinder->refused = true;
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
	room->version = process->version;
	return 0;
}

static int sync_process(struct unwinder *unwinder, struct process *process)
{
	struct process_room *room = &process->room;

	if (process->ended) {
		room->wanted = false;
		return release_room(unwinder, room);
	}
	if (!room->wanted || (room->is_pushed && room->version == process->version))
		return 0;
	return push(unwinder, process);
}

int unwinder_sync(struct unwinder *unwinder)
{
	for (size_t i = 0; i < unwinder->processes->n_processes; i++) {
		int r = sync_process(unwinder, &unwinder->processes->processes[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

void unwinder_reclaim(struct unwinder *unwinder)
{
	allow_again(unwinder);
	for (size_t i = 0; i < UNWINDER_CLASSES; i++) {
		struct room_list *to = &unwinder->free[i], *from = &unwinder->quiet[i];

		if (array_reserve(to->rooms, to->capacity, to->n, from->n) < 0)
			continue;
		if (from->n)
			memcpy(to->rooms + to->n, from->rooms, from->n * sizeof *from->rooms);
		to->n += from->n;
		from->n = 0;
	}
}

int unwinder_prepare(struct unwinder *unwinder, uint32_t index)
{
	struct process *process = &unwinder->processes->processes[index];
	struct walk_code code;

	for (size_t i = 0; i < process->n_mappings; i++) {
		int r = look_up(unwinder, &process->mappings[i], process->mappings[i].offset,
				&code);

		if (r < 0)
			return r;
	}
	process->room.wanted = true;
	return push(unwinder, process);
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
	walk->error = look_up(walk->unwinder, mapping, pc - mapping->start + mapping->offset, ret);
	return true;
}

/* The image that was running; one that no event told of is read from /proc. */
static int find_process(struct unwinder *unwinder, const struct bf_snapshot_event *event,
			uint32_t *ret)
{
	struct processes *processes = unwinder->processes;
	int r;

	*ret = processes_find(processes, event->pid, event->process_start, event->exec_id);
	if (*ret != TABLE_NONE)
		return 0;
	r = processes_add(processes, event->pid, event->process_start, event->exec_id, ret);
	return r < 0 ? r : processes_read_maps(processes, *ret);
}

int unwinder_walk(struct unwinder *unwinder, const struct bf_snapshot_event *event)
{
	struct walk_memory memory = {
		event->memory + event->memory_unread,
		event->memory_start + event->memory_unread,
		event->memory_bytes - event->memory_unread,
	};
	struct snapshot_walk context = {.unwinder = unwinder};
	struct bf_walk walk = event->walk;
	__u64 frames[BF_MAX_FRAMES];
	uint32_t n = event->n;
	uint64_t tables_built = unwinder->tables_built;
	int r = find_process(unwinder, event, &context.process);

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
		unwinder->tables_built == tables_built;
	return stacks_add(unwinder->stacks, event->id, frames, n, walk.end);
}
