/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_module: what Go's runtime knows of a program besides its table: struct moduledata
 * (runtime/symtab.go). It is found by its first two words, the addresses of the table and of the
 * names in it; in a program that may be loaded anywhere they may be in relocations only.
 */
#ifndef BASE_GO_MODULE_H
#define BASE_GO_MODULE_H

#include "base/go_table.h"

/*
 * Sets @table->text, where the header does not say it right. Errors: -ENOENT there are no module
 * data, and the header does not say it either; -ENOMEM.
 */
int go_module_find(struct go_table *table);

/*
 * Sets @table->funcdata, if that can be found: of all words of the module data, it is the one by
 * which the trees of inlined functions make sense. Errors: -ENOMEM.
 */
int go_module_find_funcdata(struct go_table *table);

#endif
