/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/unwinder.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system.h"
#include "collect/jit_frames.h"
#include "collect/load.h"
#include "collect/process_runtime.h"
#include "collect/range_walk.h"
#include "profiler.skel.h"

#define MOST_SEARCHED 256 /* mappings of a process whose files are looked at for runtimes */
#define MAPPING_WORDS (sizeof(struct bf_mapping) / sizeof(uint32_t))
#define FIRST_CLASS   5 /* log2 of the mappings in the smallest room */
#define LAST_CLASS    5 /* each has room for twice as many as the previous one */
#define MAX_CHUNKS    1024
#define ASK_NS	      (NSEC_PER_SEC / 1000)
/* Once the loader has found this many addresses of a process unmapped, BPF stops asking. */
#define MISSES_TO_BELIEVE 8

_Static_assert(1 << (FIRST_CLASS + LAST_CLASS) == BF_MAX_MAPPINGS, "the largest room");
_Static_assert(MAX_CHUNKS <= BF_MAX_MAPPINGS, "one index");

static uint32_t epoch_now(const struct unwinder *unwinder)
{
	return unwinder->skel->bss->control.epoch;
}

/* --- Rooms --- */

/* BPF reads one half of the room while the other is written. */
static uint32_t room_words(unsigned int class)
{
	return 2 * MAPPING_WORDS << (FIRST_CLASS + class);
}

static bool reaches(const struct list_rooms *rooms, uint32_t segment)
{
	for (uint32_t i = 0; i < rooms->n; i++)
		if (rooms->rooms[i].segment == segment)
			return true;
	return false;
}

static void release_rooms(void *context, struct list_rooms *rooms)
{
	struct unwinder *unwinder = context;

	for (uint32_t i = 0; i < rooms->n; i++)
		segments_release(&unwinder->segments, rooms->rooms[i],
				 room_words(i ? LAST_CLASS : rooms->class));
	free(rooms->rooms);
	*rooms = (struct list_rooms){};
}

/* All rooms of a list that has one in @segment. */
static void evict_list(struct unwinder *unwinder, struct mapping_list *list, uint32_t segment)
{
	if (reaches(&list->rooms, segment))
		release_rooms(unwinder, &list->rooms);
}

/* The contents of @segment are gone: BPF notices by how often it was emptied. */
static void evict(void *context, uint32_t segment)
{
	struct unwinder *unwinder = context;
	struct processes *processes = unwinder->processes;

	tables_evict(&unwinder->tables, segment);
	for (size_t i = 0; i < processes->pool.n; i++) {
		struct process *process = &processes->processes[i];

		if (!process->n_references)
			continue;
		evict_list(unwinder, process->mappings, segment);
		for (uint32_t k = 0; k < process->n_past; k++)
			evict_list(unwinder, process->past[k].list, segment);
	}
	load_wait_for_programs(unwinder->skel);
}

int unwinder_init(struct unwinder *unwinder, struct profiler *skel, struct processes *processes,
		  struct raw_stacks *stacks, uint64_t budget_bytes, unwind_yield_fn yield,
		  void *context)
{
	*unwinder = (struct unwinder){
		.skel = skel,
		.processes = processes,
		.stacks = stacks,
	};
	processes->release_rooms = release_rooms;
	processes->release_context = unwinder;
	tables_init(&unwinder->tables, bpf_map__fd(skel->maps.tables),
		    bpf_map__max_entries(skel->maps.tables), &processes->files, &unwinder->segments,
		    yield, context);
	frame_programs_init(&unwinder->programs, bpf_map__fd(skel->maps.texts),
			    bpf_map__fd(skel->maps.runtimes));
	if (!budget_bytes)
		return 0;
	return segments_init(&unwinder->segments, bpf_map__fd(skel->maps.segments), budget_bytes,
			     evict, unwinder, yield, context);
}

void unwinder_done(struct unwinder *unwinder)
{
	free(unwinder->range);
	tables_done(&unwinder->tables);
	frame_programs_done(&unwinder->programs);
	segments_done(&unwinder->segments);
	*unwinder = (struct unwinder){};
}

static unsigned int class_of(size_t n_mappings)
{
	unsigned int class = 0;

	while (class < LAST_CLASS && n_mappings > 1u << (FIRST_CLASS + class))
		class ++;
	return class;
}

