/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/go_open.h"
#include "base/system.h"

#define MAX_EXTENTS	 16   /* of a file, mapped at this many places */
#define MAX_EXTENT_SLOTS 4096 /* 1 GiB of code in one piece; sparse files may claim any size */

/* Slots [first_slot, + n) belong to parts [first_part, + n) of a file. */
struct extent {
	uint32_t first_part, first_slot, n;
};

/*
 * A file's table. The words of its parts are in segments; a part with n_words but no words was
 * evicted.
 */
struct file_table {
	enum { FILE_UNKNOWN, FILE_HAS_TABLE, FILE_HAS_NONE } state;
	struct extent extents[MAX_EXTENTS];
	uint32_t n_extents;
	bool refused;	/* a part had no room recently, or its owner no CPU time for it */
	bool is_over;	/* the latter, once */
	uint32_t flags; /* BF_MAPPING_…, once the state is known */
	struct unwind_table table;
	struct room *rooms;	       /* of the parts */
	struct runtime_facts *runtime; /* or NULL */
};

static void set_slot(struct tables *tables, uint32_t slot, struct bf_table value)
{
	bpf_map_update_elem(tables->map_fd, &slot, &value, BPF_ANY);
}

/* Sets what BPF finds for @part of @file. */
static void set_part(struct tables *tables, const struct file_table *file, uint32_t part,
		     struct bf_table value)
{
	for (uint32_t i = 0; i < file->n_extents; i++) {
		const struct extent *extent = &file->extents[i];

		if (part - extent->first_part < extent->n)
			set_slot(tables, extent->first_slot + part - extent->first_part, value);
	}
}

static void evict_parts(struct tables *tables, struct file_table *file, uint32_t segment)
{
	for (uint32_t i = 0; i < file->table.n_parts && file->rooms; i++) {
		if (file->rooms[i].segment != segment)
			continue;
		set_part(tables, file, i, (struct bf_table){});
		file->rooms[i] = (struct room){};
		file->table.parts[i].words = NULL;
	}
}

static void file_table_free(struct file_table *file)
{
	if (!file)
		return;
	free(file->table.parts); /* their words belong to the segments */
	free(file->rooms);
	free(file->runtime);
	free(file);
}

static int add_range(struct slot_list *list, uint32_t first, uint32_t n)
{
	return array_add(list->ranges, list->capacity, list->n, (struct slot_range){first, n});
}

/* The file is closed. Slots that can't be noted for lack of memory stay unused. */
static void release_table(void *context, struct file_table *file)
{
	struct tables *tables = context;

	for (uint32_t i = 0; i < file->table.n_parts && file->rooms; i++)
		if (file->rooms[i].segment)
			segments_release(tables->segments, file->rooms[i],
					 file->table.parts[i].n_words);
	for (uint32_t i = 0; i < file->n_extents; i++) {
		const struct extent *extent = &file->extents[i];

		for (uint32_t k = 0; k < extent->n; k++)
			set_slot(tables, extent->first_slot + k, (struct bf_table){});
		add_range(&tables->quiet, extent->first_slot, extent->n);
	}
	file_table_free(file);
}

void tables_init(struct tables *tables, int map_fd, uint32_t n_slots, struct files *files,
		 struct segments *segments, unwind_yield_fn yield, void *yield_context)
{
	*tables = (struct tables){
		.map_fd = map_fd,
		.n_slots = n_slots,
		.next_slot = 1,
		.files = files,
		.segments = segments,
		.yield = yield,
		.yield_context = yield_context,
	};
	files->release_table = release_table;
	files->release_context = tables;
}

void tables_done(struct tables *tables)
{
	for (size_t i = 0; tables->files && i < tables->files->pool.n; i++) {
		if (!tables->files->files[i].n_references)
			continue;
		file_table_free(tables->files->files[i].table);
		tables->files->files[i].table = NULL;
	}
	free(tables->free.ranges);
	free(tables->quiet.ranges);
	free(tables->unread);
	*tables = (struct tables){};
}

/* Iterates over all tables: NULL after the last one. @at: begins at 0. */
static struct file_table *next_table(const struct tables *tables, size_t *at)
{
	while (*at < tables->files->pool.n) {
		const struct file *file = &tables->files->files[(*at)++];

		if (file->n_references && file->table)
			return file->table;
	}
	return NULL;
}

