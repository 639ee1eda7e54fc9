/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_machine: runs the machine over memory made by hand. */
#ifndef TESTS_MADE_MACHINE_H
#define TESTS_MADE_MACHINE_H

#include <errno.h>
#include <string.h>

#include "runtimes/machine_run.h"

#define MADE_START 0x7f0000100000ULL
#define MADE_BYTES (128 << 10)

struct made_memory {
	uint8_t bytes[MADE_BYTES];
	uint64_t n_calls, n_reads; /* … of pieces */
	uint64_t fails_at;	   /* the read that fails, from 1; 0: none */
	uint64_t changes_at;	   /* the read that change() comes before, likewise */
	void (*change)(struct made_memory *memory);
};

static inline int made_read(void *context, const struct runtime_piece *pieces, size_t n)
{
	struct made_memory *memory = context;

	memory->n_calls++;
	for (size_t i = 0; i < n; i++) {
		uint64_t at = pieces[i].address - MADE_START;

		if (++memory->n_reads == memory->fails_at)
			return -EFAULT;
		if (memory->n_reads == memory->changes_at)
			memory->change(memory);
		if (at > MADE_BYTES || pieces[i].n > MADE_BYTES - at)
			return -EFAULT;
		memcpy(pieces[i].to, memory->bytes + at, pieces[i].n);
	}
	return 0;
}

static inline void made_word(struct made_memory *memory, uint64_t address, uint64_t word)
{
	memcpy(memory->bytes + (address - MADE_START), &word, sizeof word);
}

static inline void made_number(struct made_memory *memory, uint64_t address, uint32_t number)
{
	memcpy(memory->bytes + (address - MADE_START), &number, sizeof number);
}

static inline void made_run(struct bf_machine *machine, const struct bf_text *text, uint64_t tls,
			    struct made_memory *memory)
{
	const struct runtime_memory reading = {made_read, memory};

	memory->n_reads = 0;
	machine_run(machine, text, tls, &reading);
}

/* Returns the number of frames in the chain; sets *@ret_activations. */
static inline uint32_t made_frames(const struct bf_machine *machine, uint32_t *ret_activations)
{
	uint32_t n = 0, at = 0;

	*ret_activations = 0;
	while (at < machine->header) {
		uint32_t count = machine->words[at] >> BF_CHAIN_SHIFT;

		n += count / 2;
		at += count + 1;
		++*ret_activations;
	}
	return at == machine->header ? n : UINT32_MAX;
}

#endif
