/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sets: facts about sets of files; each set holds one event in one window of a recording. A
 * folder's list and its page show them, in the order of writing.
 */
#ifndef CORE_SETS_H
#define CORE_SETS_H

#include "core/profile.h"

#define SET_MOST_FUNCTIONS 5
#define SET_MOST_COMMANDS  5

struct set_function {
	uint32_t name, module; /* string ids; module 0: unknown */
	uint64_t self;	       /* in the unit of the set */
};

struct set_command {
	uint32_t name;
	uint64_t total; /* in the unit of the set */
};

struct set_file {
	uint32_t name;
	uint64_t bytes;
};

struct set_loss {
	uint32_t kind;
	uint64_t n;
};

/* Runs of items in the arrays of struct sets. */
struct set_range {
	size_t first, n;
};

/* String ids of the list. */
struct set {
	uint32_t name; /* `20261121T130501Z-oncpu`: its files' names begin with it */
	enum profile_mode mode;
	uint32_t event; /* `cycles`; off-CPU: the hook */
	uint32_t unit;	/* of its weights: `samples`, `microseconds`, `events` */
	uint32_t version, host, kernel, command_line;
	uint64_t start_realtime_ns, duration_ns;
	double frequency;	 /* Hz; 0: none */
	uint64_t windows;	 /* joined in it, at least 1 */
	uint64_t samples, total; /* total: in its unit */
	double complete_percent, loss_percent;
	struct set_range functions; /* heaviest by self weight, at most SET_MOST_FUNCTIONS */
	struct set_range commands;  /* heaviest, at most SET_MOST_COMMANDS */
	struct set_range losses;    /* those above 0 */
	struct set_range files;
};

struct sets {
	struct strings strings;
	struct set *items;
	size_t n, capacity;
	struct set_function *functions;
	size_t n_functions, functions_capacity;
	struct set_command *commands;
	size_t n_commands, commands_capacity;
	struct set_loss *losses;
	size_t n_losses, losses_capacity;
	struct set_file *files;
	size_t n_files, files_capacity;
};

/* All return -ENOMEM, -E2BIG. */
int sets_init(struct sets *sets);
/* Fine on a zeroed struct. */
void sets_done(struct sets *sets);

/* Adds a set without functions, commands, losses and files. They are then added to the last set. */
int sets_add(struct sets *sets, const struct set *set);
int sets_add_function(struct sets *sets, const char *name, const char *module, uint64_t self);
int sets_add_command(struct sets *sets, const char *name, uint64_t total);
int sets_add_loss(struct sets *sets, const char *kind, uint64_t n);
int sets_add_file(struct sets *sets, const char *name, uint64_t bytes);
/* Removes the last set. */
void sets_drop_last(struct sets *sets);

/* The size of all files of a set. */
uint64_t set_bytes(const struct sets *sets, const struct set *set);

static inline uint64_t set_end_ns(const struct set *set)
{
	return set->start_realtime_ns + set->duration_ns;
}

/* Whether two sets have the same mode and event, and so belong to one series. */
static inline bool set_is_like(const struct set *a, const struct set *b)
{
	return a->mode == b->mode && a->event == b->event && a->unit == b->unit;
}

#endif
