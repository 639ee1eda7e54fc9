/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/option_table.h"

#include <errno.h>
#include <getopt.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/parse.h"

#define FIRST_LONG   256 /* getopt's values below it are letters */
#define COLUMNS	     78
#define LEFT_COLUMNS 24

const char *option_name(const struct option_row *row, char text[static OPTION_NAME_SIZE])
{
	if (row->letter)
		snprintf(text, OPTION_NAME_SIZE, "-%c, --%s", row->letter, row->name);
	else
		snprintf(text, OPTION_NAME_SIZE, "--%s", row->name);
	return text;
}

int option_bad(const struct option_row *row, const char *value, const char *wanted,
	       struct failure *failure)
{
	char name[OPTION_NAME_SIZE];

	return failure_set(failure, -EINVAL, "%s: '%s' is not %s", option_name(row, name), value,
			   wanted);
}

int option_set(const struct option_row *row, void *field, const char *value,
	       struct failure *failure)
{
	*(bool *)field = true;
	return 0;
}

int option_clear(const struct option_row *row, void *field, const char *value,
		 struct failure *failure)
{
	*(bool *)field = false;
	return 0;
}

int option_text(const struct option_row *row, void *field, const char *value,
		struct failure *failure)
{
	*(const char **)field = value;
	return 0;
}

int option_filled(const struct option_row *row, void *field, const char *value,
		  struct failure *failure)
{
	return *value ? option_text(row, field, value, failure)
		      : option_bad(row, value, row->wanted, failure);
}

int option_expression(const struct option_row *row, void *field, const char *value,
		      struct failure *failure)
{
	char reason[128], name[OPTION_NAME_SIZE];
	regex_t regex;
	int r = regcomp(&regex, value, REG_EXTENDED | REG_NOSUB);

	if (r != 0) {
		regerror(r, &regex, reason, sizeof reason);
		return failure_set(failure, -EINVAL, "%s: '%s' is no regular expression: %s",
				   option_name(row, name), value, reason);
	}
	regfree(&regex);
	return option_text(row, field, value, failure);
}

int option_ignore(const struct option_row *row, void *field, const char *value,
		  struct failure *failure)
{
	return 0;
}

int option_count(const struct option_row *row, void *field, const char *value,
		 struct failure *failure)
{
	++*(int *)field;
	return 0;
}

int option_size(const struct option_row *row, void *field, const char *value,
		struct failure *failure)
{
	uint64_t number;

	if (parse_unsigned(value, row->most > 0 ? (uint64_t)row->most : SIZE_MAX, &number) < 0 ||
	    number < row->least)
		return option_bad(row, value, row->wanted, failure);
	*(size_t *)field = number;
	return 0;
}

int option_unsigned(const struct option_row *row, void *field, const char *value,
		    struct failure *failure)
{
	uint64_t number;

	if (parse_unsigned(value, row->most > 0 ? (uint64_t)row->most : UINT32_MAX, &number) < 0 ||
	    number < row->least)
		return option_bad(row, value, row->wanted, failure);
	*(unsigned int *)field = number;
	return 0;
}

int option_decimal(const struct option_row *row, void *field, const char *value,
		   struct failure *failure)
{
	double number;

	if (parse_decimal(value, &number) < 0 || number < row->least ||
	    (row->most > 0 && number > row->most))
		return option_bad(row, value, row->wanted, failure);
	*(double *)field = number;
	return 0;
}

int option_percent(const struct option_row *row, void *field, const char *value,
		   struct failure *failure)
{
	size_t n = strlen(value);
	char number[32];
	int r;

	n -= n && value[n - 1] == '%';
	if (n >= sizeof number)
		return option_bad(row, value, row->wanted, failure);
	snprintf(number, sizeof number, "%.*s", (int)n, value);
	r = option_decimal(row, field, number, failure);
	return r < 0 ? option_bad(row, value, row->wanted, failure) : 0;
}

/* Row @i of all tables together; NULL past the last. */
static const struct option_row *row_at(const struct option_table *tables, size_t n_tables, size_t i,
				       const struct option_table **ret_table)
{
	for (size_t t = 0; t < n_tables; t++) {
		if (i < tables[t].n_rows) {
			*ret_table = &tables[t];
			return &tables[t].rows[i];
		}
		i -= tables[t].n_rows;
	}
	return NULL;
}

static size_t count_rows(const struct option_table *tables, size_t n_tables)
{
	size_t n = 0;

	for (size_t t = 0; t < n_tables; t++)
		n += tables[t].n_rows;
	return n;
}

static void make_getopt_tables(const struct option_table *tables, size_t n_tables,
			       struct option *longs, char *shorts)
{
	const struct option_table *table;
	const struct option_row *row;

	for (size_t i = 0; (row = row_at(tables, n_tables, i, &table)); i++) {
		int has_argument = row->argument ? required_argument : no_argument;

		*longs++ = (struct option){row->name, has_argument, NULL, FIRST_LONG + i};
		if (row->alias)
			*longs++ = (struct option){row->alias, has_argument, NULL, FIRST_LONG + i};
		if (row->letter) {
			*shorts++ = row->letter;
			if (row->argument)
				*shorts++ = ':';
		}
	}
	*longs = (struct option){};
	*shorts = '\0';
}

static int point_to_help(const char *command, struct failure *failure)
{
	return failure_fix(failure, -EINVAL, "see bpfflame %s%s--help", command ? command : "",
			   command ? " " : "");
}

