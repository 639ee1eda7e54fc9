/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_input: a part of a store where other commands read a file: `STORE@-1h`,
 * `STORE@FROM..TO`, `STORE@FROM..TO,FROM..TO`: ranges add up; `@…` alone is of the default store.
 */
#ifndef CLI_STORE_INPUT_H
#define CLI_STORE_INPUT_H

#include "input/input.h"
#include "store/ledger_profile.h"
#include "store/store_read.h"

#define STORE_DEFAULT "/var/lib/bpfflame"

/* Which rows count, and how; all zero: all. */
struct store_filter {
	const char *comm, *unit; /* globs */
	const char *cgroup;	 /* this one, and all below it */
	const char *container;	 /* how its id begins */
	const uint32_t *pids;
	size_t n_pids;
	/* A bit for each enum off_reason that counts; 0: all. */
	uint32_t reasons;
	struct ledger_grouping grouping; /* of stacks; drops no row */
	bool no_pids;			 /* samples need none; nor does */
};

/* `running`, `waiting`, `futex`, …, as bits of reasons. Errors: -EINVAL. */
int store_filter_state(const char *text, uint32_t *ret_reasons);

/* For store_input_read() from now on; @filter must stay. */
void store_input_filter(const struct store_filter *filter);

/* Whether a row passes. @context: struct store_filter. As in struct ledger_merge. */
bool store_filter_wants(void *context, const struct ledger *ledger, const struct ledger_row *row);

/*
 * Whether @path names a part of a store. In a confined process: of one that it may read
 * (base/confined.h).
 */
bool store_input_is(const char *path);

/* The folder of that store, malloc'ed; NULL: @path names none, or there is no memory. */
char *store_input_folder(const char *path);

/* Whether the name of a part of a store makes sense, and any other. Errors: -EINVAL, explained. */
int store_input_check(const char *path, struct failure *failure);

/*
 * Adds it. @quiet: does not say on standard error what was read. Errors: -EINVAL, *failure says
 * what is wrong with the name; those of store_read(), input_set_mode().
 */
int store_input_read(struct input *input, const char *path, bool quiet, struct failure *failure);

/* Says on standard error that the range is empty, and what the store holds. */
void store_input_say_nothing(const struct store_answer *answer);
/* Says that @n files may not be read, by the name of the @first, unless there are none. */
void store_input_say_unread(size_t n, const char *first);

#endif
