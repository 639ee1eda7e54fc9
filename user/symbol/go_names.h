/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_names: names addresses in a Go program after its own table (base/go_table.h), stripped or not:
 * functions, what was inlined into them, and lines, as Go's tracebacks and pprof print them.
 */
#ifndef SYMBOL_GO_NAMES_H
#define SYMBOL_GO_NAMES_H

#include "symbol/dwarf_frames.h"

/*
 * Sets the names of those @lookups that lie in Go functions of @file; the others stay as they are,
 * and have no frames. Lines only if @lines. *@ret_damaged says that some of the table could not be
 * read. *@ret is to be freed by dwarf_frames_done(). Errors: -ENOENT @file has no such table;
 * -ENOMEM, -E2BIG.
 */
int go_names_find(struct elf_file *file, const struct lookups *lookups, bool lines,
		  struct strings *strings, struct dwarf_frames *ret, bool *ret_damaged);

#endif
