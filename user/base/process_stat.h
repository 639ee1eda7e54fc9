/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process_stat: what /proc/PID/stat says of a process: proc_pid_stat(5). */
#ifndef BASE_PROCESS_STAT_H
#define BASE_PROCESS_STAT_H

#include <stdbool.h>
#include <stdint.h>

#define PROCESS_COMM_SIZE 64 /* kernel threads have long names */

struct process_stat {
	uint32_t pid, parent;
	char comm[PROCESS_COMM_SIZE]; /* may hold anything */
	char state;		      /* R, S, D, T, Z, … */
	uint32_t n_threads;
	uint64_t cpu_ns;   /* of all its threads, in user and kernel code; whole ticks (10 ms) */
	uint64_t start_ns; /* boot-time, whole ticks; with pid, it identifies a process */
};

/* @text: the file's contents. Returns whether it is one. */
bool process_stat_parse(const char *text, struct process_stat *ret);

/* Errors: those of reading the file; -EBADMSG. */
int process_stat_read(uint32_t pid, struct process_stat *ret);

/*
 * Whether it runs or waits for a CPU: on a busy machine, one that does not answer may be without
 * blame. 0 is no process.
 */
bool process_is_runnable(uint32_t pid);

/* How long the calling thread has waited for a CPU; 0 where the kernel does not count that. */
uint64_t own_run_delay_ns(void);

#endif
