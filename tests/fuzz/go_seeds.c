/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes small Go programs, one for each form of their table, as seeds for fuzzers.
 *
 *	go_seeds FOLDER
 */
#include <stdio.h>
#include <stdlib.h>

#include "unit/made_go.h"

/* Every other file is a byte longer: fuzz_elf asks for lines depending on the size. */
static int write_seed(const char *folder, size_t i, const uint8_t *image)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof path, "%s/go%zu.elf", folder, i);
	file = fopen(path, "w");
	if (!file || fwrite(image, GO_IMAGE_SIZE + i % 2, 1, file) != 1 || fclose(file)) {
		perror(path);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static uint64_t image[GO_IMAGE_SIZE / 8 + 1];
	static const struct made_go forms[] = {
		{.version = 16},
		{.version = 16, .no_sections = true},
		{.version = 18, .is_relocated = true, .is_merged = true},
		{.version = 18, .funcdata_word = 38},
		{.version = 20, .no_sections = true, .no_text = true},
		{.version = 20, .no_text = true},
		{.version = 20, .no_module = true},
		{.version = 20},
	};
	int failed = argc != 2;

	for (size_t i = 0; i < sizeof forms / sizeof *forms && !failed; i++) {
		memset(image, 0, sizeof image);
		made_go(&forms[i], (uint8_t *)image);
		failed = write_seed(argv[1], i, (const uint8_t *)image);
	}
	return failed;
}
