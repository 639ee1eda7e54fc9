/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_files: which files tell the names of a mapped file's code.
 *
 * Distributions strip what they ship, and keep symbols and DWARF in files of their own. Whoever
 * made such a file said how to find it: by the build-id, or by a link with a checksum. Places are
 * tried in the order that is documented in bpfflame(1), under the root of the process first. A file
 * that does not belong to the mapped one is never taken.
 *
 * Whoever reads these files may not be who may open them: debug_opener.h.
 */
#ifndef SYMBOL_DEBUG_FILES_H
#define SYMBOL_DEBUG_FILES_H

#include "base/elf_file.h"
#include "symbol/debug_opener.h"

struct debug_search {
	struct elf_file *file; /* the mapped file */
	const struct debug_place *place;
	bool want_dwarf;
	bool want_frames; /* only a file that has .debug_frame */
};

/* One of the files that were opened. */
struct debug_file {
	int fd;		/* -1: @image */
	uint8_t *image; /* MiniDebugInfo, unpacked */
	enum debug_root root;
	char *path, *real; /* under @root; without links, under ours */
	struct elf_file elf;
};

#define MAX_DEBUG_FILES 4

struct debug_files {
	struct elf_file *symbols; /* has .symtab; NULL: none found */
	struct elf_file *dwarf;	  /* has .debug_info; NULL: none found, or none wanted */
	struct elf_file *frames;  /* has .debug_frame; the same */
	struct elf_file
		*alternate; /* the file that @dwarf shares with others, made by dwz, or NULL */
	struct debug_file opened[MAX_DEBUG_FILES];
	size_t n_opened;
	bool is_held; /* one could not be read, because somebody holds a lease on it */
};

/*
 * Finds what there is. @search->file itself is among the results if it has what is wanted; it must
 * outlive *@ret, which must stay where it is, and which the caller frees with debug_files_done().
 * Errors: -ENOMEM.
 */
int debug_files_find(const struct debug_search *search, struct debug_files *ret);
void debug_files_done(struct debug_files *files);

/*
 * Opens the file that has the .debug_frame which was stripped from @file, by its build-id, @place
 * as in a search. Returns a descriptor, the caller's to close. Errors: -ENOENT there is none;
 * -ENOMEM.
 */
int debug_files_open_frames(struct elf_file *file, const struct debug_place *place);

#endif
