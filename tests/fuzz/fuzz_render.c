/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as a file of folded lines or pprof, written in every output format: names
 * must stay inside the text that they are in. The first byte chooses how stacks are read. Must not
 * crash, hang or grow.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "export/export.h"
#include "input/input.h"
#include "render/render.h"
#include "report/report.h"
#include "report/top.h"
#include "tests/unit/xml_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static int read_bytes(struct input *input, const void *bytes, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), r;
	struct failure failure = {0};
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	r = input_read(input, path, &failure);
	close(fd);
	return r;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* Contains nothing that a terminal obeys. */
static void check_text(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\n') || *text == 0x7f)
			abort();
}

/* Whether the tag at @at, in well-formed text, is a harmless element of ours. */
static bool is_harmless(const char *at)
{
	static const char *const elements[] = {"svg",	"g",	"rect",	  "text",	    "title",
					       "style", "defs", "line",	  "linearGradient", "stop",
					       "tspan", "path", "pattern"};
	size_t n = strcspn(at + 1, " >/\n");
	const char *end = xml_end_of_tag(at + 1);
	bool is_ours = at[1] == '/' || at[1] == '?';

	for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
		is_ours |= strlen(elements[i]) == n && strncmp(at + 1, elements[i], n) == 0;
	/* Checks attributes, skipping quoted text. */
	for (bool is_quoted = false; is_ours && end && at < end; at++) {
		is_quoted ^= *at == '"';
		if (!is_quoted && (strncmp(at, " on", 3) == 0 || strncmp(at, " href", 5) == 0))
			return false;
	}
	return is_ours;
}

/* All elements are ours, whatever the names. */
static void check_svg(const char *text)
{
	const char *at = text;

	if (xml_scan(text))
		abort();
	while ((at = strchr(at, '<'))) {
		if (!is_harmless(at))
			abort();
		at++;
	}
}

enum kind { KIND_SVG, KIND_HTML, KIND_TEXT, KIND_JSON, KIND_TOP, N_KINDS };

static char *made(const struct stacks *stacks, enum kind kind,
		  const struct picture_options *picture)
{
	const struct report_options report = {.tree_percent = 1};
	char *text = NULL;
	size_t n;
	FILE *stream = open_memstream(&text, &n);
	int r = 0;

	switch (kind) {
	case KIND_SVG: r = render_svg(stacks, picture, stream); break;
	case KIND_HTML: r = render_html(stacks, picture, stream); break;
	case KIND_TEXT: r = report_text(stacks, &report, stream); break;
	case KIND_JSON: r = report_json(stacks, &report, stream); break;
	default: r = top_text(stacks, 5, 80, stream); break;
	}
	if (fclose(stream) != 0 || (r < 0 && r != -12))
		abort();
	return text;
}

static void check_pictures(const struct stacks *stacks)
{
	struct picture_options plain = PICTURE_OPTIONS_DEFAULT;
	char *text;

	plain.no_script = true;
	plain.subject = "a subject";
	text = made(stacks, KIND_SVG, &plain);
	check_svg(text);
	free(text);
	text = made(stacks, KIND_HTML, &plain);
	if (count(text, "<script") != 4 || strchr(text, '\x1b'))
		abort();
	free(text);
	for (enum kind kind = KIND_TEXT; kind < N_KINDS; kind++) {
		text = made(stacks, kind, &plain);
		check_text(text);
		free(text);
	}
}

static void write_exports(struct profile *profile, const struct stacks_options *options)
{
	FILE *stream = fopen("/dev/null", "we");

	if (!stream)
		abort();
	export_folded(profile, options, stream);
	export_pprof(profile, &options->unfold, stream);
	export_speedscope(profile, &options->unfold, stream);
	export_firefox(profile, &options->unfold, stream);
	fclose(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	uint8_t how = n ? bytes[0] : 0;
	struct stacks_options options = {
		.unfold = {.fold_idle = how & 1,
			   .threads = how & 2,
			   .waker_depth = how & 4 ? 8 : 0},
		.no_idle = how & 8,
		.merge_recursion = how & 16,
	};
	struct input_options read = {.max_bytes = 1 << 20};
	struct input input;
	struct stacks stacks;

	if (!n)
		return 0;
	if (input_init(&input, &read) < 0)
		abort();
	if (read_bytes(&input, bytes + 1, n - 1) == 0) {
		if (stacks_init(&stacks, &options) < 0)
			abort();
		/* The sum of the weights may overflow. */
		if (stacks_add(&stacks, input.profile, SIDE_NEW) == 0 &&
		    stacks_finish(&stacks, SCALE_ABSOLUTE) == 0)
			check_pictures(&stacks);
		stacks_done(&stacks);
		write_exports(input.profile, &options);
	}
	input_done(&input);
	return 0;
}
