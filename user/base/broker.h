/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * broker: a process that opens the files of others for us and hands over descriptors. A filesystem
 * whose server does not answer (NFS, FUSE) then stops the broker instead of the recording, and the
 * recorder can give up the rights for opening files.
 *
 * It is this program, run anew, with those rights and no others. It opens nothing itself but forks
 * workers: a caller talks to one, and gets another when that hangs. base/foreign defines the
 * requests.
 */
#ifndef BASE_BROKER_H
#define BASE_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The program's name when it runs as a broker. */
#define BROKER_NAME "bpfflame-broker"

#define BROKER_MAX_REQUEST 8192	 /* bytes */
#define BROKER_MAX_BYTES   98304 /* that come with an answer */

/* What an answer brings besides its number. */
struct broker_gift {
	int fd; /* to hand over, closed then; -1: none */
	const void *bytes;
	size_t n_bytes; /* up to BROKER_MAX_BYTES; they stay the job's */
};

/*
 * Handles a request with descriptor @fd or -1. Returns 0 or more, which @ret comes with; or -errno.
 */
typedef int64_t (*broker_job_fn)(const void *request, size_t n, int fd, struct broker_gift *ret);

/* Starts the broker. Errors: -errno; there is no broker then. */
int broker_start(void);
bool broker_is_there(void);

/*
 * Sends a request. Returns what the job returns; *@ret_fd is the caller's to close. Also
 * -ETIMEDOUT: it took longer than 0.3 s, less after each timeout, more while it only waits for a
 * CPU.
 */
int64_t broker_call(const void *request, size_t n, int fd, int *ret_fd);

/*
 * The same of a job that gives bytes, to @bytes, and returns their number. Errors, too: -EPROTO it
 * gave more than @capacity.
 */
int64_t broker_read(const void *request, size_t n, int fd, int *ret_fd, void *bytes,
		    size_t capacity);

/* Call in the child after a fork: it gets a worker of its own. */
void broker_detach(void);

/* Ends the broker. Returns the seconds of CPU time it used. */
double broker_stop(void);

/* Runs the broker itself: serves requests until all callers are gone. Returns the exit status. */
int broker_run(broker_job_fn job);

#endif
