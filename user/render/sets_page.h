/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sets_page: the list of a folder of sets as one self-contained page: a time line, and a table with
 * links to the files.
 */
#ifndef RENDER_SETS_PAGE_H
#define RENDER_SETS_PAGE_H

#include <stdio.h>

#include "core/sets.h"

/* Older sets are only counted. */
#define SETS_PAGE_MOST 10000

/* Errors: -ENOMEM; a failed write shows in ferror(@stream). */
int render_sets_page(const struct sets *sets, FILE *stream);

#endif
