/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/cgroup_words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define ID_LENGTH 64

static size_t hex_length(const char *text)
{
	return strspn(text, "0123456789abcdef");
}

/* The id in one part of a path, of @n bytes: `docker-ID.scope`, `ID`, … Returns its length or 0. */
static size_t find_id(const char *part, size_t n, const char **ret)
{
	for (size_t i = 0; i + ID_LENGTH <= n; i++) {
		bool begins = i == 0 || part[i - 1] == '-';
		size_t length = begins ? hex_length(part + i) : 0;
		char after = part[i + ID_LENGTH];

		if (length == ID_LENGTH && (i + ID_LENGTH == n || after == '.')) {
			*ret = part + i;
			return ID_LENGTH;
		}
	}
	/* Of ECS: 32 digits and a number. */
	if (hex_length(part) == 32 && n > 33 && part[32] == '-' &&
	    strspn(part + 33, "0123456789") == n - 33) {
		*ret = part;
		return n;
	}
	return 0;
}

static void copy(char word[static CGROUP_WORD_SIZE], const char *from, size_t n)
{
	if (n >= CGROUP_WORD_SIZE)
		n = CGROUP_WORD_SIZE - 1;
	memcpy(word, from, n);
	word[n] = '\0';
}

void cgroup_container(const char *path, char word[static CGROUP_WORD_SIZE])
{
	word[0] = '\0';
	while (*path) {
		size_t n = strcspn(path, "/"), length;
		const char *id;

		length = find_id(path, n, &id);
		if (length)
			copy(word, id, length);
		path += n + (path[n] == '/');
	}
}

void cgroup_unit(const char *path, char word[static CGROUP_WORD_SIZE])
{
	word[0] = '\0';
	while (*path) {
		size_t n = strcspn(path, "/");
		const char *id;

		if ((text_has_suffix(path, n, ".service") || text_has_suffix(path, n, ".scope")) &&
		    !find_id(path, n, &id))
			copy(word, path, n);
		path += n + (path[n] == '/');
	}
}
