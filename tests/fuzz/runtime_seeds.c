/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes memory of V8 as seeds for fuzz_runtimes: code that is interpreted, baseline, optimized.
 *
 *	runtime_seeds FOLDER
 */
#include <stdio.h>

#include "tests/unit/made_v8.h"

static int write_seed(const char *folder, const char *name)
{
	static const struct bf_text none;
	char path[4096];
	FILE *file;

	snprintf(path, sizeof path, "%s/v8-%s", folder, name);
	file = fopen(path, "w");
	if (!file || fwrite(&facts, sizeof facts, 1, file) != 1 ||
	    fwrite(&none, sizeof none, 1, file) != 1 ||
	    fwrite(memory.bytes, GENERATED, 1, file) != 1 || fclose(file)) {
		perror(path);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int r;

	if (argc != 2)
		return 2;
	make();
	r = write_seed(argv[1], "optimized");
	word(OUTER + 8, TAGGED(OPTIMIZED)); /* as if it was the function's own */
	r |= write_seed(argv[1], "baseline");
	word(FUNCTION + 24, TAGGED(BUILT_IN));
	return r | write_seed(argv[1], "built-in");
}
