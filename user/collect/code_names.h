/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_names: what the frames of runtimes are called. A frame names a code object of one process by
 * address and check; what that says of itself is read from the process's memory as soon as a stack
 * with it arrives, for the object, or the process, may be gone soon after.
 *
 * A forked process has its parent's objects: what is known of one with the same address and check
 * holds. Kept in two generations, as stacks are (raw_stacks.h).
 */
#ifndef COLLECT_CODE_NAMES_H
#define COLLECT_CODE_NAMES_H

#include "collect/process.h"
#include "collect/tables.h"

struct code_name {
	uint64_t process; /* its serial number */
	uint64_t code;
	uint32_t check;
	uint32_t detail;		   /* if it has to do with the name; else 0 */
	uint8_t owner;			   /* number of the runtime */
	bool is_known;			   /* else it has none */
	uint8_t reads;			   /* besides the first one, while it has none; … */
	uint64_t read_ns;		   /* … CLOCK_MONOTONIC: the last of these */
	bool is_compiled;
	bool is_hidden;			   /* the runtime's own */
	const struct runtime_facts *facts; /* of its runtime; NULL: unknown */
	char *name, *file;		   /* owned, here and below */
	uint32_t first_line;
	uint8_t *lines;
	uint32_t n_lines;
	uint32_t line; /* without lines */
	struct runtime_inlined *inlined;
	uint32_t n_inlined;
};

/* A stack that arrived and has not been looked at. */
struct unread_stack {
	uint64_t id, process_start;
	uint32_t pid, exec_id;
	uint64_t sp, tls; /* as in struct bf_stack_event */
};

/* An object that had no name when its frame arrived. */
struct nameless_code {
	uint32_t process; /* in processes->processes, … */
	uint64_t serial;  /* … if that is still its number */
	uint64_t words[2];
};

struct code_names {
	struct processes *processes;
	const struct tables *tables;
	struct code_generation {
		struct code_name *items;
		size_t n, capacity;
		struct table by_code;
		size_t bytes;
	} now, before;
	size_t carried; /* bytes of this generation that are from the previous one */
	struct unread_stack *unread;
	size_t n_unread, unread_capacity;
	struct nameless_code *again;
	size_t n_again, again_capacity;
	uint64_t retried_ns; /* CLOCK_MONOTONIC */
	struct runtime_facts **facts; /* of all runtimes that were seen: files may be closed */
	size_t n_facts, facts_capacity;
	uint64_t n_read, n_nameless; /* code objects */
};

void code_names_init(struct code_names *names, struct processes *processes,
		     const struct tables *tables);
void code_names_done(struct code_names *names);

/* Notes that a stack with frames of a runtime has arrived. Errors: -ENOMEM. */
int code_names_note(struct code_names *names, const struct unread_stack *stack);

/* Reads what the @n @words of a stack of @process refer to. Errors: -ENOMEM. */
int code_names_read(struct code_names *names, uint32_t process, const uint64_t *words, uint32_t n);

/*
 * Reads some of those again that had no name, unless it has just done so: code that is compiled for
 * each request is there only while it runs, which for one of many workers is a small part of the
 * time. Errors: -ENOMEM.
 */
int code_names_retry(struct code_names *names);

/* What the frame of two @words is; read now if it was not. *@ret is good until the next call.
 * Errors: -ENOMEM. */
int code_names_find(struct code_names *names, uint32_t process, const uint64_t words[static 2],
		    const struct code_name **ret);

/* Bytes of the generation that fills. */
size_t code_names_bytes(const struct code_names *names);

/* Begins a new generation; what nobody has asked for since the last one is forgotten. */
void code_names_age(struct code_names *names);

#endif
