/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * option_table: options as rows of tables. A command has one table or several, some shared with
 * other commands; each fills in its own struct.
 */
#ifndef CLI_OPTION_TABLE_H
#define CLI_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/failure.h"

struct option_row;

/*
 * Handles one option. @field: in the table's struct, at the row's offset. @value: NULL if the
 * option has none. Returns 0, or -errno with *failure naming the option.
 */
typedef int (*option_fn)(const struct option_row *row, void *field, const char *value,
			 struct failure *failure);

/*
 * Rows are in the order of the help; a row that starts a group names it. Help "": only listed; the
 * manual explains it. No help: accepted, not shown.
 */
struct option_row {
	char letter;
	const char *name, *alias, *argument, *help, *group;
	option_fn take;
	size_t offset;
	double least, most; /* of numbers; most 0: no limit */
	const char *wanted; /* the valid values, for messages: "a width in pixels" */
};

struct option_table {
	const struct option_row *rows;
	size_t n_rows;
	void *target;
};

/* Common handlers, with the type of field that each fills in. */
int option_set(const struct option_row *row, void *field, const char *value,
	       struct failure *failure);
int option_clear(const struct option_row *row, void *field, const char *value,
		 struct failure *failure); /* bool: true */
int option_text(const struct option_row *row, void *field, const char *value,
		struct failure *failure); /* const char *: the value itself */
int option_filled(const struct option_row *row, void *field, const char *value,
		struct failure *failure); /* the same: not "" */
int option_expression(const struct option_row *row, void *field, const char *value,
		      struct failure *failure); /* the same: a regular expression */
int option_unsigned(const struct option_row *row, void *field, const char *value,
		    struct failure *failure); /* unsigned int */
int option_size(const struct option_row *row, void *field, const char *value,
		struct failure *failure); /* size_t */
int option_decimal(const struct option_row *row, void *field, const char *value,
		   struct failure *failure); /* double */
int option_percent(const struct option_row *row, void *field, const char *value,
		   struct failure *failure); /* the same; it may end in % */
int option_ignore(const struct option_row *row, void *field, const char *value,
		  struct failure *failure); /* nothing: what other tools need and we don't */

int option_count(const struct option_row *row, void *field, const char *value,
		 struct failure *failure); /* int: how often it was given */

/* Rows that several commands have, filling in the field at @offset. */
// clang-format off
#define OPTION_HELP(offset)    {'h', "help", NULL, NULL, "this text", NULL, option_set, offset}
#define OPTION_VERBOSE(offset) {'v', "verbose", NULL, NULL, "say more", NULL, option_count, offset}
#define OPTION_CGROUP(offset)  {'G', "cgroup", NULL, "PATH", "a cgroup and all below it", NULL, \
				option_filled, offset, .wanted = "a cgroup"}
// clang-format on

/* Reports that @value is not @wanted; -EINVAL. */
int option_bad(const struct option_row *row, const char *value, const char *wanted,
	       struct failure *failure);

#define OPTION_NAME_SIZE 40
/* `-m, --min-block` */
const char *option_name(const struct option_row *row, char text[static OPTION_NAME_SIZE]);

/*
 * Handles all options of @argv[1…], those of @command (NULL: of recordings). *@ret_rest is where
 * the other arguments begin: at the first one of recordings; else options are found between the
 * others, which are moved after them. Returns 0, or 1 if that was all: --version, or --list-options
 * alone, which lists them for completions. Errors: those of the rows; -EINVAL for unknown options.
 * Not reentrant (getopt).
 */
int option_tables_parse(const struct option_table *tables, size_t n_tables, const char *command,
			int argc, char **argv, int *ret_rest, struct failure *failure);

void option_tables_print(const struct option_table *tables, size_t n_tables, FILE *stream);

#endif
