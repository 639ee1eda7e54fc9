/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_names: classifies the frames of `perf script` (kernel or not, JIT code, which file) and
 * names those without a symbol as recordings do.
 */
#ifndef INPUT_PERF_NAMES_H
#define INPUT_PERF_NAMES_H

#include "core/profile.h"
#include "input/perf_line.h"

/* Gives the frame's name, kind and mapping, which it adds to @profile. Errors: -ENOMEM, -E2BIG. */
int perf_name(struct profile *profile, const struct perf_frame *frame,
	      struct profile_frame *ret_frame, uint32_t *ret_mapping);

/* The kind of a function known only by its address: FRAME_USER or FRAME_KERNEL. */
enum frame_kind perf_kind_of_address(uint64_t address);

#endif
