/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/file_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system.h"
#include "symbol/demangle.h"
#include "symbol/elf_starts.h"
#include "symbol/elf_symbols.h"
#include "symbol/go_names.h"
#include "symbol/jit.h"
#include "symbol/lookups.h"

static bool is_fatal(int r)
{
	return r == -ENOMEM || r == -E2BIG;
}

/* Where the file's code begins. */
static uint64_t lowest_code(const struct elf_file *file)
{
	uint64_t lowest = UINT64_MAX;

	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) &&
		    segment->p_vaddr < lowest)
			lowest = segment->p_vaddr;
	}
	return lowest == UINT64_MAX ? 0 : lowest;
}

/* Names by symbols; a damaged debug file does not spoil the mapped file's own symbols. */
static int find_symbols(struct elf_file *mapped, struct elf_file *symbols, struct lookups *lookups,
			struct strings *strings, bool *damaged)
{
	struct elf_file *files[] = {symbols, mapped};
	int r = -ENODATA;

	if (symbols && symbols != mapped) {
		r = elf_symbols_resolve(files, 2, lookups, strings);
		*damaged |= r < 0;
	}
	if (r < 0 && !is_fatal(r)) {
		r = elf_symbols_resolve(&mapped, 1, lookups, strings);
		*damaged |= r < 0;
	}
	if (!is_fatal(r))
		r = elf_plt_resolve(mapped, lookups, strings);
	if (!is_fatal(r))
		r = elf_entry_resolve(mapped, lookups, strings);
	*damaged |= r < 0;
	return is_fatal(r) ? r : 0;
}

static int find_frames(struct elf_file *mapped, const struct debug_files *files, bool lines,
		       const struct lookups *lookups, struct strings *strings,
		       struct dwarf_frames *ret, bool *damaged)
{
	struct dwarf *dwarf = NULL, *alternate = NULL;
	bool frames_damaged = false;
	int r = dwarf_open(&dwarf, files->dwarf, lowest_code(mapped));

	if (r == 0 && files->alternate) {
		r = dwarf_open(&alternate, files->alternate, 0);
		dwarf->alternate = alternate;
		/* Only names are missing without it. */
		*damaged |= r < 0;
		r = r == -ENOMEM ? r : 0;
	}
	if (r == 0)
		r = dwarf_frames_find(dwarf, lookups, lines, strings, ret, &frames_damaged);
	dwarf_free(dwarf);
	dwarf_free(alternate);
	*damaged |= r < 0 || frames_damaged;
	return is_fatal(r) ? r : 0;
}

/* Where each requested address went when sorted by virtual address. */
struct translated {
	uint64_t address;
	uint32_t at;
};

static int compare_translated(const void *left, const void *right)
{
	const struct translated *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

/* Turns file offsets into virtual addresses; drops those that are not loaded. */
static size_t translate(const struct elf_file *file, struct file_names *names,
			struct translated *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < names->n; i++) {
		uint64_t *address = &names->items[i].address;

		if (elf_file_virtual_address(file, *address, address))
			ret[n++] = (struct translated){*address, i};
	}
	qsort(ret, n, sizeof *ret, compare_translated);
	return n;
}

static int find_names(struct elf_file *mapped, const struct names_question *question,
		      const struct debug_place *place, struct lookups *lookups,
		      struct strings *strings, struct dwarf_frames *frames, bool *damaged)
{
	const struct debug_search search = {
		.file = mapped,
		.place = place,
		.want_dwarf = question->lines || !question->no_inline,
	};
	struct debug_files files;
	int r = debug_files_find(&search, &files);

	if (r < 0)
		return r;
	*damaged = files.is_held;
	r = find_symbols(mapped, files.symbols, lookups, strings, damaged);
	for (size_t i = 0; i < lookups->n && files.dwarf; i++)
		lookups_isolate(lookups, i);
	if (r == 0 && files.dwarf)
		r = find_frames(mapped, &files, question->lines, lookups, strings, frames, damaged);
	debug_files_done(&files);
	return r;
}

/* Adds what @more says of those of the @n lookups at @where; @frames says nothing of them. */
static int join_frames(struct dwarf_frames *frames, const struct dwarf_frames *more,
		       const uint32_t *where, size_t n)
{
	int r = array_reserve(frames->frames, frames->frames_capacity, frames->n_frames,
			      more->n_frames);

	if (r < 0 || !more->n_frames)
		return r;
	if (more->n_frames > UINT32_MAX - frames->n_frames)
		return -E2BIG;
	memcpy(frames->frames + frames->n_frames, more->frames,
	       more->n_frames * sizeof *more->frames);
	for (size_t i = 0; i < n; i++) {
		frames->first[where[i]] = frames->n_frames + more->first[i];
		frames->n[where[i]] = more->n[i];
	}
	frames->n_frames += more->n_frames;
	return 0;
}

