/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/process_stat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"

/* Numbers of fields. */
enum {
	FIELD_STATE = 3,
	FIELD_PARENT = 4,
	FIELD_UTIME = 14,
	FIELD_STIME = 15,
	FIELD_THREADS = 20,
	FIELD_START = 22,
};

/* `PID (COMM) S …`: a name may hold parentheses, too. */
bool process_stat_parse(const char *text, struct process_stat *ret)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')'), *at = close;
	uint64_t values[FIELD_START + 1] = {}, tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);

	if (!open || !close || close < open || close[1] != ' ')
		return false;
	for (int field = FIELD_STATE; field <= FIELD_START; field++) {
		at = strchr(at + 1, ' ');
		if (!at)
			return false;
		values[field] = strtoull(at + 1, NULL, 10);
	}
	*ret = (struct process_stat){
		.pid = strtoul(text, NULL, 10),
		.parent = values[FIELD_PARENT],
		.state = close[2],
		.n_threads = values[FIELD_THREADS],
		.cpu_ns = (values[FIELD_UTIME] + values[FIELD_STIME]) * tick_ns,
		.start_ns = values[FIELD_START] * tick_ns,
	};
	snprintf(ret->comm, sizeof ret->comm, "%.*s", (int)(close - open - 1), open + 1);
	return true;
}

int process_stat_read(uint32_t pid, struct process_stat *ret)
{
	char path[64], text[1024];
	int r;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
	r = read_text_file(path, text, sizeof text);
	if (r < 0)
		return r;
	return process_stat_parse(text, ret) ? 0 : -EBADMSG;
}

uint64_t own_run_delay_ns(void)
{
	uint64_t delay;
	char text[128];

	/* Of the time on a CPU, the time in a run queue, and the turns. */
	return read_text_file("/proc/thread-self/schedstat", text, sizeof text) >= 0 &&
			       sscanf(text, "%*u %" SCNu64, &delay) == 1
		       ? delay
		       : 0;
}

bool process_is_runnable(uint32_t pid)
{
	struct process_stat stat;

	return pid && process_stat_read(pid, &stat) == 0 && stat.state == 'R';
}
