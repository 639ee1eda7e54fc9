/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

int parse_decimal(const char *text, double *ret)
{
	char *end;
	double number;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return -EINVAL;
	number = strtod(text, &end);
	if (end == text || *end || !isfinite(number))
		return -EINVAL;
	*ret = number;
	return 0;
}

/* Leaves *@ns as it is for "". */
static int parse_time_unit(const char *name, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"ns", 1},
		{"us", 1000},
		{"ms", 1000000},
		{"s", NSEC_PER_SEC},
		{"m", 60 * NSEC_PER_SEC},
		{"min", 60 * NSEC_PER_SEC},
		{"h", 3600 * NSEC_PER_SEC},
		{"d", 24 * 3600 * NSEC_PER_SEC},
		{"w", 7 * 24 * 3600 * NSEC_PER_SEC},
		{"y", 365 * 24 * 3600 * NSEC_PER_SEC},
	};

	if (!*name)
		return 0;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(name, units[i].name) == 0) {
			*ns = units[i].ns;
			return 0;
		}
	}
	return -EINVAL;
}

int parse_time(const char *text, uint64_t unit_ns, uint64_t *ret_ns)
{
	size_t n = strspn(text, "0123456789.");
	char number[32];
	double value;

	if (n == 0 || n >= sizeof number)
		return -EINVAL;
	memcpy(number, text, n);
	number[n] = '\0';
	if (parse_decimal(number, &value) < 0 || parse_time_unit(text + n, &unit_ns) < 0 ||
	    value * unit_ns > 1e18)
		return -EINVAL;
	*ret_ns = value * unit_ns + 0.5;
	return 0;
}

int parse_unsigned(const char *text, uint64_t most, uint64_t *ret)
{
	char *end;
	uint64_t number;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (*end || errno || number > most)
		return -EINVAL;
	*ret = number;
	return 0;
}

int parse_ids(const char *text, uint32_t **ids, size_t *n_ids)
{
	for (;;) {
		size_t n = strcspn(text, ",");
		char number[16];
		uint64_t id;
		uint32_t *grown;

		if (n == 0 || n >= sizeof number)
			return -EINVAL;
		memcpy(number, text, n);
		number[n] = '\0';
		if (parse_unsigned(number, INT32_MAX, &id) < 0 || id == 0)
			return -EINVAL;
		grown = reallocarray(*ids, *n_ids + 1, sizeof **ids);
		if (!grown)
			return -ENOMEM;
		*ids = grown;
		(*ids)[(*n_ids)++] = id;
		if (!text[n])
			return 0;
		text += n + 1;
	}
}

int parse_bytes(const char *text, uint64_t *ret)
{
	static const char *const endings[] = {"iB", "B", ""};
	size_t digits = strspn(text, "0123456789");
	const char *ending = text + digits;
	char size[24];

	if (!digits || digits > 18 || (*ending && !strchr("KMGTB", *ending)))
		return -EINVAL;
	digits += *ending && *ending != 'B';
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		if (strcmp(text + digits, endings[i]) == 0) {
			snprintf(size, sizeof size, "%.*s", (int)digits, text);
			return parse_size(size, ret);
		}
	}
	return -EINVAL;
}

int parse_size(const char *text, uint64_t *ret)
{
	static const char suffixes[] = "KMGT";
	size_t digits = strspn(text, "0123456789");
	const char *suffix = text[digits] ? strchr(suffixes, toupper(text[digits])) : NULL;
	unsigned int shift = suffix ? 10 * (suffix - suffixes + 1) : 0;
	uint64_t number;

	if (!digits || digits > 18 || (text[digits] && (!suffix || text[digits + 1])))
		return -EINVAL;
	number = strtoull(text, NULL, 10);
	if (number > UINT64_MAX >> shift)
		return -EINVAL;
	*ret = number << shift;
	return 0;
}
