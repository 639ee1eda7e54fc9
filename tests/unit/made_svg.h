/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_svg: draws profiles, so that tests can look at the picture. Checks that every picture is
 * well-formed XML.
 */
#ifndef UNIT_MADE_SVG_H
#define UNIT_MADE_SVG_H

#include "unit/cmocka_all.h"

#include "render/render.h"
#include "unit/made_stacks.h"
#include "unit/xml_scan.h"

static const struct picture_options default_svg = PICTURE_OPTIONS_DEFAULT;

/* @base: what @profile is compared with, or NULL. Frees both. */
static inline void made_stacks(struct stacks *stacks, const struct stacks_options *options,
			       struct profile *profile, struct profile *base,
			       enum stacks_scale scale)
{
	assert_int_equal(stacks_init(stacks, options), 0);
	assert_int_equal(stacks_add(stacks, profile, SIDE_NEW), 0);
	if (base)
		assert_int_equal(stacks_add(stacks, base, SIDE_BASE), 0);
	assert_int_equal(stacks_finish(stacks, scale), 0);
	profile_free(profile);
	profile_free(base);
}

static inline char *svg_of_stacks(const struct stacks *stacks,
				  const struct picture_options *options)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	const char *bad;

	assert_int_equal(render_svg(stacks, options, stream), 0);
	fclose(stream);
	bad = xml_scan(text);
	if (bad)
		fail_msg("not well-formed at byte %td: %.60s", bad - text, bad);
	return text;
}

/* Frees @profile. */
static inline char *svg_of(struct profile *profile, const struct stacks_options *reading,
			   const struct picture_options *options)
{
	struct stacks stacks;
	char *text;

	made_stacks(&stacks, reading, profile, NULL, SCALE_NORMALIZED);
	text = svg_of_stacks(&stacks, options);
	stacks_done(&stacks);
	return text;
}

static inline char *svg(struct profile *profile, const struct picture_options *options)
{
	return svg_of(profile, &(struct stacks_options){}, options);
}

static inline size_t n_occurrences(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

#endif
