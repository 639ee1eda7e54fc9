/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kallsyms: names kernel addresses, those of modules and BPF programs included.
 */
#ifndef SYMBOL_KALLSYMS_H
#define SYMBOL_KALLSYMS_H

#include <stdbool.h>

#include "base/strings.h"
#include "symbol/lookups.h"

/*
 * Reads @path (/proc/kallsyms) once and sets the names of those @lookups that follow a function.
 * *@ret_hidden: the file can't be read, or shows no addresses (kptr_restrict, no CAP_SYSLOG).
 * Errors: -ENOMEM.
 */
int kallsyms_resolve(const char *path, struct lookups *lookups, struct strings *strings,
		     bool *ret_hidden);

#endif