/* The mappings in the half of @room to write. */
static struct bf_mapping *room_half(const struct unwinder *unwinder, struct room room,
				    unsigned int class, bool turn, struct room *ret)
{
	room.at += turn ? room_words(class) / 2 : 0;
	*ret = room;
	return (struct bf_mapping *)segments_words(&unwinder->segments, room);
}

/* --- Mappings in BPF's form --- */

/* Code of @process that is ranges, though it is part of files. */
static struct generated_code find_generated(const struct unwinder *unwinder,
					    struct process *process)
{
	struct generated_code generated = {};

	if (!unwinder->no_runtimes)
		process_generated(&unwinder->tables, process, &generated);
	return generated;
}

static uint32_t built_in_flags(const struct generated_part *part)
{
	return part->owner << BF_OWNER_SHIFT | BF_MAPPING_BUILT_IN;
}

/* Appends @from, or joins it to its neighbour if neither has a table. @part: what it is of
 * generated code, or NULL. */
static int describe(struct unwinder *unwinder, const struct mapping *from,
		    const struct generated_part *part, struct bf_mapping *to, size_t *n)
{
	struct bf_mapping new = {from->start, from->end, from->offset, 0,
				 part ? built_in_flags(part) : 0};
	int r = part ? 0 : tables_describe(&unwinder->tables, from, &new);

	if (r < 0 || from->start >= from->end)
		return r;
	if (*n && !new.table && !to[*n - 1].table &&new.flags == to[*n - 1].flags &&
	    to[*n - 1].end == new.start)
		to[*n - 1].end = new.end;
	else
		to[(*n)++] = new;
	return 0;
}

/* Cuts @mapping off at @offset of its file: *@mapping is what follows. */
static struct mapping cut_at(struct mapping *mapping, uint64_t offset)
{
	struct mapping before = *mapping;
	uint64_t length = mapping->end - mapping->start, distance;

	distance = offset > mapping->offset ? offset - mapping->offset : 0;
	distance = distance < length ? distance : length;
	before.end = mapping->start += distance;
	mapping->offset += distance;
	return before;
}

/* The first generated code of @file; a file is one runtime. */
static const struct generated_part *generated_of(const struct generated_code *generated,
						 uint32_t file)
{
	for (uint32_t i = 0; i < generated->n; i++)
		if (generated->parts[i].file == file)
			return &generated->parts[i];
	return NULL;
}

/* Appends @mapping: in three parts, some empty, if code in it is generated. */
static int describe_mapping(struct unwinder *unwinder, const struct mapping *mapping,
			    const struct generated_code *generated, struct bf_mapping *to,
			    size_t *n)
{
	const struct generated_part *built_in = generated_of(generated, mapping->file);
	struct mapping rest = *mapping, part;
	int r;

	if (built_in) {
		part = cut_at(&rest, built_in->start);
		r = describe(unwinder, &part, NULL, to, n);
		if (r < 0)
			return r;
		part = cut_at(&rest, built_in->end);
		r = describe(unwinder, &part, built_in, to, n);
		if (r < 0)
			return r;
	}
	return describe(unwinder, &rest, NULL, to, n);
}

/* Joins neighbours without a table. The caller frees *@ret. Errors: -ENOMEM. */
static int describe_list(struct unwinder *unwinder, const struct mapping_list *list,
			 const struct generated_code *generated, struct bf_mapping **ret,
			 size_t *ret_n)
{
	_cleanup_free_ struct bf_mapping *to = calloc(3 * list->n + 1, sizeof *to);
	size_t n = 0;

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < list->n; i++) {
		int r = describe_mapping(unwinder, &list->items[i], generated, to, &n);

		if (r < 0)
			return r;
	}
	*ret = to;
	*ret_n = n;
	to = NULL;
	return 0;
}

static int take_room(struct unwinder *unwinder, struct list_rooms *rooms, unsigned int class)
{
	struct room room = {};
	size_t before = rooms->n;
	int r = segments_allocate(&unwinder->segments, ROOM_MAPPINGS, room_words(class),
				  epoch_now(unwinder), true, &room);

	if (r < 0)
		return r;
	/* Taking one may have evicted earlier ones. */
	if (rooms->n != before) {
		segments_release(&unwinder->segments, room, room_words(class));
		return -ENOSPC;
	}
	rooms->rooms[rooms->n++] = room;
	return 0;
}

