/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "base/table.h"
#include "base/text.h"

#define QUIET_NS   (60 * NSEC_PER_SEC)
#define MAX_FAULTS 64
#define LINE_SIZE  1024

/* Of one process. */
static struct fault {
	uint64_t hash;	  /* of the line */
	uint64_t said_at; /* monotonic ns; 0: none */
	unsigned int n;	  /* since then */
} faults[MAX_FAULTS];

/* Where the fault is counted: a new one takes the place of the one that was said longest ago. */
static struct fault *find_fault(uint64_t hash)
{
	struct fault *oldest = &faults[0];

	for (size_t i = 0; i < MAX_FAULTS; i++) {
		if (faults[i].said_at && faults[i].hash == hash)
			return &faults[i];
		if (faults[i].said_at < oldest->said_at)
			oldest = &faults[i];
	}
	*oldest = (struct fault){.hash = hash};
	return oldest;
}

void daemon_log(enum log_level level, const char *format, ...)
{
	uint64_t now = monotonic_ns();
	struct fault *fault = NULL;
	unsigned int more = 0;
	char line[LINE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments); /* escaped below */
	va_end(arguments);
	if (level != LOG_LEVEL_INFO)
		fault = find_fault(hash_bytes(line, strlen(line)));
	if (fault && fault->said_at && now - fault->said_at < QUIET_NS) {
		fault->n++;
		return;
	}
	if (fault) {
		more = fault->n;
		fault->said_at = now;
		fault->n = 0;
	}
	if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>", level);
	if (more)
		text_print(stderr, "bpfflame: %s (and %u times since it was said)\n", line, more);
	else
		text_print(stderr, "bpfflame: %s\n", line);
}
