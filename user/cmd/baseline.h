/* SPDX-License-Identifier: GPL-2.0-or-later */
/* baseline: saves profiles to compare with: save, list, show, compare, remove. */
#ifndef CMD_BASELINE_H
#define CMD_BASELINE_H

#include "cli/cli.h"
#include "cmd/cmd.h"
#include "cli/option_table.h"
#include "store/baselines.h"

struct baseline_options {
	const char *folder;
	const char *commit, *branch, *note;
	bool replace, json, quiet, help, same_machine, missing_ok;
	size_t keep; /* 0: all */
	char **arguments;
	size_t n_arguments;
	uint64_t started_ns;
};

/* Each takes the parsed options, and returns an exit code. */
int baseline_save(const struct baseline_options *options);
int baseline_list(const struct baseline_options *options);
int baseline_show(const struct baseline_options *options);
int baseline_compare(const struct baseline_options *options);
int baseline_remove(const struct baseline_options *options);

/*
 * Takes the options of `compare` out of @argv[1…], and leaves the others, which are diff's, as
 * @arguments. Errors: -EINVAL.
 */
int baseline_take_compare(int argc, char **argv, const struct option_table *tables, size_t n_tables,
			  struct baseline_options *options, struct failure *failure);

/*
 * Prints `bpfflame: …` on standard error. Terminals obey nothing that came with a profile or a
 * cache.
 */
void baseline_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A baseline on the command line: NAME[@WHICH]. */
struct baseline_choice {
	char name[BASELINE_KEY_SIZE];
	const char *which; /* NULL: not given */
};

/* Errors: -EINVAL. */
int baseline_parse_choice(const struct baseline_options *options, const char *text,
			  struct baseline_choice *ret, struct failure *failure);

/*
 * Finds it in the folder. *ret points into *ret_list; call baselines_list_done() in any case. Warns
 * about damaged ones that it might have been. Errors: those of baselines_list(), baselines_find();
 * for a missing one, with the existing names and how to save one.
 */
int baseline_choose(const struct baseline_options *options, const struct baseline_choice *choice,
		    struct baselines_list *ret_list, const struct baseline **ret,
		    struct failure *failure);

/*
 * Corrects @machine, on which this runs, by a recording: if that names another host or kernel ("":
 * unknown), only these are known. Returns whether it is from elsewhere.
 */
bool baseline_take_place(const char *host, const char *kernel, struct machine *machine);

/* `AMD EPYC, 2 CPUs, x86_64, Linux 6.1.0`: as far as known. */
#define BASELINE_MACHINE_SIZE 512
void baseline_machine_text(const struct machine *machine, char text[static BASELINE_MACHINE_SIZE]);

#endif
