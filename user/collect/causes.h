/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * causes: why threads wait, by the names in the kernel half of their stacks.
 *
 * One table of rules (causes_rules.c), from kernel functions to reasons, made of names that Linux
 * has had from 5.15 to today; what no rule knows stays what the scheduler called it.
 *
 *	[futex]	     locks and conditions of programs: futexes, System V's semaphores
 *	[poll]	     events: epoll, poll, select, io_uring's and aio's completions; reads of an
 *		     eventfd, of inotify, of requests by a FUSE server
 *	[timer]	     sleeps, reads of a timerfd
 *	[disk]	     block devices, journals, writeback, page cache reads, FUSE's clients
 *	[network]    sockets of all kinds, local ones too; files on other machines
 *	[pipe]	     pipes, fifos, terminals, message queues
 *	[page fault] memory that is not there yet, whatever it comes from
 *	[child]	     wait() and its kin, vfork()
 *	[lock]	     mutexes and semaphores of the kernel; those on files (flock, fcntl)
 *	[signal]     pause, sigsuspend, sigwait, reads of a signalfd
 *	[stopped]    by a signal, by a tracer, or frozen with a cgroup
 *
 * A lock inside a fault is a lock; other waits in there are the fault's.
 *
 * Idle is what waits for work: events, connections to accept, a terminal's input, signals; threads
 * of the kernel in their main functions; futexes below a condition variable or a runtime's parking;
 * sleeps of half a second and more on average. Not idle are, whatever is below them, mutexes, and
 * functions known to wait for an answer or a lock (PQexec, take_gil); answers from sockets and pipes;
 * children, unless a main thread waits for them and they are recorded themselves; and what the scheduler calls uninterruptible. What cannot be told apart by names is
 * not idle: semaphores of POSIX are locks to some and queues to others.
 */
#ifndef COLLECT_CAUSES_H
#define COLLECT_CAUSES_H

#include "core/profile.h"

/*
 * Of a symbolized profile, in which what stands between the scheduler and our hook is hidden
 * already: gives the samples with REASON_SLEEP and REASON_DISK their finer reason where a rule
 * knows it, marks those that wait for work (is_idle), and the wakers that were interrupts
 * (is_interrupt), of whose stacks only the interrupt's own frames are kept; nobody woke those.
 * @has_children: the children of what is recorded are, too.
 * Errors: -ENOMEM.
 */
int causes_apply(struct profile *profile, bool has_children);

#endif
