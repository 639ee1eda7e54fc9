/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xml_scan: checks that a text is well-formed XML 1.0, as far as our emitters could get it wrong:
 * nesting, attributes, entities, characters. Knows neither doctypes nor namespaces.
 */
#ifndef TESTS_XML_SCAN_H
#define TESTS_XML_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Checks for strict UTF-8 of characters that XML allows. Returns NULL, or the place of the fault.
 */
static inline const char *xml_bad_character(const char *text)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

	while (*text) {
		unsigned char first = *text;
		size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
		uint32_t code = n == 1 ? first : first & (0xff >> (n + 1));

		if ((first & 0xc0) == 0x80 || first > 0xf4)
			return text;
		for (size_t i = 1; i < n; i++) {
			if ((text[i] & 0xc0) != 0x80)
				return text;
			code = code << 6 | (text[i] & 0x3f);
		}
		if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
		    code == 0xfffe || code == 0xffff || code == 0x7f ||
		    (code < 0x20 && code != '\n' && code != '\t'))
			return text;
		text += n;
	}
	return NULL;
}

static inline bool xml_good_entity(const char *at)
{
	static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#10;"};

	for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
		if (strncmp(at, entities[i], strlen(entities[i])) == 0)
			return true;
	return false;
}

/* Returns the end of the tag at @at, with attributes checked; NULL if it is broken. */
static inline const char *xml_end_of_tag(const char *at)
{
	at += strcspn(at, " >/\n");
	for (;;) {
		at += strspn(at, " \n");
		if (*at == '>' || strncmp(at, "/>", 2) == 0)
			return strchr(at, '>');
		at += strcspn(at, "=<>\"");
		if (strncmp(at, "=\"", 2) != 0)
			return NULL;
		for (at += 2; *at != '"'; at++)
			if (!*at || *at == '<' || (*at == '&' && !xml_good_entity(at)))
				return NULL;
		at++;
	}
}

struct xml_scan {
	char open[64][32];
	size_t depth;
};

/* Skips the tag or section at @at, which is a `<`; NULL if it is broken. */
static inline const char *xml_over_tag(struct xml_scan *scan, const char *at)
{
	size_t n = strcspn(at + 1, " >/\n");
	const char *end;

	if (strncmp(at, "<?xml ", 6) == 0)
		return strstr(at, "?>") + 2;
	if (strncmp(at, "<![CDATA[", 9) == 0) {
		end = strstr(at, "]]>");
		return end ? end + 3 : NULL;
	}
	if (at[1] == '/') {
		n = strcspn(at + 2, ">");
		if (!scan->depth-- || strlen(scan->open[scan->depth]) != n ||
		    strncmp(scan->open[scan->depth], at + 2, n) != 0)
			return NULL;
		return at + 2 + n + 1;
	}
	end = xml_end_of_tag(at + 1);
	if (!end || !n || n > 31 || scan->depth == 64)
		return NULL;
	if (end[-1] != '/') {
		memcpy(scan->open[scan->depth], at + 1, n);
		scan->open[scan->depth++][n] = '\0';
	}
	return end + 1;
}

/* Returns NULL if @text is well-formed, else the place of the fault. */
static inline const char *xml_scan(const char *text)
{
	struct xml_scan scan = {.depth = 0};
	const char *bad = xml_bad_character(text), *at = text;

	if (bad)
		return bad;
	while (*at) {
		const char *next = at + 1;

		if (*at == '<')
			next = xml_over_tag(&scan, at);
		else if ((*at == '&' && !xml_good_entity(at)) || strncmp(at, "]]>", 3) == 0)
			next = NULL;
		if (!next)
			return at;
		at = next;
	}
	return scan.depth ? at : NULL;
}

#endif
