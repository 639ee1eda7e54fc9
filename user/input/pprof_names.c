/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/pprof_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* The kernel's half of the addresses begins here on all 64-bit machines. */
#define KERNEL_ADDRESSES 0xffff800000000000ULL

/* Mappings */

static bool is_module(const char *path)
{
	const char *ko = strstr(text_base_name(path), ".ko");

	return ko && (!ko[3] || ko[3] == '.');
}

static enum mapping_kind mapping_kind_of(const char *path)
{
	if (text_begins(path, "[kernel") || text_begins(path, "[guest.kernel") || is_module(path))
		return MAPPING_KERNEL;
	if (strcmp(path, "[vdso]") == 0)
		return MAPPING_VDSO;
	if (*path == '[' || strcmp(path, "//anon") == 0)
		return MAPPING_ANON;
	return *path ? MAPPING_FILE : MAPPING_UNKNOWN;
}

static int make_mapping(struct pprof_names *names, const struct pprof_file_mapping *from,
			uint32_t *ret)
{
	struct profile_mapping mapping = {.start = from->start,
					  .limit = from->limit,
					  .offset = from->offset,
					  .symbols = from->symbols};
	struct strings *strings = &names->profile->strings;
	const char *path;
	int r = pprof_file_text(names->file, from->file, from->at, &mapping.path);

	if (r < 0)
		return r;
	r = pprof_file_text(names->file, from->build_id, from->at, &mapping.build_id);
	if (r < 0)
		return r;
	path = strings_get(strings, mapping.path);
	mapping.kind = mapping_kind_of(path);
	if (strcmp(path, "[kernel.kallsyms]") != 0 && strcmp(path, "//anon") != 0)
		mapping.file = mapping.path;
	if (mapping.kind == MAPPING_KERNEL && *path == '[')
		r = strings_add(strings, "[kernel]", &mapping.path);
	else if (mapping.kind == MAPPING_ANON && *path == '/')
		mapping.path = 0;
	if (r < 0)
		return r;
	return profile_add_mapping(names->profile, &mapping, ret);
}

static int make_mappings(struct pprof_names *names)
{
	const struct pprof_file *file = names->file;
	int r = 0;

	names->mappings = calloc(file->n_mappings + 1, sizeof *names->mappings);
	if (!names->mappings)
		return -ENOMEM;
	for (size_t i = 0; i < file->n_mappings && r == 0; i++)
		r = make_mapping(names, &file->mappings[i], &names->mappings[i]);
	return r;
}

static int no_mapping(struct pprof_names *names, uint32_t *ret)
{
	struct profile_mapping none = {.kind = MAPPING_UNKNOWN};
	int r = names->no_mapping != PPROF_UNSET
			? 0
			: profile_add_mapping(names->profile, &none, &names->no_mapping);

	if (r == 0)
		*ret = names->no_mapping;
	return r;
}

int pprof_names_program(struct pprof_names *names, uint32_t *ret_text)
{
	struct strings *strings = &names->profile->strings;
	char *text = NULL;
	uint32_t path = 0;
	int r;

	/* pprof's rule: the first mapping is the main program's. */
	if (names->file->n_mappings)
		path = names->profile->mappings[names->mappings[0]].path;
	/* Copy it: adding a string may move it. */
	text = strdup(path ? text_base_name(strings_get(strings, path)) : "[unknown]");
	if (!text)
		return -ENOMEM;
	r = strings_add(strings, text, ret_text);
	free(text);
	return r;
}

/* Functions */

/* Takes the suffix off the function's name. */
static int cut_suffix(struct pprof_names *names, struct pprof_name *name)
{
	struct strings *strings = &names->profile->strings;
	size_t n = strings_length(strings, name->text) - MARK_SUFFIX;
	char *text = strndup(strings_get(strings, name->text), n);
	int r = text ? strings_add(strings, text, &name->text) : -ENOMEM;

	free(text);
	return r;
}

/*
 * Finds the kind by the suffix of folded lines. Our files have it in the system name; profiles that
 * others made from folded lines have it in the name itself.
 */
