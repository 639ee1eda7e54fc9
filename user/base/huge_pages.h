/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * huge_pages: memory of many megabytes that is filled, or read all over. In pages of 4 KiB each of
 * them costs a fault, and is missed by the TLB; the kernel gives larger ones to whoever asks.
 */
#ifndef BASE_HUGE_PAGES_H
#define BASE_HUGE_PAGES_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Asks for such pages where whole ones lie within @memory. */
static inline void huge_pages_ask(void *memory, size_t size)
{
	uintptr_t first = ((uintptr_t)memory + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	uintptr_t limit = ((uintptr_t)memory + size) & ~(HUGE_PAGE - 1);

	if (first < limit)
		madvise((void *)first, limit - first, MADV_HUGEPAGE);
}

/* As malloc(), what is large in such pages. */
static inline void *huge_pages_malloc(size_t size)
{
	void *memory;

	if (size < 2 * HUGE_PAGE)
		return malloc(size);
	memory = aligned_alloc(HUGE_PAGE, (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	if (memory)
		huge_pages_ask(memory, size);
	return memory;
}

#endif
