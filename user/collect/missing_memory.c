/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/missing_memory.h"

#include <stdlib.h>

#include "base/system.h"
#include "collect/process_runtime.h"
#include "runtimes/machine_run.h"

#define PAGE	      4096
#define MOST_STACK    65536 /* bytes of one piece; the next walk comes to what is above all */
#define MOST_A_SECOND 32    /* threads: some milliseconds each */

/* Up to the highest page that can be read, in ever smaller pieces: one is read whole or not at all. */
static void read_stack(const struct runtime_memory *memory, uint64_t sp)
{
	static uint8_t bytes[MOST_STACK];

	for (uint32_t n = MOST_STACK; n >= PAGE; n /= 2) {
		const struct runtime_piece piece = {sp & ~(PAGE - 1ULL), n, bytes};

		if (memory->read(memory->context, &piece, 1) == 0)
			sp += n;
	}
}

/* Walks the chain as BPF does. */
static void read_chain(const struct found_runtime *found, const struct runtime_memory *memory,
		       uint64_t tls)
{
	struct bf_machine machine = {.parameters = {found->bias}};
	struct bf_text text;

	if (runtime_write(found->facts, BF_HOOK_CHAIN, &text) < 0)
		return;
	machine_run(&machine, &text, tls, memory);
}

void missing_memory_read(struct missing_memory *missing, struct unwinder *unwinder,
			 uint32_t process, uint64_t sp, uint64_t tls)
{
	struct process *of = &unwinder->processes->processes[process];
	struct found_runtime found[BF_PROCESS_RUNTIMES];
	uint64_t second = monotonic_ns() / NSEC_PER_SEC;
	struct process_memory source;
	struct runtime_memory memory = process_memory(&unwinder->processes->files, of, &source);
	uint32_t n = 0;

	if (missing->second != second)
		*missing = (struct missing_memory){.second = second};
	if (of->ended || missing->n++ >= MOST_A_SECOND)
		return;
	read_stack(&memory, sp);
	if (!unwinder->no_runtimes)
		n = process_runtimes(&unwinder->tables, of, found);
	for (uint32_t i = 0; i < n; i++)
		read_chain(&found[i], &memory, tls);
}