static int find_kind(struct pprof_names *names, uint32_t system_name, struct pprof_name *name)
{
	const char *text = strings_get(&names->profile->strings, name->text);
	const char *system = strings_get(&names->profile->strings, system_name);
	size_t n = strlen(text);

	name->kind = mark_suffix(system, strlen(system));
	if (name->kind != FRAME_USER && strncmp(system, text, n) == 0 &&
	    strcmp(system + n, frame_kind_suffix(name->kind)) == 0) {
		name->has_kind = true;
		return 0;
	}
	name->kind = mark_suffix(text, n);
	name->has_kind = name->kind != FRAME_USER;
	if (!name->has_kind)
		return 0;
	name->system_name = name->text;
	return cut_suffix(names, name);
}

static int make_name(struct pprof_names *names, const struct pprof_file_function *from,
		     struct pprof_name *name)
{
	uint32_t system_name;
	int r = pprof_file_text(names->file, from->name, from->at, &name->text);

	if (r < 0)
		return r;
	r = pprof_file_text(names->file, from->system_name, from->at, &system_name);
	if (r < 0)
		return r;
	name->system_name = system_name;
	name->start_line = from->start_line;
	r = pprof_file_text(names->file, from->file, from->at, &name->file);
	if (r < 0)
		return r;
	if (!name->text)
		name->text = system_name;
	return find_kind(names, system_name, name);
}

static int make_names(struct pprof_names *names)
{
	const struct pprof_file *file = names->file;
	int r = 0;

	names->names = calloc(file->n_functions + 1, sizeof *names->names);
	if (!names->names)
		return -ENOMEM;
	for (size_t i = 0; i < file->n_functions && r == 0; i++)
		r = make_name(names, &file->functions[i], &names->names[i]);
	return r;
}

/* Locations */

struct place {
	uint32_t mapping;
	uint64_t address;     /* as in the profile */
	enum frame_kind kind; /* of the code there, unless its name gives another one */
};

static enum frame_kind kind_of_place(const struct profile *profile,
				     const struct profile_mapping *mapping, uint64_t address)
{
	const char *path = strings_get(&profile->strings, mapping->path);

	if (mapping->kind == MAPPING_KERNEL ||
	    (address >= KERNEL_ADDRESSES && strcmp(path, "[vsyscall]") != 0))
		return FRAME_KERNEL;
	return FRAME_USER;
}

static int find_place(struct pprof_names *names, const struct pprof_file_location *from,
		      struct place *ret)
{
	const struct pprof_ids *ids = &names->file->mapping_ids;
	const struct profile_mapping *mapping;
	uint32_t number;
	int r = 0;

	if (from->mapping_id) {
		number = pprof_ids_find(ids, from->mapping_id);
		if (number == PPROF_UNSET)
			return pprof_file_fault(names->file, from->at,
						"mapping %" PRIu64 " is not there",
						from->mapping_id);
		ret->mapping = names->mappings[ids->items[number].item];
	} else {
		r = no_mapping(names, &ret->mapping);
		if (r < 0)
			return r;
	}
	mapping = &names->profile->mappings[ret->mapping];
	ret->kind = kind_of_place(names->profile, mapping, from->address);
	ret->address = mapping->kind == MAPPING_FILE
			       ? from->address - mapping->start + mapping->offset
			       : from->address;
	return 0;
}

/* Names a place without a function, as everywhere. */
static int name_place(struct pprof_names *names, const struct place *place, uint32_t *ret_text)
{
	const struct profile_mapping *mapping = &names->profile->mappings[place->mapping];
	const char *path = strings_get(&names->profile->strings, mapping->path);
	char text[512] = "[unknown]";

	if (place->kind == FRAME_KERNEL)
		snprintf(text, sizeof text, "[kernel+0x%" PRIx64 "]", place->address);
	else if (mapping->kind == MAPPING_FILE)
		snprintf(text, sizeof text, "[%.255s+0x%" PRIx64 "]", text_base_name(path),
			 place->address);
	else if (mapping->kind == MAPPING_VDSO)
		snprintf(text, sizeof text, "[vdso+0x%" PRIx64 "]",
			 place->address - mapping->start);
	else if (mapping->kind == MAPPING_ANON)
		snprintf(text, sizeof text, "%.255s", *path == '[' ? path : "[anon]");
	return strings_add(&names->profile->strings, text, ret_text);
}

