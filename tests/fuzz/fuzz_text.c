/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as one of the small text files that are read. The first byte says which: a
 * gate's rules, passwd(5), a repository's HEAD and packed-refs. Must not crash, hang or grow.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/account.h"
#include "compare/gate_rules.h"
#include "store/checkout.h"

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

static char folder[] = "/tmp/fuzz_text_XXXXXX";
static const char *const parts[] = {".git", ".git/refs", ".git/objects", ".git/HEAD",
				    ".git/packed-refs"};
#define N_PARTS	  (sizeof parts / sizeof *parts)
#define N_FOLDERS 3

static const char *path_of(const char *part)
{
	static char path[64];

	snprintf(path, sizeof path, "%s/%s", folder, part);
	return path;
}

static void remove_folder(void)
{
	for (size_t i = N_PARTS; i-- > 0;)
		remove(path_of(parts[i]));
	remove(folder);
}

static void make_folder(void)
{
	static bool is_made;

	if (is_made)
		return;
	if (!mkdtemp(folder))
		abort();
	for (size_t i = 0; i < N_FOLDERS; i++)
		if (mkdir(path_of(parts[i]), 0700) < 0)
			abort();
	is_made = true;
	atexit(remove_folder);
}

static void write_file(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	close(fd);
}

/* The first line is HEAD, the others are packed-refs. */
static void check_checkout(const char *text, size_t n)
{
	struct checkout checkout;
	size_t head = strcspn(text, "\n");

	make_folder();
	head = head < n ? head : n;
	write_file(path_of(".git/HEAD"), text, head);
	write_file(path_of(".git/packed-refs"), text + head, n - head);
	if (checkout_read(folder, &checkout) < 0)
		return;
	if (strspn(checkout.commit, "0123456789abcdef") != strlen(checkout.commit) ||
	    (strlen(checkout.commit) != 40 && strlen(checkout.commit) != 64))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char *text;

	if (n < 2)
		return 0;
	text = malloc(n);
	memcpy(text, bytes + 1, n - 1);
	text[n - 1] = '\0';
	switch (bytes[0] % 3) {
	case 0: check_rules(bytes + 1, n - 1); break;
	case 1: check_account(text); break;
	default: check_checkout(text, n - 1); break;
	}
	free(text);
	return 0;
}
