/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debuginfod: fetches debug files from public servers by build-id.
 *
 * Only if the user has set DEBUGINFOD_URLS. The client program of elfutils, debuginfod-find, does
 * the work and keeps a cache; if it is not installed, nothing is found. It needs libraries for HTTP
 * and TLS that this program avoids.
 */
#ifndef SYMBOL_DEBUGINFOD_H
#define SYMBOL_DEBUGINFOD_H

#include <stdbool.h>
#include <stdint.h>

/* All zero at first. */
struct debuginfod {
	bool is_off;		       /* don't ask any more */
	uint64_t spent_ns;	       /* total time of waiting */
	uint64_t limit_ns;	       /* per call; 0: 30 s */
	const volatile bool *is_ended; /* NULL, or set by others: wait no longer */
};

/*
 * Opens the debug file of @build_id (lower-case hex). Waits for the client at most ->limit_ns, and
 * 60 s for all calls together; at the limit it is killed, and not called again. Returns a
 * descriptor for the caller to close. Errors: -ENOENT.
 */
int debuginfod_open(struct debuginfod *debuginfod, const char *build_id);

#endif
