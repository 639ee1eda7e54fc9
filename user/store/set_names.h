/* SPDX-License-Identifier: GPL-2.0-or-later */
/* set_names: makes and recognizes the names of sets' files. */
#ifndef STORE_SET_NAMES_H
#define STORE_SET_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETS_INDEX "index.jsonl"
#define SETS_PAGE  "index.html"

#define SET_STAMP_SIZE 32
/*
 * `20261121T130501Z`, UTC; with @milliseconds `20261121T130501.250Z`. Names of one kind sort by
 * time.
 */
void set_stamp(uint64_t realtime_ns, bool milliseconds, char text[static SET_STAMP_SIZE]);

#define SET_TIME_SIZE 40
/* `2026-11-21T13:05:01.250000Z`: RFC 3339. */
void set_time(uint64_t realtime_ns, char text[static SET_TIME_SIZE]);

/*
 * Whether @name can be a file of a set: a stamp, a dash and something more; no folder, not hidden.
 * Whatever an index says, nothing else is ever removed.
 */
bool set_name_is_ours(const char *name);

/* Whether @name is a temporary name of a set folder's file, see base/output.h. */
bool set_name_is_temporary(const char *name);

#endif
