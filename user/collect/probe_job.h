/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe_job: has a reader (base/reader.h) find the places of a probe in a file. The file may be
 * made to take over its reader: an answer counts only for that file.
 */
#ifndef COLLECT_PROBE_JOB_H
#define COLLECT_PROBE_JOB_H

#include "base/reader.h"
#include "collect/elf_functions.h"

/*
 * Where function @name, `0xADDRESS` or a USDT probe of @provider (NULL: any) is in file @fd.
 * @reader does the work; NULL: we do. Errors: -ENOENT, with the nearest names; -ENOTSUP, -E2BIG,
 * -ENOEXEC, see elf_functions.h; read errors; those of reader_call().
 */
int probe_job_functions(struct reader *reader, int fd, const char *name, struct event_places *ret,
			struct nearest *nearest);
int probe_job_usdt(struct reader *reader, int fd, const char *provider, const char *name,
		   struct event_places *ret, struct nearest *nearest);

/* All USDT probes of the file, malloc'ed. Errors: as above; -E2BIG too many. */
int probe_job_list(struct reader *reader, int fd, struct usdt_probe **ret, size_t *ret_n);

/* The reader's side of READER_PROBES. */
int probe_job_run(struct reader_request *request);

#endif
