/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debuginfod: debug files from servers that have them for everyone, by build-id.
 *
 * Only when the user has set DEBUGINFOD_URLS. The client program of elfutils, debuginfod-find,
 * does the work and keeps a cache; where it is not installed nothing is found. It needs libraries
 * for HTTP and TLS that this program does without.
 */
#ifndef SYMBOL_DEBUGINFOD_H
#define SYMBOL_DEBUGINFOD_H

#include <stdbool.h>
#include <stdint.h>

/* All zero at first. */
struct debuginfod {
	bool is_off;		       /* not to be asked any more */
	uint64_t spent_ns;	       /* waiting, all together */
	uint64_t limit_ns;	       /* for one call; 0: 30 s */
	const volatile bool *is_ended; /* NULL, or set by others: wait no longer */
};

/*
 * Opens the debug file of @build_id (lower-case hex). Waits for the client ->limit_ns at most,
 * and 60 s for all calls together; one that exceeds it is killed, and is the last. Returns a
 * descriptor, the caller's to close. Errors: -ENOENT.
 */
int debuginfod_open(struct debuginfod *debuginfod, const char *build_id);

#endif