/* What a Go program's own table leaves out: C that was linked to it. */
static int find_rest(struct elf_file *mapped, const struct names_question *question,
		     const struct debug_place *place, struct lookups *lookups,
		     struct strings *strings, struct dwarf_frames *frames, bool *damaged)
{
	_cleanup_free_ uint64_t *addresses = malloc((lookups->n + 1) * sizeof *addresses);
	_cleanup_free_ uint32_t *names = calloc(lookups->n + 1, sizeof *names);
	_cleanup_free_ uint32_t *where = malloc((lookups->n + 1) * sizeof *where);
	struct lookups rest = {addresses, names, 0};
	struct dwarf_frames more = {};
	int r;

	if (!addresses || !names || !where)
		return -ENOMEM;
	for (size_t i = 0; i < lookups->n; i++) {
		if (lookups->names[i])
			continue;
		where[rest.n] = i;
		addresses[rest.n++] = lookups->addresses[i];
	}
	if (!rest.n)
		return 0;
	r = find_names(mapped, question, place, &rest, strings, &more, damaged);
	if (r < 0)
		return r;
	for (size_t i = 0; i < rest.n; i++)
		lookups->names[where[i]] = names[i];
	r = join_frames(frames, &more, where, rest.n);
	dwarf_frames_done(&more);
	return r;
}

/* A Go program's own table first: it is there, stripped or not, and says what Go's tools say. */
static int find_all_names(struct elf_file *mapped, const struct names_question *question,
			  const struct debug_place *place, struct lookups *lookups,
			  struct strings *strings, struct dwarf_frames *frames, bool *damaged)
{
	bool go_damaged = false;
	int r = go_names_find(mapped, lookups, question->lines, strings, frames, &go_damaged);

	for (size_t i = 0; i < lookups->n && r != -ENOENT; i++)
		lookups_isolate(lookups, i);
	if (r == -ENOENT)
		r = find_names(mapped, question, place, lookups, strings, frames, damaged);
	else if (r == 0)
		r = find_rest(mapped, question, place, lookups, strings, frames, damaged);
	*damaged |= go_damaged;
	return r;
}

/* Unnamed addresses are identified by the start of their function, if known. */
static int find_starts(struct elf_file *mapped, struct file_names *names,
		       const struct translated *addresses, size_t n, const struct lookups *lookups)
{
	struct elf_starts starts;
	int r = elf_starts_open(&starts, mapped);
	bool is_open = r == 0;

	if (r == -ENOMEM)
		return r;
	for (size_t i = 0, at = 0; i < n; i++) {
		struct named_address *item = &names->items[addresses[i].at];
		struct elf_function function;

		if (item->name)
			continue;
		while (lookups->addresses[at] < addresses[i].address)
			at++;
		if (is_open && elf_starts_find(&starts, mapped, item->address, &function)) {
			item->address = function.start;
			lookups_cut(lookups, function.start);
			lookups_cut(lookups, function.end);
		} else {
			lookups_isolate(lookups, at);
		}
	}
	if (is_open)
		elf_starts_done(&starts);
	return 0;
}

/* Says how far around @address, which is at @offset, the answer of @item holds. */
static void set_span(const struct elf_file *file, uint64_t address, uint64_t offset,
		     const struct lookup_span *span, struct named_address *item)
{
	uint64_t before = address - span->from, most_before = offset % NAMES_BLOCK;
	uint64_t after = span->to - address, most_after = NAMES_BLOCK - most_before, first, last;

	before = before < most_before ? before : most_before;
	after = after < most_after ? after : most_after;
	if (!elf_file_virtual_address(file, offset - before, &first) ||
	    !elf_file_virtual_address(file, offset + after - 1, &last) ||
	    address - first != before || last - address != after - 1 ||
	    (!item->name && elf_entry_is_near(file, first, last + 1)))
		return;
	item->before = before;
	item->after = after;
}

static void set_spans(const struct elf_file *file, const struct names_question *question,
		      const struct translated *addresses, size_t n, const struct lookups *lookups,
		      struct file_names *names)
{
	lookups_finish_spans(lookups);
	for (size_t i = 0, at = 0; i < n; i++) {
		while (lookups->addresses[at] < addresses[i].address)
			at++;
		set_span(file, addresses[i].address, question->addresses[addresses[i].at],
			 &lookups->spans[at], &names->items[addresses[i].at]);
	}
}

