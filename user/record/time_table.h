/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * time_table: where the time of threads went: running, waiting for a CPU, and waiting by cause.
 */
#ifndef RECORD_TIME_TABLE_H
#define RECORD_TIME_TABLE_H

#include <stdio.h>

#include "base/json.h"
#include "core/profile.h"

/* Rows are the reasons to wait; running has the places of the two that are none. */
#define TIME_RUNNING_USER   REASON_NONE
#define TIME_RUNNING_KERNEL REASON_ONCPU

struct time_table {
	uint64_t ns[N_OFF_REASONS];
	uint64_t idle_ns[N_OFF_REASONS]; /* part of it: waiting for work */
};

/* Of a symbolized profile with off-CPU time. Code runs in the kernel if its stack does. */
void time_table_make(const struct profile *profile, struct time_table *ret);

uint64_t time_table_running_ns(const struct time_table *table);
uint64_t time_table_waiting_ns(const struct time_table *table);
uint64_t time_table_idle_ns(const struct time_table *table);

/*
 * Prints the rows above 0, largest first, with their shares and idle parts; @no_idle: pictures
 * leave those out.
 */
void time_table_print(const struct time_table *table, bool no_idle, FILE *stream);
/* `"time_seconds": {…}, "idle_seconds": …`: all rows; those of running only if @has_running. */
void time_table_json(const struct time_table *table, bool has_running, struct json *json);

/* `1234.568 s`, `12.346 ms`, `1.235 us`; `2 ms` if it is that to the nanosecond. */
#define TIME_TEXT_SIZE 32
const char *time_text(char text[static TIME_TEXT_SIZE], uint64_t nanoseconds);

#endif
