/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shorten: fits names of functions into a given width. Names in C++ and Rust are long because of
 * what is in brackets, but the text outside says most.
 */
#ifndef REPORT_SHORTEN_H
#define REPORT_SHORTEN_H

#include <stddef.h>
#include <stdint.h>

/* Columns of the @n code points at @codes. */
size_t shorten_columns(const uint32_t *codes, size_t n);

/*
 * Makes the @n code points at @codes fit into @columns, in place, and returns how many are left. An
 * ellipsis replaces, in turn and only as far as necessary: template arguments, innermost first and
 * the longest of a level; parameters, likewise; the middle. Tens of thousands of code points cost
 * milliseconds.
 */
size_t shorten(uint32_t *codes, size_t n, size_t columns);

#endif
