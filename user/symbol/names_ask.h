/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names_ask: asks for the names of one source's addresses: the reader or, if there is none, this
 * process. Waits only so long for a file, and for the files of a user.
 */
#ifndef SYMBOL_NAMES_ASK_H
#define SYMBOL_NAMES_ASK_H

#include "base/budgets.h"
#include "core/profile.h"
#include "core/source.h"
#include "symbol/file_names.h"
#include "symbol/lookups.h"

#define NAMES_CPU_NS (20 * NSEC_PER_SEC) /* for the files of a user */

/* Something that is read once: a file (mapped by any processes), the kernel, the vDSO. */
struct names_source {
	enum mapping_kind kind;
	int fd;
	uint64_t device, inode; /* of the file @fd */
	uint32_t missing;	/* the path of a missing file */
	uint32_t path;		/* where it was mapped first */
	int root;		/* of the process that mapped it */
	int perf_map, jitdump;	/* MAPPING_ANON: of processes that share them, as after a fork */
	uint32_t build_id;
};

struct names_asker {
	const struct symbolize_options *options;
	struct strings *strings;
	struct budgets budgets;
	size_t n_unread;	/* files that the reader gave no answer about */
	uint64_t ended_at;	/* monotonic ns: when the current call noticed the end */
	bool symbols_only;	/* the current file takes too long otherwise */
	uint64_t file_deadline; /* monotonic ns: its answer must be there then; 0: none */
};

/* Whether somebody ended the search. */
bool names_ask_is_ended(const struct names_asker *asker);

/* The request for @lookups; after the end of the search, only quick parts. */
struct names_question names_ask_question(const struct names_asker *asker,
					 const struct lookups *lookups);

/*
 * Asks about the file at @place; NULL: about JITs' files. A file without an answer in time sets
 * @ret->is_unread. Errors: -ENOMEM, -E2BIG.
 */
int names_ask(struct names_asker *asker, const struct names_source *source,
	      const struct lookups *lookups, const struct debug_place *place,
	      struct file_names *ret);

#endif
