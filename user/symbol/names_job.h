/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names_job: has a reader (base/reader.h) find the names of addresses in a file.
 *
 * The reader can't open anything. It asks for debug files by path or build-id; it gets what
 * debug_opener opens for that file, and only ELF files: a compromised reader learns nothing else
 * about this machine.
 */
#ifndef SYMBOL_NAMES_JOB_H
#define SYMBOL_NAMES_JOB_H

#include "base/reader.h"
#include "symbol/file_names.h"

/*
 * Like file_names_find() and jit_names_find(), done by @reader. @wait and @context as in struct
 * reader_call. Errors: also those of reader_call().
 */
int names_job_file(struct reader *reader, const struct names_question *question,
		   const struct debug_place *place, bool (*wait)(void *context, uint64_t quiet_ns),
		   void *context, struct strings *strings, struct file_names *ret);
int names_job_jit(struct reader *reader, const struct names_question *question, int perf_map,
		  int jitdump, bool (*wait)(void *context, uint64_t quiet_ns), void *context,
		  struct strings *strings, struct file_names *ret);

/* The functions that struct reader_debug needs: for .debug_frame in separate files. */
extern const struct reader_debug names_job_debug;

/* The reader's side of that: as in table_job_run(). */
int names_job_open_frames(const struct reader_request *request, struct elf_file *elf);
/* The reader's side of READER_FILE_NAMES and READER_JIT_NAMES. */
int names_job_run_file(struct reader_request *request);
int names_job_run_jit(struct reader_request *request);

#endif
