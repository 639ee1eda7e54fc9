/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_open: finds the table of a Go program, and opens it (go_table.h).
 */
#ifndef BASE_GO_OPEN_H
#define BASE_GO_OPEN_H

#include "base/go_table.h"

/*
 * Finds the table of @file, by its section or by its magic number, and reads its header. @file must
 * outlive *@ret; go_table_done() frees it. Errors: -ENOENT it has none that can be read; -ENOEXEC
 * damaged; -ENOMEM; read errors.
 */
int go_table_open(struct go_table *ret, struct elf_file *file);

/* Whether @file says that it is a Go program. */
bool go_table_is_go(struct elf_file *file);

#endif
