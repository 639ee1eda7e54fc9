/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as a file to read a profile from. The first byte chooses options. Must not
 * crash, hang or grow. The resulting profile is consistent, and its folded lines are read back
 * unchanged. Some profiles are written in other formats, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "export/export.h"
#include "input/input.h"
#include "render/render.h"

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
	if ((r < 0) != (failure.what[0] != '\0'))
		abort();
	close(fd);
	return r;
}

static void check_stack(const struct profile *profile, uint32_t id)
{
	const struct profile_stack *stack = &profile->stacks[id];

	if (id >= profile->n_stacks || stack->first + stack->n > profile->n_stack_locations)
		abort();
	for (uint32_t i = 0; i < stack->n; i++)
		if (profile->stack_locations[stack->first + i] >= profile->n_locations)
			abort();
}

/* Every index is valid. */
static void check(const struct profile *profile)
{
	for (size_t i = 0; i < profile->n_samples; i++) {
		check_stack(profile, profile->samples[i].stack);
		if (profile->samples[i].comm >= profile->strings.n_strings ||
		    profile->samples[i].waker >= profile->n_wakers)
			abort();
	}
	for (size_t i = 1; i < profile->n_wakers; i++) {
		check_stack(profile, profile->wakers[i].stack);
		if (profile->wakers[i].next >= i)
			abort();
	}
	for (size_t i = 0; i < profile->n_locations; i++) {
		const struct profile_location *location = &profile->locations[i];

		if (location->mapping >= profile->n_mappings ||
		    location->first_frame + location->n_frames > profile->n_frames)
			abort();
	}
	for (size_t i = 0; i < profile->n_frames; i++)
		if (profile->frames[i].function >= profile->strings.n_strings)
			abort();
}

/* Folded lines, or NULL if the sum of the weights overflows. */
static char *write_folded(struct profile *profile, size_t *ret_n)
{
	struct stacks_options options = {.unfold = {.fold_idle = true, .waker_depth = 8}};
	char *text = NULL;
	FILE *stream = open_memstream(&text, ret_n);
	int r = export_folded(profile, &options, stream);

	fclose(stream);
	if (r == 0)
		return text;
	free(text);
	return NULL;
}

static void check_again(struct profile *profile)
{
	struct input input;
	size_t n, n_again;
	char *text = write_folded(profile, &n), *again;

	if (!text)
		return;
	if (input_init(&input, &(struct input_options){0}) < 0)
		abort();
	/*
	 * Excluded: names that all end in a number, roots that all look like threads, lines with `#
	 * `, a first line that looks like perf script, where a command may contain `;`.
	 */
	if (read_bytes(&input, text, n) == 0 && !input.base && !input.stats.comments &&
	    profile->mode == input.profile->mode) {
		bool has_others = false;

		for (size_t i = 0; i < input.profile->n_samples; i++) {
			const struct profile_sample *sample = &input.profile->samples[i];

			has_others |= sample->tid || sample->pid ||
				      strchr(strings_get(&input.profile->strings, sample->comm),
					     ';');
		}
		again = write_folded(input.profile, &n_again);
		if (!has_others && (!again || n != n_again || memcmp(text, again, n) != 0))
			abort();
		free(again);
	}
	input_done(&input);
	free(text);
}

/* The sum of the weights may overflow. */
static void write_others(struct profile *profile)
{
	struct stacks_options options = {.unfold = {.fold_idle = true, .waker_depth = 8}};
	struct picture_options picture = {.min_width = -1};
	FILE *stream = fopen("/dev/null", "we");
	struct stacks stacks;

	if (!stream || stacks_init(&stacks, &options) < 0)
		abort();
	export_speedscope(profile, &options.unfold, stream);
	export_firefox(profile, &options.unfold, stream);
	if (stacks_add(&stacks, profile, SIDE_NEW) == 0 &&
	    stacks_finish(&stacks, SCALE_ABSOLUTE) == 0) {
		render_svg(&stacks, &picture, stream);
		render_html(&stacks, &picture, stream);
	}
	stacks_done(&stacks);
	fclose(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	uint8_t how = n ? bytes[0] : 0;
	struct input_options options = {
		.in_order = how & 1, .no_inline = how & 2, .max_bytes = 1 << 24};
	struct input input;

	if (!n)
		return 0;
	if (input_init(&input, &options) < 0)
		abort();
	read_bytes(&input, bytes + 1, n - 1);
	/* Reads a second file into the same profile. */
	if (how & 4)
		read_bytes(&input, bytes + 1, n - 1);
	check(input.profile);
	if (input.base)
		check(input.base);
	if (!(how & 6))
		check_again(input.profile);
	if (how & 8)
		write_others(input.profile);
	input_done(&input);
	return 0;
}
