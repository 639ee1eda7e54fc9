/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * broker: a process that opens the files of others for us and hands over descriptors, so that a
 * filesystem whose server does not answer (NFS, FUSE) stops it and not the recording, and so that
 * the recorder can do without the rights that opening them takes.
 *
 * It is this program, run anew, with those rights and no others. It opens nothing itself but forks
 * workers for it: whoever asks talks to one, and has another one when that hangs. base/foreign says
 * what can be asked.
 */
#ifndef BASE_BROKER_H
#define BASE_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name that the program is run by to be a broker. */
#define BROKER_NAME "bpfflame-broker"

#define BROKER_MAX_REQUEST 8192 /* bytes */

/* Does a request, with descriptor @fd or -1. Returns 0 or more, which *@ret_fd may come with: -1,
 * or a descriptor to hand over, which is closed then; or -errno. */
typedef int64_t (*broker_job_fn)(const void *request, size_t n, int fd, int *ret_fd);

/* Starts it: from here on there is one. Errors: -errno, of starting it; then there is none. */
int broker_start(void);
bool broker_is_there(void);

/*
 * Has a request done. Returns what the job returns; *@ret_fd is the caller's to close.
 * Errors, too: -ETIMEDOUT it took too long: 0.3 s at first, half of that each time it happens, and
 * longer while it only waits for a CPU.
 */
int64_t broker_call(const void *request, size_t n, int fd, int *ret_fd);

/* After a fork, in the child, which gets a worker of its own. */
void broker_detach(void);

/* Ends it. Returns the seconds of CPU time that it took. */
double broker_stop(void);

/* The broker itself: does what is asked until nobody asks any more. Returns the exit status. */
int broker_run(broker_job_fn job);

#endif
