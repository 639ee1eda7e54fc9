/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as a line of a list of sets. Must not crash, hang or grow. An accepted line
 * is written as a line that is accepted and written the same again; its files have names of sets,
 * and its page can be made.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/sets_page.h"
#include "store/set_lines.h"
#include "store/set_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static char *line_of(const struct sets *sets)
{
	char *text = NULL;
	size_t n;
	FILE *stream = open_memstream(&text, &n);

	set_line_write(sets, &sets->items[0], stream);
	if (fclose(stream) != 0)
		abort();
	return text;
}

static void check_page(const struct sets *sets)
{
	char *text = NULL, *data;
	size_t n;
	FILE *stream = open_memstream(&text, &n);

	if (render_sets_page(sets, stream) != 0 || fclose(stream) != 0)
		abort();
	data = strstr(text, "id=\"data\">");
	/* Whatever the names, the next `<` ends the data. */
	if (!data || strncmp(strchr(data, '<'), "</script>\n<script>\n", 19) != 0)
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct sets sets, again;
	char *line = malloc(n + 1), *first, *second;

	memcpy(line, bytes, n);
	line[n] = '\0';
	if (sets_init(&sets) < 0 || sets_init(&again) < 0)
		abort();
	if (set_line_read(line, &sets) == 0) {
		for (size_t i = 0; i < sets.n_files; i++)
			if (!set_name_is_ours(strings_get(&sets.strings, sets.files[i].name)))
				abort();
		first = line_of(&sets);
		if (set_line_read(first, &again) < 0)
			abort();
		second = line_of(&again);
		if (strcmp(first, second) != 0)
			abort();
		check_page(&sets);
		free(first);
		free(second);
	} else if (sets.n) {
		abort();
	}
	sets_done(&sets);
	sets_done(&again);
	free(line);
	return 0;
}
