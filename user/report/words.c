/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/words.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/text.h"

#define NAME_LIMIT 200 /* code points */

static void say_to_terminal(void *sink, const char *text)
{
	text_put_line(sink, text);
}

/* Names of any length are cut. */
static void name_to_terminal(void *sink, const char *name)
{
	for (int n = 0; n < NAME_LIMIT; n++) {
		uint32_t code = text_next(&name);

		if (!code)
			return;
		text_put(sink, code);
	}
	text_put_line(sink, "…");
}

static void separate_lines(void *sink)
{
	fputc('\n', sink);
}

struct words words_terminal(FILE *stream)
{
	return (struct words){stream, say_to_terminal, name_to_terminal, separate_lines};
}

void words_say(const struct words *words, const char *format, ...)
{
	va_list arguments;
	char *text;
	int n;

	va_start(arguments, format);
	n = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (n < 0)
		return;
	words->say(words->sink, text);
	free(text);
}

void words_name(const struct words *words, const char *name)
{
	words->name(words->sink, name);
}

void words_separate(const struct words *words)
{
	words->separate(words->sink);
}
