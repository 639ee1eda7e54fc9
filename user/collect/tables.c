/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

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

static void set_slot(struct tables *tables, uint32_t slot, struct bf_table value)
{
	bpf_map_update_elem(tables->map_fd, &slot, &value, BPF_ANY);
}

/* Segments' eviction: parts. */
static void evict_parts(struct tables *tables, struct file_table *file, uint32_t segment)
{
	for (uint32_t i = 0; i < file->table.n_parts && file->rooms; i++) {
		if (file->rooms[i].segment != segment)
			continue;
		if (i < file->n_slots)
			set_slot(tables, file->first_slot + i, (struct bf_table){});
		file->rooms[i] = (struct room){};
		file->table.parts[i].words = NULL;
	}
}

static void file_table_done(struct file_table *file)
{
	free(file->table.parts); /* their words are the segments' */
	free(file->rooms);
}

void tables_init(struct tables *tables, int map_fd, uint32_t n_slots, const struct files *files,
		 struct segments *segments, unwind_breathe_fn breathe, void *breathe_context)
{
	*tables = (struct tables){
		.map_fd = map_fd,
		.n_slots = n_slots,
		.next_slot = 1,
		.files = files,
		.segments = segments,
		.breathe = breathe,
		.breathe_context = breathe_context,
	};
}

void tables_done(struct tables *tables)
{
	for (size_t i = 0; i < tables->n_tables; i++)
		file_table_done(&tables->tables[i]);
	free(tables->tables);
	free(tables->free.ranges);
	free(tables->quiet.ranges);
	*tables = (struct tables){};
}

void tables_evict(struct tables *tables, uint32_t segment)
{
	for (size_t i = 0; i < tables->n_tables; i++)
		evict_parts(tables, &tables->tables[i], segment);
}

/* Puts one part into a segment and tells BPF. The words are then the segment's. */
static int place_part(struct tables *tables, struct file_table *file, uint32_t part,
		      const struct unwind_part *built, uint32_t epoch, bool may_evict)
{
	struct room room;
	int r = segments_allocate(tables->segments, ROOM_TABLE, built->n_words, epoch, may_evict,
				  &room);

	if (r < 0)
		return r;
	memcpy(segments_words(tables->segments, room), built->words, built->n_words * 4);
	file->rooms[part] = room;
	file->table.parts[part] =
		(struct unwind_part){segments_words(tables->segments, room), built->n_words};
	if (part < file->n_slots)
		set_slot(tables, file->first_slot + part, (struct bf_table){room.segment, room.at});
	return 0;
}

/* Parts of which nothing is known: BPF need not ask again. */
static void mark_empty(struct tables *tables, const struct file_table *file)
{
	for (uint32_t i = 0; i < file->n_slots; i++)
		if (i >= file->table.n_parts || !file->table.parts[i].n_words)
			set_slot(tables, file->first_slot + i, (struct bf_table){BF_NO_ROWS, 0});
}

/* Whether there is a part that is in no segment. */
static bool is_missing(const struct file_table *file, uint32_t part)
{
	return file->state == FILE_HAS_TABLE && part < file->table.n_parts &&
	       file->table.parts[part].n_words && !file->table.parts[part].words;
}

/* BPF need not ask again until tables_allow_again(): building takes long. */
static void refuse(struct tables *tables, struct file_table *file)
{
	file->refused = tables->refused = true;
	for (uint32_t i = 0; i < file->n_slots; i++)
		if (is_missing(file, i))
			set_slot(tables, file->first_slot + i, (struct bf_table){BF_NO_ROOM, 0});
}

void tables_allow_again(struct tables *tables)
{
	if (!tables->refused)
		return;
	tables->refused = false;
	for (size_t i = 0; i < tables->n_tables; i++) {
		struct file_table *file = &tables->tables[i];

		for (uint32_t k = 0; file->refused && k < file->n_slots; k++)
			if (is_missing(file, k))
				set_slot(tables, file->first_slot + k, (struct bf_table){});
		file->refused = false;
	}
}

/*
 * Takes a table that was just built: @wanted, the part that is needed now, evicts others if it
 * must, the rest come along if there is room.
 */
