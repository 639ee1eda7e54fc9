/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file_names: all that can be told of addresses in one mapped file: the symbols that cover them,
 * and what DWARF knows, each from whichever file has it.
 */
#ifndef SYMBOL_FILE_NAMES_H
#define SYMBOL_FILE_NAMES_H

#include "base/strings.h"
#include "core/source.h"
#include "symbol/debuginfod.h"
#include "symbol/dwarf_frames.h"
#include "symbol/lookups.h"

struct mapped_file {
	struct elf_file *file;
	const char *path; /* as the process saw it */
	int root;	  /* the root folder that process had; -1: ours */
	int symfs;	  /* the folder of options->symfs; -1: none */
};

/*
 * Sets the names of @lookups, virtual addresses of @mapped->file, and their frames; what nothing
 * is known of stays 0, and of no frames. DWARF is read only where @options ask for what it tells.
 * *@ret_damaged says that a file that belongs to it is damaged; the others are used all the same.
 * Errors: -ENOMEM, -E2BIG.
 */
int file_names_find(const struct mapped_file *mapped, const struct symbolize_options *options,
		    struct debuginfod *debuginfod, struct lookups *lookups, struct strings *strings,
		    struct dwarf_frames *ret_frames, bool *ret_damaged);

#endif
