/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_functions: finds the code for a uprobe in a file: functions by the names in its symbol
 * tables, USDT probes by its notes. The file is untrusted.
 */
#ifndef COLLECT_ELF_FUNCTIONS_H
#define COLLECT_ELF_FUNCTIONS_H

#include "base/elf_file.h"
#include "base/nearest.h"

/* Where a probe goes. */
struct event_place {
	uint64_t offset;  /* in the file */
	uint64_t counter; /* in the file: the counter of listeners, for USDT; 0: none */
};

#define MAX_EVENT_PLACES 256

struct event_places {
	struct event_place items[MAX_EVENT_PLACES];
	size_t n;
};

/*
 * Finds every function called @name: there can be several static ones. Offers all names to
 * @nearest, which may be NULL. @symbols: @file itself, or the file with its stripped symbols.
 * Errors: -ENOENT; -ENOTSUP a function chosen at run time (IFUNC); -E2BIG more than
 * MAX_EVENT_PLACES; -ENOEXEC.
 */
int elf_functions_find(struct elf_file *file, struct elf_file *symbols, const char *name,
		       struct event_places *ret, struct nearest *nearest);

/* The file offset of code address @address. Errors: -ENOENT. */
int elf_functions_offset(const struct elf_file *file, uint64_t address, uint64_t *ret_offset);

/*
 * USDT probes. The format of their notes:
 * sourceware.org/systemtap/wiki/UserSpaceProbeImplementation
 */
#define USDT_NAME_SIZE 128
struct usdt_probe {
	char provider[USDT_NAME_SIZE], name[USDT_NAME_SIZE];
	struct event_place place;
};

/*
 * Calls @fn with each probe until it returns nonzero, and returns that. Skips damaged notes.
 * Errors: -ENOEXEC.
 */
typedef int (*usdt_fn)(void *context, const struct usdt_probe *probe);
int usdt_list(struct elf_file *file, usdt_fn fn, void *context);

#endif
