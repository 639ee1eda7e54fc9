/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * words: sentences on their way to one of several sinks, each of which escapes them in its way.
 * What others have named is apart from our own words: a name may be more than it looks like.
 */
#ifndef REPORT_WORDS_H
#define REPORT_WORDS_H

#include <stdio.h>

struct words {
	void *sink;
	void (*say)(void *sink, const char *text); /* ours, with figures */
	void (*name)(void *sink, const char *name);
	void (*separate)(void *sink); /* a sentence from the next */
};

/* Text, and what was named in it, as a terminal or a log shows it: a line per sentence. */
struct words words_terminal(FILE *stream);

/* As printf(). Nothing is said if there is no memory. */
void words_say(const struct words *words, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void words_name(const struct words *words, const char *name);
void words_separate(const struct words *words);

#endif
