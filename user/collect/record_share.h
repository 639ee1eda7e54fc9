/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_share: how many records of new mappings are kept, so that a user who maps code without end
 * fills neither our memory nor our time. Up to a rate, anybody's are kept. Above it each user has
 * that rate to themselves, and those whose user can't be found share one. Records of root have no
 * limit but the timeline's.
 *
 * Whose a record is takes a look into /proc. It is asked only above the rate, once a second for
 * each process, and not for more processes than that pays for.
 */
#ifndef COLLECT_RECORD_SHARE_H
#define COLLECT_RECORD_SHARE_H

#include "base/budgets.h"

#define RECORD_SHARE_BYTES     (4u << 20) /* at once, and then in each second */
#define RECORD_SHARE_PROCESSES 1024	  /* a power of 2 */
#define RECORD_SHARE_LOOKS     1000	  /* a second */

/* What may still be taken: it fills up again. */
struct record_bucket {
	uint64_t taken, at_ns; /* bytes taken by then */
};

struct record_share {
	struct record_bucket anybody, unknown;
	struct record_bucket *users; /* as the items of struct budgets */
	size_t n, capacity;
	/* By pid: whose it was when we looked. */
	struct record_process {
		uint32_t pid, budget;
		uint64_t until_ns;
	} processes[RECORD_SHARE_PROCESSES];
	uint64_t looks_since_ns;
	uint32_t n_looks;
	uint64_t n_refused; /* records of unknown users */
};

void record_share_done(struct record_share *share);

/*
 * Whether a record of process @pid that takes @bytes may be kept at time @now (monotonic ns). If
 * not, that counts in @budgets for its user, or in @share.
 */
bool record_share_take(struct record_share *share, struct budgets *budgets, uint32_t pid,
		       size_t bytes, uint64_t now);

/* Whether nothing was refused lately: then all of it is taken for reading what was missed. */
bool record_share_take_all(struct record_share *share, struct budgets *budgets, uint32_t pid,
			   uint64_t now);

#endif
