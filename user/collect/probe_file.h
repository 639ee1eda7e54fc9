/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe_file: which file a name in a uprobe or USDT event means.
 */
#ifndef COLLECT_PROBE_FILE_H
#define COLLECT_PROBE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "collect/elf_functions.h"

/*
 * @name: a path; a library, of which `libc` or `libc.so` will do; or a program found in PATH.
 * @pid: a process that has it mapped, and in whose file system it lies; 0: none in particular.
 * Returns 0 with *ret_path malloc'ed. Errors: -ENOENT, -ENOMEM.
 */
int probe_file_find(const char *name, uint32_t pid, char **ret_path);

/* Whether this machine runs such code: not that of another processor, nor x32's. */
bool probe_file_runs_here(const char *path);

/*
 * Where function @name, `0xADDRESS` or a USDT probe of @provider (NULL: any) lies in the file.
 * Errors: -ENOENT, with the names that are near; -ENOTSUP, -E2BIG, -ENOEXEC, see elf_functions.h;
 * -errno of opening it.
 */
int probe_file_functions(const char *path, const char *name, struct event_places *ret,
			 struct nearest *nearest);
int probe_file_usdt(const char *path, const char *provider, const char *name,
		    struct event_places *ret, struct nearest *nearest);
int probe_file_list_usdt(const char *path, usdt_fn fn, void *context);

#endif