/* Finds the names of @n @addresses and sets the items they come from. */
static int name_addresses(struct elf_file *mapped, const struct names_question *question,
			  const struct debug_place *place, const struct translated *addresses,
			  size_t n, struct strings *strings, struct file_names *ret)
{
	_cleanup_free_ uint64_t *values = malloc((n + 1) * sizeof *values);
	_cleanup_free_ uint32_t *found = calloc(n + 1, sizeof *found);
	_cleanup_free_ struct lookup_span *spans =
		question->spans ? malloc((n + 1) * sizeof *spans) : NULL;
	struct lookups lookups = {.addresses = values, .names = found, .spans = spans};
	struct dwarf_frames frames = {};
	int r;

	if (!values || !found || (question->spans && !spans))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (i == 0 || addresses[i].address != addresses[i - 1].address)
			values[lookups.n++] = addresses[i].address;
	for (size_t i = 0; i < lookups.n && spans; i++)
		spans[i] = (struct lookup_span){0, UINT64_MAX};
	r = find_all_names(mapped, question, place, &lookups, strings, &frames, &ret->damaged);
	for (size_t i = 0, at = 0; i < n && r == 0; i++) {
		struct named_address *item = &ret->items[addresses[i].at];

		while (values[at] < addresses[i].address)
			at++;
		item->name = found[at];
		item->first = frames.n ? frames.first[at] : 0;
		item->n_frames = frames.n ? frames.n[at] : 0;
	}
	ret->frames = frames.frames;
	ret->n_frames = frames.n_frames;
	frames.frames = NULL;
	dwarf_frames_done(&frames);
	if (r < 0)
		return r;
	r = find_starts(mapped, ret, addresses, n, &lookups);
	if (r < 0)
		return r;
	if (spans && !ret->damaged)
		set_spans(mapped, question, addresses, n, &lookups, ret);
	return 0;
}

static int answer(struct elf_file *mapped, const struct names_question *question,
		  const struct debug_place *place, struct strings *strings, struct file_names *ret)
{
	_cleanup_free_ struct translated *addresses = malloc((question->n + 1) * sizeof *addresses);
	size_t n;

	if (!addresses)
		return -ENOMEM;
	ret->id_n = elf_file_build_id(mapped, ret->id);
	n = translate(mapped, ret, addresses);
	if (question->addresses_only)
		return 0;
	return name_addresses(mapped, question, place, addresses, n, strings, ret);
}

int file_names_none(const struct names_question *question, int error, struct file_names *ret)
{
	*ret = (struct file_names){.error = error,
				   .items = calloc(question->n + 1, sizeof *ret->items),
				   .n = question->n};
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < ret->n; i++)
		ret->items[i].address = question->addresses[i];
	return 0;
}

/* Whether @fd is a file of another format, such as the image of a Lisp: it has no names to lose. */
static bool is_other_format(int fd)
{
	uint8_t magic[SELFMAG];

	return fd >= 0 && pread(fd, magic, sizeof magic, 0) == sizeof magic &&
	       memcmp(magic, ELFMAG, SELFMAG) != 0;
}

int file_names_find(const struct names_question *question, const struct debug_place *place,
		    struct strings *strings, struct file_names *ret)
{
	struct elf_file mapped;
	int r = file_names_none(question, 0, ret);

	if (r < 0)
		return r;
	demangle_leave(question->no_demangle);
	ret->error =
		place->file < 0 ? elf_file_open_vdso(&mapped) : elf_file_open(&mapped, place->file);
	if (ret->error == 0) {
		r = answer(&mapped, question, place, strings, ret);
		elf_file_done(&mapped);
	}
	if (ret->error == -ENOEXEC && is_other_format(place->file))
		ret->error = 0;
	if (ret->error == -ENOMEM)
		r = -ENOMEM;
	if (r < 0)
		file_names_done(ret);
	return r;
}

int jit_names_find(const struct names_question *question, int perf_map, int jitdump,
		   struct strings *strings, struct file_names *ret)
{
	const struct mapping_source source = {-1, -1, perf_map, jitdump};
	_cleanup_free_ uint32_t *found = calloc(question->n + 1, sizeof *found);
	_cleanup_free_ struct jit_line *lines = calloc(question->n + 1, sizeof *lines);
	struct lookups lookups = {(uint64_t *)question->addresses, found, question->n};
	int r = file_names_none(question, 0, ret);

	if (r < 0)
		return r;
	demangle_leave(question->no_demangle);
	ret->frames = calloc(question->n + 1, sizeof *ret->frames);
	r = found && lines && ret->frames
		    ? jit_resolve(&source, &lookups, strings, question->lines ? lines : NULL,
				  &ret->damaged)
		    : -ENOMEM;
	for (size_t i = 0; i < ret->n && r == 0; i++) {
		ret->items[i].name = found[i];
		if (!found[i])
			continue;
		ret->items[i].first = ret->n_frames;
		ret->items[i].n_frames = 1;
		ret->frames[ret->n_frames++] =
			(struct dwarf_frame){found[i], lines[i].file, lines[i].line};
	}
	if (r < 0)
		file_names_done(ret);
	return r;
}

void file_names_done(struct file_names *names)
{
	free(names->items);
	free(names->frames);
	*names = (struct file_names){};
}
