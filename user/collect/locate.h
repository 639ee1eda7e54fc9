/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * locate: turns counted rows (addresses in a process) into samples of a profile (places in files).
 * Done at each drain, while the mappings still match the addresses. Each window has a profile:
 * locator_begin().
 */
#ifndef COLLECT_LOCATE_H
#define COLLECT_LOCATE_H

#include "bpf/wire.h"
#include "collect/code_names.h"
#include "collect/process.h"
#include "collect/raw_stacks.h"
#include "collect/wakers.h"
#include "core/profile.h"

struct locator {
	struct processes *processes;
	struct raw_stacks *stacks;
	struct wakers *wakers;
	struct profile *profile; /* of the open window */
	bool user_stacks;	 /* requested: a thread without one is truncated */
	struct code_names *code_names;
	bool native_frames; /* those of interpreters' loops stay beside what they run */
	uint64_t placed[2][BF_MAX_FRAMES]; /* words of the user half at work, in turn */

	/* Stacks located before: (two stack ids, process, version of its mappings) → stack. */
	struct located *located;
	size_t n_located, located_capacity;
	struct table by_stacks;

	/* What the profile has mappings of, with a reference each. */
	uint32_t *files, *images;
	size_t n_files, files_capacity, n_images, images_capacity;

	uint32_t kernel_mapping, vdso_mapping, unknown_mapping; /* UINT32_MAX until needed */
	/* Of all windows: */
	uint64_t samples;	    /* or off-CPU periods counted */
	uint64_t lost_stacks;	    /* samples whose frames never arrived */
	uint64_t lost_wakers;	    /* periods whose waker never arrived */
	uint64_t unknown_processes; /* samples of processes with unknown mappings */
	uint64_t nameless_frames;   /* of runtimes, in all stacks that were located */
};

void locator_init(struct locator *locator, struct processes *processes, struct raw_stacks *stacks,
		  struct wakers *wakers, struct profile *profile, bool user_stacks);
/* From here on rows are added to @profile. */
void locator_begin(struct locator *locator, struct profile *profile);
void locator_done(struct locator *locator);

/* The size of the cache of stacks. */
size_t locator_bytes(const struct locator *locator);
/* Empties the cache of stacks. */
void locator_forget(struct locator *locator);

/* Adds one row to the profile. Errors: -ENOMEM, -E2BIG. */
int locate(struct locator *locator, const struct bf_count_key *key, const struct bf_count *count);

#endif
