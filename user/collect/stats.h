/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stats: what the programs have counted, and the memory that they use.
 */
#ifndef COLLECT_STATS_H
#define COLLECT_STATS_H

#include <stdint.h>

struct profiler;

/* The sum over the CPUs of one enum bf_stat. */
uint64_t stats_total(const struct profiler *skel, uint32_t stat);

/* Bytes of kernel memory: the maps, and the storage of the threads. */
uint64_t stats_kernel_bytes(const struct profiler *skel);

#endif
