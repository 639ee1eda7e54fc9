/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * huge_pages: for large memory that is filled or read all over. With pages of 4 KiB, each costs a
 * fault and misses the TLB; the kernel gives larger pages on request.
 */
#ifndef BASE_HUGE_PAGES_H
#define BASE_HUGE_PAGES_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Requests huge pages where whole ones fit within @memory. */
static inline void huge_pages_ask(void *memory, size_t size)
{
	uintptr_t first = ((uintptr_t)memory + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	uintptr_t limit = ((uintptr_t)memory + size) & ~(HUGE_PAGE - 1);

	if (first < limit)
		madvise((void *)first, limit - first, MADV_HUGEPAGE);
}

/* Works like malloc(), with huge pages for large sizes. */
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
