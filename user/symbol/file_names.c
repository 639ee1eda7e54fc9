/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/file_names.h"

#include <stdlib.h>

#include "symbol/debug_files.h"
#include "symbol/elf_symbols.h"

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

/* Names after symbols; a damaged file beside the mapped one does not spoil that one's own. */
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
		/* Without it, only names are missing. */
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

static int no_frames(size_t n, struct dwarf_frames *ret)
{
	*ret = (struct dwarf_frames){
		.first = calloc(n + 1, sizeof *ret->first),
		.n = calloc(n + 1, sizeof *ret->n),
	};
	if (ret->first && ret->n)
		return 0;
	dwarf_frames_done(ret);
	return -ENOMEM;
}

int file_names_find(const struct mapped_file *mapped, const struct symbolize_options *options,
		    struct debuginfod *debuginfod, struct lookups *lookups, struct strings *strings,
		    struct dwarf_frames *ret_frames, bool *ret_damaged)
{
	const struct debug_search search = {
		.file = mapped->file,
		.path = mapped->path,
		.root = mapped->root,
		.symfs = mapped->symfs,
		.want_dwarf = options->lines || !options->no_inline,
		.debuginfod = debuginfod,
	};
	struct dwarf_frames frames = {};
	struct debug_files files;
	int r = debug_files_find(&search, &files);

	*ret_damaged = false;
	if (r < 0)
		return r;
	r = find_symbols(mapped->file, files.symbols, lookups, strings, ret_damaged);
	if (r == 0 && files.dwarf)
		r = find_frames(mapped->file, &files, options->lines, lookups, strings, &frames,
				ret_damaged);
	if (r == 0 && !frames.n)
		r = no_frames(lookups->n, &frames);
	debug_files_done(&files);
	if (r == 0)
		*ret_frames = frames;
	return r;
}