/*
 * Finds the parts of a function that we would not write from its name and kind alone; see
 * pprof_tables.h.
 */
static int find_detail(struct pprof_names *names, const struct pprof_name *name, bool is_inside,
		       struct profile_frame *frame)
{
	struct extras_detail detail = {.system_name = name->system_name,
				       .start_line = name->start_line};
	bool has_suffix =
		*frame_kind_suffix(frame->kind) && !(is_inside && frame->kind == FRAME_INLINED);

	if (name->has_kind && !name->start_line)
		return 0;
	if (!has_suffix && !detail.system_name && !detail.start_line)
		return 0;
	return extras_add_detail(&names->profile->extras, &detail, &frame->detail);
}

static int make_frame(struct pprof_names *names, const struct pprof_file_location *from,
		      const struct place *place, uint32_t i, struct profile_frame *frame)
{
	const struct pprof_ids *ids = &names->file->function_ids;
	const struct pprof_file_line *line = &names->file->lines[from->first_line + i];
	const struct pprof_name *name;
	uint32_t number = pprof_ids_find(ids, line->function_id);

	frame->kind = i + 1 < from->n_lines ? FRAME_INLINED : place->kind;
	frame->line = line->line > 0 && line->line <= UINT32_MAX ? line->line : 0;
	if (number == PPROF_UNSET && line->function_id)
		return pprof_file_fault(names->file, from->at, "function %" PRIu64 " is not there",
					line->function_id);
	if (number == PPROF_UNSET)
		return name_place(names, place, &frame->function);
	name = &names->names[ids->items[number].item];
	if (name->has_kind)
		frame->kind = name->kind;
	frame->file = name->file;
	frame->function = name->text;
	if (!name->text)
		return name_place(names, place, &frame->function);
	return find_detail(names, name, i + 1 < from->n_lines, frame);
}

/* Sets the frames of a location. Returns their number. */
static int make_frames(struct pprof_names *names, const struct pprof_file_location *from,
		       const struct place *place)
{
	size_t n = 0;
	int r = array_reserve(names->frames, names->frames_capacity, 0, from->n_lines + 1);

	if (r < 0)
		return r;
	if (!from->n_lines) {
		names->frames[0] = (struct profile_frame){.kind = place->kind};
		r = name_place(names, place, &names->frames[0].function);
		return r < 0 ? r : 1;
	}
	for (uint32_t i = 0; i < from->n_lines; i++) {
		struct profile_frame *frame = &names->frames[n];

		*frame = (struct profile_frame){0};
		r = make_frame(names, from, place, i, frame);
		if (r < 0)
			return r;
		n += !(names->no_inline && frame->kind == FRAME_INLINED);
	}
	return n;
}

static bool has_frames(const struct profile *profile, uint32_t location,
		       const struct profile_frame *frames, size_t n)
{
	const struct profile_location *known = &profile->locations[location];

	if (known->n_frames != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct profile_frame *a = &profile->frames[known->first_frame + i],
					   *b = &frames[i];

		if (a->kind != b->kind || a->function != b->function || a->file != b->file ||
		    a->line != b->line || a->detail != b->detail)
			return false;
	}
	return true;
}

static uint64_t hash_frames(const struct profile_frame *frames, size_t n)
{
	uint64_t hash = n;

	for (size_t i = 0; i < n; i++) {
		hash = hash_mix(hash, (uint64_t)frames[i].function << 32 | frames[i].kind);
		hash = hash_mix(hash, (uint64_t)frames[i].file << 32 | frames[i].line);
		hash = hash_mix(hash, frames[i].detail);
	}
	return hash;
}

