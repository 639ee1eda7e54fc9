/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deferred: programs that the kernel verifies while we go on. libbpf loads one program after
 * another, and those with the unwinder take most of the time. For such a program libbpf prepares
 * everything, but loads a stub; a thread has the real one verified, which then replaces the stub.
 */
#ifndef COLLECT_DEFERRED_H
#define COLLECT_DEFERRED_H

#include <bpf/bpf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct bpf_program;

/* By the program's section. */
enum deferred_kind {
	DEFERRED_RAW_TRACEPOINT, /* "beside/raw_tp": starts as soon as libbpf has prepared it */
	DEFERRED_ITERATOR,	 /* "beside/iter.s" */
	N_DEFERRED,
};

struct deferred {
	struct bpf_program *program; /* NULL until libbpf has prepared it */
	struct bpf_insn *insns;
	size_t n_insns;
	struct bpf_prog_load_opts options; /* their pointers belong to libbpf */
	bool is_running;
	pthread_t thread; /* while is_running; all other members belong to it then */
	int fd;		  /* or a negative errno, then with … */
	char *log;	  /* … the verifier's words, or NULL */
};

/*
 * For an object that is opened after this; one at a time. Don't move @deferred until
 * deferred_done(), which comes before the object is closed. Errors: libbpf's.
 */
int deferred_init(struct deferred *deferred, enum deferred_kind kind);
void deferred_done(struct deferred *deferred);

/* Call once the object is loaded. Does nothing if the program is not wanted. Errors: -EAGAIN. */
int deferred_begin(struct deferred *deferred);

/* Waits; the program is then as if libbpf had loaded it. Errors: those of bpf(2). */
int deferred_end(struct deferred *deferred);

#endif
