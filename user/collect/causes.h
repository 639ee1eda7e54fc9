/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * causes: why threads wait, by the names in the kernel half of their stacks.
 *
 * One table of rules (causes_rules.c) leads from kernel functions to reasons. Its names are those
 * of Linux from 5.15 to today; without a rule, the scheduler's own reason stays.
 *
 *	[futex]      locks and conditions of programs: futexes, System V's semaphores
 *	[poll]	     events: epoll, poll, select, io_uring's and aio's completions; reads of an
 *		     eventfd, of inotify, of requests by a FUSE server
 *	[timer]	     sleeps, reads of a timerfd, select() and poll() of no file
 *	[disk]	     block devices, journals, writeback, page cache reads, FUSE's clients
 *	[network]    sockets of all kinds, local ones too; files on other machines
 *	[pipe]	     pipes, fifos, terminals, message queues
 *	[page fault] memory that is not there yet, wherever it comes from
 *	[child]	     wait() and its kin, vfork()
 *	[lock]	     mutexes and semaphores of the kernel; those on files (flock, fcntl)
 *	[signal]     pause, sigsuspend, sigwait, reads of a signalfd
 *	[stopped]    by a signal, by a tracer, or frozen with a cgroup
 *
 * A lock inside a fault is a lock; other waits in there belong to the fault.
 *
 * A wait is idle if it is for work: events, connections to accept, a terminal's input, signals;
 * kernel threads in their main functions; futexes below a condition variable or a runtime's
 * parking; sleeps of half a second and more on average. Never idle, whatever is below them, are
 * mutexes, and functions known to wait for an answer or a lock (PQexec, take_gil), also where a
 * stripped interpreter has no names for them; servers at a request; answers from sockets and pipes;
 * children, unless a main thread waits for them and they are recorded themselves;
 * and waits that the scheduler calls uninterruptible. In doubt a wait is not idle: POSIX semaphores
 * are locks to some programs and queues to others.
 */
#ifndef COLLECT_CAUSES_H
#define COLLECT_CAUSES_H

#include "core/profile.h"

/*
 * Works on a symbolized profile, in which the frames between the scheduler and our hook are hidden
 * already. Gives the samples with REASON_SLEEP and REASON_DISK their finer reason, if a rule
 * matches; so, too, those with REASON_TIMER, which keep it only below poll() and its kin. Marks
 * waits for work (is_idle), and wakers that were interrupts (is_interrupt): of their stacks only
 * the interrupt's own frames are kept, and they have no waker. @has_children: the recorded
 * processes' children are recorded, too. Errors: -ENOMEM.
 */
int causes_apply(struct profile *profile, bool has_children);

#endif
