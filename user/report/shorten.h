/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shorten: names of functions in less room than they have. Names of C++ and Rust are long because
 * of what stands in brackets, and tell most by what stands outside.
 */
#ifndef REPORT_SHORTEN_H
#define REPORT_SHORTEN_H

#include <stddef.h>
#include <stdint.h>

/* Columns of the @n code points at @codes. */
size_t shorten_columns(const uint32_t *codes, size_t n);

/*
 * Makes the @n code points at @codes fit into @columns, in place, and returns how many are left.
 * They lose, one after the other and only as far as they must, with an ellipsis in its place:
 * arguments of templates, the innermost first and the longest of one level; parameters, likewise;
 * their middle. @n in the ten thousands costs milliseconds.
 */
size_t shorten(uint32_t *codes, size_t n, size_t columns);

#endif
