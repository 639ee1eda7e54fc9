/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_samples: holds the samples of a pprof file until the items they refer to are read, which
 * come later in most files.
 *
 * Distinct stacks of location ids and distinct sets of labels are kept once; the labels stay
 * encoded. A sample is one of each, with values; samples with the same stack and labels add up.
 * Memory grows with what differs in the file. Stacks are in blocks, which are freed as samples are
 * taken: this shrinks while the profile grows.
 */
#ifndef INPUT_PPROF_SAMPLES_H
#define INPUT_PPROF_SAMPLES_H

#include "base/strings.h"
#include "input/pprof_ids.h"

/* No program has stacks this deep, no file so many kinds of values. */
#define PPROF_MAX_DEPTH	 ((size_t)1 << 20)
#define PPROF_MAX_VALUES ((size_t)64)

struct pprof_stack {
	const uint32_t *locations; /* numbers of @location_ids, leaf first */
	uint32_t n;
	uint32_t block;
	uint32_t sample; /* the first one with this stack, + 1; 0: none */
	uint32_t made;	 /* for the reader: what it became, + 1 */
};

struct pprof_block {
	uint32_t *locations;
	size_t n, capacity;
	size_t n_left; /* samples not taken yet whose stack is here */
};

struct pprof_sample {
	uint32_t stack;
	uint32_t labels; /* string id: a message Sample of labels only */
	uint64_t at;	 /* the byte of the file where it was first seen */
};

struct pprof_samples {
	bool in_order; /* add up neighbours only */
	struct pprof_ids location_ids;
	struct pprof_block *blocks;
	size_t n_blocks, blocks_capacity;
	struct pprof_stack *stacks;
	size_t n_stacks, stacks_capacity;
	struct strings labels;
	struct pprof_sample *items;
	size_t n, capacity;
	size_t n_values;  /* of each sample */
	uint64_t *values; /* n_values per sample */
	size_t values_capacity;
	struct table stack_index;
	struct table index; /* only of samples that are not their stack's first */

	/* The current sample. */
	uint32_t *locations;
	size_t n_locations, locations_capacity;
	uint8_t *label_bytes;
	size_t n_label_bytes, label_bytes_capacity;
};

/* Errors: -ENOMEM. pprof_samples_done() is fine after a failure. */
int pprof_samples_init(struct pprof_samples *samples, bool in_order);
void pprof_samples_done(struct pprof_samples *samples);

/*
 * Adds the message Sample of @n bytes, at byte @at of its file. Errors: -EINVAL, with the reason in
 * *@ret_fault; -ENOMEM, -E2BIG.
 */
int pprof_samples_add(struct pprof_samples *samples, const uint8_t *bytes, size_t n, uint64_t at,
		      const char **ret_fault);

/* Call after the last sample: frees the lookup tables. */
void pprof_samples_close(struct pprof_samples *samples);

/* Frees item @i and its stack. Call once per item, after closing. */
void pprof_samples_release(struct pprof_samples *samples, size_t i);

#endif