/*
 * The same address of a mapping may hold other code: in another process, or at another time. A
 * mapping of its own keeps it apart.
 */
static int add_beside(struct pprof_names *names, const struct place *place, size_t n,
		      uint32_t *ret_location)
{
	struct profile_mapping mapping = names->profile->mappings[place->mapping];
	uint32_t id;
	int r;

	mapping.inode = hash_frames(names->frames, n);
	r = profile_add_mapping(names->profile, &mapping, &id);
	if (r < 0)
		return r;
	r = profile_add_location(names->profile, id, place->address, false, ret_location);
	if (r < 0 || names->profile->locations[*ret_location].n_frames)
		return r;
	return profile_set_frames(names->profile, *ret_location, names->frames, n);
}

static int add_location(struct pprof_names *names, const struct pprof_file_location *from,
			const struct place *place, size_t n, uint32_t *ret_location)
{
	struct profile *profile = names->profile;
	int r;

	if (!from->address)
		return profile_add_named(profile, place->mapping, names->frames, n, ret_location);
	r = profile_add_location(profile, place->mapping, place->address, false, ret_location);
	if (r < 0)
		return r;
	if (!profile->locations[*ret_location].n_frames)
		return profile_set_frames(profile, *ret_location, names->frames, n);
	return has_frames(profile, *ret_location, names->frames, n)
		       ? 0
		       : add_beside(names, place, n, ret_location);
}

static int add_piece(struct pprof_names *names, const struct piece *piece, uint32_t *ret_piece)
{
	struct pieces *all = &names->all;
	if (all->n_items >= PPROF_LEFT_OUT)
		return -E2BIG;
	*ret_piece = all->n_items;
	return array_add(all->items, all->capacity, all->n_items, *piece);
}

static struct piece piece_of(const struct profile *profile, uint32_t text)
{
	return (struct piece){.text = profile->strings.offsets[text],
			      .n = strings_length(&profile->strings, text),
			      .locations = {PIECE_UNSET, PIECE_UNSET},
			      .commands = {PIECE_UNSET, PIECE_UNSET}};
}

static bool can_be_note(const struct pprof_file_location *from, const struct profile_frame *frame)
{
	return !from->address && !from->mapping_id && from->n_lines == 1 &&
	       frame->kind == FRAME_USER;
}

static int make_piece(struct pprof_names *names, const struct pprof_file_location *from,
		      uint32_t *ret_piece)
{
	struct profile_location *location;
	struct place place = {0};
	struct piece piece;
	int r = find_place(names, from, &place), n;

	if (r < 0)
		return r;
	n = make_frames(names, from, &place);
	if (n < 0)
		return n;
	if (!n) {
		*ret_piece = PPROF_LEFT_OUT;
		return 0;
	}
	piece = piece_of(names->profile, names->frames[n - 1].function);
	if (can_be_note(from, &names->frames[0]))
		piece_set_mark(&piece, names->profile->strings.bytes + piece.text, piece.n);
	r = add_location(names, from, &place, n, &piece.locations[0]);
	if (r < 0)
		return r;
	location = &names->profile->locations[piece.locations[0]];
	location->is_unnamed = !from->n_lines && from->address;
	/* A bare name has no use for it, and may share its number with other locations. */
	location->is_folded = from->is_folded && from->address;
	return add_piece(names, &piece, ret_piece);
}

int pprof_names_piece(struct pprof_names *names, uint32_t number, uint32_t *ret_piece)
{
	const struct pprof_file *file = names->file;
	int r = 0;

	if (names->pieces[number] == PPROF_UNSET)
		r = make_piece(names,
			       &file->locations[file->samples.location_ids.items[number].item],
			       &names->pieces[number]);
	if (r == 0)
		*ret_piece = names->pieces[number];
	return r;
}

