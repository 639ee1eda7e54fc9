/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/subject.h"

#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/system.h"
#include "base/text.h"
#include "collect/targets.h"

#define MOST_WORDS  80 /* bytes of a command line */
#define MOST_OPTION 4  /* bytes of an option in one that is longer */

static void add_word(char text[static SUBJECT_SIZE], const char *word)
{
	size_t n = strlen(text);

	snprintf(text + n, SUBJECT_SIZE - n, "%s%s", n ? " " : "", word);
}

/* Of Java's: says where classes are, not what runs. */
static bool is_class_path(const char *option)
{
	return strcmp(option, "-cp") == 0 || strcmp(option, "-classpath") == 0 ||
	       strcmp(option, "--class-path") == 0 || strcmp(option, "--module-path") == 0;
}

/*
 * Adds a command line: words in a row, each ended by a NUL, and an empty one. Folders are cut off
 * the program and its script; a long one has short options only, Java's no class path.
 */
static void add_words(char text[static SUBJECT_SIZE], const char *words)
{
	bool is_java = strcmp(text_base_name(words), "java") == 0;
	bool is_long = false, is_path = false;
	size_t n = 0;

	for (const char *word = words; *word && !is_long; word += strlen(word) + 1)
		is_long = word + strlen(word) - words > MOST_WORDS;
	for (const char *word = words; *word; word += strlen(word) + 1) {
		bool is_option = *word == '-', was_path = is_path;

		is_path = (is_long || is_java) && is_class_path(word);
		if (n &&
		    (is_path || was_path || (is_long && is_option && strlen(word) > MOST_OPTION)))
			continue;
		if (n && strlen(text) + strlen(word) > MOST_WORDS) {
			add_word(text, "\u2026");
			return;
		}
		add_word(text, n == 0 || (n == 1 && !is_option) ? text_base_name(word) : word);
		n++;
	}
}

static void add_process(char text[static SUBJECT_SIZE], uint32_t pid)
{
	char path[64], words[32768] = "", number[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/cmdline", pid);
	if (read_text_file(path, words, sizeof words - 1) < 0 || !*words) {
		snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", pid);
		read_text_file(path, words, sizeof words - 1);
	}
	add_words(text, words);
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
