/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks: the names that stand in a stack and are not of code or commands: `[idle]`, `[truncated]`,
 * `[interrupt]`, `--`, the reasons (`[futex]`); and the suffixes of frames (`_[k]`).
 *
 * A command or function may be called like one. It is written with round brackets then, `(idle)`,
 * `(--)`, `f_(k)`, so whatever reads a name knows what it is. Such a name stays as it is when it is
 * written again.
 */
#ifndef CORE_MARKS_H
#define CORE_MARKS_H

#include "core/profile.h"

enum mark {
	MARK_NONE,
	MARK_IDLE,
	MARK_TRUNCATED,
	MARK_INTERRUPT,
	MARK_SEPARATOR,
	MARK_REASON,
};

/* Those that have one text. */
const char *mark_text(enum mark mark);

/* What the @n bytes at @text are; sets *@ret_reason, which may be NULL, for MARK_REASON alone. */
enum mark mark_find(const char *text, size_t n, enum off_reason *ret_reason);

/* The kind whose suffix ends them, all such suffixes being of MARK_SUFFIX bytes; or FRAME_USER. */
#define MARK_SUFFIX 4
enum frame_kind mark_suffix(const char *text, size_t n);

/* Whether @name is that of a thread, `comm-PID/TID`; *@ret_comm is the length of comm. */
bool mark_is_thread(const char *name, size_t *ret_comm);

/*
 * Add a name so that it is no mark: that of a command that begins a stack, where a suffix means
 * nothing; and that of a waker, or of a function that gets no suffix. @name may be one of @strings.
 * Errors: -ENOMEM, -E2BIG.
 */
int marks_add_command(struct strings *strings, const char *name, uint32_t *ret);
int marks_add_function(struct strings *strings, const char *name, uint32_t *ret);

#endif
