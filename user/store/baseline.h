/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * baseline: the facts of a saved baseline, the runs of one program at one commit.
 *
 * They are written next to the runs as one JSON object, a line per fact, for people, for jq and for
 * baseline_read(). Readers ignore unknown keys, so an older bpfflame reads what a newer one wrote.
 * @format grows only when an existing key changes its meaning.
 */
#ifndef STORE_BASELINE_H
#define STORE_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/failure.h"
#include "base/json.h"
#include "base/utf8.h"
#include "core/profile.h"
#include "store/machine.h"

#define BASELINE_FORMAT	   1
#define BASELINE_KEY_SIZE  101 /* of names and commits, with their NUL */
#define BASELINE_TEXT_SIZE 256
#define BASELINE_NOTE_SIZE 1024
#define BASELINE_MAX_RUNS  1000

struct baseline_run {
	uint64_t bytes; /* of its file: detects one that was cut off */
	uint64_t samples, nanoseconds;
	uint64_t start_realtime_ns, duration_ns;
	char source[BASELINE_TEXT_SIZE]; /* the file it was made from */
};

/* Unknown texts are "", unknown numbers 0. */
struct baseline {
	char name[BASELINE_KEY_SIZE], commit[BASELINE_KEY_SIZE];
	char branch[BASELINE_TEXT_SIZE], note[BASELINE_NOTE_SIZE];
	char version[32];  /* of the bpfflame that saved it */
	uint64_t saved_ns; /* since 1970 */
	struct machine machine;
	enum profile_mode mode;
	char event[BASELINE_TEXT_SIZE];
	double frequency;	   /* of samples, Hz */
	struct baseline_run *runs; /* owned */
	size_t n_runs;
	char damage[BASELINE_TEXT_SIZE]; /* why it can't be used; "": it can */
};

/* Fine on a zeroed struct. */
void baseline_done(struct baseline *baseline);

/* The samples, or nanoseconds, of all runs. */
uint64_t baseline_total(const struct baseline *baseline);

/* Copies as much as fits, without cutting a character. */
#define baseline_copy(to, from) utf8_copy((to), sizeof(to), (from))

/* Writes the keys of the open object. @on_lines: each on a line of its own. */
void baseline_put(const struct baseline *baseline, struct json *json, bool on_lines);
void baseline_write(const struct baseline *baseline, FILE *stream);

/*
 * Reads what baseline_write() wrote; leaves the name and the commit alone. After a failure, @damage
 * gives the reason, and *@baseline holds what could be read. Errors: -EINVAL, -ENOMEM.
 */
int baseline_read(const char *text, struct baseline *baseline);

#endif
