/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reader: a process that reads the files of strangers for us, so that what is in them can do no
 * harm here.
 *
 * It is this program, run anew, in a sandbox: it gets open descriptors and gives bytes. It may be
 * slow, die, or be taken over by what it reads: so it is given up when nobody wants to wait any
 * more, the next call starts another one, and what it answers is data with a limit, to be checked
 * by whoever asked.
 *
 * While it works, it may ask for more: a file to be opened, say. Whoever answers must not believe
 * it.
 */
#ifndef BASE_READER_H
#define BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/child.h"

#define READER_MAX_FDS	   CHILD_MAX_FDS
#define READER_MAX_TEXT	   4096		/* bytes of a question, and of its reply */
#define READER_MAX_REQUEST (16u << 20)	/* bytes */
#define READER_MAX_ANSWER  (256u << 20) /* bytes */

/* The name that the program is run by to be a reader. */
#define READER_NAME "bpfflame-reader"

struct elf_file;

enum reader_job {
	READER_TABLE,	   /* makes a file's unwind table */
	READER_FILE_NAMES, /* names addresses in a file … */
	READER_JIT_NAMES,  /* … and in what a JIT made, after what it wrote */
	READER_PROBES,	   /* finds in a file what probes go on */
	N_READER_JOBS,
};

/* --- who asks --- */

struct reader {
	pid_t pid; /* 0: none runs */
	int socket;
	uint64_t call_ns; /* CPU time of the last call */
	/* Of all that have ended: */
	uint64_t n_lost; /* died or were given up */
	double cpu_seconds;
	uint64_t peak_bytes;
};

/* What a question of the reader's is answered with. */
struct reader_reply {
	int error; /* 0 or -errno */
	int fd;	   /* -1: none; closed once it was sent */
	char text[READER_MAX_TEXT];
};

struct reader_call {
	enum reader_job job;
	const void *request;
	size_t n;
	int fds[READER_MAX_FDS];
	size_t n_fds;
	/*
	 * Called every few milliseconds while the reader works, with how long it has neither
	 * computed nor sent anything. Returns false to give it up. It may do anything but call the
	 * reader.
	 */
	bool (*wait)(void *context, uint64_t quiet_ns);
	/* Answers a question; without this member there may be none. */
	void (*asked)(void *context, const void *question, size_t n, struct reader_reply *ret);
	void *context;
};

#define READER_NONE ((struct reader){.socket = -1})

/*
 * Has the job done. *@ret is malloc'ed, of *@ret_n bytes. Errors: what the job failed with;
 * -ETIMEDOUT it was given up; -ECHILD the reader died of it; -EPROTO its answer makes no sense;
 * -ENOBUFS it needs too much memory for it; -EFBIG; -ENOMEM; -errno of starting it.
 */
int reader_call(struct reader *reader, const struct reader_call *call, void **ret, size_t *ret_n);

/* Starts it ahead of the first call. Errors are that call's. */
void reader_prepare(struct reader *reader);

/* After a fork, in the child: the reader is the parent's. NULL is fine here and below. */
void reader_detach(struct reader *reader);

/* Ends it, and waits for that. */
void reader_stop(struct reader *reader);

/*
 * Who finds what was stripped from a file, for those that can't call them. The file was mapped as
 * @path by a process with root folder @root (-1: ours).
 */
#define READER_PLACE_MAX (4 * READER_MAX_TEXT)
struct reader_debug {
	/* Opens it. Returns a descriptor, the caller's to close. Errors: -ENOENT none; -ENOMEM. */
	int (*open_file)(struct elf_file *elf, int file, const char *path, int root);
	/* Writes down what a reader needs to know for asking for it. Returns how many bytes. */
	size_t (*describe)(int file, const char *path, int root, void *to);
	/* Answers such a question. */
	void (*answer)(int file, const char *path, int root, const void *question, size_t n,
		       struct reader_reply *ret);
};

/* --- the reader itself --- */

struct reader_request {
	int socket;
	const void *bytes;
	size_t n;
	int fds[READER_MAX_FDS];
	size_t n_fds;
};

/* One piece of an answer. */
struct reader_piece {
	const void *bytes;
	size_t n;
};

/* Does a job and sends its answer. Errors, of the job: sent by the caller. */
typedef int (*reader_job_fn)(struct reader_request *request);

/* Sends the answer of a job that was done. Errors: of sending. */
int reader_answer(const struct reader_request *request, const struct reader_piece *pieces,
		  size_t n);

/*
 * Asks a question of @n bytes. Returns a descriptor, the caller's to close, and a text. Errors:
 * what the reply says; -ENOENT it has no descriptor.
 */
int reader_ask(const struct reader_request *request, const void *question, size_t n,
	       char text[static READER_MAX_TEXT]);

/* Enters the sandbox and does what is asked until nobody asks any more. Returns the exit status. */
int reader_run(const reader_job_fn jobs[static N_READER_JOBS]);

#endif
