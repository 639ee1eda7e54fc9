/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_frames: finds the unwind information of code that LLVM makes at run time, as for the queries
 * of PostgreSQL. It lies in memory beside the code, for the unwinder of C++.
 */
#ifndef COLLECT_JIT_FRAMES_H
#define COLLECT_JIT_FRAMES_H

#include "collect/process.h"

/*
 * Looks around memory with code that @process has mapped since the last call, and maps what is
 * made of it in its place; not so soon that it takes more than some 5 % of the time. Errors:
 * -ENOMEM.
 */
int jit_frames_find(struct processes *processes, uint32_t process);

#endif