void tables_evict(struct tables *tables, uint32_t segment)
{
	struct file_table *file;

	for (size_t at = 0; (file = next_table(tables, &at));)
		evict_parts(tables, file, segment);
}

/* Puts one part into a segment and informs BPF. The words then belong to the segment. */
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
	set_part(tables, file, part, (struct bf_table){room.segment, room.at});
	return 0;
}

/* Whether a part is in no segment. */
static bool is_missing(const struct file_table *file, uint32_t part)
{
	return file->state == FILE_HAS_TABLE && part < file->table.n_parts &&
	       file->table.parts[part].n_words && !file->table.parts[part].words;
}

/* What BPF should find for @part now. */
static struct bf_table part_value(const struct file_table *file, uint32_t part)
{
	if (file->state == FILE_UNKNOWN)
		return (struct bf_table){file->refused ? BF_NO_ROOM : 0, 0};
	if (file->state == FILE_HAS_NONE || part >= file->table.n_parts ||
	    !file->table.parts[part].n_words)
		return (struct bf_table){BF_NO_ROWS, 0}; /* it need not ask again */
	if (file->table.parts[part].words)
		return (struct bf_table){file->rooms[part].segment, file->rooms[part].at};
	return (struct bf_table){file->refused ? BF_NO_ROOM : 0, 0};
}

static void set_extent(struct tables *tables, const struct file_table *file,
		       const struct extent *extent)
{
	for (uint32_t i = 0; i < extent->n; i++)
		set_slot(tables, extent->first_slot + i, part_value(file, extent->first_part + i));
}

static void set_all_parts(struct tables *tables, const struct file_table *file)
{
	for (uint32_t i = 0; i < file->n_extents; i++)
		set_extent(tables, file, &file->extents[i]);
}

/* Keeps BPF from asking again until tables_allow_again(): building takes long. */
static void refuse(struct tables *tables, struct file_table *file)
{
	file->refused = tables->refused = true;
	set_all_parts(tables, file);
}

bool tables_allow_again(struct tables *tables)
{
	bool had_no_slots = tables->slots_refused;
	struct file_table *file;

	tables->slots_refused = false;
	for (size_t at = 0; tables->refused && (file = next_table(tables, &at));) {
		if (!file->refused)
			continue;
		file->refused = false;
		set_all_parts(tables, file);
	}
	tables->refused = false;
	return had_no_slots;
}

/*
 * Takes over a new table. @wanted, the part needed now, evicts others if necessary; the rest is
 * placed if there is room.
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
		set_all_parts(tables, file);
	}
	/* The needed part goes first. */
	for (uint32_t turn = 0; turn < 2 && r != -ENOMEM; turn++)
		for (uint32_t i = 0; i < built->n_parts && i < file->table.n_parts; i++)
			if (is_missing(file, i) && built->parts[i].n_words && (turn || i == wanted))
				r = place_part(tables, file, i, &built->parts[i], epoch, !turn);
	if (is_missing(file, wanted))
		refuse(tables, file);
	return r == -ENOMEM ? r : 0;
}

/* A descriptor; -1: ours. */
static int root_of(const struct tables *tables, const struct file *mapped)
{
	return mapped->root == UINT32_MAX ? -1 : tables->files->roots.items[mapped->root].fd;
}

/* @fd: of the file with its stripped sections. */
static int build_from(struct tables *tables, struct elf_file *elf, int fd, struct unwind_table *ret)
{
	struct elf_file debug;
	int r = elf_file_open(&debug, fd);

	if (r < 0)
		return r;
	r = unwind_table_build_yielding(elf, &debug, tables->yield, tables->yield_context, ret);
	elf_file_done(&debug);
	return r;
}

/* Builds the table of @elf again with its stripped sections, if these can be found. */
static int build_with_debug(struct tables *tables, const struct file *mapped, struct elf_file *elf,
			    struct unwind_table *table)
{
	int root = root_of(tables, mapped);
	_cleanup_close_ int fd =
		tables->debug ? tables->debug->open_file(elf, mapped->fd, mapped->path, root)
			      : -ENOENT;
	struct unwind_table built;
	int r;

