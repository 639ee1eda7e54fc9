/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/system.h"
#include "base/text.h"

#define QUIET_NS   (60 * NSEC_PER_SEC)
#define MAX_FAULTS 64
#define LINE_SIZE  1024

/* Of one process. */
static struct fault {
	const char *format;
	uint64_t said_at; /* monotonic ns */
	unsigned int n;	  /* since then */
} faults[MAX_FAULTS];
static size_t n_faults;

/* Where the fault is counted; NULL: there are too many to count. */
static struct fault *find_fault(const char *format)
{
	for (size_t i = 0; i < n_faults; i++)
		if (faults[i].format == format)
			return &faults[i];
	if (n_faults == MAX_FAULTS)
		return NULL;
	faults[n_faults] = (struct fault){.format = format};
	return &faults[n_faults++];
}

void daemon_log(enum log_level level, const char *format, ...)
{
	struct fault *fault = level == LOG_LEVEL_INFO ? NULL : find_fault(format);
	uint64_t now = monotonic_ns();
	unsigned int more = 0;
	char line[LINE_SIZE];
	va_list arguments;

	if (fault && fault->said_at && now - fault->said_at < QUIET_NS) {
		fault->n++;
		return;
	}
	if (fault) {
		more = fault->n;
		*fault = (struct fault){format, now, 0};
	}
	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments); /* escaped below */
	va_end(arguments);
	if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>", level);
	if (more)
		text_print(stderr, "bpfflame: %s (and %u times since it was said)\n", line, more);
	else
		text_print(stderr, "bpfflame: %s\n", line);
}
