/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_files: finds the files with the names of a mapped file's code.
 *
 * Distributions strip what they ship, and keep symbols and DWARF in separate files. These are found
 * by the build-id, or by a link with a checksum. Places are tried in the order documented in
 * bpfflame(1), first under the root of the process. A file that does not belong to the mapped one
 * is never accepted.
 *
 * The process that reads these files may not be allowed to open them: see debug_opener.h.
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

/* One of the opened files. */
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
	struct elf_file *alternate; /* dwz's file that @dwarf shares with others, or NULL */
	struct debug_file opened[MAX_DEBUG_FILES];
	size_t n_opened;
	bool is_held; /* one could not be read: somebody holds a lease on it */
};

/*
 * Finds the files. @search->file itself is a result if it has the wanted parts; it must outlive
 * *@ret, which must not move. Free *@ret with debug_files_done(). Errors: -ENOMEM.
 */
int debug_files_find(const struct debug_search *search, struct debug_files *ret);
void debug_files_done(struct debug_files *files);

/*
 * Opens the file with the .debug_frame stripped from @file, by its build-id; @place as in a search.
 * Returns a descriptor for the caller to close. Errors: -ENOENT none; -ENOMEM.
 */
int debug_files_open_frames(struct elf_file *file, const struct debug_place *place);

#endif
