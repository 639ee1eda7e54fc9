/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame_programs: which texts BPF has (bpf/machine.h), and what is run in which processes: one
 * entry for all processes that need the same, kept until the end.
 */
#ifndef COLLECT_FRAME_PROGRAMS_H
#define COLLECT_FRAME_PROGRAMS_H

#include "runtimes/runtime.h"

struct frame_programs {
	int texts_fd, runtimes_fd; /* of the maps */
	struct frame_program {
		struct runtime_facts facts;
		enum bf_hook hook;
		uint32_t number; /* of the entry; 0: there is no text for it */
	} * items;
	size_t n, capacity;
	uint64_t n_refused; /* that had no room */
	char *problem;	    /* what is wrong with the first whose frames are not found, or NULL */
	uint64_t n_problems;
};

void frame_programs_init(struct frame_programs *programs, int texts_fd, int runtimes_fd);
void frame_programs_done(struct frame_programs *programs);

/*
 * What is to be run at @hook in process @pid, which has mapped the runtime of @facts as @path: a
 * number for struct bf_process. 0: nothing is, or can be. Errors: -ENOMEM.
 */
int frame_programs_number(struct frame_programs *programs, const struct runtime_facts *facts,
			  enum bf_hook hook, uint32_t pid, const char *path, uint32_t *ret);

#endif