/* Notes that a number is plain, as location @location. */
static int take_location(struct pprof_names *names, uint32_t location)
{
	size_t n = names->n_taken, wanted = names->profile->n_locations;
	int r;

	if (location >= n) {
		r = array_reserve(names->is_taken, names->taken_capacity, n, wanted - n);
		if (r < 0)
			return r;
		memset(names->is_taken + n, 0, wanted - n);
		names->n_taken = wanted;
	}
	names->are_distinct &= !names->is_taken[location];
	names->is_taken[location] = true;
	return 0;
}

/* Sets names->plain if possible. Returns whether it did. */
static int find_plain(struct pprof_names *names, uint32_t number)
{
	const struct piece *item;
	uint32_t piece;
	int r = pprof_names_piece(names, number, &piece);

	if (r < 0 || piece == PPROF_LEFT_OUT)
		return r;
	item = &names->all.items[piece];
	if (item->mark != MARK_NONE)
		return 0;
	names->plain[number] = item->locations[0];
	r = take_location(names, item->locations[0]);
	return r < 0 ? r : 1;
}

int pprof_names_plain_stack(struct pprof_names *names, const uint32_t *numbers, uint32_t n,
			    uint32_t *ret_stack)
{
	int r = array_reserve(names->locations, names->locations_capacity, 0, (size_t)n + 1);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n; i++) {
		if (names->plain[numbers[i]] == PPROF_UNSET) {
			r = find_plain(names, numbers[i]);
			if (r <= 0) {
				names->are_distinct = false;
				return r;
			}
		}
		names->locations[i] = names->plain[numbers[i]];
	}
	r = (names->are_distinct ? profile_append_stack : profile_add_stack)(
		names->profile, names->locations, n, STACK_COMPLETE, ret_stack);
	return r < 0 ? r : 1;
}

int pprof_names_command(struct pprof_names *names, uint32_t text, uint32_t *ret_piece)
{
	uint32_t number = pprof_ids_find(&names->commands, text);
	struct piece piece = piece_of(names->profile, text);
	int r;

	if (number == PPROF_UNSET) {
		r = pprof_ids_add(&names->commands, text, 0, &number);
		if (r < 0)
			return r;
		piece.commands[0] = text;
		r = add_piece(names, &piece, &names->commands.items[number].item);
		if (r < 0)
			return r;
	}
	*ret_piece = names->commands.items[number].item;
	return 0;
}

/* Checks the samples' references, which were read before the locations. */
static int check_locations(const struct pprof_file *file)
{
	const struct pprof_ids *ids = &file->samples.location_ids;

	for (size_t i = 0; i < ids->n; i++)
		if (ids->items[i].item == PPROF_UNSET)
			return pprof_file_fault(file, ids->items[i].at,
						"location %" PRIu64 " is not there",
						ids->items[i].id);
	return 0;
}

int pprof_names_init(struct pprof_names *names, struct pprof_file *file, struct profile *profile,
		     bool no_inline)
{
	size_t n = file->samples.location_ids.n;
	int r;

	*names = (struct pprof_names){.file = file,
				      .profile = profile,
				      .no_inline = no_inline,
				      .are_distinct = !profile->n_stacks,
				      .no_mapping = PPROF_UNSET};
	r = pieces_init(&names->all, profile, NULL);
	if (r < 0)
		return r;
	r = check_locations(file);
	if (r < 0)
		return r;
	r = make_mappings(names);
	if (r < 0)
		return r;
	r = make_names(names);
	if (r < 0)
		return r;
	names->pieces = reallocarray(NULL, n + 1, sizeof *names->pieces);
	names->plain = reallocarray(NULL, n + 1, sizeof *names->plain);
	if (!names->pieces || !names->plain)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		names->pieces[i] = names->plain[i] = PPROF_UNSET;
	return 0;
}

void pprof_names_done(struct pprof_names *names)
{
	free(names->mappings);
	free(names->names);
	free(names->pieces);
	free(names->plain);
	free(names->is_taken);
	free(names->locations);
	pprof_ids_done(&names->commands);
	pieces_done(&names->all);
	free(names->frames);
}
