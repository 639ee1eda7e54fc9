/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tables N FILE…: builds each file's unwind table N times, with warm caches, and prints the times
 * and the table's size: one line of JSON per file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "unwind/table.h"

/* CPU time of this process, user and system, in milliseconds. */
static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void print(const char *path, const struct unwind_table *table)
{
	uint64_t words = 0;

	for (uint32_t i = 0; i < table->n_parts; i++)
		words += table->parts[i].n_words;
	printf("], \"file\": \"%s\", \"code_mb\": %.3f, \"table_kb\": %.1f, \"functions\": %u, "
	       "\"rows\": %u, \"rules\": %u, \"skipped\": %u}\n",
	       path, table->code_bytes / 1e6, words * 4 / 1e3, table->n_functions, table->n_rows,
	       table->n_rules, table->n_skipped);
}

static int measure(const char *path, int n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;
	struct unwind_table table;
	struct elf_file file;

	if (fd < 0 || elf_file_open(&file, fd) < 0 || unwind_table_build(&file, &table) < 0) {
		fprintf(stderr, "tables: %s: no table\n", path);
		return 1;
	}
	unwind_table_done(&table);
	elf_file_done(&file);
	printf("{\"ms\": [");
	for (int i = 0; i < n; i++) {
		double start = now();

		r = elf_file_open(&file, fd);
		if (r == 0)
			r = unwind_table_build(&file, &table);
		printf("%s%.3f", i ? ", " : "", now() - start);
		if (r < 0)
			return 1;
		if (i == n - 1)
			print(path, &table);
		unwind_table_done(&table);
		elf_file_done(&file);
	}
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	int r = 0;

	for (int i = 2; i < argc; i++)
		r |= measure(argv[i], atoi(argv[1]));
	return r;
}
