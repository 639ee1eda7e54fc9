/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * baseline: what is known of a kept baseline, the runs of one program at one commit.
 *
 * It is written beside the runs as one JSON object, a line for each fact, for people, for jq and
 * for baseline_read(). Keys that are not known are left alone, so that an older bpfflame reads what
 * a newer one wrote; @format grows only when what is there takes another meaning.
 */
#ifndef STORE_BASELINE_H
#define STORE_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/failure.h"
#include "base/json.h"
#include "core/profile.h"
#include "store/machine.h"

#define BASELINE_FORMAT	   1
#define BASELINE_KEY_SIZE  101 /* of names and commits, with their NUL */
#define BASELINE_TEXT_SIZE 256
#define BASELINE_NOTE_SIZE 1024
#define BASELINE_MAX_RUNS  1000

struct baseline_run {
	uint64_t bytes; /* of its file: one that was cut off is known by it */
	uint64_t samples, nanoseconds;
	uint64_t start_realtime_ns, duration_ns;
	char source[BASELINE_TEXT_SIZE]; /* the file that it was made of */
};

/* Texts are "", numbers 0 where nothing is known. */
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

/* Fine on a zeroed one. */
void baseline_done(struct baseline *baseline);

/* Samples, or nanoseconds, of all runs. */
uint64_t baseline_total(const struct baseline *baseline);

/* Copies as much as fits, and no part of a character. */
#define baseline_copy(to, from) baseline_copy_text((to), sizeof(to), (from))
void baseline_copy_text(char *to, size_t size, const char *from);

/* The keys of the object, which is open; @on_lines: each on a line of its own. */
void baseline_put(const struct baseline *baseline, struct json *json, bool on_lines);
void baseline_write(const struct baseline *baseline, FILE *stream);

/*
 * Reads what baseline_write() wrote; the name and the commit stay as they are. After a failure the
 * reason is in @damage, and *@baseline has what could be read.
 * Errors: -EINVAL, -ENOMEM.
 */
int baseline_read(const char *text, struct baseline *baseline);

#endif
