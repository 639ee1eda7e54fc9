/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * failure: what went wrong and how to fix it, passed up to the one place that reports it to the
 * user.
 */
#ifndef BASE_FAILURE_H
#define BASE_FAILURE_H

struct failure {
	char what[384]; /* one line, no newline at its end */
	char fix[256];	/* one line, or "" */
};

/* Both fill @failure and return @error, so that `return failure_set(…)` reads well. */
int failure_set(struct failure *failure, int error, const char *what_format, ...)
	__attribute__((format(printf, 3, 4)));
int failure_fix(struct failure *failure, int error, const char *fix_format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
