/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entries: finds where threads and coroutines begin, in code whose call frame information does not
 * say so.
 *
 * The file's symbols give all kinds. The first is the program's own entry, to which nothing
 * returns: the function at the header's entry address. The second belongs to functions that make
 * the stack of a coroutine (glibc's makecontext; Boost's make_fcontext, which PHP and others copy):
 * each piece of code whose address they take. It becomes the first return address although no call
 * precedes it.
 *
 * A third kind begins a coroutine on the stack of another one, from where it is copied away and
 * back (greenlet): it never returns, and what is above its frame may be another's by then.
 */
#ifndef UNWIND_ENTRIES_H
#define UNWIND_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "bpf/wire.h"

#define UNWIND_MAX_ENTRIES 16

struct unwind_entry {
	uint64_t start, size; /* virtual address; size > 0 */
	enum bf_cfa cfa;      /* BF_CFA_ENTRY, BF_CFA_PLANTED */
	bool has_rows;	      /* … which say that it was called: they don't count */
};

/* Gives at most UNWIND_MAX_ENTRIES. Errors: -ENOMEM; unreadable symbols give none. */
int unwind_entries_find(struct elf_file *file, struct unwind_entry *ret, size_t *ret_n);

#endif
