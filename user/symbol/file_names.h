/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file_names: finds everything known about addresses in one mapped file: symbols that cover them,
 * and DWARF, each from whichever file has it; and the same for code that a JIT made, from the JIT's
 * files.
 */
#ifndef SYMBOL_FILE_NAMES_H
#define SYMBOL_FILE_NAMES_H

#include "base/elf_file.h"
#include "base/strings.h"
#include "core/source.h"
#include "symbol/debug_files.h"
#include "symbol/dwarf_frames.h"

/* A request about a file. */
struct names_question {
	const uint64_t *addresses; /* ascending, distinct: offsets in a file; addresses for a JIT */
	size_t n;
	bool no_inline, lines, addresses_only, no_demangle; /* as in struct symbolize_options */
	bool spans; /* is it to say how far around an address its answer holds? */
};

#define NAMES_BLOCK 1024 /* bytes of a file: no answer is said to hold beyond these */

/* The result for one address. Names are string ids; 0: none. */
struct named_address {
	/*
	 * The virtual address in a file; for an unnamed one, the start of its function if known.
	 * Unchanged if it is not loaded, and for a JIT.
	 */
	uint64_t address;
	uint32_t name;
	uint32_t first, n_frames; /* in frames, innermost first; 0: only the name */
	/*
	 * For question->spans: so many bytes before the requested one, and from it on, have the
	 * same answer, if they are in the same block. 0, 0: unknown.
	 */
	uint16_t before, after;
};

struct file_names {
	int error;	/* why the file could not be read: -errno; or 0 */
	bool is_unread; /* the reader did not survive it */
	bool damaged;	/* part of it, or of its debug files */
	uint8_t id[ELF_BUILD_ID_MAX];
	uint32_t id_n;		     /* bytes; 0: none */
	struct named_address *items; /* one per requested address */
	size_t n;
	struct dwarf_frame *frames;
	size_t n_frames;
};

/*
 * Answers @question about the file @place->file, or about this process's vDSO if that is -1.
 * Errors: -ENOMEM, -E2BIG.
 */
int file_names_find(const struct names_question *question, const struct debug_place *place,
		    struct strings *strings, struct file_names *ret);

/*
 * Answers @question about code that a JIT made and described in @perf_map and @jitdump, each a
 * descriptor or -1. Errors: -ENOMEM, -E2BIG.
 */
int jit_names_find(const struct names_question *question, int perf_map, int jitdump,
		   struct strings *strings, struct file_names *ret);

/* An empty answer because of @error. Errors: -ENOMEM. */
int file_names_none(const struct names_question *question, int error, struct file_names *ret);

void file_names_done(struct file_names *names);

#endif
