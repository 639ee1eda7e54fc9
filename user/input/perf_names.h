/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_names: what the frames of `perf script` are: kernel or not, JIT code, whose file, and what
 * they are called as the contract has it if they have no symbol.
 */
#ifndef INPUT_PERF_NAMES_H
#define INPUT_PERF_NAMES_H

#include "core/profile.h"
#include "input/perf_line.h"

/*
 * The frame's name and kind, and its mapping, added to @profile.
 * Errors: -ENOMEM, -E2BIG.
 */
int perf_name(struct profile *profile, const struct perf_frame *frame,
	      struct profile_frame *ret_frame, uint32_t *ret_mapping);

/* Of a function at this address, of which nothing else is known: FRAME_USER or FRAME_KERNEL. */
enum frame_kind perf_kind_of_address(uint64_t address);

#endif
