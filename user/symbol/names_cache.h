/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names_cache: what files said of their addresses, kept over all windows of a recording.
 *
 * It lies in memory that is shared with every process forked afterwards: one process writes a
 * window and ends, the next one finds what it learned. A process that dies inside loses it all and
 * nothing else.
 *
 * It is bounded: two halves of fixed size. New entries, and old ones that are found again, go to
 * the young half; when that is full the old half is dropped and the young one becomes old. So what
 * no window wanted for a whole half is forgotten.
 *
 * An answer is kept for all addresses in its block that have it, see struct named_address: each
 * window has new addresses of the same functions, and a file is read as a whole even for one.
 *
 * A file is known by what the kernel says of it, never by its build-id: that is what the file says
 * of itself, and a file could give names to another one's code.
 */
#ifndef SYMBOL_NAMES_CACHE_H
#define SYMBOL_NAMES_CACHE_H

#include "core/profile.h"
#include "symbol/file_names.h"

struct names_cache;

/* All bytes of it count; zero what is not known. */
struct names_key {
	uint64_t kind; /* enum mapping_kind */
	uint64_t device, inode, size, mtime_ns, ctime_ns;
	uint64_t root_device, root_inode; /* where its debug files are looked for; 0: ours */
};

/* How the names of a file's debug information are found. */
enum names_effort {
	NAMES_AT_ONCE, /* while the window is written */
	NAMES_LATER,   /* it takes long: symbols at once, the rest after the window */
	NAMES_SYMBOLS, /* never: it takes too long or too much memory */
};

struct names_cache_stats {
	uint64_t hits, misses, evictions; /* addresses */
	uint64_t n_given_up;		  /* files of which only the symbols are read … */
	char given_up[256];		  /* … the path of the latest */
	uint64_t resets;		  /* a process died inside */
};

/* At least @bytes of address space, used as it fills. Errors: -ENOMEM. */
int names_cache_new(size_t bytes, struct names_cache **ret);
/* In each process that has it. NULL is fine. */
void names_cache_free(struct names_cache *cache);

/*
 * Fills in those @names->items, of the @addresses, that are known, and marks them in @found.
 * @names is what file_names_none() made. @final: not those that only symbols gave. Returns how
 * many. Errors: -ENOMEM, -E2BIG.
 */
int names_cache_read(struct names_cache *cache, const struct names_key *key,
		     const uint64_t *addresses, bool final, struct strings *strings,
		     struct file_names *names, bool *found);

/*
 * Keeps what @names say of @addresses, in place of what was known. @final: debug information was
 * read, or there will be no more. What is too large is not kept.
 */
void names_cache_write(struct names_cache *cache, const struct names_key *key,
		       const uint64_t *addresses, const struct file_names *names,
		       const struct strings *strings, bool final);

enum names_effort names_cache_effort(struct names_cache *cache, const struct names_key *key);
/* From @after_ns on (CLOCK_MONOTONIC) the file may be read again. */
void names_cache_postpone(struct names_cache *cache, const struct names_key *key,
			  uint64_t after_ns);
bool names_cache_is_due(struct names_cache *cache, const struct names_key *key);
/* Until @until_ns (CLOCK_MONOTONIC) the file is not worth reading for a few addresses. */
void names_cache_rest(struct names_cache *cache, const struct names_key *key, uint64_t until_ns);
bool names_cache_is_resting(struct names_cache *cache, const struct names_key *key);
void names_cache_give_up(struct names_cache *cache, const struct names_key *key, const char *path);

void names_cache_stats(struct names_cache *cache, struct names_cache_stats *ret);

#endif
