/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/reader.h"
#include "cmd/cmd.h"
#include "collect/probe_job.h"
#include "runtimes/runtime.h"
#include "symbol/names_job.h"
#include "unwind/table_job.h"

/* Nothing but a runtime is of interest. */
static size_t examine(struct elf_file *elf, void *to)
{
	struct runtime_facts facts;

	_Static_assert(sizeof facts <= TABLE_EXTRA_MAX, "facts fit");
	if (runtime_examine(elf, &facts) < 0 || !facts.runtime)
		return 0;
	memcpy(to, &facts, sizeof facts);
	return sizeof facts;
}

static int make_table(struct reader_request *request)
{
	static const struct table_helpers helpers = {names_job_open_frames, examine};

	return table_job_run(request, &helpers);
}

int cmd_reader(int argc, char **argv, uint64_t started_ns)
{
	static const reader_job_fn jobs[N_READER_JOBS] = {
		[READER_TABLE] = make_table,
		[READER_FILE_NAMES] = names_job_run_file,
		[READER_JIT_NAMES] = names_job_run_jit,
		[READER_PROBES] = probe_job_run,
	};

	return reader_run(jobs);
}
