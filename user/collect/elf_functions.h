/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_functions: where in a file the code lies that a uprobe goes on: functions by the names in its
 * symbol tables, USDT probes by its notes. The file may be anybody's.
 */
#ifndef COLLECT_ELF_FUNCTIONS_H
#define COLLECT_ELF_FUNCTIONS_H

#include "base/elf_file.h"
#include "base/nearest.h"

/* Where a probe goes. */
struct event_place {
	uint64_t offset;  /* in the file */
	uint64_t counter; /* in the file: what counts who listens, of USDT; 0: none */
};

#define MAX_EVENT_PLACES 256

struct event_places {
	struct event_place items[MAX_EVENT_PLACES];
	size_t n;
};

/*
 * Every function that is called @name: there can be several static ones. Offers all names to
 * @nearest, which may be NULL. @symbols: @file itself, or what holds the symbols that were stripped from it.
 * Errors: -ENOENT; -ENOTSUP a function that is chosen at run time (IFUNC); -E2BIG more than
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
 * Calls @fn with each, until it does not return 0, and returns that. Damaged notes are left out.
 * Errors: -ENOEXEC.
 */
typedef int (*usdt_fn)(void *context, const struct usdt_probe *probe);
int usdt_list(struct elf_file *file, usdt_fn fn, void *context);

#endif
