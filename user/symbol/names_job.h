/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names_job: has a reader (base/reader.h) find the names of addresses in a file.
 *
 * The reader can open nothing. It asks for the debug files that it wants, by path or build-id; what
 * it gets is what debug_opener opens for that file, and only what is ELF: a reader that was taken
 * over by what it read learns nothing else of this machine.
 */
#ifndef SYMBOL_NAMES_JOB_H
#define SYMBOL_NAMES_JOB_H

#include "base/reader.h"
#include "symbol/file_names.h"

/*
 * As file_names_find() and jit_names_find(), done by @reader. @wait and @context as in struct
 * reader_call. Errors: of reader_call(), too.
 */
int names_job_file(struct reader *reader, const struct names_question *question,
		   const struct debug_place *place, bool (*wait)(void *context, uint64_t quiet_ns),
		   void *context, struct strings *strings, struct file_names *ret);
int names_job_jit(struct reader *reader, const struct names_question *question, int perf_map,
		  int jitdump, bool (*wait)(void *context, uint64_t quiet_ns), void *context,
		  struct strings *strings, struct file_names *ret);

/* What struct reader_debug wants: .debug_frame in files of their own. */
extern const struct reader_debug names_job_debug;

/* The reader's side of that: as in table_job_run(). */
int names_job_open_frames(const struct reader_request *request, struct elf_file *elf);
/* … of READER_FILE_NAMES and READER_JIT_NAMES. */
int names_job_run_file(struct reader_request *request);
int names_job_run_jit(struct reader_request *request);

#endif
