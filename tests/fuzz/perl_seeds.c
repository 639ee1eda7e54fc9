/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes memory of Perl as a seed for fuzz_runtimes: functions, a block for sort, text, a file.
 *
 *	perl_seeds FILE
 */
#include <stdio.h>

#include "tests/unit/made_perl.h"

int main(int argc, char **argv)
{
	static const struct bf_text none;
	struct runtime_facts facts = {
		.runtime = 6, .version = PERL(5, 36), .loop = 0x100, .loop_size = 0x10};
	FILE *file;

	if (argc != 2)
		return 2;
	facts.offsets[PERL_KEY] = KEY;
	facts.offsets[PERL_FIRST] = FIRST;
	facts.offsets[PERL_PLACE] = 208;
	facts.offsets[PERL_PACKAGE] = 32;
	facts.offsets[PERL_PROGRAM] = 1808;
	made_perl(&facts);
	file = fopen(argv[1], "w");
	if (!file || fwrite(&facts, sizeof facts, 1, file) != 1 ||
	    fwrite(&none, sizeof none, 1, file) != 1 ||
	    fwrite(thread.memory.bytes, FILES + 64 - MADE_START, 1, file) != 1 || fclose(file)) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