static int place_table(struct tables *tables, struct file_table *file, struct unwind_table *built,
		       uint32_t wanted, uint32_t epoch)
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
		mark_empty(tables, file);
	}
	/* The one that is needed goes first. */
	for (uint32_t turn = 0; turn < 2 && r != -ENOMEM; turn++)
		for (uint32_t i = 0; i < built->n_parts && i < file->table.n_parts; i++)
			if (is_missing(file, i) && built->parts[i].n_words && (turn || i == wanted))
				r = place_part(tables, file, i, &built->parts[i], epoch, !turn);
	if (is_missing(file, wanted))
		refuse(tables, file);
	return r == -ENOMEM ? r : 0;
}

/* Builds the table of @file, from descriptor @fd or, with -1, from the vDSO of this process. */
static int build(struct tables *tables, struct file_table *file, int fd, uint32_t wanted,
		 uint32_t epoch)
{
	struct unwind_table built;
	struct elf_file elf;
	int r = fd >= 0 ? elf_file_open(&elf, fd) : elf_file_open_vdso(&elf);

	file->flags = BF_MAPPING_FILE;
	if (r == 0) {
		if (elf_file_section(&elf, ".go.buildinfo"))
			file->flags |= BF_MAPPING_GO;
		r = elf.machine == WALK_HOST_MACHINE
			    ? unwind_table_build_breathing(&elf, tables->breathe,
							   tables->breathe_context, &built)
			    : -ENOENT;
		elf_file_done(&elf);
	}
	if (r == 0) {
		r = place_table(tables, file, &built, wanted, epoch);
		unwind_table_done(&built);
		tables->n_built++;
	} else if (r != -ENOMEM) {
		tables->n_damaged += r != -ENOENT;
		file->state = FILE_HAS_NONE;
		mark_empty(tables, file);
		r = 0;
	}
	return r;
}

/* What code may lie in a mapping without a file. */
static bool is_vdso(const struct tables *tables, const struct mapping *mapping)
{
	return strcmp(strings_get(&tables->files->strings, mapping->path), "[vdso]") == 0;
}

static bool has_code(const struct tables *tables, const struct mapping *mapping)
{
	return mapping->file != UINT32_MAX ? tables->files->files[mapping->file].fd >= 0
					   : is_vdso(tables, mapping);
}

/* The table of what is mapped; NULL when that is no code of a file. Errors: -ENOMEM. */
static int file_table_get(struct tables *tables, const struct mapping *mapping,
			  struct file_table **ret)
{
	size_t at = mapping->file == UINT32_MAX ? 0 : mapping->file + 1;
	size_t n = tables->files->n_files + 1;

	*ret = NULL;
	if (!has_code(tables, mapping))
		return 0;

	if (at >= tables->n_tables) {
		struct file_table *grown = reallocarray(tables->tables, n, sizeof *grown);

		if (!grown)
			return -ENOMEM;
		memset(grown + tables->n_tables, 0, (n - tables->n_tables) * sizeof *grown);
		tables->tables = grown;
		tables->n_tables = n;
	}
	*ret = &tables->tables[at];
	return 0;
}

/* What BPF wants to know of the code at @offset of @mapping, the part in place. */
int tables_look_up(struct tables *tables, const struct mapping *mapping, uint64_t offset,
		   uint32_t epoch, struct walk_code *ret)
{
	uint32_t part = offset >> BF_PART_SHIFT;
	struct file_table *file;
	int r;

	*ret = (struct walk_code){.offset = offset};
	r = file_table_get(tables, mapping, &file);
	if (r < 0 || !file)
		return r;
	if (file->state == FILE_UNKNOWN || (is_missing(file, part) && !file->refused))
		r = build(tables, file,
			  mapping->file == UINT32_MAX ? -1 : tables->files->files[mapping->file].fd,
			  part, epoch);
	if (file->state == FILE_HAS_TABLE)
		ret->table = &file->table;
	ret->no_room = is_missing(file, part);
	ret->flags = file->flags;
	return r;
}

static int add_range(struct slot_list *list, uint32_t first, uint32_t n)
{
	int r = n ? array_reserve(list->ranges, list->capacity, list->n, 1) : 0;

	if (r >= 0 && n)
		list->ranges[list->n++] = (struct slot_range){first, n};
	return r;
}

