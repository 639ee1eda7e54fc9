/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as one of the small text files: a gate's rules or passwd(5), as the first
 * byte says. Must not crash, hang or grow.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/account.h"
#include "compare/gate_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_rules(const uint8_t *bytes, size_t n)
{
	FILE *stream = fmemopen((void *)bytes, n, "r");
	struct gate_rules rules = {0};
	struct failure failure = {0};
	int r;

	if (!stream)
		abort();
	r = gate_rules_read(&rules, stream, "rules", 1, &failure);
	if ((r < 0) != (failure.what[0] != '\0') && r != -12)
		abort();
	for (size_t i = 0; r == 0 && i < rules.n; i++)
		if (!rules.rules[i]->ignore && !(rules.rules[i]->fail_over >= 0))
			abort();
	gate_rules_done(&rules);
	fclose(stream);
}

static void check_account(const char *text)
{
	static const char *const names[] = {"root", "0", "a", "12345", ""};
	struct account account;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (account_parse(text, names[i], &account) < 0)
			continue;
		if (strchr(account.name, ':') || strchr(account.home, '\n'))
			abort();
		account_done(&account);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char *text;

	if (n < 2)
		return 0;
	text = malloc(n);
	memcpy(text, bytes + 1, n - 1);
	text[n - 1] = '\0';
	if (bytes[0] % 2)
		check_account(text);
	else
		check_rules(bytes + 1, n - 1);
	free(text);
	return 0;
}
