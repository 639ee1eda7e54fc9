/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd: what the user can call.
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdint.h>

#include "base/nearest.h"

/*
 * A command. Returns an exit code. @argv[0]: its name. @started_ns: when the program began,
 * CLOCK_MONOTONIC.
 */
typedef int (*cmd_fn)(int argc, char **argv, uint64_t started_ns);

/* NULL if there is none of that name. */
cmd_fn cmd_find(const char *name);
/* Considers the names of all commands. */
void cmd_offer(struct nearest *nearest);

/*
 * Runs a command that was found. What a user's copy of this program was given for recording, as
 * file capabilities, is given up first: these commands read and write the user's own files.
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
/* What this program is when it runs as READER_NAME. */
int cmd_reader(int argc, char **argv, uint64_t started_ns);
int cmd_version(int argc, char **argv, uint64_t started_ns);

#endif
