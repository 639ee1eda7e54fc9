/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reader: a process that reads untrusted files for us, so that their contents can do no harm here.
 *
 * It is this program, run anew, in a sandbox: it gets open descriptors and gives bytes. It may be
 * slow, die, or be taken over by what it reads. So the caller gives it up when it takes too long,
 * the next call starts another one, and its answers are data with a limit, for the caller to check.
 *
 * While it works, it may ask questions, for example for a file to be opened. Whoever answers must
 * not trust it.
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

/* The program's name when it runs as a reader. */
#define READER_NAME "bpfflame-reader"

struct elf_file;

enum reader_job {
	READER_TABLE,	   /* makes a file's unwind table */
	READER_FILE_NAMES, /* names addresses in a file … */
	READER_JIT_NAMES,  /* … and in code that a JIT made, from the JIT's files */
	READER_PROBES,	   /* finds in a file what probes go on */
	N_READER_JOBS,
};

/* --- The requesting side --- */

struct reader {
	pid_t pid; /* 0: none runs */
	int socket;
	uint64_t call_ns; /* CPU time of the last call */
	/* Totals of all that have ended: */
	uint64_t n_lost; /* died or were given up */
	double cpu_seconds;
	uint64_t peak_bytes;
};

/* The reply to a reader's question. */
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
	 * Called every few milliseconds while the reader works, with the time since it last
	 * computed or sent anything. Returns false to give it up. It must not call the reader.
	 */
	bool (*wait)(void *context, uint64_t quiet_ns);
	/* Answers a question; NULL allows none. */
	void (*asked)(void *context, const void *question, size_t n, struct reader_reply *ret);
	void *context;
};

#define READER_NONE ((struct reader){.socket = -1})

/*
 * Has the job done. *@ret is malloc'ed, of *@ret_n bytes. Errors: those of the job; -ETIMEDOUT it
 * was given up; -ECHILD the reader died; -EPROTO its answer makes no sense; -ENOBUFS it needs too
 * much memory; -EFBIG; -ENOMEM; -errno of starting it.
 */
int reader_call(struct reader *reader, const struct reader_call *call, void **ret, size_t *ret_n);

/* Starts it ahead of the first call, which reports errors. */
void reader_prepare(struct reader *reader);

/* Call in the child after a fork: the reader is the parent's. NULL is fine here and below. */
void reader_detach(struct reader *reader);

/* Ends it, and waits for that. */
void reader_stop(struct reader *reader);

/*
 * Finds the debug files of a file, for modules that can't call symbol/. The file was mapped as
 * @path by a process with root folder @root (-1: ours).
 */
#define READER_PLACE_MAX (4 * READER_MAX_TEXT)
struct reader_debug {
	/* Opens it. Returns a descriptor for the caller to close. Errors: -ENOENT none; -ENOMEM. */
	int (*open_file)(struct elf_file *elf, int file, const char *path, int root);
	/* Writes down what a reader needs for asking for it. Returns the number of bytes. */
	size_t (*describe)(int file, const char *path, int root, void *to);
	/* Answers such a question. */
	void (*answer)(int file, const char *path, int root, const void *question, size_t n,
		       struct reader_reply *ret);
};

/* --- The reader itself --- */

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

/* Does a job and sends its answer. The caller sends its errors. */
typedef int (*reader_job_fn)(struct reader_request *request);

/* Sends the answer of a finished job. Errors: of sending. */
int reader_answer(const struct reader_request *request, const struct reader_piece *pieces,
		  size_t n);

/*
 * Asks a question of @n bytes. Returns a descriptor for the caller to close, and a text. Errors:
 * those in the reply; -ENOENT it has no descriptor.
 */
int reader_ask(const struct reader_request *request, const void *question, size_t n,
	       char text[static READER_MAX_TEXT]);

/* Enters the sandbox and serves requests until there are no more. Returns the exit status. */
int reader_run(const reader_job_fn jobs[static N_READER_JOBS]);

#endif