	if (fd < 0)
		return fd == -ENOMEM ? fd : 0;
	r = build_from(tables, elf, fd, &built);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	unwind_table_done(table);
	*table = built;
	return 0;
}

static int build_table(struct tables *tables, const struct file *mapped, struct elf_file *elf,
		       struct unwind_table *ret)
{
	int r = unwind_table_build_yielding(elf, NULL, tables->yield, tables->yield_context, ret);

	if (r < 0 || !unwind_table_is_bare(ret))
		return r;
	r = build_with_debug(tables, mapped, elf, ret);
	if (r < 0)
		unwind_table_done(ret);
	return r;
}

static void add_extra(struct table_result *to, const struct runtime_facts *facts)
{
	memcpy(to->extra, facts, sizeof *facts);
	to->n_extra = sizeof *facts;
}

/* Without a descriptor, builds that of this process's vDSO. */
static int build_here(struct tables *tables, const struct file *mapped, struct table_result *ret)
{
	struct runtime_facts facts;
	struct elf_file elf;
	int r = mapped->fd >= 0 ? elf_file_open(&elf, mapped->fd) : elf_file_open_vdso(&elf);

	*ret = (struct table_result){.error = r, .is_elf = true};
	if (r < 0) {
		if (mapped->fd >= 0)
			ret->is_elf = elf_file_is_elf(mapped->fd);
		return r == -ENOMEM ? r : 0;
	}
	ret->error = elf.machine == WALK_HOST_MACHINE
			     ? build_table(tables, mapped, &elf, &ret->table)
			     : -ENOENT;
	ret->is_go = ret->table.is_go || go_table_is_go(&elf);
	if (runtime_examine(&elf, &facts) == 0 && facts.runtime)
		add_extra(ret, &facts);
	elf_file_done(&elf);
	return ret->error == -ENOMEM ? -ENOMEM : 0;
}

static int build_in_reader(struct tables *tables, const struct file *mapped,
			   struct table_result *ret)
{
	const struct table_question question = {
		.file = mapped->fd,
		.path = mapped->path,
		.root = root_of(tables, mapped),
		.debug = tables->debug,
		.wait = tables->wait,
		.context = tables->yield_context,
	};
	int r = table_job_call(tables->reader, &question, ret);

	budgets_spend(&tables->files->budgets, mapped->budget, tables->reader->call_ns);
	if (r == 0 || r == -ENOMEM)
		return r;
	*ret = (struct table_result){.error = r};
	tables->n_unread++;
	if (!tables->unread)
		tables->unread = strdup(mapped->path);
	return 0;
}

/* Whoever looked at the file may have been taken over by it: facts are checked. */
static int take_runtime(struct tables *tables, struct file_table *file,
			const struct table_result *result)
{
	struct runtime_facts facts;

	if (file->runtime || result->n_extra != sizeof facts)
		return 0;
	memcpy(&facts, result->extra, sizeof facts);
	if (!runtime_is_sound(&facts))
		return 0;
	file->runtime = malloc(sizeof facts);
	if (!file->runtime)
		return -ENOMEM;
	*file->runtime = facts;
	tables->n_runtimes++;
	return 0;
}

const struct runtime_facts *tables_runtime(const struct tables *tables, uint32_t file)
{
	const struct file_table *table = tables->files->files[file].table;

	return table ? table->runtime : NULL;
}

/* Builds the table of @file, for @mapped. */
static int build(struct tables *tables, struct file_table *file, const struct file *mapped,
		 uint32_t wanted, uint32_t epoch)
{
	struct budgets *budgets = &tables->files->budgets;
	struct table_result result;
	int r;

	if (!budgets_may_read(budgets, mapped->budget)) {
		if (!file->is_over)
			budgets_refuse(budgets, mapped->budget);
		file->is_over = true;
		refuse(tables, file);
		return 0;
	}
	r = tables->reader && mapped->fd >= 0 ? build_in_reader(tables, mapped, &result)
					      : build_here(tables, mapped, &result);
	if (r < 0)
		return r;
	/* Code of other files is a runtime's: .NET has some in PE files. */
	file->flags = (result.error == -ENOEXEC && !result.is_elf ? 0 : BF_MAPPING_FILE) |
		      (result.is_go ? BF_MAPPING_GO : 0);
	r = take_runtime(tables, file, &result);
	if (r < 0) {
		unwind_table_done(&result.table);
		return r;
	}
	if (result.error == 0) {
		r = place_table(tables, file, &result.table, wanted, epoch);
		unwind_table_done(&result.table);
		tables->n_built++;
		return r;
	}
	tables->n_damaged += result.is_elf && result.error != -ENOENT;
	file->state = FILE_HAS_NONE;
	set_all_parts(tables, file);
	return 0;
}

