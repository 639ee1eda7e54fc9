/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unpack_object: a BPF object as it lies in this program: packed by zstd, a ninth of its size, or
 * by gzip, which is what browsers unpack, too. Skeletons (the Makefile makes them) unpack theirs
 * when they are opened.
 */
#ifndef BASE_UNPACK_OBJECT_H
#define BASE_UNPACK_OBJECT_H

#include <stddef.h>

/* For unpack_object_free(). NULL where there is no memory for it. */
const void *unpack_object(const unsigned char *packed, size_t n, size_t *ret_n);

/* Once the object is open, nothing of it is needed any more; *@data becomes NULL. */
void unpack_object_free(const void **data);

#endif
