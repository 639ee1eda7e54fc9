/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * full_rings: counts samples of ever other stacks until both rings are full, and one more stack then,
 * HOT. Once there is room its next sample must send it, and later ones must not. Prints how
 * often HOT was sent: while the rings were full, by its next sample, by later ones.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdint.h>
#include <stdio.h>

#include "bpf/wire.h"

#include "full_rings.skel.h"

#define RING_BYTES 65536
#define ROWS	   1024
#define HOT	   1000000

static unsigned int n_hot;

static int on_event(void *context, void *data, size_t size)
{
	const struct bf_stack_event *stack = data;

	(void)context;
	(void)size;
	n_hot += stack->type == BF_EVENT_STACK && stack->id == HOT;
	return 0;
}

static int count_sample(struct full_rings *skel, uint64_t id)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	skel->bss->kernel_stack = id;
	return bpf_prog_test_run_opts(bpf_program__fd(skel->progs.count_sample), &options);
}

static struct full_rings *load(void)
{
	struct full_rings *skel = full_rings__open();
	struct bpf_program *program;
	struct bpf_map *map;

	if (!skel)
		return NULL;
	bpf_object__for_each_program(program, skel->obj)
		bpf_program__set_autoload(program, program == skel->progs.count_sample);
	bpf_object__for_each_map(map, skel->obj)
		if (bpf_map__max_entries(map) == 1 && bpf_map__type(map) == BPF_MAP_TYPE_HASH)
			bpf_map__set_max_entries(map, ROWS);
	bpf_map__set_max_entries(skel->maps.scratch, libbpf_num_possible_cpus() * BF_SCRATCHES);
	bpf_map__set_max_entries(skel->maps.events, RING_BYTES);
	bpf_map__set_max_entries(skel->maps.spare_events, RING_BYTES);
	if (full_rings__load(skel) == 0)
		return skel;
	full_rings__destroy(skel);
	return NULL;
}

static unsigned int sent(struct ring_buffer *rings)
{
	n_hot = 0;
	ring_buffer__consume(rings);
	return n_hot;
}

int main(void)
{
	struct full_rings *skel = load();
	unsigned int when_full, by_next, by_later;
	struct ring_buffer *rings;
	int r;

	if (!skel)
		return 1;
	rings = ring_buffer__new(bpf_map__fd(skel->maps.events), on_event, NULL, NULL);
	r = rings ? ring_buffer__add(rings, bpf_map__fd(skel->maps.spare_events), on_event, NULL)
		  : -1;
	for (uint64_t id = 1; id < ROWS / 2 && r == 0; id++)
		r = count_sample(skel, id);
	r = r < 0 ? r : count_sample(skel, HOT);
	when_full = sent(rings);
	r = r < 0 ? r : count_sample(skel, HOT);
	by_next = sent(rings);
	r = r < 0 ? r : count_sample(skel, HOT);
	by_later = sent(rings);
	if (r == 0)
		printf("%u %u %u\n", when_full, by_next, by_later);
	ring_buffer__free(rings);
	full_rings__destroy(skel);
	return r != 0;
}