static bool has_code(const struct file *file)
{
	return file->fd >= 0 || (file->is_memory && strcmp(file->path, "[vdso]") == 0);
}

/* The table of the mapped file; NULL if it is not code of a file. Errors: -ENOMEM. */
static int file_table_get(struct tables *tables, const struct mapping *mapping,
			  struct file_table **ret)
{
	struct file *file = &tables->files->files[mapping->file];

	*ret = NULL;
	if (!has_code(file))
		return 0;
	if (!file->table)
		file->table = calloc(1, sizeof *file->table);
	*ret = file->table;
	return file->table ? 0 : -ENOMEM;
}

/* What BPF needs to know about the code at @offset of @mapping, with the part in place. */
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
	if (!file->refused && (file->state == FILE_UNKNOWN || is_missing(file, part)))
		r = build(tables, file, &tables->files->files[mapping->file], part, epoch);
	if (file->state == FILE_HAS_TABLE)
		ret->table = &file->table;
	ret->no_room = is_missing(file, part) || (file->state == FILE_UNKNOWN && file->refused);
	ret->flags = file->flags;
	return r;
}

/* Finds @n contiguous slots, freed or never used. Returns 0 if there are none. */
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

int tables_reclaim(struct tables *tables)
{
	for (size_t i = 0; i < tables->quiet.n; i++) {
		int r = add_range(&tables->free, tables->quiet.ranges[i].first,
				  tables->quiet.ranges[i].n);

		if (r < 0)
			return r;
	}
	tables->quiet.n = 0;
	return 0;
}

/* The extent with slots for the parts [@first, + @n); makes it if enough are left. */
static const struct extent *find_extent(struct tables *tables, struct file_table *file,
					uint32_t first, uint32_t n)
{
	struct extent *extent = file->extents;

	for (; extent < file->extents + file->n_extents; extent++)
		if (first >= extent->first_part && first + n <= extent->first_part + extent->n)
			return extent;
	if (file->n_extents == MAX_EXTENTS || n > MAX_EXTENT_SLOTS)
		return NULL;
	*extent = (struct extent){first, find_slots(tables, n), n};
	if (!extent->first_slot)
		return NULL;
	file->n_extents++;
	set_extent(tables, file, extent);
	return extent;
}

/*
 * A mapping may extend past the file's end: a library that is contiguous in memory is mapped as if
 * it were all code, and its data is mapped over the end of that.
 */
static uint64_t bytes_of_file(const struct tables *tables, const struct mapping *mapping)
{
	const struct file *file = &tables->files->files[mapping->file];
	uint64_t length = mapping->end - mapping->start, size = file->identity.size;

	if (file->is_memory)
		return length;
	size = (size + (1 << BF_PART_SHIFT)) >> BF_PART_SHIFT << BF_PART_SHIFT;
	if (mapping->offset >= size)
		return 0;
	return length < size - mapping->offset ? length : size - mapping->offset;
}

int tables_describe(struct tables *tables, const struct mapping *mapping, struct bf_mapping *ret)
{
	uint64_t first = mapping->offset >> BF_PART_SHIFT, bytes, end;
	const struct extent *extent;
	struct file_table *file;
	int r = file_table_get(tables, mapping, &file);

	if (r < 0 || !file)
		return r;
	ret->flags = file->flags;
	bytes = bytes_of_file(tables, mapping);
	end = (mapping->offset + bytes + (1 << BF_PART_SHIFT) - 1) >> BF_PART_SHIFT;
	if (!bytes || end > UINT32_MAX)
		return 0;
	extent = find_extent(tables, file, first, end - first);
	if (!extent) {
		tables->n_refused++;
		tables->slots_refused = true;
		ret->flags |= BF_MAPPING_NO_ROOM;
		return 0;
	}
	ret->table = extent->first_slot + first - extent->first_part;
	ret->end = mapping->start + bytes;
	return 0;
}
