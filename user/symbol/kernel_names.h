/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_names: names kernel addresses, those of modules and BPF programs included, by asking the
 * kernel: bpf/names.bpf.c.
 */
#ifndef SYMBOL_KERNEL_NAMES_H
#define SYMBOL_KERNEL_NAMES_H

#include "base/strings.h"
#include "symbol/lookups.h"

/*
 * Sets the names of those @lookups that lie in a function. @ret_lasting: NULL, or whether each lies
 * where nothing else will lie until the kernel ends: not in a module or a BPF program.
 * *@ret_refused: 0, or why the kernel can't be asked (-errno): then no name is set.
 * Errors: -ENOMEM, -E2BIG.
 */
int kernel_names_find(struct lookups *lookups, bool *ret_lasting, struct strings *strings,
		      int *ret_refused);

#endif