/* Takes rooms for @n mappings: one, or an index and one for each BF_MAX_MAPPINGS. */
static int take_rooms(struct unwinder *unwinder, struct list_rooms *rooms, size_t n)
{
	size_t n_chunks = n > BF_MAX_MAPPINGS ? (n + BF_MAX_MAPPINGS - 1) / BF_MAX_MAPPINGS : 0;
	unsigned int class = class_of(n_chunks ? n_chunks : n);

	if (n_chunks > MAX_CHUNKS)
		return -ENOSPC;
	if (rooms->n == n_chunks + 1 && rooms->class >= class)
		return 0;
	release_rooms(unwinder, rooms);
	rooms->rooms = calloc(n_chunks + 1, sizeof *rooms->rooms);
	if (!rooms->rooms)
		return -ENOMEM;
	rooms->class = class;
	for (size_t i = 0; i <= n_chunks; i++) {
		int r = take_room(unwinder, rooms, i ? LAST_CLASS : class);

		if (r < 0) {
			release_rooms(unwinder, rooms);
			return r;
		}
	}
	return 0;
}

/* Writes one of several chunks, and its place. */
static void write_chunk(const struct unwinder *unwinder, const struct list_rooms *rooms, size_t i,
			const struct bf_mapping *mappings, size_t n, struct bf_mapping *ret)
{
	struct room place;
	uint32_t emptied = segments_emptied(&unwinder->segments, rooms->rooms[i].segment);

	memcpy(room_half(unwinder, rooms->rooms[i], LAST_CLASS, rooms->turn, &place), mappings,
	       n * sizeof *mappings);
	*ret = (struct bf_mapping){
		.start = mappings[0].start,
		.end = mappings[n - 1].end,
		.offset = (uint64_t)place.at << 32 | n,
		.table = place.segment,
		.flags = emptied << BF_INDEX_SHIFT | BF_MAPPING_INDEX,
	};
}

static void write_rooms(const struct unwinder *unwinder, struct list_rooms *rooms,
			const struct bf_mapping *mappings, size_t n)
{
	struct bf_mapping *first;
	struct room place;

	rooms->turn = !rooms->turn;
	first = room_half(unwinder, rooms->rooms[0], rooms->class, rooms->turn, &place);
	rooms->count = rooms->n == 1 ? n : rooms->n - 1;
	if (rooms->n == 1 && n)
		memcpy(first, mappings, n * sizeof *mappings);
	for (size_t i = 1; i < rooms->n; i++) {
		size_t at = (i - 1) * BF_MAX_MAPPINGS;
		size_t many = n - at < BF_MAX_MAPPINGS ? n - at : BF_MAX_MAPPINGS;

		write_chunk(unwinder, rooms, i, mappings + at, many, &first[i - 1]);
	}
}

/* Updates the list's rooms. Errors: -ENOSPC, -ENOMEM. */
static int place_list(struct unwinder *unwinder, struct mapping_list *list,
		      const struct generated_code *generated)
{
	_cleanup_free_ struct bf_mapping *mappings = NULL;
	size_t n;
	int r;

	if (list->rooms.n && list->rooms.version == list->version)
		return 0;
	r = describe_list(unwinder, list, generated, &mappings, &n);
	if (r < 0)
		return r;
	r = take_rooms(unwinder, &list->rooms, n);
	if (r < 0)
		return r;
	write_rooms(unwinder, &list->rooms, mappings, n);
	list->rooms.version = list->version;
	return 0;
}

/* A process that has ended meanwhile needs nothing. */
static void give_to_bpf(struct unwinder *unwinder, uint32_t pid, const struct bf_process *value)
{
	_cleanup_close_ int task = syscall(SYS_pidfd_open, pid, 0);

	if (task >= 0 &&
	    bpf_map_update_elem(bpf_map__fd(unwinder->skel->maps.processes), &task, value,
				BPF_ANY) < 0 &&
	    errno != ENOENT)
		unwinder->n_refused++;
}

