/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confined: has a child process do work on the files of strangers. The child can compute, read and
 * write the descriptors it has, and nothing else (base/sandbox.h): what goes wrong in it while it
 * parses a file harms no other file. It gets descriptors from us, one at a time: of inputs that
 * were listed before it began, and of whatever else struct confined offers.
 */
#ifndef BASE_CONFINED_H
#define BASE_CONFINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/listing.h"

struct rusage;

#define CONFINED_LISTS 3

/* A folder whose files the child may read; @path: what the child calls it. */
struct confined_folder {
	char *path;
	struct listing files;
};

struct confined {
	/* Files that the child may read. */
	struct {
		char *const *paths;
		size_t n;
	} inputs[CONFINED_LISTS];
	const struct confined_folder *folders;
	size_t n_folders;
	bool closes;	      /* the child has none of our descriptors that exec would close */
	bool is_server;	      /* the child may accept connections, see sandbox_enter_server() */
	int lifeline;	      /* the child is killed when its other end closes; 0: none */
	struct rusage *usage; /* is set to what the child used; or NULL */
	pid_t *pid;	      /* is set to the child while it runs; or NULL */
	/*
	 * Serves the child's other requests, @number of its choosing: not to be believed. *@ret_fd:
	 * -1, or a descriptor to be sent and closed. Returns 0 or more, or -errno.
	 */
	int (*serve)(void *context, uint32_t number, int *ret_fd);
	void *context;
};

/*
 * Runs @work(@data) in the child and returns what it returned, an exit status of 0 to 255. Standard
 * output should be empty before, and is the child's to flush. Errors: -errno of starting the child;
 * -ECHILD it was killed by signal *@ret_signal.
 */
int confined_run(const struct confined *confined, int (*work)(void *data), void *data,
		 int *ret_signal);

/* --- in the child, and elsewhere --- */

/* Opens @path for reading, here or, in the child, by its parent. Returns a descriptor or -errno. */
int confined_open(const char *path);

/* Whether this is such a child. */
bool confined_is_here(void);

/* In the child: whether it may read files of the folder that is called @path. */
bool confined_has_folder(const char *path);

/*
 * Lists the files in the folder @path, as listing_read(); in the child, those its parent has listed
 * before. listing_done() is due after success. Errors: -errno; -EPERM no such folder is for the
 * child.
 */
int confined_list(const char *path, bool (*wanted)(const char *name), struct listing *ret);

/* Opens file @number of @listing, of the folder @path, as listing_open(). */
int confined_open_listed(const char *path, const struct listing *listing, size_t number);

/* In the child: has @number served. Returns the result; *@ret_fd: -1, or the caller's to close. */
int confined_ask(uint32_t number, int *ret_fd);

#endif
