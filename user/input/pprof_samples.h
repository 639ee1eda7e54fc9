/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_samples: the samples of a pprof file until what they refer to is known, which most files
 * have behind them.
 *
 * Stacks of location ids, and labels as they lie in the file, are kept once each; a sample is one
 * of each and its values, which add up where both are the same. So what is kept follows what is
 * different in the file. Stacks lie in blocks, which are given back as the samples are taken:
 * while the profile grows, this shrinks.
 */
#ifndef INPUT_PPROF_SAMPLES_H
#define INPUT_PPROF_SAMPLES_H

#include "base/strings.h"
#include "input/pprof_ids.h"

/* No program has stacks like that, no file so many kinds of values. */
#define PPROF_MAX_DEPTH	 ((size_t)1 << 20)
#define PPROF_MAX_VALUES ((size_t)64)

struct pprof_stack {
	const uint32_t *locations; /* numbers of @location_ids, leaf first */
	uint32_t n;
	uint32_t block;
	uint32_t sample; /* the first one that has it, + 1; 0: none */
	uint32_t made;	 /* the reader's own: what became of it, + 1 */
};

struct pprof_block {
	uint32_t *locations;
	size_t n, capacity;
	size_t n_left; /* samples that are not taken yet and have their stack here */
};

struct pprof_sample {
	uint32_t stack;
	uint32_t labels; /* string id: a message Sample of nothing but labels */
	uint64_t at;	 /* the byte of the file where it was first met */
};

struct pprof_samples {
	bool in_order; /* only neighbours are added up */
	struct pprof_ids location_ids;
	struct pprof_block *blocks;
	size_t n_blocks, blocks_capacity;
	struct pprof_stack *stacks;
	size_t n_stacks, stacks_capacity;
	struct strings labels;
	struct pprof_sample *items;
	size_t n, capacity;
	size_t n_values;  /* of each sample */
	uint64_t *values; /* n_values of each */
	size_t values_capacity;
	struct table stack_index;
	struct table index; /* only of samples that are not the first one of their stack */

	/* The sample that is being read. */
	uint32_t *locations;
	size_t n_locations, locations_capacity;
	uint8_t *label_bytes;
	size_t n_label_bytes, label_bytes_capacity;
};

/* Errors: -ENOMEM. pprof_samples_done() is fine after a failure. */
int pprof_samples_init(struct pprof_samples *samples, bool in_order);
void pprof_samples_done(struct pprof_samples *samples);

/*
 * Adds the message Sample of @n bytes, which lies at byte @at of its file.
 * Errors: -EINVAL, *@ret_fault telling what is wrong; -ENOMEM, -E2BIG.
 */
int pprof_samples_add(struct pprof_samples *samples, const uint8_t *bytes, size_t n, uint64_t at,
		      const char **ret_fault);

/* No more samples come: gives back what finding them took. */
void pprof_samples_close(struct pprof_samples *samples);

/* Item @i was used, and its stack won't be asked for again. Each once, after closing. */
void pprof_samples_release(struct pprof_samples *samples, size_t i);

#endif
