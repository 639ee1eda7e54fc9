/* SPDX-License-Identifier: GPL-2.0-or-later */
/* matcher: which names match a regular expression; matches each name once. */
#ifndef CORE_MATCHER_H
#define CORE_MATCHER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct matcher {
	regex_t regex;
	bool is_set;
	uint8_t *known; /* by id: 0 until it was matched */
	size_t n_known, known_capacity;
};

/*
 * @expression: extended, see regcomp(); NULL matches nothing. Errors: -EINVAL if it is not valid.
 * matcher_done() is fine after a failure, and on a zeroed struct.
 */
int matcher_init(struct matcher *matcher, const char *expression);
void matcher_done(struct matcher *matcher);

/* Whether @text matches: 1, 0, or -ENOMEM. @id must always have the same @text. */
int matcher_test(struct matcher *matcher, uint32_t id, const char *text);

/*
 * Whether a stranger's expression may be compiled and matched: it has no back references, which
 * take exponential time, and is at most so long once what is repeated `{so,many}` times is written
 * out, as regcomp() does, which else runs out of memory, or of stack.
 */
#define MATCHER_MODEST_BYTES 1024
bool matcher_is_modest(const char *expression);

/* From now on, ids may have other texts. */
void matcher_forget(struct matcher *matcher);

#endif
