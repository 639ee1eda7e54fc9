/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/reader.h"
#include "cmd/cmd.h"
#include "collect/probe_job.h"
#include "symbol/names_job.h"
#include "unwind/table_job.h"

static int make_table(struct reader_request *request)
{
	return table_job_run(request, names_job_open_frames);
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
