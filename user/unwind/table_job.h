/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table_job: has a reader (base/reader.h) make the unwind table of a file. */
#ifndef UNWIND_TABLE_JOB_H
#define UNWIND_TABLE_JOB_H

#include "base/reader.h"
#include "unwind/table.h"

#define TABLE_EXTRA_MAX 512 /* bytes */

/* The reader's findings about a file. */
struct table_result {
	struct unwind_table table; /* if @error is 0 */
	int error;		   /* as of unwind_table_build() */
	bool is_elf, is_go;
	/* What else the reader's examine function has found, its business and the caller's. */
	uint32_t n_extra;
	uint8_t extra[TABLE_EXTRA_MAX];
};

struct table_question {
	int file;
	const char *path;		  /* the path it was mapped from … */
	int root;			  /* … by a process with this root folder; -1: ours */
	const struct reader_debug *debug; /* or NULL */
	bool (*wait)(void *context, uint64_t quiet_ns); /* as in struct reader_call */
	void *context;
};

/*
 * Makes the table of a file in @reader. The answer is checked: look-ups in it stay within it.
 * Errors: as of reader_call().
 */
int table_job_call(struct reader *reader, const struct table_question *question,
		   struct table_result *ret);

/*
 * What the reader does besides: @open_debug opens the file that .debug_frame was stripped into, as
 * in struct reader_debug; @examine writes up to TABLE_EXTRA_MAX bytes and returns how many.
 * Either may be NULL.
 */
struct table_helpers {
	int (*open_debug)(const struct reader_request *request, struct elf_file *elf);
	size_t (*examine)(struct elf_file *elf, void *to);
};

/* The reader's side: READER_TABLE. */
int table_job_run(struct reader_request *request, const struct table_helpers *helpers);

/* Whether look-ups in @part, from an untrusted source, stay within it. */
bool unwind_part_is_sound(const struct unwind_part *part);

#endif
