/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes memory of LuaJIT as a seed for fuzz_runtimes: two activations of the interpreter, and the
 * functions that they run.
 *
 *	luajit_seeds FILE
 */
#include <stdio.h>

#include "tests/unit/made_luajit.h"

int main(int argc, char **argv)
{
	static const struct bf_text none;
	FILE *file;

	if (argc != 2)
		return 2;
	make_facts();
	make();
	file = fopen(argv[1], "w");
	if (!file || fwrite(&facts, sizeof facts, 1, file) != 1 ||
	    fwrite(&none, sizeof none, 1, file) != 1 ||
	    fwrite(memory.bytes, OUTER + 0x100, 1, file) != 1 || fclose(file)) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
