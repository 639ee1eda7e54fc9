/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as the facts of a baseline. Must not crash, hang or grow. Facts that are
 * read are written as facts that read the same; errors are safe to print on a terminal.
 */
#include <stdlib.h>
#include <string.h>

#include "store/baseline.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static char *write_text(const struct baseline *baseline)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	baseline_write(baseline, stream);
	fclose(stream);
	return text;
}

static void check_again(const struct baseline *baseline)
{
	struct baseline again = {};
	char *text = write_text(baseline), *second;

	if (baseline_read(text, &again) < 0)
		abort();
	second = write_text(&again);
	if (strcmp(text, second) != 0)
		abort();
	free(text);
	free(second);
	baseline_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct baseline baseline = {};
	char *text = malloc(n + 1);
	int r;

	memcpy(text, bytes, n);
	text[n] = '\0';
	r = baseline_read(text, &baseline);
	if ((r < 0) != (baseline.damage[0] != '\0'))
		abort();
	for (const char *p = baseline.damage; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			abort();
	if (r == 0)
		check_again(&baseline);
	if (baseline.n_runs > BASELINE_MAX_RUNS)
		abort();
	baseline_done(&baseline);
	free(text);
	return 0;
}