/* Suggests what an unknown long option was meant to be. */
static int suggest_option(const struct option_table *tables, size_t n_tables, const char *command,
			  const char *name, struct failure *failure)
{
	struct nearest nearest = {.wanted = name};
	const struct option_table *table;
	const struct option_row *row;
	char text[NEAREST_TEXT_SIZE];

	for (size_t i = 0; (row = row_at(tables, n_tables, i, &table)); i++) {
		char option[NEAREST_SIZE];

		snprintf(option, sizeof option, "--%s", row->name);
		nearest_offer(&nearest, option);
	}
	return *nearest_text(&nearest, text) ? failure_fix(failure, -EINVAL, "%s", text)
					     : point_to_help(command, failure);
}

static int refuse(const struct option_table *tables, size_t n_tables, const char *command,
		  int value, const char *text, struct failure *failure)
{
	char name[NEAREST_SIZE];

	snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
	if (value == ':')
		failure_set(failure, -EINVAL, "a value is missing after %s", text);
	else if (optopt >= FIRST_LONG)
		failure_set(failure, -EINVAL, "%s takes no value", name);
	else if (optopt > 0 && text[1] != '-')
		failure_set(failure, -EINVAL, "unknown option -%c", optopt);
	else {
		failure_set(failure, -EINVAL, "no option %s", name);
		return suggest_option(tables, n_tables, command, name, failure);
	}
	return point_to_help(command, failure);
}

static int take(const struct option_table *tables, size_t n_tables, int value,
		struct failure *failure)
{
	const struct option_table *table = NULL;
	const struct option_row *row = NULL;

	if (value >= FIRST_LONG) {
		row = row_at(tables, n_tables, value - FIRST_LONG, &table);
	} else {
		for (size_t i = 0; (row = row_at(tables, n_tables, i, &table)); i++)
			if (row->letter == value)
				break;
	}
	return row->take(row, (char *)table->target + row->offset, optarg, failure);
}

/*
 * For shell completions: `--name` or `--name=`, a tab, its help. Options without help are left out.
 */
static void list_options(const struct option_table *tables, size_t n_tables, FILE *stream)
{
	const struct option_table *table;
	const struct option_row *row;

	for (size_t i = 0; (row = row_at(tables, n_tables, i, &table)); i++)
		if (row->help)
			fprintf(stream, "--%s%s\t%s\n", row->name, row->argument ? "=" : "",
				row->help /* ours */);
}

static int print_version(void)
{
	puts("bpfflame " BPFFLAME_VERSION);
	return 1;
}

int option_tables_parse(const struct option_table *tables, size_t n_tables, const char *command,
			int argc, char **argv, int *ret_rest, struct failure *failure)
{
	size_t n = count_rows(tables, n_tables);
	_cleanup_free_ struct option *longs = calloc(2 * n + 1, sizeof *longs);
	_cleanup_free_ char *shorts = calloc(2 * n + 3, 1);
	int value, r;

	if (argc == 2 && strcmp(argv[1], "--list-options") == 0) {
		list_options(tables, n_tables, stdout);
		return 1;
	}
	if (!longs || !shorts)
		return -ENOMEM;
	/* `:` reports a missing value separately */
	strcpy(shorts, command ? ":" : "+:");
	make_getopt_tables(tables, n_tables, longs, shorts + strlen(shorts));
	opterr = 0;
	optind = 0; /* forgets earlier parsing */
	while ((value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const char *text = argv[optind - 1];

		if (value == '?' && strcmp(text, "--version") == 0)
			return print_version();
		if (value == '?' || value == ':')
			return refuse(tables, n_tables, command, value, text, failure);
		r = take(tables, n_tables, value, failure);
		if (r != 0)
			return r;
	}
	*ret_rest = optind;
	return 0;
}

/* Prints `--title TEXT  --width PIXELS …`: one more of a list. */
static void print_listed(FILE *stream, const struct option_row *row, int *column)
{
	const char *argument = row->argument ? row->argument : "";
	int width = strlen(row->name) + strlen(argument) + 5;

	if (*column + width > COLUMNS) {
		*column = 0;
		fputc('\n', stream);
	}
	*column += width - !*argument;
	text_print(stream, "  --%s%s%s", row->name, *argument ? " " : "", argument);
}

static void print_row(FILE *stream, const struct option_row *row)
{
	char left[64], letter[8] = "    ";

	if (row->letter)
		snprintf(letter, sizeof letter, "-%c, ", row->letter);
	snprintf(left, sizeof left, "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
		 row->argument ? row->argument : "");
	text_print(stream, "  %-*s %s\n", LEFT_COLUMNS, left, row->help);
}

void option_tables_print(const struct option_table *tables, size_t n_tables, FILE *stream)
{
	const struct option_table *table;
	const struct option_row *row;
	int column = 0; /* above 0: within a list */

	for (size_t i = 0; (row = row_at(tables, n_tables, i, &table)); i++) {
		bool is_listed = row->help && !row->help[0];

		if (!row->help && !row->group)
			continue;
		if (column && (!is_listed || row->group)) {
			fputc('\n', stream);
			column = 0;
		}
		if (row->group)
			text_print(stream, "%s:\n", row->group);
		if (is_listed)
			print_listed(stream, row, &column);
		else if (row->help)
			print_row(stream, row);
	}
	if (column)
		fputc('\n', stream);
}
