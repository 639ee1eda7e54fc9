/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * capture: a thread of a running program, stopped at whatever instruction it has reached.
 *
 * A thread is seized, interrupted, looked at and let go again (ptrace(2)), one at a time: the
 * program sees no other trace of it. While it is stopped its registers, its stack and the mappings
 * of its process hold still; memory is copied when it is first asked for, up to 1 MiB above the
 * address, and kept, so that two unwinders see the same bytes.
 */
#ifndef UNWIND_CAPTURE_H
#define UNWIND_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define CAPTURE_RANGES                                                                             \
	4 /* an alternate signal stack, the stack it interrupted, and two to spare                 \
	   */
#define CAPTURE_BYTES (1u << 20)
#define CAPTURE_BELOW 1024 /* leaf functions use the memory below the stack pointer, too */

struct capture_range {
	uint64_t start, n;
	uint8_t *bytes; /* room for CAPTURE_BYTES + CAPTURE_BELOW */
};

struct capture {
	pid_t pid, tid;
	struct user_regs_struct registers;
	struct capture_range ranges[CAPTURE_RANGES];
	size_t n_ranges;
	char *maps; /* /proc/PID/maps, a string */
	size_t maps_n, maps_capacity;
	int signal; /* that the thread was stopped by, and gets when it goes on */
};

/* A program under observation: all processes of a session, or one process. */
struct target {
	pid_t session; /* 0: only @pid */
	pid_t pid;
	struct target_thread {
		pid_t pid, tid;
	} * threads;
	size_t n_threads, threads_capacity;
	size_t turn;
	uint64_t listed_at; /* CLOCK_MONOTONIC ns */
};

uint64_t now_ns(void);

/* Starts @argv in a session of its own, its output going nowhere. Errors: those of fork(2). */
int target_start(struct target *target, char **argv);
/* Observes a process that runs already. */
void target_attach(struct target *target, pid_t pid);
/* Whether the command runs, or something that it left in its session. */
bool target_lives(struct target *target);
/* Kills what target_start() started. */
void target_end(struct target *target);

/*
 * Stops the thread whose turn it is; of those that wait only one in eight is taken, for they stand
 * where they were before. Returns 0, -EAGAIN if it is not available now, -ENOMEM.
 */
int capture_next(struct capture *capture, struct target *target);

/* The memory from @address on, @n bytes, or NULL. */
const uint8_t *capture_memory(struct capture *capture, uint64_t address, size_t n);
/* The range that holds @address, or NULL. */
const struct capture_range *capture_range(struct capture *capture, uint64_t address);

/* Reads memory of the process that is no stack. Returns whether all was there. */
bool capture_read(const struct capture *capture, uint64_t address, void *to, size_t n);

/*
 * Lets the thread run one instruction. Returns whether it did: no system call is entered this way,
 * and a signal ends it.
 */
bool capture_step(struct capture *capture);

/* Lets the thread go on. */
void capture_release(struct capture *capture);
void capture_done(struct capture *capture);

#endif
