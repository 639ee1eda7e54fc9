/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_names: names kernel addresses, including those of modules and BPF programs, by asking the
 * kernel: bpf/names.bpf.c.
 */
#ifndef SYMBOL_KERNEL_NAMES_H
#define SYMBOL_KERNEL_NAMES_H

#include "base/strings.h"
#include "symbol/lookups.h"

/*
 * Loads the program for all searches to come, of this process and of those forked afterwards, which
 * share its memory: one of them may search at a time. Without it, each search loads it anew, which
 * takes more than the search.
 */
void kernel_names_keep(void);
void kernel_names_done(void);

/*
 * Sets the names of those @lookups that are in a function. @ret_lasting: NULL, or whether each
 * address keeps its meaning until the kernel ends: it is not in a module or a BPF program.
 * *@ret_refused: 0, or why the kernel can't be asked (-errno); no name is set then.
 * Errors: -ENOMEM, -E2BIG.
 */
int kernel_names_find(struct lookups *lookups, bool *ret_lasting, struct strings *strings,
		      int *ret_refused);

#endif