/* @n slots in a row that were free again, or never used. Returns 0 if there are none. */
static uint32_t find_slots(struct tables *tables, uint32_t n)
{
	struct slot_list *list = &tables->free;
	uint32_t first = tables->next_slot;

	for (size_t i = 0; i < list->n; i++) {
		struct slot_range *range = &list->ranges[i];

		if (range->n < n)
			continue;
		first = range->first;
		range->first += n;
		range->n -= n;
		if (!range->n)
			*range = list->ranges[--list->n];
		return first;
	}
	if (n > tables->n_slots - tables->next_slot)
		return 0;
	tables->next_slot += n;
	return first;
}

/* Gives @file its slots, if there are as many left. */
static void assign_slots(struct tables *tables, struct file_table *file, uint32_t n_slots)
{
	file->first_slot = find_slots(tables, n_slots);
	if (!file->first_slot)
		return;
	file->n_slots = n_slots;
	for (uint32_t i = 0; i < file->table.n_parts && i < n_slots; i++)
		if (file->table.parts[i].words)
			set_slot(tables, file->first_slot + i,
				 (struct bf_table){file->rooms[i].segment, file->rooms[i].at});
	if (file->state != FILE_UNKNOWN)
		mark_empty(tables, file);
}

static int forget_table(struct tables *tables, struct file_table *file)
{
	for (uint32_t i = 0; i < file->n_slots; i++)
		set_slot(tables, file->first_slot + i, (struct bf_table){});
	file_table_done(file);
	return add_range(&tables->quiet, file->first_slot, file->n_slots);
}

/* Slots that were forgotten the last time are free. */
static int free_quiet_slots(struct tables *tables)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < tables->quiet.n; i++)
		r = add_range(&tables->free, tables->quiet.ranges[i].first,
			      tables->quiet.ranges[i].n);
	tables->quiet.n = 0;
	return r;
}

static int free_segments(const struct tables *tables)
{
	bool *is_used = calloc(tables->segments->n + 1, sizeof *is_used);

	if (!is_used)
		return -ENOMEM;
	for (size_t i = 0; i < tables->n_tables; i++)
		for (uint32_t k = 0; tables->tables[i].rooms && k < tables->tables[i].table.n_parts;
		     k++)
			is_used[tables->tables[i].rooms[k].segment] = true;
	segments_free_tables(tables->segments, is_used);
	free(is_used);
	return 0;
}

int tables_renumber(struct tables *tables, const uint32_t *numbers, size_t n_files)
{
	size_t kept = 1;
	int r = free_quiet_slots(tables);

	/* New numbers are never above the old. */
	for (size_t i = 1; r >= 0 && i < tables->n_tables && i <= n_files; i++) {
		if (numbers[i - 1] == UINT32_MAX) {
			r = forget_table(tables, &tables->tables[i]);
			continue;
		}
		kept = numbers[i - 1] + 1;
		tables->tables[kept++] = tables->tables[i];
	}
	if (tables->n_tables)
		tables->n_tables = kept;
	return r < 0 ? r : free_segments(tables);
}

int tables_describe(struct tables *tables, const struct mapping *mapping, struct bf_mapping *ret)
{
	uint64_t size = 0, slots_end;
	struct file_table *file;
	int r;

	r = file_table_get(tables, mapping, &file);
	if (r < 0 || !file)
		return r;
	if (mapping->file != UINT32_MAX)
		size = tables->files->files[mapping->file].size;
	if (!file->first_slot)
		assign_slots(tables, file, (size >> BF_PART_SHIFT) + 1);
	slots_end = (uint64_t)file->n_slots << BF_PART_SHIFT;
	/*
	 * A mapping may be longer than the file: a library that lies in memory in one piece is
	 * mapped as if it were all code, and its data come over the end of that.
	 */
	if (mapping->offset < slots_end)
		ret->table = file->first_slot;
	if (mapping->offset < slots_end &&
	    mapping->end - mapping->start > slots_end - mapping->offset)
		ret->end = mapping->start + (slots_end - mapping->offset);
	ret->flags = file->flags;
	return 0;
}
