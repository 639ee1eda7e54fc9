/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop_frames: the order of frames of a runtime whose activations leave no anchor on the C stack.
 * They arrive after all native frames, innermost first, each activation with its last frame marked
 * (RUNTIME_LAST); each belongs to a native frame of the interpreter's loop. Frames of other
 * runtimes keep their places among the native ones.
 */
#ifndef COLLECT_LOOP_FRAMES_H
#define COLLECT_LOOP_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/wire.h"

/*
 * Where the loop is, [start, end); code by which the loop starts another one for the same
 * activation; a part of the loop that is elsewhere; and code that starts it for the program. Both
 * 0: there is none.
 */
struct loop_code {
	uint64_t start, end, again_start, again_end, cold_start, cold_end;
	uint64_t program_start, program_end;
	uint32_t owner; /* of the frames */
};

/*
 * Puts the owner's activations of @n @words, as on the wire, before the native frames of their
 * @code. Those for which there is none stay where they are. Where @is_whole says that no native
 * frame is missing, the outermost activation is the outermost loop's, and a thread without loops
 * has none; innermost activations beyond the loops have not begun, or wait for the next call: they
 * are left out. So is that of the program, RUNTIME_KIND_PROGRAM, if other code than what starts it
 * began the outermost loop: it is over, and functions of it are called by the program that it is
 * part of. @ret has room for BF_MAX_FRAMES. Returns how many words there are.
 */
uint32_t loop_frames_place(const uint64_t *words, uint32_t n, const struct loop_code *code,
			   bool is_whole, uint64_t *ret);

#endif
