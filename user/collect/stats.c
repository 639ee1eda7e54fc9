/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/stats.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "bpf/wire.h"
#include "profiler.skel.h"

/* Of a thread: its struct bpf_local_storage and the element with our struct thread. */
#define THREAD_BYTES (192 + 256)

uint64_t stats_total(const struct profiler *skel, uint32_t stat)
{
	int n_cpus = libbpf_num_possible_cpus();
	uint64_t total = 0, values[n_cpus];

	if (bpf_map__lookup_elem(skel->maps.stats, &stat, sizeof stat, values, sizeof values, 0) <
	    0)
		return 0;
	for (int i = 0; i < n_cpus; i++)
		total += values[i];
	return total;
}

static uint64_t map_bytes(const struct bpf_map *map)
{
	char path[64], text[1024];
	const char *line;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", bpf_map__fd(map));
	if (read_text_file(path, text, sizeof text) < 0)
		return 0;
	line = strstr(text, "memlock:");
	return line ? strtoull(line + strlen("memlock:"), NULL, 10) : 0;
}

uint64_t stats_kernel_bytes(const struct profiler *skel)
{
	uint64_t bytes = stats_total(skel, BF_STAT_THREADS) * THREAD_BYTES;
	const struct bpf_map *map;

	bpf_object__for_each_map(map, skel->obj) bytes += map_bytes(map);
	return bytes;
}
