/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd: the commands of the user. */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdint.h>

#include "base/nearest.h"

/*
 * A command. Returns an exit code. @argv[0]: its name. @started_ns: the start of the program,
 * CLOCK_MONOTONIC.
 */
typedef int (*cmd_fn)(int argc, char **argv, uint64_t started_ns);

/* Returns NULL if there is none of that name. */
cmd_fn cmd_find(const char *name);
/* Offers the names of all commands. */
void cmd_offer(struct nearest *nearest);

/*
 * Runs a command. First gives up the file capabilities that a user's copy of this program has for
 * recording: these commands read and write the user's own files.
 */
int cmd_run(cmd_fn run, int argc, char **argv, uint64_t started_ns);

int cmd_record(int argc, char **argv, uint64_t started_ns);
int cmd_render(int argc, char **argv, uint64_t started_ns);
int cmd_report(int argc, char **argv, uint64_t started_ns);
int cmd_diff(int argc, char **argv, uint64_t started_ns);
int cmd_daemon(int argc, char **argv, uint64_t started_ns);
int cmd_query(int argc, char **argv, uint64_t started_ns);
int cmd_baseline(int argc, char **argv, uint64_t started_ns);
int cmd_doctor(int argc, char **argv, uint64_t started_ns);
int cmd_events(int argc, char **argv, uint64_t started_ns);
int cmd_help(int argc, char **argv, uint64_t started_ns);
/* Runs this program under the name READER_NAME. */
int cmd_reader(int argc, char **argv, uint64_t started_ns);
int cmd_version(int argc, char **argv, uint64_t started_ns);

#endif
