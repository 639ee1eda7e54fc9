/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes memory of BEAM as a seed for fuzz_runtimes: two modules, and a process that runs.
 *
 *	beam_seeds FILE
 */
#include <stdio.h>

#include "tests/unit/made_beam.h"

/* As beam_known_offsets() has them. */
bool beam_known_offsets(struct runtime_facts *to)
{
	static const uint32_t known[] = {0xa300, 168, 760, 136, 80, 96, 0x4110};

	memcpy(to->offsets + BEAM_SCHEDULER_SIZE, known, sizeof known);
	return true;
}

int main(int argc, char **argv)
{
	static const struct bf_text none;
	FILE *file;

	if (argc != 2)
		return 2;
	make_facts(25);
	make();
	file = fopen(argv[1], "w");
	if (!file || fwrite(&facts, sizeof facts, 1, file) != 1 ||
	    fwrite(&none, sizeof none, 1, file) != 1 ||
	    fwrite(memory.bytes, THREAD + 0x4200, 1, file) != 1 || fclose(file)) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
