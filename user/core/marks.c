/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/marks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_text(const char *text, size_t n, const char *other)
{
	return n == strlen(other) && memcmp(text, other, n) == 0;
}

const char *mark_text(enum mark mark)
{
	static const char *const texts[] = {[MARK_NONE] = "",
					    [MARK_IDLE] = "[idle]",
					    [MARK_TRUNCATED] = "[truncated]",
					    [MARK_INTERRUPT] = "[interrupt]",
					    [MARK_SEPARATOR] = "--",
					    [MARK_REASON] = ""};

	return texts[mark];
}

enum mark mark_find(const char *text, size_t n, enum off_reason *ret_reason)
{
	if (n < 2 || (text[n - 1] != ']' && text[n - 1] != '-'))
		return MARK_NONE;
	for (enum mark mark = MARK_IDLE; mark <= MARK_SEPARATOR; mark++)
		if (is_text(text, n, mark_text(mark)))
			return mark;
	for (enum off_reason reason = REASON_ONCPU; reason < N_OFF_REASONS; reason++)
		if (is_text(text, n, off_reason_text(reason))) {
			if (ret_reason)
				*ret_reason = reason;
			return MARK_REASON;
		}
	return MARK_NONE;
}

enum frame_kind mark_suffix(const char *text, size_t n)
{
	if (n > MARK_SUFFIX && text[n - 1] == ']')
		for (enum frame_kind kind = FRAME_KERNEL; kind < FRAME_NOTE; kind++)
			if (memcmp(text + n - MARK_SUFFIX, frame_kind_suffix(kind), MARK_SUFFIX) ==
			    0)
				return kind;
	return FRAME_USER;
}

/* Puts the mark at @from, `[…]` or `--`, in round brackets. */
static int add_round(struct strings *strings, const char *name, size_t from, uint32_t *ret)
{
	bool has_brackets = name[from] == '[';
	const char *inner = name + from + has_brackets;
	char *text;
	int n = asprintf(&text, "%.*s(%.*s)", (int)from, name, (int)(strlen(inner) - has_brackets),
			 inner);
	int r;

	if (n < 0)
		return -ENOMEM;
	r = strings_add_bytes(strings, text, n, ret);
	free(text);
	return r;
}

/* A folded line that begins so is a comment to whoever reads it. */
static int add_no_comment(struct strings *strings, const char *name, uint32_t *ret)
{
	char *text;
	int n = asprintf(&text, "(#)%s", name + 1), r;

	if (n < 0)
		return -ENOMEM;
	r = strings_add_bytes(strings, text, n, ret);
	free(text);
	return r;
}

int marks_add_command(struct strings *strings, const char *name, uint32_t *ret)
{
	if (name[0] == '#' && (name[1] == ' ' || !name[1]))
		return add_no_comment(strings, name, ret);
	return mark_find(name, strlen(name), NULL) != MARK_NONE ? add_round(strings, name, 0, ret)
								: strings_add(strings, name, ret);
}

int marks_add_function(struct strings *strings, const char *name, uint32_t *ret)
{
	size_t n = strlen(name);

	return mark_suffix(name, n) != FRAME_USER
		       ? add_round(strings, name, n - MARK_SUFFIX + 1, ret)
		       : marks_add_command(strings, name, ret);
}

bool mark_is_thread(const char *name, size_t *ret_comm)
{
	const char *at = strrchr(name, '/');
	size_t n;

	if (!at || !at[1] || strspn(at + 1, "0123456789") != strlen(at + 1))
		return false;
	for (n = at - name; n && name[n - 1] >= '0' && name[n - 1] <= '9'; n--)
		;
	if (n == 0 || name[n - 1] != '-' || name + n == at)
		return false;
	*ret_comm = n - 1;
	return true;
}
