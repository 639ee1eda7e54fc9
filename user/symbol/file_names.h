/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file_names: all that can be told of addresses in one mapped file: the symbols that cover them,
 * and what DWARF knows, each from whichever file has it; and the same of code that a JIT made,
 * after what the JIT wrote.
 */
#ifndef SYMBOL_FILE_NAMES_H
#define SYMBOL_FILE_NAMES_H

#include "base/elf_file.h"
#include "base/strings.h"
#include "core/source.h"
#include "symbol/debug_files.h"
#include "symbol/dwarf_frames.h"

/* What is asked of a file. */
struct names_question {
	const uint64_t *addresses; /* ascending, distinct: offsets in a file; a JIT's: addresses */
	size_t n;
	bool no_inline, lines, addresses_only, no_demangle; /* as in struct symbolize_options */
};

/* What is known of one of the addresses. Names are string ids; 0: none. */
struct named_address {
	/*
	 * Virtual, of a file: without a name, where its function begins, if that is known. As asked
	 * where it is loaded nowhere, and of a JIT.
	 */
	uint64_t address;
	uint32_t name;
	uint32_t first, n_frames; /* in frames, innermost first; none: nothing but the name */
};

struct file_names {
	int error;	/* why the file could not be read: -errno; or 0 */
	bool is_unread; /* who reads for us did not survive it */
	bool damaged;	/* part of it, or of what belongs to it */
	uint8_t id[ELF_BUILD_ID_MAX];
	uint32_t id_n;		     /* bytes; 0: it has none */
	struct named_address *items; /* one for each address asked for */
	size_t n;
	struct dwarf_frame *frames;
	size_t n_frames;
};

/*
 * Answers @question of the file behind @place->file, or of this process's vDSO if that is -1.
 * Errors: -ENOMEM, -E2BIG.
 */
int file_names_find(const struct names_question *question, const struct debug_place *place,
		    struct strings *strings, struct file_names *ret);

/*
 * Answers @question of code that a JIT made and described in @perf_map and @jitdump, each a
 * descriptor or -1. Errors: -ENOMEM, -E2BIG.
 */
int jit_names_find(const struct names_question *question, int perf_map, int jitdump,
		   struct strings *strings, struct file_names *ret);

/* An answer that says nothing of any address, because of @error. Errors: -ENOMEM. */
int file_names_none(const struct names_question *question, int error, struct file_names *ret);

void file_names_done(struct file_names *names);

#endif
