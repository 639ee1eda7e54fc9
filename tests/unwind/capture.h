/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * capture: a thread of a running program, stopped at an arbitrary instruction.
 *
 * Seizes a thread, interrupts it, looks at it and lets it continue (ptrace(2)), one at a time,
 * which the program cannot see otherwise. While a thread is stopped, its registers, its stack and
 * its process's mappings stay fixed. Memory is copied on the first request, up to 1 MiB above the
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
#define CAPTURE_BELOW 1024 /* leaf functions also use memory below the stack pointer */

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
	int signal; /* that stopped the thread, delivered when it continues */
};

/* An observed program: all processes of a session, or one process. */
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
/* Observes a process that is already running. */
void target_attach(struct target *target, pid_t pid);
/* Whether the command is running, or something that it left in its session. */
bool target_lives(struct target *target);
/* Kills what target_start() started. */
void target_end(struct target *target);

/*
 * Stops the next thread; takes only one in eight of those that wait, because they are where they
 * were before. Returns 0, -EAGAIN if it is not available now, -ENOMEM.
 */
int capture_next(struct capture *capture, struct target *target);

/* Returns @n bytes of memory from @address on, or NULL. */
const uint8_t *capture_memory(struct capture *capture, uint64_t address, size_t n);
/* The range that contains @address, or NULL. */
const struct capture_range *capture_range(struct capture *capture, uint64_t address);

/* Reads memory outside the stack. Returns whether all of it exists. */
bool capture_read(const struct capture *capture, uint64_t address, void *to, size_t n);

/*
 * Lets the thread run one instruction. Returns whether it did: refuses to enter a system call, and
 * fails on a signal.
 */
bool capture_step(struct capture *capture);

/* Lets the thread continue. */
void capture_release(struct capture *capture);
void capture_done(struct capture *capture);

#endif
