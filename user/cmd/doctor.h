/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor: what works here, what does not, and how to fix it. */
#ifndef CMD_DOCTOR_H
#define CMD_DOCTOR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

enum finding_status {
	FINDING_OK,
	FINDING_WARN, /* recordings work, but lack something */
	FINDING_NO,   /* does not work */
};

struct finding {
	enum finding_status status;
	char what[64];	 /* `kernel`, `off-CPU`, a file's name */
	char text[512];	 /* what was found */
	char fix[320];	 /* what changes it; or "" */
};

struct findings {
	struct finding *items;
	size_t n, capacity;
};

/* Adds a finding; the text is a format. Returns it, for adding a fix, or NULL: no memory. */
struct finding *findings_add(struct findings *findings, enum finding_status status,
			     const char *what, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Examines the files that process @pid runs: whether their functions have names and can be unwound.
 * Errors: -ESRCH, -EACCES, -ENOMEM.
 */
int doctor_process(uint32_t pid, struct findings *findings, struct failure *failure);

#endif
