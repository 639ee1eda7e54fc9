/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/select.h"

#include "core/matcher.h"

/* Whether one of @frames matches: 1, 0 or an error. */
static int any_matches(const struct profile *profile, struct matcher *matcher,
		       const struct named_frame *frames, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = matcher_test(matcher, frames[i].name,
				 strings_get(&profile->strings, frames[i].name));
	return r;
}

static int is_wanted(const struct profile *profile, struct matcher *include,
		     struct matcher *exclude, const struct named_frame *frames, size_t n)
{
	int r = include->is_set ? any_matches(profile, include, frames, n) : 1;

	if (r <= 0)
		return r;
	r = any_matches(profile, exclude, frames, n);
	return r < 0 ? r : !r;
}

static int keep_wanted(struct profile *profile, const struct unfold_options *unfold,
		       struct matcher *include, struct matcher *exclude)
{
	struct unfolder unfolder = {.profile = profile, .options = unfold};
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < profile->n_samples && r >= 0; i++) {
		r = unfolder_next(&unfolder, &profile->samples[i]);
		if (r >= 0)
			r = is_wanted(profile, include, exclude, unfolder.frames, unfolder.n);
		if (r > 0)
			profile->samples[kept++] = profile->samples[i];
	}
	if (r >= 0)
		profile->n_samples = kept;
	unfolder_done(&unfolder);
	return r < 0 ? r : 0;
}

int profile_select(struct profile *profile, const struct unfold_options *unfold,
		   const struct select_options *options)
{
	struct matcher include = {}, exclude = {};
	int r = matcher_init(&include, options->include);

	r = r < 0 ? r : matcher_init(&exclude, options->exclude);
	if (r == 0 && (options->include || options->exclude))
		r = keep_wanted(profile, unfold, &include, &exclude);
	matcher_done(&include);
	matcher_done(&exclude);
	return r;
}
