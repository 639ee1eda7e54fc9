/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * targets: what the options say about the processes to record, as far as /proc can answer. BPF
 * filters by itself (bpf/filter.bpf.h).
 */
#ifndef COLLECT_TARGETS_H
#define COLLECT_TARGETS_H

#include "collect/collect.h"

/*
 * Whether we are in a PID namespace below the machine's, as in a container. Then ids are those of
 * this namespace, and only processes in it or below it are recorded.
 */
bool targets_in_pid_namespace(void);

/* The process of thread @tid, or 0 if there is no such thread. */
uint32_t targets_process_of(uint32_t tid);

/* Whether there is no thread @id, not even a hidden one. */
bool targets_has_ended(uint32_t id);

/* Whether the targets exist and are distinguishable. Errors: -ESRCH, -ENOSYS. */
int targets_check(const struct collect_options *options, struct failure *failure);

/* Whether the options name some of the existing processes. */
bool targets_are_named(const struct collect_options *options);

/* Whether stacks of process @pid, which exists from the start, may need names. */
bool targets_have_process(const struct collect_options *options, uint32_t pid);

/* Whether one of the threads of @pid has a name that --comm wants; true without it. */
bool targets_have_name(const struct collect_options *options, uint32_t pid);

#endif
