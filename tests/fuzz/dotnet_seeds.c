/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes memory of .NET as a seed for fuzz_runtimes: methods that were compiled at run time and
 * ahead of it, and their assembly.
 *
 *	dotnet_seeds FILE
 */
#include <stdio.h>

#include "tests/unit/made_dotnet.h"

/* As dotnet_use_table() has them, here by what they are in version 9. */
void dotnet_use_table(uint64_t variables, struct runtime_facts *to)
{
	static const uint32_t offsets[N_DOTNET_OFFSETS] = {
		[FRAGMENT_BEGIN] = 8,	  [FRAGMENT_END] = 16,	     [FRAGMENT_SECTION] = 24,
		[SECTION_END] = 8,	  [SECTION_FLAGS] = 16,	     [SECTION_MODULE] = 32,
		[SECTION_HEAP] = 40,	  [HEAP_BASE] = 32,	     [HEAP_STARTS] = 40,
		[HEADER_METHOD] = 24,	  [HEADER_N] = 32,	     [HEADER_FUNCTIONS] = 36,
		[METHOD_INDEX] = 2,	  [METHOD_SLOT] = 4,	     [METHOD_FLAGS] = 6,
		[METHOD_NAME] = 32,	  [CHUNK_SIZE] = 24,	     [CHUNK_TOKEN] = 18,
		[TYPE_TOKEN] = 8,	  [TYPE_MODULE] = 24,	     [TYPE_CLASS] = 40,
		[CLASS_TYPE] = 16,	  [MODULE_BASE] = 288,	     [MODULE_COMPILED] = 984,
		[COMPILED_WHOLE] = 40,	  [COMPILED_FUNCTIONS] = 80, [COMPILED_N] = 88,
		[COMPILED_METHODS] = 432, [HASH_BUCKETS] = 16,
	};

	memcpy(to->offsets, offsets, sizeof offsets);
	to->offsets[DOTNET_MAP] = variables;
	to->offsets[DOTNET_MAP_IS_POINTER] = 1;
}

int main(int argc, char **argv)
{
	static const struct bf_text none;
	FILE *file;

	if (argc != 2)
		return 2;
	make_facts(9);
	make();
	file = fopen(argv[1], "w");
	if (!file || fwrite(&facts, sizeof facts, 1, file) != 1 ||
	    fwrite(&none, sizeof none, 1, file) != 1 ||
	    fwrite(memory.bytes, STACK + 0x400, 1, file) != 1 || fclose(file)) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