/* Adds what finds frames of @found to the @n programs of the process. */
static int add_program(struct unwinder *unwinder, const struct process *process,
		       const struct found_runtime *found, enum bf_hook hook, struct bf_process *ret,
		       uint32_t *n)
{
	int r;

	if (*n == BF_PROCESS_RUNTIMES)
		return 0;
	r = frame_programs_number(&unwinder->programs, found->facts, hook, process->pid,
				  unwinder->processes->files.files[found->file].path,
				  &ret->runtimes[*n]);
	if (r < 0)
		return r;
	ret->biases[*n] = found->bias;
	*n += ret->runtimes[*n] != 0;
	return 0;
}

/* Whether @found has ranges beside what else finds its frames: these are tried last. */
static bool has_late_ranges(const struct found_runtime *found)
{
	return runtime_has_ranges(found->facts) && !runtime_has_only_ranges(found->facts);
}

/* Sets what finds the frames of the process's runtimes. */
static int find_programs(struct unwinder *unwinder, struct process *process, struct bf_process *ret)
{
	struct found_runtime found[BF_PROCESS_RUNTIMES];
	uint32_t n = 0, to = 0;
	int r = 0;

	if (!unwinder->no_runtimes)
		n = process_runtimes(&unwinder->tables, process, found);
	for (uint32_t i = 0; i < n && r >= 0; i++)
		r = add_program(unwinder, process, &found[i],
				runtime_has_only_ranges(found[i].facts) ? BF_HOOK_RANGE
									: BF_HOOK_CHAIN,
				ret, &to);
	for (uint32_t i = 0; i < n && r >= 0; i++)
		if (has_late_ranges(&found[i]))
			r = add_program(unwinder, process, &found[i], BF_HOOK_RANGE, ret, &to);
	return r;
}

/* Sets where BPF finds the process's mappings. Errors: -ENOSPC, -ENOMEM. */
static int place_process(struct unwinder *unwinder, struct process *process, struct bf_process *ret)
{
	struct list_rooms *rooms = &process->mappings->rooms;
	struct generated_code generated = find_generated(unwinder, process);
	struct room place;
	int r = find_programs(unwinder, process, ret);

	if (r < 0)
		return r;
	r = place_list(unwinder, process->mappings, &generated);
	if (r < 0)
		return r;
	room_half(unwinder, rooms->rooms[0], rooms->class, rooms->turn, &place);
	ret->segment = place.segment;
	ret->at = place.at;
	ret->n = rooms->count;
	ret->emptied = segments_emptied(&unwinder->segments, place.segment);
	return 0;
}

static int push(struct unwinder *unwinder, struct process *process)
{
	struct bf_process value = {
		.start = process->start,
		.exec_id = process->exec_id,
		.segment = BF_NO_ROOM,
		.is_whole = process->n_misses >= MISSES_TO_BELIEVE,
		.is_changing = process->changing_until != 0,
	};
	int r = place_process(unwinder, process, &value);

	if (r == -ENOMEM)
		return r;
	unwinder->n_refused += r < 0;
	give_to_bpf(unwinder, process->pid, &value);
	process->pushed = process->mappings->version;
	return 0;
}

/* The frames of code whose runtime is known are found by that. */
static int look_around(struct unwinder *unwinder, uint32_t index)
{
	struct process *process = &unwinder->processes->processes[index];

	if (process->looked_around == process->mappings->version)
		return 0;
	return !unwinder->no_runtimes && process_has_own_ranges(&unwinder->tables, process)
		       ? 0
		       : jit_frames_find(unwinder->processes, index);
}

static bool is_pushed(const struct process *process)
{
	return process->pushed == process->mappings->version && process->mappings->rooms.n;
}

static int sync_process(struct unwinder *unwinder, uint32_t index)
{
	struct process *process = &unwinder->processes->processes[index];
	int r;

	if (!process->is_wanted || process->ended || is_pushed(process))
		return 0;
	r = look_around(unwinder, index);
	if (r < 0)
		return r;
	return push(unwinder, process);
}

