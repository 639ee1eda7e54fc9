/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/select.h"

#include "core/matcher.h"

/* Whether one of the frames matches: 1, 0 or an error. */
static int any_matches(const struct unfolder *unfolder, struct matcher *matcher)
{
	for (size_t i = 0; i < unfolder->n; i++) {
		uint32_t name = unfolder->frames[i].name;
		int r = matcher_test(matcher, name, strings_get(&unfolder->profile->strings, name));

		if (r != 0)
			return r;
	}
	return 0;
}

static int is_wanted(struct unfolder *unfolder, const struct profile_sample *sample,
		     struct matcher *include, struct matcher *exclude)
{
	int r = unfolder_next(unfolder, sample);

	if (r < 0)
		return r;
	if (include->is_set) {
		r = any_matches(unfolder, include);
		if (r <= 0)
			return r;
	}
	r = any_matches(unfolder, exclude);
	return r < 0 ? r : !r;
}

static int keep_wanted(struct profile *profile, const struct unfold_options *unfold,
		       struct matcher *include, struct matcher *exclude)
{
	struct unfolder unfolder = {.profile = profile, .options = unfold};
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < profile->n_samples; i++) {
		r = is_wanted(&unfolder, &profile->samples[i], include, exclude);
		if (r < 0)
			break;
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
	struct matcher include, exclude;
	int r;

	if (!options->include && !options->exclude)
		return 0;
	r = matcher_init(&include, options->include);
	if (r < 0)
		return r;
	r = matcher_init(&exclude, options->exclude);
	if (r == 0)
		r = keep_wanted(profile, unfold, &include, &exclude);
	matcher_done(&include);
	matcher_done(&exclude);
	return r;
}
