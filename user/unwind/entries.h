/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entries: where threads and coroutines begin, in code of which no call frame information says so.
 *
 * Two kinds, both found by the file's symbols. Of the program's own entry, to which nothing
 * returns, the function that lies where the header says. Of what makes the stack of a coroutine
 * (glibc's makecontext; Boost's make_fcontext, which PHP and others have copies of), each piece of
 * code whose address it takes: that becomes the first return address, though no call lies before.
 */
#ifndef UNWIND_ENTRIES_H
#define UNWIND_ENTRIES_H

#include "base/elf_file.h"
#include "bpf/wire.h"

#define UNWIND_MAX_ENTRIES 16

struct unwind_entry {
	uint64_t start, size; /* virtual address; size > 0 */
	enum bf_cfa cfa;      /* BF_CFA_ENTRY, BF_CFA_PLANTED */
};

/* Gives at most UNWIND_MAX_ENTRIES. Errors: -ENOMEM; what can't be read has none. */
int unwind_entries_find(struct elf_file *file, struct unwind_entry *ret, size_t *ret_n);

#endif