int unwinder_sync(struct unwinder *unwinder)
{
	struct processes *processes = unwinder->processes;
	uint32_t changed;

	while ((changed = processes_take_changed(processes)) != TABLE_NONE) {
		int r = sync_process(unwinder, changed);

		processes_put(processes, changed);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Makes the next sync give BPF the mappings of @process again. */
static int push_again(struct unwinder *unwinder, uint32_t process)
{
	struct process *p = &unwinder->processes->processes[process];

	p->pushed = 0;
	p->mappings->rooms.version = 0;
	return processes_note_change(unwinder->processes, process);
}

/* Mappings without room may have some now. */
static int allow_again(struct unwinder *unwinder)
{
	struct processes *processes = unwinder->processes;
	bool had_no_slots = tables_allow_again(&unwinder->tables);

	for (size_t i = 0; i < processes->pool.n; i++) {
		const struct process *process = &processes->processes[i];
		int r;

		if (!process->n_references || !process->pushed ||
		    (!had_no_slots && process->mappings->rooms.n))
			continue;
		r = push_again(unwinder, i);
		if (r < 0)
			return r;
	}
	return 0;
}

int unwinder_reclaim(struct unwinder *unwinder)
{
	int r = tables_reclaim(&unwinder->tables);

	if (r < 0)
		return r;
	r = segments_reclaim(&unwinder->segments);
	if (r < 0)
		return r;
	if (r > 0 || segments_may_have_room(&unwinder->segments, epoch_now(unwinder)))
		return allow_again(unwinder);
	return 0;
}

/* Looks at all files of @process. */
static int look_at_files(struct unwinder *unwinder, const struct process *process)
{
	struct walk_code code;

	for (size_t i = 0; i < process->mappings->n; i++) {
		const struct mapping *mapping = &process->mappings->items[i];
		int r = tables_look_up(&unwinder->tables, mapping, mapping->offset,
				       epoch_now(unwinder), &code);

		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_generated(const struct unwinder *unwinder, const struct process *process, uint64_t pc)
{
	const struct mapping *mapping = mapping_find(process->mappings, pc);

	return mapping && unwinder->processes->files.files[mapping->file].is_memory;
}

/*
 * A stack of @process was cut off at @pc: if that is generated code, it may be of a runtime whose own
 * library no stack has gone through. Looks at it once for each change of a list that is not long.
 */
static int search_runtimes(struct unwinder *unwinder, struct process *process, uint64_t pc)
{
	const struct mapping_list *list = process->mappings;

	if (unwinder->no_runtimes || process->searched == list->version ||
	    list->n > MOST_SEARCHED || !is_generated(unwinder, process, pc) ||
	    process_has_own_ranges(&unwinder->tables, process))
		return 0;
	process->searched = list->version;
	return look_at_files(unwinder, process);
}

int unwinder_prepare(struct unwinder *unwinder, uint32_t index)
{
	struct process *process = &unwinder->processes->processes[index];
	int r = look_around(unwinder, index);

	if (r < 0)
		return r;
	r = look_at_files(unwinder, process);
	if (r < 0)
		return r;
	process->is_wanted = true;
	return push(unwinder, process);
}

/* The context of code_at(). */
struct snapshot_walk {
	struct unwinder *unwinder;
	struct generated_code generated;
	uint32_t process; /* TABLE_NONE: unknown */
	int error;
};

/* No record named the mapping at @pc: one may have been lost. Asks /proc, not too often. */
static const struct mapping *ask_again(struct unwinder *unwinder, uint32_t index, uint64_t pc)
{
	struct processes *processes = unwinder->processes;
	struct process *process = &processes->processes[index];
	uint64_t now = monotonic_ns();
	const struct mapping *mapping;

	if (now - unwinder->asked_at < ASK_NS || process->ended ||
	    processes_latest(processes, process->pid) != index)
		return NULL;
	unwinder->asked_at = now;
	if (processes_read_mapping(processes, index, pc) < 0)
		return NULL;
	mapping = mapping_find(process->mappings, pc);
	if (!mapping && ++process->n_misses == MISSES_TO_BELIEVE)
		process->pushed = 0;
	return mapping;
}

static bool code_at(void *context, uint64_t pc, struct walk_code *ret)
{
	struct snapshot_walk *walk = context;
	const struct generated_part *part;
	const struct mapping *mapping;

	if (walk->process == TABLE_NONE)
		return false;
	mapping = mapping_find(walk->unwinder->processes->processes[walk->process].mappings, pc);
	if (!mapping)
		mapping = ask_again(walk->unwinder, walk->process, pc);
	if (!mapping)
		return false;
	walk->error = tables_look_up(&walk->unwinder->tables, mapping,
				     pc - mapping->start + mapping->offset,
				     epoch_now(walk->unwinder), ret);
	part = generated_find(&walk->generated, mapping->file, ret->offset);
	if (part)
		ret->flags = built_in_flags(part);
	return true;
}

/* Lets @memory lead through code of the process's runtimes, if it has some; @to reads what that
 * needs. Returns false if there is no memory. */
static bool ready_range(struct unwinder *unwinder, uint32_t index, struct process_memory *to,
			struct walk_memory *memory)
{
	struct process *process = &unwinder->processes->processes[index];
	struct runtime_memory live = process_memory(&unwinder->processes->files, process, to);
	struct found_runtime found[BF_PROCESS_RUNTIMES];
	uint32_t n;

	if (unwinder->no_runtimes || !process_has_ranges(&unwinder->tables, process))
		return true;
	unwinder->range = unwinder->range ?: calloc(1, sizeof *unwinder->range);
	if (!unwinder->range)
		return false;
	range_walk_init(unwinder->range, &live);
	n = process_runtimes(&unwinder->tables, process, found);
	for (uint32_t i = 0; i < 2 * n; i++)
		if (has_late_ranges(&found[i % n]) == (i >= n) &&
		    range_walk_add(unwinder->range, found[i % n].facts, found[i % n].bias)) {
			memory->range = range_walk_on;
			memory->range_context = unwinder->range;
		}
	return true;
}

int unwinder_walk(struct unwinder *unwinder, const struct bf_snapshot_event *event)
{
	__u64 frames[BF_MAX_FRAMES], chain[BF_CHAIN_WORDS];
	struct walk_memory memory = {
		.bytes = event->memory + event->memory_unread,
		.start = event->memory_start + event->memory_unread,
		.n = event->memory_bytes - event->memory_unread,
		.code = event->has_code ? &event->code : NULL,
		.code_at = event->walk.pc,
		.chain = chain,
		.n_chain = event->n_chain,
	};
	struct snapshot_walk context = {.unwinder = unwinder};
	struct bf_walk walk = event->walk;
	struct process_memory source;
	struct process *process;
	uint32_t n = event->n;
	uint64_t tables_built = unwinder->tables.n_built;
	int r = processes_see(unwinder->processes, event->pid, event->process_start, event->exec_id,
			      &context.process);

	if (r < 0)
		return r;
	if (n > BF_SNAPSHOT_WORDS || event->n_chain > BF_SNAPSHOT_WORDS - n)
		return 0; /* not as BPF sends it */
	memcpy(frames, event->words, n * sizeof *frames);
	memcpy(chain, event->words + n, event->n_chain * sizeof *chain);
	r = look_around(unwinder, context.process);
	if (r < 0)
		return r;
	if (!ready_range(unwinder, context.process, &source, &memory))
		return -ENOMEM;
	context.generated =
		find_generated(unwinder, &unwinder->processes->processes[context.process]);
	unwind_walk(&walk, frames, &n, WALK_HOST_MACHINE, &memory, code_at, &context);
	if (context.error < 0)
		return context.error;
	/* A single address says more than nothing. */
	if (n == 0)
		frames[n++] = walk.pc;
	process = &unwinder->processes->processes[context.process];
	r = walk.end == BF_END_ENTRY ? 0 : search_runtimes(unwinder, process, walk.pc);
	if (r < 0)
		return r;
	process->is_wanted = true;
	if (event->walk.end == BF_END_PROCESS)
		process->pushed = 0;
	/* Tables built on the way may have changed what BPF should know about the files. */
	if (unwinder->tables.n_built != tables_built)
		r = push_again(unwinder, context.process);
	else
		r = processes_note_change(unwinder->processes, context.process);
	if (r < 0)
		return r;
	return raw_stacks_add(unwinder->stacks, event->id, event->time, frames, n, walk.end);
}
