/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/subject.h"

#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/system.h"
#include "base/text.h"
#include "collect/targets.h"

#define MOST_WORDS 80 /* bytes of a command line */

static void add_word(char text[static SUBJECT_SIZE], const char *word)
{
	size_t n = strlen(text);

	snprintf(text + n, SUBJECT_SIZE - n, "%s%s", n ? " " : "", word);
}

/*
 * Adds a command line of @n words in a row, each ended by a NUL; folders are cut off the first two.
 */
static void add_words(char text[static SUBJECT_SIZE], const char *words, size_t size)
{
	size_t n = 0;

	for (const char *word = words; word < words + size && *word;
	     word += strlen(word) + 1, n++) {
		if (strlen(text) + strlen(word) > MOST_WORDS && n) {
			add_word(text, "\u2026");
			return;
		}
		add_word(text, n < 2 ? text_base_name(word) : word);
	}
}

static void add_process(char text[static SUBJECT_SIZE], uint32_t pid)
{
	char path[64], words[1024] = "", number[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/cmdline", pid);
	if (read_text_file(path, words, sizeof words) < 0 || !*words) {
		snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", pid);
		read_text_file(path, words, sizeof words);
	}
	add_words(text, words, sizeof words);
	snprintf(number, sizeof number, "(%" PRIu32 ")", pid);
	add_word(text, number);
}

/* Most threads are called as their process is. */
static void add_thread(char text[static SUBJECT_SIZE], uint32_t tid)
{
	char path[64], comm[64] = "", name[64] = "";

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", tid);
	read_text_file(path, comm, sizeof comm);
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", targets_process_of(tid));
	read_text_file(path, name, sizeof name);
	if (strcmp(comm, name) != 0) {
		add_word(text, comm);
		add_word(text, "of");
	}
	add_process(text, tid);
}

static void add_more(char text[static SUBJECT_SIZE], size_t n)
{
	char more[32];

	snprintf(more, sizeof more, "+ %zu more", n - 1);
	if (n > 1)
		add_word(text, more);
}

static void add_command(char text[static SUBJECT_SIZE], char **argv)
{
	for (size_t i = 0; argv[i]; i++) {
		if (i && strlen(text) + strlen(argv[i]) > MOST_WORDS) {
			add_word(text, "\u2026");
			return;
		}
		add_word(text, i ? argv[i] : text_base_name(argv[i]));
	}
}

void subject_find(const struct record_options *options, char text[static SUBJECT_SIZE])
{
	const struct collect_options *collect = &options->collect;
	struct utsname system;

	*text = '\0';
	if (options->command)
		add_command(text, options->command);
	else if (collect->n_pids)
		add_process(text, collect->pids[0]);
	else if (collect->n_tids)
		add_thread(text, collect->tids[0]);
	else if (collect->cgroup)
		add_word(text, collect->cgroup);
	else if (collect->comm)
		add_word(text, collect->comm);
	else if (uname(&system) == 0) {
		add_word(text, "host");
		add_word(text, system.nodename);
	}
	add_more(text, options->command ? 1 : collect->n_pids ? collect->n_pids : collect->n_tids);
}
