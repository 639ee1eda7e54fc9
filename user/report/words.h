/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * words: sentences for several sinks, each with its own escaping. Names from profiles stay separate
 * from our own words, since a name may look like anything.
 */
#ifndef REPORT_WORDS_H
#define REPORT_WORDS_H

#include <stdio.h>

struct words {
	void *sink;
	void (*say)(void *sink, const char *text); /* ours, with figures */
	void (*name)(void *sink, const char *name);
	void (*separate)(void *sink); /* ends a sentence */
};

/* For a terminal or a log: a line per sentence, names escaped. */
struct words words_terminal(FILE *stream);

/* Works like printf(). Writes nothing if there is no memory. */
void words_say(const struct words *words, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void words_name(const struct words *words, const char *name);
void words_separate(const struct words *words);

#endif
