/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks: names on a stack that are neither code nor commands: `[idle]`, `[truncated]`,
 * `[interrupt]`, `--`, the reasons (`[futex]`); and the suffixes of frames (`_[k]`).
 *
 * A command or function may have such a name. It is then written with round brackets, `(idle)`,
 * `(--)`, `f_(k)`, so that readers can't mistake it. So is the `#` of a name that is `#` alone or
 * begins with `# `, which would make a comment of a folded line. Writing it again changes nothing.
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

/* The text of marks that have only one. */
const char *mark_text(enum mark mark);

/* Classifies the @n bytes at @text. Sets *@ret_reason, which may be NULL, for MARK_REASON only. */
enum mark mark_find(const char *text, size_t n, enum off_reason *ret_reason);

/* The kind given by the suffix, which has MARK_SUFFIX bytes; FRAME_USER: no suffix. */
#define MARK_SUFFIX 4
enum frame_kind mark_suffix(const char *text, size_t n);

/* Whether @name is a thread's, `comm-PID/TID`; *@ret_comm is the length of comm. */
bool mark_is_thread(const char *name, size_t *ret_comm);

/*
 * Add a name in a form that can't be a mark. marks_add_command() is for a command that begins a
 * stack, where suffixes mean nothing; marks_add_function() for a waker, or a function without a
 * suffix. @name may be one of @strings. Errors: -ENOMEM, -E2BIG.
 */
int marks_add_command(struct strings *strings, const char *name, uint32_t *ret);
int marks_add_function(struct strings *strings, const char *name, uint32_t *ret);

#endif
